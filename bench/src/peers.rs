//! The peers for pictures: command-line tools started per image, and libraries in a warm process.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;

/// Where the scripts of the peers are in the source tree.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");

/// Installs what is missing and makes the photos.
pub(crate) fn set_up(home: &Path) -> Result<(), Error> {
    run("setup", home, &[])
}

/// The same for the benchmark of the service, and `more` that not every question needs.
pub(crate) fn set_up_service(home: &Path, more: &[&str]) -> Result<(), Error> {
    run("setup-service", home, more)
}

fn run(script: &str, home: &Path, more: &[&str]) -> Result<(), Error> {
    let script = Path::new(SCRIPTS).join(script);
    let status =
        Command::new(&script).arg(home).args(more).status().map_err(Error::system(script.display()))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::Peer("a peer is missing (see above), and nothing is compared without it".into())),
    }
}

pub(crate) struct Peers {
    home: PathBuf,
    magick: &'static str,
    pub(crate) sharp: Warm,
    pub(crate) pillow: Warm,
}

impl Peers {
    pub(crate) fn start(home: &Path) -> Result<Self, Error> {
        // ImageMagick 6 under the one name that cannot be something else's `convert`, or version 7.
        let magick =
            ["convert-im6.q16", "magick"].into_iter().find(|name| first_line(name, "-version").is_ok());
        let magick = magick.ok_or_else(|| Error::Peer("ImageMagick is not on the path".into()))?;
        Ok(Self {
            home: home.into(),
            magick,
            sharp: Warm::start("sharp", node(home))?,
            pillow: Warm::start("Pillow", python(home))?,
        })
    }

    /// Name and version of every peer.
    pub(crate) fn versions(&self) -> Result<Vec<(&'static str, String)>, Error> {
        let version = serde_json::json!({ "do": "version" });
        Ok(vec![
            ("vipsthumbnail", first_line("vipsthumbnail", "--vips-version")?),
            ("ImageMagick", first_line(self.magick, "-version")?),
            ("sharp", self.sharp.ask(&version)?.version),
            ("Node.js", first_line("node", "--version")?),
            ("Pillow", self.pillow.ask(&version)?.version),
            ("cwebp", first_line("cwebp", "-version")?),
        ])
    }

    pub(crate) fn vipsthumbnail(&self, photo: &Path, out: &Path, side: u16, quality: u8) -> Command {
        let mut command = Command::new("vipsthumbnail");
        command.arg(photo).args(["--size", &format!("{side}x{side}"), "--smartcrop", "centre", "--output"]);
        command.arg(format!("{}[Q={quality},strip]", out.display()));
        command.env("VIPS_CONCURRENCY", "1");
        command
    }

    pub(crate) fn imagemagick(&self, photo: &Path, out: &Path, side: u16, quality: u8) -> Command {
        let mut command = Command::new(self.magick);
        let square = format!("{side}x{side}");
        // Twice the size may be taken from the shrunken decode, as libvips and Pillow do.
        command.args(["-define", &format!("jpeg:size={0}x{0}", 2 * side)]).arg(photo);
        command.args(["-auto-orient", "-thumbnail", &format!("{square}^"), "-gravity", "center"]);
        command.args(["-extent", &square, "-quality", &quality.to_string()]).arg(out);
        command.env("MAGICK_THREAD_LIMIT", "1").env("OMP_NUM_THREADS", "1").env("MAGICK_OCL_DEVICE", "OFF");
        command
    }

    /// Takes a PPM.
    pub(crate) fn cwebp(&self, picture: &Path, out: &Path) -> Command {
        let mut command = Command::new("cwebp");
        command.arg("-quiet").arg(picture).arg("-o").arg(out);
        command
    }

    pub(crate) fn sharp_process(&self, photo: &Path, out: &Path, side: u16, quality: u8) -> Command {
        one(node(&self.home), photo, out, side, quality)
    }

    pub(crate) fn pillow_process(&self, photo: &Path, out: &Path, side: u16, quality: u8) -> Command {
        one(python(&self.home), photo, out, side, quality)
    }
}

fn node(home: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg(Path::new(SCRIPTS).join("sharp.cjs"));
    command.env("NODE_PATH", home.join("node/node_modules"));
    command.env("VIPS_CONCURRENCY", "1").env("UV_THREADPOOL_SIZE", "1");
    command
}

fn python(home: &Path) -> Command {
    let mut command = Command::new(home.join("venv/bin/python"));
    command.arg(Path::new(SCRIPTS).join("pillow.py"));
    command
}

fn one(mut command: Command, photo: &Path, out: &Path, side: u16, quality: u8) -> Command {
    command.arg(photo).arg(out).arg(side.to_string()).arg(quality.to_string());
    command
}

fn first_line(program: &str, question: &str) -> Result<String, Error> {
    let output = Command::new(program).arg(question).output().map_err(Error::system(program))?;
    let words = String::from_utf8_lossy(&output.stdout);
    match words.lines().next() {
        Some(line) if output.status.success() => Ok(line.trim_start_matches("Version: ").to_owned()),
        _ => Err(Error::Peer(format!("{program} does not print its version"))),
    }
}

/// A peer process that answers one line of JSON with another.
pub(crate) struct Warm {
    name: &'static str,
    process: RefCell<Process>,
}

struct Process {
    child: Child,
    /// Dropped to stop the peer, which exits at end of input.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) cpu: Duration,
    pub(crate) bytes: u64,
    pub(crate) version: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Done { cpu_us: f64, bytes: u64, version: String },
    Failed { error: String },
}

impl Warm {
    fn start(name: &'static str, mut command: Command) -> Result<Self, Error> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(Error::system(name))?;
        let questions = child.stdin.take();
        let answers = child.stdout.take().ok_or_else(|| Error::Peer(format!("{name} has no output")))?;
        Ok(Self {
            name,
            process: RefCell::new(Process { child, questions, answers: BufReader::new(answers) }),
        })
    }

    pub(crate) fn ask(&self, job: &Value) -> Result<Answer, Error> {
        let mut process = self.process.borrow_mut();
        let mut line = String::new();
        let asked = process.questions.as_mut().map_or(Ok(()), |questions| writeln!(questions, "{job}"));
        asked.and_then(|()| process.answers.read_line(&mut line)).map_err(Error::system(self.name))?;
        match serde_json::from_str(&line) {
            Ok(Line::Done { cpu_us, bytes, version }) => {
                Ok(Answer { cpu: Duration::from_secs_f64(cpu_us / 1e6), bytes, version })
            }
            Ok(Line::Failed { error }) => Err(Error::Peer(format!("{} failed at {job}: {error}", self.name))),
            Err(_) => Err(Error::Peer(format!("{} ended instead of answering {job}", self.name))),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.questions.take());
        if let Err(error) = self.child.wait() {
            eprintln!("bench: a peer did not end: {error}");
        }
    }
}
