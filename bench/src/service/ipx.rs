//! A peer: ipx, which makes pictures with sharp and keeps none.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::process::{Server, free_address};
use super::wire::get;
use crate::error::{Error, read};

pub(super) struct Ipx {
    pub(super) server: Server,
    quality: u8,
}

impl Ipx {
    pub(super) fn start(
        bench: &Bench,
        core: Option<usize>,
        photos: &Path,
        quality: u8,
    ) -> Result<Self, Error> {
        let address = free_address()?;
        let mut command = Command::new("node");
        command.env("NODE_ENV", "production");
        command
            .arg(bench.home.join("node/node_modules/ipx/bin/ipx.mjs"))
            .arg("serve")
            .arg("--dir")
            .arg(photos);
        command.args(["--host", "127.0.0.1", "--port", &address.port().to_string()]);
        let mut server = Server::start("ipx", &command, address, core, &bench.logs())?;
        // It has no address for that; a small picture will do.
        server.ready("/s_8x8/1mp.jpg")?;
        Ok(Self { server, quality })
    }

    pub(super) fn read(&self, photo: &str) -> Vec<u8> {
        let path = format!("/s_512x512,fit_cover,q_{},f_jpeg/{photo}", self.quality);
        get(self.server.address, &path, &[])
    }
}

pub(super) fn version(bench: &Bench) -> Result<String, Error> {
    let of = |name: &str| {
        let package = read(&bench.home.join("node/node_modules").join(name).join("package.json"))?;
        let package: serde_json::Value = serde_json::from_slice(&package).map_err(Error::measure)?;
        Ok::<_, Error>(package["version"].as_str().unwrap_or("unknown").to_owned())
    };
    Ok(format!("{} with sharp {}", of("ipx")?, of("sharp")?))
}
