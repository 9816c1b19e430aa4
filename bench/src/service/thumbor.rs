//! A peer: thumbor, which makes pictures of any size from files, and stores the results if configured.

use std::path::Path;
use std::process::Command;

use super::Bench;
use super::process::{Server, free_address};
use super::wire::get;
use crate::error::{Error, write};

pub(super) struct Thumbor {
    pub(super) server: Server,
}

impl Thumbor {
    pub(super) fn start(
        bench: &Bench,
        core: Option<usize>,
        photos: &Path,
        quality: u8,
        result_storage: bool,
    ) -> Result<Self, Error> {
        let name = if result_storage { "thumbor-stored" } else { "thumbor" };
        let folder = bench.fresh(name)?;
        let storage = match result_storage {
            true => format!(
                "RESULT_STORAGE = 'thumbor.result_storages.file_storage'\nRESULT_STORAGE_STORES_UNSAFE = True\n\
                 RESULT_STORAGE_FILE_STORAGE_ROOT_PATH = '{}'\n",
                folder.join("results").display()
            ),
            false => "RESULT_STORAGE = None\n".into(),
        };
        let config = folder.join("thumbor.conf");
        let text = format!(
            "LOADER = 'thumbor.loaders.file_loader'\nFILE_LOADER_ROOT_PATH = '{}'\n\
             STORAGE = 'thumbor.storages.no_storage'\nALLOW_UNSAFE_URL = True\nQUALITY = {quality}\n\
             PROGRESSIVE_JPEG = False\n{storage}",
            photos.display()
        );
        write(&config, text)?;
        let address = free_address()?;
        let mut command = Command::new(bench.home.join("venv/bin/thumbor"));
        command.args(["--ip", "127.0.0.1", "--port", &address.port().to_string(), "--conf"]).arg(&config);
        let mut server = Server::start(name, &command, address, core, &bench.logs())?;
        server.ready("/healthcheck")?;
        Ok(Self { server })
    }

    pub(super) fn read(&self, photo: &str) -> Vec<u8> {
        get(self.server.address, &format!("/unsafe/512x512/{photo}"), &[])
    }
}

pub(super) fn version(bench: &Bench) -> Result<String, Error> {
    let program = bench.home.join("venv/bin/thumbor");
    let output = Command::new(program).arg("--version").output().map_err(Error::system("thumbor"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
