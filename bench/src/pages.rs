//! How fast the web client is for a phone on a slow network, by Lighthouse.

use std::path::Path;
use std::process::Command;

use crate::error::Error;

pub(crate) fn run() -> Result<(), Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut build = Command::new("cargo");
    build.args(["build", "--profile", "dist", "--locked", "--package", "server"]).current_dir(&root);
    finish(build, "building the service")?;
    let mut browser = Command::new(root.join("scripts/browser"));
    browser.arg("--performance").env("PINHOLE_BIN", root.join("target/dist/pinhole")).current_dir(&root);
    finish(browser, "scripts/browser --performance")
}

fn finish(mut command: Command, what: &str) -> Result<(), Error> {
    let status = command.status().map_err(Error::system(what))?;
    if status.success() { Ok(()) } else { Err(Error::Peer(format!("{what} failed: {status}"))) }
}
