//! Imports an archive into an account. Each post is created exactly once, however often the archive is
//! imported, so that an import that was interrupted is simply repeated.

use std::pin::pin;
use std::time::Duration;

use app::{App, FairPermit, ForeignPost, ImportProgress, Importer, Publication, Upload};
use model::{Alt, PhotoId, PostContent, ProfileEdit, Text, TextRule, Timestamp};
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};

use super::reader::{Archive, ArchiveError};
use super::records::{PhotoRecord, PostRecord};

/// How often progress is written, also if there is none: it shows that the import is running.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// Retries of a post while the service is busy or a dependency is unavailable, one a second.
const RETRIES: usize = 60;

/// The longest error that is stored, in characters.
const MAX_ERROR: usize = 500;

/// An archive that is being imported.
pub(crate) struct ImportJob {
    pub(crate) app: App,
    pub(crate) importer: Importer,
    pub(crate) archive: Archive,
    pub(crate) permit: FairPermit,
}

/// Why an import ends before the last post.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    App(#[from] app::Error),
}

/// Imports all posts and the profile. The import has begun: others see its progress.
pub(crate) async fn run_import(job: ImportJob) -> ImportProgress {
    let ImportJob { app, importer, archive, permit } = job;
    let mut progress = ImportProgress::default();
    let imported = import(&app, &importer, archive, &mut progress).await;
    if let Err(error) = imported {
        progress.error = Some(message(&error));
    }
    let ImportProgress { imported, skipped, failed, error } = &progress;
    tracing::info!(imported, skipped, failed, error, "account import ended");
    update(&app, &importer, &progress, true).await;
    drop(permit);
    progress
}

async fn import(
    app: &App,
    importer: &Importer,
    archive: Archive,
    progress: &mut ImportProgress,
) -> Result<(), ImportError> {
    import_profile(app, importer, archive.clone()).await?;
    let (mut posts, reading) = read_posts(archive, app.max_upload());
    let mut ticks = interval(UPDATE_INTERVAL);
    while let Some((post, photo)) = posts.recv().await {
        let file = post.photo.file.clone();
        let mut post = pin!(import_post(app, importer, post, photo));
        let outcome = loop {
            tokio::select! {
                outcome = &mut post => break outcome,
                _ = ticks.tick() => update(app, importer, progress, false).await,
            }
        };
        match outcome {
            Ok(true) => progress.imported += 1,
            Ok(false) => progress.skipped += 1,
            Err(error) if is_of_the_post(&error) => {
                progress.failed += 1;
                tracing::warn!(file, %error, "post not imported");
                progress.error.get_or_insert_with(|| shorten(format!("{file}: {error}")));
            }
            Err(error) => return Err(error),
        }
    }
    // A panic of the reader is an error of the archive, too.
    Ok(reading.await.unwrap_or_else(|cause| Err(ArchiveError::Damaged(cause.to_string())))?)
}

type PostAndPhoto = (PostRecord, Result<Vec<u8>, ArchiveError>);

/// Reads the posts on a thread, one ahead of the import.
fn read_posts(
    mut archive: Archive,
    max_photo: u64,
) -> (mpsc::Receiver<PostAndPhoto>, tokio::task::JoinHandle<Result<(), ArchiveError>>) {
    let (sender, receiver) = mpsc::channel(1);
    let reading = tokio::task::spawn_blocking(move || {
        let mut photos = archive.clone();
        archive.for_each_post(|post| {
            let photo = photos.read(&post.photo.file, max_photo);
            sender.blocking_send((post, photo)).is_ok()
        })
    });
    (receiver, reading)
}

