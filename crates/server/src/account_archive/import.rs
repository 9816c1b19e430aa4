//! Imports an archive into an account. Each post is created exactly once, however often the archive is
//! imported, so that an import that was interrupted is simply repeated.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use app::{
    App, FairPermit, ForeignPost, ImportProgress, ImportRun, Importer, Publication, SpooledFile, Upload,
};
use model::{Focus, PhotoId, PostContent, ProfileEdit, Text, TextRule, Timestamp};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::{interval, sleep};

use super::reader::{Archive, ArchiveError};
use super::records::{PhotoRecord, PostRecord};

/// How often progress is written, also if there is none: it shows that the import is running.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// Retries of a step while the service is busy or a dependency is unavailable, one a second.
const RETRIES: usize = 60;

/// An import of which so many posts have failed ends.
const MAX_FAILED: u64 = 1_000;

/// The longest error that is stored, in characters.
const MAX_ERROR: usize = 500;

/// An archive that is being imported.
pub(crate) struct ImportJob {
    pub(crate) app: App,
    pub(crate) importer: Importer,
    pub(crate) run: ImportRun,
    pub(crate) archive: Archive,
    /// `None` for the operator.
    pub(crate) permit: Option<FairPermit>,
}

/// Why an import ends before the last post.
#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    App(#[from] app::Error),
    #[error("too many posts failed")]
    TooManyFailed,
    #[error("cancelled")]
    Cancelled,
    #[error(
        "another network needs the place; send the archive again later, what is imported is skipped then"
    )]
    Revoked,
}

/// Imports all posts and the profile. The import has begun: others see its progress.
pub(crate) async fn run_import(job: ImportJob) -> ImportProgress {
    let ImportJob { app, importer, run, archive, permit } = job;
    let progress = Arc::new(Mutex::new(ImportProgress::default()));
    let outcome = {
        // A task of its own: a future that is not polled may hold what the update waits for.
        let mut work = tokio::spawn({
            let (app, importer, progress) = (app.clone(), importer.clone(), progress.clone());
            async move { import(&app, &importer, archive, &progress).await }
        });
        let mut ticks = interval(UPDATE_INTERVAL);
        loop {
            tokio::select! {
                // A panic of the task is an error of the archive.
                outcome = &mut work => {
                    break outcome.unwrap_or_else(|cause| Err(ArchiveError::Damaged(cause.to_string()).into()));
                }
                _ = ticks.tick() => {
                    // A user who has left, was suspended or is logged out gets no further posts.
                    match app.check_import(&importer).await {
                        Err(error @ (app::Error::Inactive(_) | app::Error::SessionEnded)) => {
                            work.abort();
                            break Err(error.into());
                        }
                        Ok(()) | Err(_) => {
                            if !update(&app, run, &progress, false).await {
                                work.abort();
                                break Err(ImportError::Cancelled);
                            }
                        }
                    }
                }
                () = revoked(permit.as_ref()) => {
                    work.abort();
                    break Err(ImportError::Revoked);
                }
            }
        }
    };
    if let Err(error) = outcome {
        let message = message(&error);
        progress.lock().error = Some(message);
    }
    update(&app, run, &progress, true).await;
    drop(permit);
    let progress = progress.lock().clone();
    let ImportProgress { imported, skipped, failed, error } = &progress;
    tracing::info!(imported, skipped, failed, error, "account import ended");
    progress
}

async fn import(
    app: &App,
    importer: &Importer,
    archive: Archive,
    progress: &Mutex<ImportProgress>,
) -> Result<(), ImportError> {
    import_profile(app, importer, archive.clone()).await?;
    let (mut posts, reading) = read_posts(app.clone(), archive);
    while let Some((post, photo)) = posts.recv().await {
        let file = post.photo.file.clone();
        let outcome = import_post(app, importer, post, photo).await;
        let mut progress = progress.lock();
        match outcome {
            Ok(true) => progress.imported += 1,
            Ok(false) => progress.skipped += 1,
            Err(error) if is_of_the_post(&error) => {
                progress.failed += 1;
                progress.error.get_or_insert_with(|| shorten(&format!("{file}: {error}")));
                if progress.failed >= MAX_FAILED {
                    return Err(ImportError::TooManyFailed);
                }
            }
            Err(error) => return Err(error),
        }
    }
    // A panic of the reader is an error of the archive, too.
    Ok(reading.await.unwrap_or_else(|cause| Err(ArchiveError::Damaged(cause.to_string())))?)
}

type PostAndPhoto = (PostRecord, Result<SpooledFile, ImportError>);

/// Reads the posts on a thread, one ahead of the import.
fn read_posts(
    app: App,
    mut archive: Archive,
) -> (mpsc::Receiver<PostAndPhoto>, tokio::task::JoinHandle<Result<(), ArchiveError>>) {
    let (sender, receiver) = mpsc::channel(1);
    let runtime = Handle::current();
    let reading = tokio::task::spawn_blocking(move || {
        let mut photos = archive.clone();
        archive.for_each_post(|post| {
            // A place in the channel first, so that no photo waits for it.
            let Ok(place) = runtime.block_on(sender.reserve()) else { return false };
            let photo = spool_photo(&app, &mut photos, &post.photo.file);
            place.send((post, photo));
            true
        })
    });
    (receiver, reading)
}

