//! Backups, restores and moves, as the command line asks for them. What they have to say goes to stderr: the output
//! may be an archive.

mod target;

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use app::{Account, BucketUrl, DatabaseUrl, OpenError};
use model::Clock;
use ops::{
    ArchiveError, Destination, Error, Instance, InstanceLocation, Manifest, MigrateReport, Mode, Progress,
    StorageLocation, count, size,
};

use crate::cli::Step;
use crate::config::Config;
use crate::progress::Shown;

/// Photos that are named one by one.
const NAMED: usize = 20;

/// Why it did not work, in words that say what to do.
#[derive(Debug, thiserror::Error)]
pub enum MovingError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}", target::words(.0))]
    Target(OpenError),
    #[error(transparent)]
    Move(#[from] Error),
    #[error("cannot read {}: {cause}\nSee that it is there, and that this user may read it.", path.display())]
    File { path: PathBuf, cause: io::Error },
    #[error("{} is not a whole backup:\n  {}\nKeep it only if you have no better one.", path.display(), lines(damage))]
    Damaged { path: PathBuf, damage: Vec<ArchiveError> },
    #[error("it was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Where the instance of these settings keeps what it has.
pub(crate) fn places(config: &Config) -> InstanceLocation {
    let folder = || config.data_dir.clone();
    InstanceLocation {
        database: config
            .database_url
            .clone()
            .map_or_else(|| StorageLocation::Folder(folder()), StorageLocation::Url),
        blobs: config
            .blobs_url
            .clone()
            .map_or_else(|| StorageLocation::Folder(folder()), StorageLocation::Url),
        account: Account::from_variables(std::env::vars_os()),
    }
}

pub async fn back_up(
    config: &Config,
    file: &Path,
    force: bool,
    skip_missing: bool,
) -> Result<(), MovingError> {
    let instance = Instance::open_read_only(&places(config)).await?;
    let to =
        if is_pipe(file) { Destination::Stdout } else { Destination::File { path: file.to_owned(), force } };
    let shown = Arc::new(Shown::new());
    let written = instance.back_up(to, skip_missing, Clock::system().now(), shown.clone()).await;
    shown.end();
    let manifest = written?;
    for (photos, why) in [
        (&manifest.deleted_meanwhile, "was deleted while the backup was written, and is not in it"),
        (&manifest.missing, "has no bytes, and is not in the backup"),
    ] {
        for photo in photos.iter().take(NAMED) {
            shown.note(&format!("photo {photo} {why}"));
        }
        if photos.len() > NAMED {
            shown.note(&format!("and {} more, which the file `manifest.json` names", photos.len() - NAMED));
        }
    }
    shown.note(&format!("{}: {}", file.display(), holdings(&manifest)));
    Ok(())
}

pub async fn verify_backup(file: &Path) -> Result<(), MovingError> {
    let (from, path) = (reader(file)?, file.to_owned());
    let proven = tokio::task::spawn_blocking(move || {
        let shown = Shown::new();
        let proven = ops::verify(from, &shown);
        shown.end();
        proven
    });
    match proven.await? {
        Ok(manifest) => {
            eprintln!("{}: whole, {}", file.display(), holdings(&manifest));
            Ok(())
        }
        Err(damage) => Err(MovingError::Damaged { path, damage }),
    }
}

pub async fn restore(config: &Config, file: &Path) -> Result<(), MovingError> {
    let from = reader(file)?;
    let instance = Instance::open_exclusive(&places(config)).await?;
    let shown = Arc::new(Shown::new());
    let restored = instance.restore(from, &Clock::system(), shown.clone()).await;
    shown.end();
    let restored = restored?;
    if restored.already_present > 0 {
        shown.note(&format!("{} photos were there from an earlier attempt", restored.already_present));
    }
    shown.note(&format!("restored into {}: {}", places(config).database, holdings(&restored.manifest)));
    Ok(())
}

pub async fn migrate(
    config: &Config,
    to_database: Option<StorageLocation<DatabaseUrl>>,
    to_blobs: Option<StorageLocation<BucketUrl>>,
    step: Step,
) -> Result<(), MovingError> {
    let from_places = places(config);
    let to_places = InstanceLocation {
        database: to_database.unwrap_or_else(|| from_places.database.clone()),
        blobs: to_blobs.unwrap_or_else(|| from_places.blobs.clone()),
        account: from_places.account.clone(),
    };
    to_places.ensure_disjoint(&from_places)?;
    let shown = Arc::new(Shown::new());
    for (way, places) in [("from:", &from_places), ("to:  ", &to_places)] {
        shown.note(&format!("{way} rows in {}, photos in {}", places.database, places.blobs));
    }
    let mode = match step {
        Step::DryRun => return plan(&from_places, &to_places, &shown).await,
        Step::Copy => Mode::Copy,
        Step::Finish => Mode::Finish,
        Step::Verify => Mode::Verify,
    };
    // At the end nothing may be written any more; before that, a look is enough.
    let from = match mode {
        Mode::Finish => Instance::lock(&from_places).await?,
        Mode::Copy | Mode::Verify => Instance::open_read_only(&from_places).await?,
    };
    let to = match mode {
        Mode::Verify => Instance::open_read_only(&to_places).await,
        Mode::Copy | Mode::Finish => Instance::open_exclusive_beside(&to_places, &from_places).await,
    };
    let to = to.map_err(MovingError::Target)?;
    let moved = ops::migrate(&from, &to, mode, &Clock::system(), shown.clone()).await;
    shown.end();
    let moved = moved?;
    match mode {
        Mode::Copy if moved.photos == 0 => {
            shown.note("There are no photos to copy. Stop the service, and run this with --finish.");
        }
        Mode::Copy => {
            shown.note(&format!("{}; those that were there were compared byte by byte", copied(&moved)));
            shown.note("Copy again as often as you like. Then stop the service, and run this with --finish.");
        }
        Mode::Finish => {
            shown.note(&brought(&moved));
            if moved.orphans > 0 {
                shown.note(&format!(
                    "orphans at the destination: {}, deleted perhaps after having been copied; \
                     `pinhole doctor --fix` with the new settings removes what is an hour old.",
                    count(moved.orphans, "photo")
                ));
            }
            shown.note("The old places are as they were. Start the service with these settings:");
            for setting in target::settings(to.location()) {
                shown.note(&format!("  {setting}"));
            }
        }
        Mode::Verify => {
            let MigrateReport { photos, rows, .. } = moved;
            shown.note(&format!(
                "compared: {} and {} are the same in both places",
                count(photos, "photo"),
                count(rows, "row")
            ));
        }
    }
    Ok(())
}

fn copied(moved: &MigrateReport) -> String {
    format!("{} of {} copied ({})", moved.copied, count(moved.photos, "photo"), size(moved.bytes))
}

/// What has moved, without what was not to be moved.
fn brought(moved: &MigrateReport) -> String {
    let rows =
        if moved.rows_already_present { "there already, and the same" } else { "brought in and compared" };
    let rows = (moved.rows > 0).then(|| format!("{} {rows}", count(moved.rows, "row")));
    let photos = (moved.photos > 0).then(|| copied(moved));
    let parts: Vec<String> = [photos, rows].into_iter().flatten().collect();
    if parts.is_empty() { "there is nothing to move".to_owned() } else { parts.join("; ") }
}

async fn plan(from: &InstanceLocation, to: &InstanceLocation, shown: &Shown) -> Result<(), MovingError> {
    let from = Instance::open_read_only(from).await?;
    let to = match Instance::open_read_only(to).await {
        Ok(to) => Some(to),
        Err(OpenError::Missing(_)) => None,
        Err(error) => return Err(MovingError::Target(error)),
    };
    let plan = ops::plan(&from, to.as_ref(), shown).await;
    shown.end();
    let plan = plan?;
    let counts = plan.counts;
    shown.note(&format!(
        "{} ({}), {}, {}, {}",
        count(plan.photos, "photo"),
        size(plan.bytes),
        count(counts.users, "member"),
        count(counts.posts, "post"),
        count(counts.likes, "like")
    ));
    shown.note(&format!(
        "{} photos are there already, {} are to be copied ({})",
        plan.already_copied,
        plan.photos - plan.already_copied,
        size(plan.bytes - plan.bytes_already_copied)
    ));
    if to.is_none() {
        shown.note("there is no database at the new place yet; it will be made");
    }
    if plan.missing.is_empty() {
        return Ok(());
    }
    Err(Error::missing(plan.missing, plan.photos, false).into())
}

fn reader(file: &Path) -> Result<Box<dyn Read + Send>, MovingError> {
    if is_pipe(file) {
        return Ok(Box::new(io::stdin()));
    }
    let failed = |cause| MovingError::File { path: file.to_owned(), cause };
    Ok(Box::new(BufReader::with_capacity(1 << 20, File::open(file).map_err(failed)?)))
}

fn is_pipe(file: &Path) -> bool {
    file == Path::new("-")
}

fn holdings(manifest: &Manifest) -> String {
    let rows = |table: &str| manifest.rows.get(table).copied().unwrap_or_default();
    format!(
        "{}, {}, {} and {} ({}) as of {}",
        count(rows("users"), "member"),
        count(rows("posts"), "post"),
        count(rows("likes"), "like"),
        count(manifest.photos, "photo"),
        size(manifest.bytes),
        manifest.made_at
    )
}

fn lines(damage: &[ArchiveError]) -> String {
    damage.iter().map(ArchiveError::to_string).collect::<Vec<_>>().join("\n  ")
}
