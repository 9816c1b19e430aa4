//! WebP against JPEG at 512²: the CPU time of encoding and the bytes saved.

use imaging::OutputFormat;

use super::Bench;
use crate::engine::{self, SIDE};
use crate::error::{Error, read, write};
use crate::measure::{Candidate, Timing, compare, cpu_here, cpu_of, median};
use crate::photos::Photo;
use crate::report::{Cell, Section, Table, Target};
use crate::score::{Pixels, score};

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let timings = times(bench)?;
    let judged = bench.photos.twelve.iter().map(|photo| judge(bench, photo));
    let judged = judged.collect::<Result<Vec<_>, _>>()?;
    let middle = |of: fn(&Judged) -> f64| median(&judged.iter().map(of).collect::<Vec<_>>());

    let row = |name: &str, bytes: f64, score: f64| [name.into(), Cell::Integer(bytes as u64), score.into()];
    let rows = [
        row("WebP as served", middle(|j| j.webp.bytes), middle(|j| j.webp.score)),
        row("WebP by cwebp, default settings", middle(|j| j.cwebp.bytes), middle(|j| j.cwebp.score)),
        row("JPEG as served", middle(|j| j.jpeg.bytes), middle(|j| j.jpeg.score)),
        row("JPEG at WebP's score", middle(|j| j.equal_bytes), middle(|j| j.webp.score)),
    ];
    let saved = middle(|j| 100.0 * (1.0 - j.webp.bytes / j.equal_bytes));
    let targets = vec![
        Target::ratio("encoding WebP: CPU against JPEG, 512²", timings[0].ratio(&timings[1]), 16.0),
        Target::at_least("bytes that WebP saves at equal SSIMULACRA2, in %", saved, 12.0),
    ];
    let section = Section::new("WebP and JPEG of 512²")
        .note(
            "Encoding alone: the time to render a 512² from a 512², less that of decoding it to planes, as the engine does. \
             Quality against that 512²; JPEG at WebP's score is read off a ladder of qualities by the same codec.",
        );
    let tables = vec![Table::new(["what", "bytes", "SSIMULACRA2"], rows)];
    Ok(Section { timings, tables, targets, ..section })
}

/// Writing WebP, then writing JPEG. The engine has no public encoder of pixels that could be timed alone.
fn times(bench: &Bench) -> Result<Vec<Timing>, Error> {
    let rendered = |name, format| {
        Candidate::new(name, move |photo: &Photo| {
            let master = read(&photo.master(SIDE.into()))?;
            Ok(cpu_here(|| engine::render(&master, SIDE, format))?.0)
        })
    };
    let decoded = Candidate::new("decode", |photo| {
        let master = read(&photo.master(SIDE.into()))?;
        Ok(cpu_here(|| engine::planes(&master))?.0)
    });
    let candidates =
        vec![rendered("WebP", OutputFormat::WebP), rendered("JPEG", OutputFormat::Jpeg), decoded];
    // These are milliseconds: more rounds cost nothing.
    let timings = compare(bench.rounds * 3, &bench.photos.twelve, candidates)?;
    Ok(timings[..2].iter().map(|timing| timing.without(&timings[2])).collect())
}

struct Judged {
    webp: File,
    cwebp: File,
    jpeg: File,
    /// What JPEG needs to be as good as the WebP.
    equal_bytes: f64,
}

pub(super) struct File {
    pub(super) bytes: f64,
    pub(super) score: f64,
}

fn judge(bench: &Bench, photo: &Photo) -> Result<Judged, Error> {
    let master = read(&photo.master(SIDE.into()))?;
    let original = bench.pixels(&photo.master(SIDE.into()))?;
    let out = |name| bench.photos.out(name);
    write(&out("judged.webp"), engine::render(&master, SIDE, OutputFormat::WebP)?)?;
    write(&out("judged.jpg"), engine::render(&master, SIDE, OutputFormat::Jpeg)?)?;
    let header = format!("P6\n{0} {0}\n255\n", original.side);
    write(&out("judged.ppm"), [header.as_bytes(), &original.rgb].concat())?;
    cpu_of(&mut bench.peers.cwebp(&out("judged.ppm"), &out("judged by cwebp.webp")))?;

    let judged = |name| {
        let path = out(name);
        let bytes = read(&path)?.len() as f64;
        Ok::<_, Error>(File { bytes, score: score(&original, &bench.pixels(&path)?)? })
    };
    let (webp, jpeg) = (judged("judged.webp")?, judged("judged.jpg")?);
    let cwebp = judged("judged by cwebp.webp")?;
    let ladder = (40..=96).step_by(4).map(|quality| step(&original, quality));
    let equal_bytes = bytes_at(webp.score, &ladder.collect::<Result<Vec<_>, _>>()?)?;
    Ok(Judged { webp, cwebp, jpeg, equal_bytes })
}

fn step(original: &Pixels, quality: u8) -> Result<File, Error> {
    let file = engine::jpeg(&original.rgb, original.side, quality)?;
    let made = Pixels::new(engine::plain_decode(&file)?)?;
    Ok(File { bytes: file.len() as f64, score: score(original, &made)? })
}

/// Between two steps the logarithm of the bytes grows evenly with the score.
pub(super) fn bytes_at(score: f64, ladder: &[File]) -> Result<f64, Error> {
    let between = ladder.windows(2).find(|pair| pair[0].score <= score && score <= pair[1].score);
    let Some([low, high]) = between else {
        return Err(Error::measure(format!("no quality of the ladder has the score {score:.1}")));
    };
    let part = (score - low.score) / (high.score - low.score);
    Ok((low.bytes.ln() + part * (high.bytes.ln() - low.bytes.ln())).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bytes_off_the_ladder() {
        let ladder = [(60.0, 10.0), (70.0, 40.0), (80.0, 50.0)].map(|(score, bytes)| File { bytes, score });
        assert!((bytes_at(65.0, &ladder).unwrap() - 20.0).abs() < 1e-9);
        assert!(bytes_at(90.0, &ladder).is_err());
    }
}
