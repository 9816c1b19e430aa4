//! Archive file arguments: a path, or `-` for standard input or output.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use ops::{Manifest, count, size};

/// The exit code of a backup or a restore that met damage and went on.
pub(super) const INCOMPLETE: u8 = 3;

#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {cause}\nCheck that it exists, and that this user may read it.", path.display())]
pub(super) struct UnreadableArchive {
    path: PathBuf,
    cause: io::Error,
}

pub(super) fn open(file: &Path) -> Result<Box<dyn Read + Send>, UnreadableArchive> {
    if is_stdio(file) {
        return Ok(Box::new(io::stdin()));
    }
    let opened = File::open(file).map_err(|cause| UnreadableArchive { path: file.to_owned(), cause })?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, opened)))
}

pub(super) fn is_stdio(file: &Path) -> bool {
    file == Path::new("-")
}

pub(super) fn summary(manifest: &Manifest) -> String {
    let rows = |table: &str| manifest.rows.get(table).copied().unwrap_or_default();
    format!(
        "{}, {}, {} and {} ({}) as of {}",
        count(rows("users"), "user"),
        count(rows("posts"), "post"),
        count(rows("likes"), "like"),
        count(manifest.photos, "photo"),
        size(manifest.bytes),
        manifest.made_at
    )
}

/// What an archive lacks because the instance had lost it before the backup.
pub(super) fn lost_before(manifest: &Manifest) -> Option<String> {
    let photos = count(manifest.missing.len() as u64, "photo");
    let lost = (!manifest.missing.is_empty()).then_some(photos)?;
    let with = match &manifest.missing_posts[..] {
        [] => String::new(),
        ids => format!(", and so {}", posts(ids)),
    };
    Some(format!("{lost} had no intact file when the backup was made{with}; `manifest.json` lists them"))
}

/// The first posts by their ids.
pub(super) fn posts(ids: &[i64]) -> String {
    const MAX_LISTED: usize = 20;
    let listed: Vec<String> = ids.iter().take(MAX_LISTED).map(i64::to_string).collect();
    let more = match ids.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and {more} more, listed in `manifest.json`"),
    };
    format!("{} {}{more}", if ids.len() == 1 { "post" } else { "posts" }, listed.join(", "))
}
