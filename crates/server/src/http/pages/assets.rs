//! The web client's scripts, style sheet and icons, embedded in the binary. Their URLs carry a digest of all
//! files, so browsers cache them as immutable and never mix two versions. Scripts import each other by
//! relative URL.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use app::Instance;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use sha2::{Digest, Sha256};

use super::locale::Locale;
use super::response::{Coding, gzip, text_response};
use crate::links;

const IMMUTABLE: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../../../../../web/", $path)))),*]
    };
}

/// Concatenated in this order into `style.css`.
const STYLES: &[(&str, &[u8])] = embedded![
    "style/tokens.css",
    "style/page.css",
    "style/post.css",
    "style/profile.css",
    "style/forms.css",
    "style/settings.css"
];

const SCRIPTS: &[(&str, &[u8])] = embedded![
    "script/account-data.js",
    "script/admin.js",
    "script/api.js",
    "script/auth-form.js",
    "script/avatar.js",
    "script/compose.js",
    "script/drafts.js",
    "script/focus-picker.js",
    "script/feed.js",
    "script/fields.js",
    "script/i18n.js",
    "script/infinite-scroll.js",
    "script/like.js",
    "script/lightbox.js",
    "script/likers.js",
    "script/main.js",
    "script/network.js",
    "script/new-posts.js",
    "script/offline-cache.js",
    "script/own-profile.js",
    "script/part.js",
    "script/photo-file.js",
    "script/post-menu.js",
    "script/post-list.js",
    "script/post.js",
    "script/preferences.js",
    "script/profile.js",
    "script/profile-menu.js",
    "script/safety.js",
    "script/settings.js",
    "script/share.js",
    "script/sheet.js",
    "script/tag.js",
    "script/time.js",
    "script/toast.js",
    "script/trusted.js",
    "script/upload.js",
];

const ICONS: &[(&str, &[u8])] = embedded![
    "icons/icon.svg",
    "icons/icon-180.png",
    "icons/icon-192.png",
    "icons/icon-512.png",
    "icons/icon-maskable-512.png",
];

const FONTS: &[(&str, &[u8])] = embedded!["fonts/bricolage-grotesque.woff2"];

/// The entry module that every page loads.
const COMMON_MODULE: &str = "main.js";

/// Served at `/sw.js`, not below the versioned path: a service worker controls only pages below its own URL.
const SERVICE_WORKER: &str = include_str!("../../../../../web/script/sw.js");

pub(crate) struct Assets {
    version: String,
    assets: Vec<Asset>,
    /// By entry module: the modules to preload, the entry and its transitive imports.
    modules: BTreeMap<&'static str, Vec<&'static str>>,
}

struct Asset {
    name: String,
    media_type: &'static str,
    bytes: Bytes,
    gzipped: Option<Bytes>,
}

impl Assets {
    pub(crate) fn new() -> Self {
        let style: String = STYLES.iter().map(|(_, css)| without_comments(css)).collect();
        let scripts = SCRIPTS.iter().map(|(path, script)| Asset::new(path, without_comments(script).into()));
        let messages = Locale::all().iter().map(|locale| {
            let script = format!("self.messages = {};\n", locale.script_messages_json());
            Asset::new(&messages_file(&locale.tag), script.into())
        });
        let others = ICONS.iter().chain(FONTS).map(|(path, file)| Asset::new(path, Bytes::from_static(file)));
        let assets: Vec<Asset> = std::iter::once(Asset::new("style.css", style.into()))
            .chain(scripts)
            .chain(messages)
            .chain(others)
            .collect();
        let mut digest = Sha256::new();
        for asset in &assets {
            digest.update(&asset.name);
            digest.update(&asset.bytes);
        }
        digest.update(SERVICE_WORKER);
        let version = hex(&digest.finalize()[..6]);
        let entries = SCRIPTS.iter().map(|(path, _)| base_name(path));
        Self { version, assets, modules: entries.map(|entry| (entry, transitive_imports(entry))).collect() }
    }

    /// The service worker's source with this version, its asset URLs and its import paths filled in. The
    /// version changes with the look of the instance, so that browsers replace the offline page.
    pub(super) fn service_worker(&self, instance: &Instance) -> String {
        let own = self.assets.iter().map(|asset| format!("{self}/{}", asset.name));
        let logo = instance.logo.as_ref().map(|logo| links::icon(logo, links::LOGO_SIDE));
        let accent =
            instance.accent.as_deref().map(|accent| format!("/accent.css?{}", links::accent_query(accent)));
        let urls: Vec<String> = own.chain(logo).chain(accent).map(|url| format!("\"{url}\"")).collect();
        let look = Sha256::new().chain_update(instance.name()).chain_update(urls.concat()).finalize();
        let look = hex(&look[..6]);
        without_comments(SERVICE_WORKER.as_bytes())
            .replace("{version}", &format!("{}-{look}", self.version))
            .replace("{files}", &format!("[{}]", urls.join(",")))
            .replace("from \"./", &format!("from \"{self}/"))
    }

    /// The modules that a page preloads: the common module, its entry module and their transitive imports.
    pub(super) fn modules(&self, entry: Option<&'static str>) -> &[&'static str] {
        self.modules.get(entry.unwrap_or(COMMON_MODULE)).map_or(&[], Vec::as_slice)
    }
}

/// A script or style without its comments, which are a quarter of the compressed bytes: lines that are
/// comments, and casts such as `/** @type {Element} */`. A comment behind code stays.
fn without_comments(source: &[u8]) -> String {
    let mut text = String::with_capacity(source.len());
    let mut is_comment = false;
    for line in str::from_utf8(source).unwrap_or_default().lines() {
        let trimmed = line.trim();
        let starts =
            trimmed.starts_with("/*") && trimmed.find("*/").is_none_or(|end| end + 2 == trimmed.len());
        if !(is_comment || starts || trimmed.is_empty() || trimmed.starts_with("//")) {
            text.push_str(&without_casts(line));
            text.push('\n');
        }
        is_comment = (is_comment || starts) && !trimmed.ends_with("*/");
    }
    text
}