/// Copies a photo of the archive to the staging folder. Blocks the calling thread.
fn spool_photo(app: &App, archive: &mut Archive, path: &str) -> Result<SpooledFile, ImportError> {
    let runtime = Handle::current();
    let mut spool = runtime.block_on(app.spool())?;
    let write =
        |chunk: &[u8]| Ok::<_, ImportError>(runtime.block_on(spool.write(chunk)).map_err(app::Error::from)?);
    archive.read_photo(path, app.max_upload(), write)?;
    Ok(runtime.block_on(spool.finish()).map_err(app::Error::from)?)
}

/// `false` if the account has the post already.
async fn import_post(
    app: &App,
    importer: &Importer,
    post: PostRecord,
    photo: Result<SpooledFile, ImportError>,
) -> Result<bool, ImportError> {
    let source: PhotoId = parse("id", &post.id)?;
    let photo = match photo {
        Ok(photo) => photo,
        Err(_) if app.has_imported(importer, source).await? => return Ok(false),
        Err(error) => return Err(error),
    };
    let created_at: Timestamp = parse("created_at", &post.created_at)?;
    let content =
        PostContent { message: text("message", post.message)?, share_original: post.share_original };
    let draft = PostDraft {
        publication: Publication { source, created_at },
        content,
        photo,
        alt: post.photo.alt,
        focus: post.photo.focus,
    };
    let mut retries = Retries::default();
    loop {
        match draft.create(app, importer).await {
            // It may have succeeded. Then the next attempt finds the post.
            Err(ImportError::App(error)) if retries.wait_after(&error).await => {}
            outcome => return outcome,
        }
    }
}

/// A post of the archive, before its photo and its alternative text are checked.
struct PostDraft {
    publication: Publication,
    content: PostContent,
    photo: SpooledFile,
    alt: Option<String>,
    focus: Option<String>,
}

impl PostDraft {
    async fn create(&self, app: &App, importer: &Importer) -> Result<bool, ImportError> {
        let Self { publication, content, photo, alt, focus } = self;
        if app.has_imported(importer, publication.source).await? {
            return Ok(false);
        }
        let focus = focus.as_ref().map(|focus| parse("focus", focus)).transpose()?.unwrap_or_default();
        let alt = text("alt", alt.clone())?;
        let upload = Upload { photo: photo.clone(), alt, focus, client: importer.client() };
        let post = ForeignPost { upload, content: content.clone(), publication: *publication };
        Ok(app.import_post(importer, post).await?)
    }
}

async fn import_profile(app: &App, importer: &Importer, mut archive: Archive) -> Result<(), ImportError> {
    let account = archive.account.clone();
    let profile = &account.profile;
    // A text that this instance does not accept is left out.
    let edit = ProfileEdit {
        display_name: text("display_name", profile.display_name.clone()).ok().flatten().map(Some),
        bio: text("bio", profile.bio.clone()).ok().flatten().map(Some),
        link: text("link", profile.link.clone()).ok().flatten().map(Some),
    };
    let photo = match &profile.photo {
        Some(PhotoRecord { file, alt, .. }) => {
            let (app, file) = (app.clone(), file.clone());
            let read = tokio::task::spawn_blocking(move || spool_photo(&app, &mut archive, &file)).await;
            let photo = read.ok().and_then(Result::ok);
            photo.map(|photo| (photo, text("alt", alt.clone()).unwrap_or_default()))
        }
        None => None,
    };
    let mut retries = Retries::default();
    loop {
        let upload = photo.clone().map(|(photo, alt)| {
            let (focus, client) = (Focus::CENTRE, importer.client());
            Upload { photo, alt, focus, client }
        });
        match app.import_profile(importer, edit.clone(), upload).await {
            Err(error) if retries.wait_after(&error).await => {}
            // A photo that this instance does not accept.
            Err(app::Error::Invalid { .. }) => return Ok(()),
            outcome => return Ok(outcome?),
        }
    }
}

/// The attempts at one step that have failed.
#[derive(Default)]
struct Retries(usize);

impl Retries {
    /// Waits if another attempt makes sense: the service is busy, or a dependency is unavailable.
    async fn wait_after(&mut self, error: &app::Error) -> bool {
        self.0 += 1;
        let is_retried =
            self.0 <= RETRIES && matches!(error, app::Error::Busy(_) | app::Error::Unavailable(..));
        if is_retried {
            sleep(Duration::from_secs(1)).await;
        }
        is_retried
    }
}

/// Progress that cannot be written is written with the next one. `false` if the import was cancelled.
async fn update(app: &App, run: ImportRun, progress: &Mutex<ImportProgress>, is_finished: bool) -> bool {
    let progress = progress.lock().clone();
    app.update_import(run, progress, is_finished).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "progress of an import not written");
        true
    })
}

async fn revoked(permit: Option<&FairPermit>) {
    match permit {
        Some(permit) => permit.holder().revoked().await,
        None => pending().await,
    }
}

/// Whether other posts may still be imported.
fn is_of_the_post(error: &ImportError) -> bool {
    matches!(error, ImportError::Archive(_) | ImportError::App(app::Error::Invalid { .. }))
}

fn message(error: &ImportError) -> String {
    let again = "send the archive again later; what is imported is skipped then";
    match error {
        ImportError::App(cause @ (app::Error::Internal(_) | app::Error::Damaged(_))) => {
            tracing::error!(%cause, "account import failed");
            format!("internal error; {again}")
        }
        ImportError::App(error) => shorten(&format!("{error}; {again}")),
        error => shorten(&error.to_string()),
    }
}

fn shorten(text: &str) -> String {
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
