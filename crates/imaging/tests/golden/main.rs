//! Files of real encoders, held against what other decoders and LittleCMS make of them. What the files are
//! and how they were made stands in `corpus/README.md`; `--nocapture` prints the figures.

mod cases;
mod colour;
mod measure;
mod picture;

use std::collections::BTreeSet;

use imaging::{Error, Ingested, OutputFormat, ingest, probe, render};
use measure::{Distance, ssim};
use model::{Size, master_for};
use picture::{LIMITS, Picture, file, files};

use crate::cases::{Case, EVERY};

#[test]
fn jpegs_look_right() {
    check(cases::JPEG);
}

#[test]
fn pngs_look_right() {
    check(cases::PNG);
}

#[test]
fn webps_look_right() {
    check(cases::WEBP);
}

#[test]
fn gifs_look_right() {
    check(cases::GIF);
}

#[test]
fn avifs_look_right() {
    check(cases::AVIF);
}

#[test]
fn heics_look_right() {
    check(cases::HEIC);
}

#[test]
fn every_orientation_stands_upright() {
    check(cases::ORIENTATION);
}

#[test]
fn colours_are_what_the_profile_means() {
    check(cases::PROFILES);
}

#[test]
fn what_viewers_show_in_spite_of_its_damage_is_shown() {
    check(cases::DAMAGED);
}

#[test]
fn kinds_that_need_not_be_read_are_refused_or_look_right() {
    let read = |case: &&Case| match ingest(&file(case.file), &LIMITS) {
        Err(Error::Unsupported(kind)) => {
            println!("{:<40} refused: {kind}", case.file);
            false
        }
        _ => true,
    };
    check(cases::OPTIONAL.iter().filter(read));
}

#[test]
fn unreadable_files_are_the_senders_fault() {
    let wrong: Vec<String> = files("unreadable").iter().filter_map(|name| refused(name).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn refused(name: &str) -> Result<(), String> {
    let bytes = file(name);
    if let Err(Error::Internal(cause)) = probe(&bytes, &LIMITS) {
        return Err(format!("{name}: {cause}"));
    }
    let Err(error) = ingest(&bytes, &LIMITS) else {
        return Err(format!("{name} was read"));
    };
    println!("{name:<40} {error:?}");
    let kind = name.trim_start_matches("unreadable/").split('-').next();
    let fits = match (kind, &error) {
        // The panic of a codec is caught, but nothing to rely on.
        (_, Error::Damaged(cause)) if cause.contains("panicked") => false,
        (Some("jpeg" | "png" | "webp" | "gif"), error) => matches!(error, Error::Damaged(_)),
        (Some("avif" | "heic"), error) => matches!(error, Error::Damaged(_) | Error::Unsupported(_)),
        (_, error) => matches!(error, Error::Unsupported(_)),
    };
    if fits { Ok(()) } else { Err(format!("{name}: {error:?}")) }
}

#[test]
fn smaller_versions_look_like_those_of_libvips() {
    let Ingested { masters, .. } = ingest(&file("resize/detail.png"), &LIMITS).unwrap();
    let top = masters[0].side;
    // The compression alone costs most of it: at quality 98 these are 0.998, 0.994 and 0.993.
    for (side, least) in [(200, 0.99), (100, 0.985), (37, 0.94)] {
        let wanted = Picture::read(&file(&format!("resize/detail-{side}.png")));
        let size = Size::new(side).unwrap();
        // At once, which tells of the filter, and from the step of the pyramid that is used for it.
        for from in [top, master_for(top, size)] {
            let master = masters.iter().find(|master| master.side == from).unwrap();
            for format in [OutputFormat::WebP, OutputFormat::Jpeg] {
                let made = Picture::read(&render(&master.bytes, size, format).unwrap());
                let figure = ssim(&made, &wanted);
                println!("{side:>4} from {from} as {:<4}  SSIM {figure:.4}", format.name());
                assert!(figure >= least, "{side} from {from} as {format:?}: SSIM {figure:.4}");
            }
        }
    }
}

#[test]
fn no_file_is_forgotten() {
    let folders = ["jpeg", "png", "webp", "gif", "avif", "heic", "orientation", "profiles", "damaged"];
    let there: BTreeSet<String> = folders.into_iter().flat_map(files).collect();
    let listed: BTreeSet<String> = EVERY.iter().copied().flatten().map(|case| case.file.into()).collect();
    assert_eq!(listed, there);
}

/// Measures every case before it complains of any.
#[track_caller]
fn check<'a>(cases: impl IntoIterator<Item = &'a Case>) {
    let wrong: Vec<String> = cases.into_iter().filter_map(|case| compare(case).err()).collect();
    assert!(wrong.is_empty(), "{} look wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is kept of the file and what is served of it, each against its reference.
fn compare(case: &Case) -> Result<(), String> {
    let wanted = Picture::read(&file(&format!("expected/{}.png", case.like)));
    let bytes = file(case.file);
    let fail = |error: Error| format!("{}: {error:?}", case.file);
    let probed = probe(&bytes, &LIMITS).map_err(fail)?;
    let Ingested { width, height, masters, .. } = ingest(&bytes, &LIMITS).map_err(fail)?;

    let size = Size::new(masters[0].side.try_into().expect("a small picture")).expect("a legal size");
    let kept = Picture::read(&masters[0].bytes);
    let served =
        |format| render(&masters[0].bytes, size, format).map(|file| Picture::read(&file)).map_err(fail);
    let (webp, jpeg) = (served(OutputFormat::WebP)?, served(OutputFormat::Jpeg)?);

    let [kept_by, webp_by, jpeg_by] =
        [&kept, &webp, &jpeg].map(|picture| Distance::between(picture, &wanted));
    // On flat patches only, where lossy files keep their colours.
    let tone = |picture: &Picture| picture.tone(&wanted);
    let tones = case.is_chart().then(|| (tone(&kept), tone(&webp).max(tone(&jpeg))));
    print!("{:<40} kept {kept_by}  WebP {webp_by}  JPEG {jpeg_by}", case.file);
    println!("{}", tones.map_or(String::new(), |(kept, served)| format!("  ΔE {kept:.2} {served:.2}")));

    let problems = [
        ((probed.width, probed.height) != case.size, "the size in its header"),
        ((width, height) != case.size, "its size"),
        (!kept_by.within(case.kept), "what is kept"),
        (!webp_by.within(case.served), "the WebP"),
        (!jpeg_by.within(case.served), "the JPEG"),
        (kept.alpha_distance(&wanted) > ALPHA || webp.alpha_distance(&wanted) > ALPHA, "its transparency"),
        (tones.is_some_and(|(kept, served)| kept > KEPT_TONE || served > SERVED_TONE), "its colours"),
    ];
    let problems: Vec<_> = problems.iter().filter(|(wrong, _)| *wrong).map(|(_, what)| *what).collect();
    match problems[..] {
        [] => Ok(()),
        _ => Err(format!("{}: {}", case.file, problems.join(", "))),
    }
}

/// Transparency is stored without loss; decoders may round it.
const ALPHA: u8 = 2;
/// The mean CIEDE2000 of a chart. From about 2 on a careful eye sees a difference.
const KEPT_TONE: f64 = 1.0;
const SERVED_TONE: f64 = 2.0;