fn without_casts(line: &str) -> String {
    let mut pieces = line.split("/** @type ");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once("*/").map_or("", |(_, code)| code.trim_start()))
}

/// Follows the import statements of the common module and of `entry`, breadth first.
fn transitive_imports(entry: &'static str) -> Vec<&'static str> {
    let mut modules = vec![COMMON_MODULE];
    modules.extend((entry != COMMON_MODULE).then_some(entry));
    let mut next = 0;
    while let Some(name) = modules.get(next) {
        next += 1;
        let source = SCRIPTS.iter().find(|(path, _)| base_name(path) == *name).map(|(_, source)| *source);
        let source = source.and_then(|source| std::str::from_utf8(source).ok()).unwrap_or_default();
        for name in SCRIPTS.iter().map(|(path, _)| base_name(path)) {
            if source.contains(&format!("\"./{name}\";")) && !modules.contains(&name) {
                modules.push(name);
            }
        }
    }
    modules
}

/// The URL path of this version's folder.
impl fmt::Display for Assets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/web/{}", self.version)
    }
}

/// The file with the messages that scripts show, in a language.
pub(super) fn messages_file(tag: &str) -> String {
    format!("messages.{tag}.js")
}

impl Asset {
    fn new(path: &str, bytes: Bytes) -> Self {
        let name = base_name(path);
        let (media_type, is_text) = match name.rsplit('.').next() {
            Some("css") => ("text/css; charset=utf-8", true),
            Some("js") => ("text/javascript; charset=utf-8", true),
            Some("svg") => ("image/svg+xml", true),
            Some("woff2") => ("font/woff2", false),
            _ => ("image/png", false),
        };
        let gzipped = is_text.then(|| gzip(&bytes, Compression::best()).ok()).flatten();
        Self { name: name.to_owned(), media_type, bytes, gzipped }
    }
}

impl Asset {
    fn respond(&self, accepts_gzip: bool) -> Response {
        let gzipped = self.gzipped.as_ref().filter(|_| accepts_gzip);
        let body = gzipped.unwrap_or(&self.bytes).clone();
        let coding = if gzipped.is_some() { Coding::Gzip } else { Coding::Identity };
        let mut response = text_response(self.media_type, body, coding);
        // An SVG opened as a document of its own must not run scripts.
        let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        response
    }
}

impl Assets {
    /// An asset of this version. Other versions are not found: a page that asks for one has to be reloaded.
    pub(super) fn versioned(&self, version: &str, name: &str, accepts_gzip: bool) -> Option<Response> {
        let mut response = self.by_name(name, accepts_gzip).filter(|_| self.version == version)?;
        response.headers_mut().insert(CACHE_CONTROL, IMMUTABLE);
        Some(response)
    }

    pub(super) fn by_name(&self, name: &str, accepts_gzip: bool) -> Option<Response> {
        self.assets.iter().find(|asset| asset.name == name).map(|asset| asset.respond(accepts_gzip))
    }
}

fn hex(digest: &[u8]) -> String {
    digest.iter().fold(String::new(), |mut version, byte| {
        write!(version, "{byte:02x}").expect("writing to a String cannot fail");
        version
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;

    #[test]
    fn every_file_of_the_web_client_is_embedded() {
        let web = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web");
        let embedded: BTreeSet<String> = STYLES
            .iter()
            .chain(SCRIPTS)
            .chain(ICONS)
            .chain(FONTS)
            .map(|(path, _)| (*path).to_owned())
            .chain(["script/sw.js".to_owned()])
            .collect();
        let on_disk = ["style", "script", "icons", "fonts"].iter().flat_map(|folder| {
            fs::read_dir(format!("{web}/{folder}"))
                .unwrap()
                .map(move |entry| format!("{folder}/{}", entry.unwrap().file_name().to_str().unwrap()))
        });
        assert_eq!(
            on_disk.filter(|path| !path.ends_with(".md") && !path.ends_with(".txt")).collect::<BTreeSet<_>>(),
            embedded
        );
    }

    #[test]
    fn a_page_preloads_its_entry_module_and_all_transitive_imports() {
        let assets = Assets::new();
        let modules = assets.modules(Some("feed.js"));
        for name in ["main.js", "feed.js", "infinite-scroll.js", "i18n.js", "part.js", "drafts.js"] {
            assert!(modules.contains(&name), "expected {name} in {modules:?}");
        }
        assert!(!modules.contains(&"compose.js"), "compose.js is not imported by feed.js: {modules:?}");
    }

    #[test]
    fn comments_are_not_served() {
        let source =
            "// One.\n/** Two.\n * three */\nlet a = /** @type {B} */ (b); // four\n\n  /* Five. */\nf();\n";
        assert_eq!(without_comments(source.as_bytes()), "let a = (b); // four\nf();\n");
    }

    /// With the service worker they have 45 KB (`e2e/browser/budgets.test.js`), and the messages come on top.
    #[test]
    fn scripts_and_styles_of_members_stay_below_43_kb_gzipped() {
        let assets = Assets::new()
            .assets
            .into_iter()
            .filter(|asset| asset.name != "admin.js" && !asset.name.starts_with("messages."));
        let gzipped: usize = assets.filter_map(|asset| asset.gzipped).map(|bytes| bytes.len()).sum();
        assert!(gzipped < 43_000, "expected less than 43 KB, got {gzipped} bytes");
    }
}
