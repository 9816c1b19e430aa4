//! The files of the web client, inside the binary. Their address carries a digest of them all, so that a
//! browser may keep them for ever and never mixes two versions; scripts find each other beside themselves.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use sha2::{Digest, Sha256};

use super::response::{pack, packed_text};

const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../../web/", $path)))),*]
    };
}

/// In the order in which the style sheet is put together.
const STYLES: &[(&str, &[u8])] =
    embedded!["style/tokens.css", "style/page.css", "style/post.css", "style/person.css", "style/forms.css"];

const SCRIPTS: &[(&str, &[u8])] = embedded![
    "script/api.js",
    "script/card.js",
    "script/compose.js",
    "script/drafts.js",
    "script/enter.js",
    "script/feed.js",
    "script/kept.js",
    "script/like.js",
    "script/list.js",
    "script/main.js",
    "script/menu.js",
    "script/person.js",
    "script/post.js",
    "script/profile.js",
    "script/thumbhash.js",
    "script/time.js",
    "script/toast.js",
    "script/upload.js",
    "script/words.js",
];

const PICTURES: &[(&str, &[u8])] = embedded![
    "icons/icon.svg",
    "icons/icon-180.png",
    "icons/icon-192.png",
    "icons/icon-512.png",
    "icons/icon-maskable-512.png",
];

/// The script that every page has.
const SHARED: &str = "main.js";

/// Served at the root of the site, not here.
const WORKER: &str = include_str!("../../../../../web/script/sw.js");

pub(crate) struct Assets {
    version: String,
    files: Vec<File>,
    /// For each script, all that a page with it asks for.
    modules: BTreeMap<&'static str, Vec<&'static str>>,
}

struct File {
    name: &'static str,
    media_type: &'static str,
    plain: Bytes,
    packed: Option<Bytes>,
}

impl Assets {
    pub(crate) fn new() -> Self {
        let style: Vec<u8> = STYLES.iter().flat_map(|(_, css)| css.iter()).copied().collect();
        let others = SCRIPTS.iter().chain(PICTURES);
        let files: Vec<File> = std::iter::once(File::new("style.css", Bytes::from(style)))
            .chain(others.map(|(path, bytes)| File::new(path, Bytes::from_static(bytes))))
            .collect();
        let mut digest = Sha256::new();
        for file in &files {
            digest.update(file.name);
            digest.update(&file.plain);
        }
        digest.update(WORKER);
        let version = digest.finalize().iter().take(6).fold(String::new(), |mut version, byte| {
            write!(version, "{byte:02x}").expect("a string takes what is written to it");
            version
        });
        let names = SCRIPTS.iter().map(|(path, _)| base_name(path));
        Self { version, files, modules: names.map(|own| (own, modules(own))).collect() }
    }

    /// The service worker, told what this version is made of.
    pub(super) fn worker(&self) -> String {
        let files: Vec<String> = self.files.iter().map(|file| format!("\"{self}/{}\"", file.name)).collect();
        WORKER
            .replace("{version}", &self.version)
            .replace("{files}", &format!("[{}]", files.join(",")))
            .replace("from \"./", &format!("from \"{self}/"))
    }

    /// The scripts a page needs: those every page has, its own, and all they import.
    pub(super) fn modules(&self, own: Option<&'static str>) -> &[&'static str] {
        self.modules.get(own.unwrap_or(SHARED)).map_or(&[], Vec::as_slice)
    }
}

/// Walks from script to script by their imports.
fn modules(own: &'static str) -> Vec<&'static str> {
    let mut wanted = vec![SHARED];
    wanted.extend((own != SHARED).then_some(own));
    let mut next = 0;
    while let Some(name) = wanted.get(next) {
        next += 1;
        let source = SCRIPTS.iter().find(|(path, _)| base_name(path) == *name).map(|(_, source)| *source);
        let source = source.and_then(|source| std::str::from_utf8(source).ok()).unwrap_or_default();
        for name in SCRIPTS.iter().map(|(path, _)| base_name(path)) {
            if source.contains(&format!("\"./{name}\";")) && !wanted.contains(&name) {
                wanted.push(name);
            }
        }
    }
    wanted
}

/// The address they are at.
impl fmt::Display for Assets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/web/{}", self.version)
    }
}

impl File {
    fn new(path: &'static str, plain: Bytes) -> Self {
        let name = base_name(path);
        let (media_type, is_text) = match name.rsplit('.').next() {
            Some("css") => ("text/css; charset=utf-8", true),
            Some("js") => ("text/javascript; charset=utf-8", true),
            Some("svg") => ("image/svg+xml", true),
            _ => ("image/png", false),
        };
        let packed = is_text.then(|| pack(&plain, Compression::best()).ok()).flatten();
        Self { name, media_type, plain, packed }
    }
}

impl File {
    fn respond(&self, gzip: bool) -> Response {
        let packed = self.packed.as_ref().filter(|_| gzip);
        let body = packed.unwrap_or(&self.plain).clone();
        let mut response = packed_text(self.media_type, body, packed.is_some());
        // A picture made of markup must not run anything when it is opened by itself.
        let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        response
    }
}

impl Assets {
    /// A file of this version. Pages of another version must be reloaded, so its files are not found.
    pub(super) fn versioned(&self, version: &str, name: &str, gzip: bool) -> Option<Response> {
        let mut response = self.by_name(name, gzip).filter(|_| self.version == version)?;
        response.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
        Some(response)
    }

    pub(super) fn by_name(&self, name: &str, gzip: bool) -> Option<Response> {
        self.files.iter().find(|file| file.name == name).map(|file| file.respond(gzip))
    }
}

fn base_name(path: &'static str) -> &'static str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_the_web_client_is_served() {
        let web = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web");
        let known: BTreeSet<String> = STYLES
            .iter()
            .chain(SCRIPTS)
            .chain(PICTURES)
            .map(|(path, _)| (*path).to_owned())
            .chain(["script/sw.js".to_owned()])
            .collect();
        let found = ["style", "script", "icons"].iter().flat_map(|folder| {
            fs::read_dir(format!("{web}/{folder}"))
                .unwrap()
                .map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()))
        });
        assert_eq!(found.filter(|path| !path.ends_with(".md")).collect::<BTreeSet<_>>(), known);
    }

    #[test]
    fn a_page_knows_all_of_its_scripts() {
        let assets = Assets::new();
        let modules = assets.modules(Some("feed.js"));
        for name in ["main.js", "feed.js", "list.js", "words.js", "thumbhash.js", "drafts.js"] {
            assert!(modules.contains(&name), "{name} is missing from {modules:?}");
        }
        assert!(!modules.contains(&"compose.js"));
    }

    #[test]
    fn scripts_and_styles_stay_small() {
        let packed: usize =
            Assets::new().files.iter().filter_map(|file| file.packed.as_ref()).map(Bytes::len).sum();
        assert!(packed < 30 * 1024, "{packed} bytes");
    }
}