/// `false` if the account has the post already.
async fn import_post(
    app: &App,
    importer: &Importer,
    post: PostRecord,
    photo: Result<Vec<u8>, ArchiveError>,
) -> Result<bool, ImportError> {
    let source: PhotoId = parse("id", &post.id)?;
    if app.has_imported(importer, source).await? {
        return Ok(false);
    }
    let created_at: Timestamp = parse("created_at", &post.created_at)?;
    let content = PostContent { message: text("message", post.message)? };
    let alt: Option<Alt> = text("alt", post.photo.alt)?;
    let photo = photo?;
    let mut retries = 0..RETRIES;
    loop {
        let upload = upload(app, importer, &photo, alt.clone()).await?;
        let publication = Publication { source, created_at };
        match app.import_post(importer, ForeignPost { upload, content: content.clone(), publication }).await {
            // It may have succeeded. Then the retry finds the post.
            Err(app::Error::Busy(_) | app::Error::Unavailable(..)) if retries.next().is_some() => {
                sleep(Duration::from_secs(1)).await;
            }
            outcome => return Ok(outcome?),
        }
    }
}

async fn import_profile(app: &App, importer: &Importer, mut archive: Archive) -> Result<(), ImportError> {
    let account = archive.account.clone();
    let profile = &account.profile;
    // A text that this instance does not accept is left out.
    let edit = ProfileEdit {
        display_name: Some(text("display_name", profile.display_name.clone()).unwrap_or_default()),
        bio: Some(text("bio", profile.bio.clone()).unwrap_or_default()),
        link: Some(text("link", profile.link.clone()).unwrap_or_default()),
    };
    let photo = match &profile.photo {
        Some(PhotoRecord { file, alt, .. }) => {
            let (file, max) = (file.clone(), app.max_upload());
            let read = tokio::task::spawn_blocking(move || archive.read(&file, max)).await;
            match read {
                Ok(Ok(photo)) => {
                    let alt = text("alt", alt.clone()).unwrap_or_default();
                    Some(upload(app, importer, &photo, alt).await?)
                }
                _ => None,
            }
        }
        None => None,
    };
    match app.import_profile(importer, edit, photo).await {
        // A photo that this instance does not accept.
        Err(app::Error::Invalid { .. }) => Ok(()),
        outcome => Ok(outcome?),
    }
}

async fn upload(
    app: &App,
    importer: &Importer,
    photo: &[u8],
    alt: Option<Alt>,
) -> Result<Upload, app::Error> {
    let mut spool = app.spool().await?;
    spool.write(photo).await?;
    Ok(Upload { photo: spool.finish().await?, alt, client: importer.client() })
}

/// Progress that cannot be written is written with the next one.
async fn update(app: &App, importer: &Importer, progress: &ImportProgress, is_finished: bool) {
    if let Err(error) = app.update_import(importer, progress.clone(), is_finished).await {
        tracing::warn!(%error, "progress of an import not written");
    }
}

/// Whether other posts may still be imported.
fn is_of_the_post(error: &ImportError) -> bool {
    matches!(error, ImportError::Archive(_) | ImportError::App(app::Error::Invalid { .. }))
}

fn message(error: &ImportError) -> String {
    let again = "send the archive again later; what is imported is skipped then";
    match error {
        ImportError::Archive(error) => shorten(error.to_string()),
        ImportError::App(app::Error::Internal(cause)) => {
            tracing::error!(%cause, "account import failed");
            format!("internal error; {again}")
        }
        ImportError::App(error) => shorten(format!("{error}; {again}")),
    }
}

fn shorten(text: String) -> String {
    text.chars().take(MAX_ERROR).collect()
}

fn parse<T: std::str::FromStr<Err = model::ValidationError>>(
    field: &'static str,
    raw: &str,
) -> Result<T, app::Error> {
    raw.parse().map_err(|rule| app::Error::invalid(field, rule))
}

fn text<Rule: TextRule>(field: &'static str, raw: Option<String>) -> Result<Option<Text<Rule>>, app::Error> {
    let parsed = raw.map(Text::parse).transpose();
    Ok(parsed.map_err(|rule| app::Error::invalid(field, rule))?.flatten())
}
