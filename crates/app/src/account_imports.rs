//! Imports of accounts: posts and profiles of another instance.

use std::time::Duration;

use model::{
    AuditAction, PhotoId, PostContent, ProfileEdit, Refusal, Role, Status, Timestamp, User, UserId, Username,
    ValidationError,
};
use store::{AccountImport, CreateOutcome, ImportProgress, NewPost, PostQuota, Publication};

use crate::actor::{Audited, Logged};
use crate::quotas::quota_exceeded;
use crate::upload::{CLAIM_LOST, PreparedPhoto};
use crate::{Actor, App, Caller, Client, Error, FairPermit, Upload};

/// An import that has not been updated for this time was interrupted. A running one is updated every second.
const STALE_AFTER: Duration = Duration::from_secs(30);

/// What an archive may have beside photos: texts, pages, and the directory of the zip.
const ARCHIVE_TEXTS: u64 = 4 << 20;

const BUSY: Error = Error::Busy("import");

/// A unit of the memory of imports, in bytes, and how many every import has.
const IMPORT_UNIT: u64 = 1 << 20;
pub(crate) const IMPORT_UNITS: usize = 24;

const IMPORT_RUNNING: Error = Error::Conflict {
    field: None,
    refusal: Refusal::ImportRunning,
    message: "an import into this account is running; GET /me/import shows its progress",
};

const IMPORT_CANCELLED: &str = "cancelled; send the archive again to go on, what is imported is skipped then";

/// Into which account posts are imported, and by which rules.
#[derive(Debug, Clone)]
pub struct Importer {
    user: User,
    client: Client,
    /// Who imports, with the session that lasts as long as the import; `None` for the operator.
    caller: Option<Caller>,
}

/// An import that has begun. A later one of the same user does not show its progress.
#[derive(Debug, Clone, Copy)]
pub struct ImportRun {
    user: UserId,
    started_at: Timestamp,
}

/// A post of another instance.
#[derive(Debug)]
pub struct ForeignPost {
    pub upload: Upload,
    pub content: PostContent,
    pub publication: Publication,
}

/// The last import of a user.
#[derive(Debug, Clone)]
pub struct ImportStatus {
    pub import: AccountImport,
    pub is_running: bool,
}

impl Importer {
    pub fn new(caller: &Caller, client: Client) -> Self {
        Self { user: (*caller.user).clone(), client, caller: Some(caller.clone()) }
    }

    pub fn client(&self) -> Client {
        self.client
    }
}

impl App {
    /// The permit of an import, acquired before its body is read and held until it ends. It may be revoked.
    pub fn import_permit(&self, client: Client) -> Result<FairPermit, Error> {
        self.check_upload_space()?;
        self.0.imports.try_acquire_units(client, IMPORT_UNITS).ok_or(BUSY)
    }

    /// Reserves the memory of an import beyond what its permit includes; `false` if there is none.
    pub fn grow_import(permit: &mut FairPermit, bytes: u64) -> bool {
        let units = usize::try_from(bytes.div_ceil(IMPORT_UNIT)).unwrap_or(usize::MAX);
        permit.try_grow(units.saturating_sub(IMPORT_UNITS))
    }

    /// The size of the largest archive that the caller may import, and the error of a larger one if their
    /// quota of bytes is the reason. The whole quota counts, not what is left of it: after an interruption
    /// the archive is sent again as a whole.
    pub async fn max_import(&self, caller: &Caller) -> Result<(u64, Option<Error>), Error> {
        let max = self.0.settings.max_import;
        Ok(match self.post_quota(caller.role).await?.bytes {
            Some(quota) if quota.saturating_add(ARCHIVE_TEXTS) < max => {
                (quota + ARCHIVE_TEXTS, Some(archive_over_quota(quota)))
            }
            _ => (max, None),
        })
    }

    /// The importer of the operator, into the account of a user.
    pub async fn operator_importer(&self, username: &Username) -> Result<Importer, Error> {
        let user = self.0.store.user(username).await?.ok_or(Error::NO_SUCH_USER)?;
        let client = Client::LOCAL.with_user(user.id);
        Ok(Importer { user, client, caller: None })
    }

