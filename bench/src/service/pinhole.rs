//! The service under test: the dist build, as packages ship it, on a data folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use model::Token;

use super::Bench;
use super::process::{Server, free_address};
use super::wire::{form, get, request};
use crate::error::{Error, read};

/// The password of the user that logs in.
const PASSWORD: &str = "correct horse battery";

pub(super) struct Pinhole {
    pub(super) server: Server,
    /// From the start of the process to the first answer of `/readyz`.
    pub(super) ready_after: Duration,
}

/// Builds it as packages do.
pub(super) fn build() -> Result<PathBuf, Error> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--profile", "dist", "--locked", "--package", "server"]).current_dir(&root);
    match command.status().map_err(Error::system("cargo"))?.success() {
        true => Ok(root.join("target/dist/pinhole")),
        false => Err(Error::measure("the service could not be built")),
    }
}

/// The binary under test, without the `PINHOLE_*` variables of the environment.
pub(super) fn command(bench: &Bench) -> Command {
    let mut command = bench.program(&bench.binary);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PINHOLE_") {
            command.env_remove(name);
        }
    }
    command
}

impl Pinhole {
    /// Default settings, except that the rate limits are off and, as with the peers, requests are not logged.
    pub(super) fn start(
        bench: &Bench,
        folder: &Path,
        core: Option<usize>,
        flags: &[&str],
    ) -> Result<Self, Error> {
        Self::start_as("pinhole", bench, folder, core, flags)
    }

    /// One of several, with a log of its own.
    pub(super) fn start_as(
        name: &str,
        bench: &Bench,
        folder: &Path,
        core: Option<usize>,
        flags: &[&str],
    ) -> Result<Self, Error> {
        let address = free_address()?;
        let mut command = command(bench);
        command.args(["serve", "--rate-limits", "off", "--log", "warn", "--listen", &address.to_string()]);
        command.arg("--data-dir").arg(folder).args(flags);
        let mut server = Server::start(name, &command, address, core, &bench.logs())?;
        let ready_after = server.ready("/readyz")?;
        Ok(Self { server, ready_after })
    }

    /// A GET request, signed in or anonymous.
    pub(super) fn read(&self, path: &str, user: Option<u64>) -> Vec<u8> {
        let bearer = user.map(bearer);
        let headers: Vec<(&str, &str)> =
            bearer.iter().map(|value| ("authorization", value.as_str())).collect();
        get(self.server.address, path, &headers)
    }

    pub(super) fn like(&self, user: u64, post: u64) -> Vec<u8> {
        let path = format!("/posts/{post}/likes");
        request("POST", self.server.address, &path, &[("authorization", &bearer(user))], None)
    }

    /// A post with this photo, as a form.
    pub(super) fn upload(&self, user: u64, photo: &Path) -> Result<Vec<u8>, Error> {
        let (kind, form) = form("photo", &read(photo)?);
        let headers = [("authorization", &*bearer(user))];
        Ok(request("POST", self.server.address, "/posts", &headers, Some((&kind, &form))))
    }

    /// Uploads a photo and says under which id it is served.
    pub(super) fn photo(&self, user: u64, photo: &Path) -> Result<String, Error> {
        let post = self.server.client()?.ask(&self.upload(user, photo)?)?.success()?.json()?;
        let id = post["photo"]["id"].as_str();
        id.map(str::to_owned).ok_or_else(|| Error::measure(format!("a post has no photo: {post}")))
    }

    /// Joins a user and returns the request that logs in.
    pub(super) fn login(&self, username: &str) -> Result<Vec<u8>, Error> {
        let form = format!("username={username}&password={}", PASSWORD.replace(' ', "+"));
        let ask = |path| {
            let body = Some(("application/x-www-form-urlencoded", form.as_bytes()));
            request("POST", self.server.address, path, &[], body)
        };
        self.server.client()?.ask(&ask("/join/username"))?.success()?;
        Ok(ask("/login/username"))
    }

    /// The paths of the pages from the second to this one, as `paging.next` leads to them.
    pub(super) fn page_paths(&self, pages: usize, user: Option<u64>) -> Result<Vec<String>, Error> {
        let mut client = self.server.client()?;
        let mut paths = vec!["/feed".to_owned()];
        while paths.len() < pages {
            let path = paths.last().map_or("/feed", String::as_str);
            let page = client.ask(&self.read(path, user))?.success()?.json()?;
            let next =
                page["paging"]["next"].as_str().and_then(|next| next.find("/feed").map(|at| &next[at..]));
            match next {
                Some(next) => paths.push(next.to_owned()),
                None => break,
            }
        }
        Ok(paths.split_off(1))
    }
}

/// The session token that `fill` stores for a user.
pub(super) fn token(user: u64) -> Token {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&user.to_be_bytes());
    Token::new(bytes)
}

pub(super) fn bearer(user: u64) -> String {
    format!("Bearer {}", token(user).reveal())
}
