//! A peer: pict-rs, which takes uploads, has ImageMagick make any size of them, and keeps what was made.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::Bench;
use super::load::Requests;
use super::process::{Server, free_address};
use super::wire::{form, get, request};
use crate::engine::{SIDE, is_square};
use crate::error::{Error, read, write};

pub(super) struct PictRs {
    pub(super) server: Server,
}

impl PictRs {
    /// Default settings: files and sled. Requests are not logged by default.
    pub(super) fn start(bench: &Bench, core: Option<usize>, quality: u8) -> Result<Self, Error> {
        let folder = bench.fresh("pict-rs")?;
        let address = free_address()?;
        let config = folder.join("pict-rs.toml");
        let home = folder.display();
        let text = format!(
            "[server]\naddress = '{address}'\ntemporary_directory = '{home}/temporary'\n\
             [tracing.logging]\ntargets = 'warn'\nno_ansi = true\n\
             [media.image.quality]\njpeg = {quality}\n\
             [repo]\ntype = 'sled'\npath = '{home}/sled'\nexport_path = '{home}/exports'\n\
             [store]\ntype = 'filesystem'\npath = '{home}/files'\n"
        );
        write(&config, text)?;
        let mut command = Command::new(bench.home.join("pict-rs/bin/pict-rs"));
        command.arg("--config-file").arg(&config).arg("run");
        command.env("PATH", path(bench)?).env("MAGICK_THREAD_LIMIT", "1");
        // Environment variables take precedence over the file.
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PICTRS_") || name == "RUST_LOG" {
                command.env_remove(name);
            }
        }
        let mut server = Server::start("pict-rs", &command, address, core, &bench.logs())?;
        server.ready("/healthz")?;
        Ok(Self { server })
    }

    /// Uploads a photo and says under which name it is served.
    pub(super) fn upload(&self, photo: &Path) -> Result<String, Error> {
        let (kind, form) = form("images[]", &read(photo)?);
        let request = request("POST", self.server.address, "/image", &[], Some((&kind, &form)));
        let answer = self.server.client()?.ask(&request)?.success()?.json()?;
        let name = answer["files"][0]["file"].as_str();
        name.map(str::to_owned).ok_or_else(|| Error::measure(format!("pict-rs names no file: {answer}")))
    }

    /// Always the same square.
    pub(super) fn read(&self, name: &str) -> Vec<u8> {
        get(self.server.address, &square(name), &[])
    }

    /// Squares of these photos in turn, none of which was asked for before.
    pub(super) fn read_new(&self, names: &[String]) -> Arc<Requests> {
        let address = self.server.address;
        let squares: Vec<String> = names.iter().map(|name| square(name)).collect();
        Requests::new(move |number, out| {
            let square = &squares[number as usize % squares.len()];
            out.extend(get(address, &again(square, number + 1), &[]));
        })
    }

    /// Requests a square by both URLs and checks its size: the figures count only if all peers make the same
    /// picture.
    pub(super) fn check(&self, name: &str) -> Result<(), Error> {
        let mut client = self.server.client()?;
        let cached = client.ask(&self.read(name))?.success()?.body;
        let rendered = client.get(&again(&square(name), 0), &[])?.success()?.body;
        match is_square(&cached, SIDE)? && rendered == cached {
            true => Ok(()),
            false => Err(Error::measure("pict-rs makes other pictures than the squares it was asked for")),
        }
    }
}

/// The path of a square: the middle of the photo, made smaller.
fn square(name: &str) -> String {
    format!("/image/process.jpg?src={name}&crop=1x1&resize={SIDE}")
}

/// The same square by another URL. The second resize changes nothing, but pict-rs caches by the text of the
/// URL and renders again.
fn again(square: &str, number: u64) -> String {
    format!("{square}&resize={}", u64::from(SIDE) + number)
}

/// With the folder in front where `magick` is put for machines that have none.
fn path(bench: &Bench) -> Result<OsString, Error> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = bench.home.join("pict-rs/bin");
    std::env::join_paths(std::iter::once(own).chain(std::env::split_paths(&path))).map_err(Error::measure)
}

pub(super) fn version(bench: &Bench) -> Result<String, Error> {
    let of = |program: &Path, question: &[&str]| {
        let output = Command::new(program).args(question).env("PATH", path(bench)?).output();
        let output = output.map_err(Error::system(program.display()))?;
        // The name and the version are the first two words.
        let words = String::from_utf8_lossy(&output.stdout).replace("Version: ", "");
        Ok::<_, Error>(words.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    };
    let pict_rs = of(&bench.home.join("pict-rs/bin/pict-rs"), &["--version"])?;
    Ok(format!("{pict_rs} with {}", of(Path::new("magick"), &["convert", "-version"])?))
}