    /// Fails if the caller may not start an import now, before its body is read.
    pub async fn check_may_import(&self, caller: &Caller) -> Result<(), Error> {
        self.check_may_post(caller, None).await?;
        match self.import_status(caller).await {
            Ok(ImportStatus { is_running: true, .. }) => Err(IMPORT_RUNNING),
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Records the start of an import of `total` posts.
    pub async fn begin_import(&self, importer: &Importer, total: u64) -> Result<ImportRun, Error> {
        if importer.user.status != Status::Active {
            return Err(Error::Inactive(importer.user.status));
        }
        let (now, is_operator) = (self.0.clock.now(), importer.caller.is_none());
        let audit = is_operator
            .then(|| self.audit(&Actor::operator(), AuditAction::ImportAccount).about(&importer.user));
        let stale = self.interrupted_before();
        let user = importer.user.id;
        let is_begun = self.0.store.begin_import(user, total, now, stale, audit.clone()).await?;
        audit.logged(if is_begun { Ok(ImportRun { user, started_at: now }) } else { Err(IMPORT_RUNNING) })
    }

    /// Records the progress of an import, on which others see that it is running. `false` if it was
    /// cancelled.
    pub async fn update_import(
        &self,
        run: ImportRun,
        progress: ImportProgress,
        is_finished: bool,
    ) -> Result<bool, Error> {
        let ImportRun { user, started_at } = run;
        let now = self.0.clock.now();
        Ok(self.0.store.update_import(user, started_at, progress, now, is_finished).await?)
    }

    /// Ends the caller's import, on whichever node it runs. What is imported stays.
    pub async fn cancel_import(&self, caller: &Caller) -> Result<(), Error> {
        let (user, now, stale) = (caller.user.id, self.0.clock.now(), self.interrupted_before());
        if !self.0.store.cancel_import(user, IMPORT_CANCELLED, now, stale).await? {
            return Err(Error::NotFound("no import into this account is running"));
        }
        caller.log("import cancelled");
        Ok(())
    }

    /// Fails if the user was suspended or has left since the import began, or their session has ended.
    pub async fn check_import(&self, importer: &Importer) -> Result<(), Error> {
        self.importer_role(importer).await.map(drop)
    }

    /// The role whose quotas apply now; `None` for the operator.
    async fn importer_role(&self, importer: &Importer) -> Result<Option<Role>, Error> {
        if let Some(caller) = &importer.caller {
            let caller = self.reauthenticate(caller).await?.ok_or(Error::SessionEnded)?;
            caller.check_active()?;
            return Ok(Some(caller.role));
        }
        match self.0.store.author(importer.user.id).await? {
            Some(user) if user.status == Status::Active => Ok(None),
            user => Err(Error::Inactive(user.map_or(Status::Deleted, |user| user.status))),
        }
    }

    /// The caller's last import.
    pub async fn import_status(&self, caller: &Caller) -> Result<ImportStatus, Error> {
        let import = self.0.store.account_import(caller.user.id).await?;
        let import = import.ok_or(Error::NotFound("there was no import; start one with POST /me/import"))?;
        let is_recent = import.updated_at >= self.interrupted_before();
        Ok(ImportStatus { is_running: import.finished_at.is_none() && is_recent, import })
    }

    /// An import whose last update is older was interrupted. On a database of one process, these are also
    /// those from before this process opened it.
    fn interrupted_before(&self) -> Timestamp {
        let stale = self.0.clock.now().minus(STALE_AFTER);
        if self.0.store.is_shared() { stale } else { stale.max(self.0.opened_at) }
    }

    /// Whether the account has, or had, the post.
    pub async fn has_imported(&self, importer: &Importer, source: PhotoId) -> Result<bool, Error> {
        Ok(self.0.store.has_imported(importer.user.id, source).await?)
    }

    /// Creates a post of another instance; `false` if the account has it, or had it, already.
    pub async fn import_post(&self, importer: &Importer, post: ForeignPost) -> Result<bool, Error> {
        let ForeignPost { upload, content, publication } = post;
        let quota = self.importer_quota(importer).await?;
        self.check_quota(importer.client, importer.user.id, quota, None).await?;
        let PreparedPhoto { photo, files, at, .. } = self.prepare(upload).await?;
        // A date in the future would stay the newest one.
        let publication = Some(Publication { created_at: publication.created_at.min(at), ..publication });
        let new = NewPost { content, publication, quota, ..NewPost::new(importer.user.id, photo, at) };
        match self.store_post(files, new).await? {
            CreateOutcome::New(_) => Ok(true),
            CreateOutcome::AlreadyImported | CreateOutcome::Replayed(_) => Ok(false),
            CreateOutcome::ClaimLost => Err(CLAIM_LOST),
            CreateOutcome::AuthorInactive => Err(Error::Inactive(Status::Suspended)),
            CreateOutcome::OverQuota(over) => Err(quota_exceeded(over, at)),
        }
    }

    async fn importer_quota(&self, importer: &Importer) -> Result<PostQuota, Error> {
        match self.importer_role(importer).await? {
            Some(role) => self.post_quota(role).await,
            None => Ok(PostQuota::default()),
        }
    }

    /// Sets what the profile does not have yet. An archive does not tell which photo it has, so none is set
    /// after a moderator has removed one.
    pub async fn import_profile(
        &self,
        importer: &Importer,
        edit: ProfileEdit,
        photo: Option<Upload>,
    ) -> Result<(), Error> {
        let user = self.0.store.author(importer.user.id).await?.ok_or(Error::NO_SUCH_USER)?;
        let profile = user.profile.as_deref().cloned().unwrap_or_default();
        let missing = ProfileEdit {
            display_name: edit.display_name.filter(|_| profile.display_name.is_none()),
            bio: edit.bio.filter(|_| profile.bio.is_none()),
            link: edit.link.filter(|_| profile.link.is_none()),
        };
        self.0.store.edit_profile(user.id, missing).await?;
        if let Some(photo) = photo.filter(|_| user.photo.is_none())
            && !self.0.store.has_photo_removal(user.username.to_string(), user.created_at).await?
        {
            let max_bytes = self.importer_quota(importer).await?.bytes;
            self.replace_profile_photo(user.id, photo, max_bytes).await?;
        }
        Ok(())
    }
}

fn archive_over_quota(quota: u64) -> Error {
    let message = format!(
        "the archive is larger than your quota of {quota} bytes; ask an owner for a larger quota, or the \
        operator to import it"
    );
    Error::Quota { rule: ValidationError::refused(Refusal::ArchiveTooLarge, message), retry_after: None }
}
