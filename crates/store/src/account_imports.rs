//! Imports of accounts: their progress, and the posts that they have created.

use futures_util::FutureExt;
use model::{PhotoId, PostId, Timestamp, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::statements;
use crate::store::Store;
use crate::table::table;
use crate::tx::Tx;

table! {
    /// A row of `imported_posts`. It outlives its post.
    ImportedPostRow = "imported_posts", key (user_id, source_id) {
        user_id: UserId,
        source_id: PhotoId,
        post_id: PostId,
    }
}

statements! {
    BEGIN = "INSERT INTO account_imports
        (user_id, started_at, updated_at, finished_at, total, imported, skipped, failed, error)
        VALUES ($1, $2, $2, NULL, $3, 0, 0, 0, NULL)
        ON CONFLICT (user_id) DO UPDATE SET started_at = excluded.started_at, updated_at = excluded.updated_at,
        finished_at = NULL, total = excluded.total, imported = 0, skipped = 0, failed = 0, error = NULL
        WHERE account_imports.finished_at IS NOT NULL OR account_imports.updated_at < $4";
    UPDATE = "UPDATE account_imports SET updated_at = $1, finished_at = $2, imported = $3, skipped = $4, failed = $5,
        error = $6 WHERE user_id = $7 AND started_at = $8 AND finished_at IS NULL";
    CANCEL = "UPDATE account_imports SET updated_at = $1, finished_at = $1, error = $2
        WHERE user_id = $3 AND finished_at IS NULL AND updated_at >= $4";
    FIND = "SELECT started_at, updated_at, finished_at, total, imported, skipped, failed, error
        FROM account_imports WHERE user_id = $1";
    // Created by an import before, or published here in the first place.
    IS_KNOWN = "SELECT 1 FROM imported_posts WHERE user_id = $1 AND source_id = $2
        UNION ALL SELECT 1 FROM posts WHERE photo_id = $2 AND user_id = $1 LIMIT 1";
    // A concurrent import waits here for the commit of the first one.
    RESERVE = "INSERT INTO imported_posts (user_id, source_id, post_id) VALUES ($1, $2, 0)
        ON CONFLICT (user_id, source_id) DO NOTHING";
    // Before the photo of a post is replaced, or a moderator deletes it. A post has one source at most.
    KEEP_SOURCE = "INSERT INTO imported_posts (user_id, source_id, post_id)
        SELECT p.user_id, p.photo_id, p.id FROM posts p WHERE p.id = $1
        AND NOT EXISTS (SELECT 1 FROM imported_posts i WHERE i.post_id = p.id)
        ON CONFLICT (user_id, source_id) DO NOTHING";
    ASSIGN = "UPDATE imported_posts SET post_id = $1 WHERE user_id = $2 AND source_id = $3";
}

/// The last import of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountImport {
    pub started_at: Timestamp,
    pub updated_at: Timestamp,
    /// `None` while it runs, and after a crash.
    pub finished_at: Option<Timestamp>,
    /// The number of posts in the archive.
    pub total: u64,
    pub progress: ImportProgress,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportProgress {
    /// Posts that were created.
    pub imported: u64,
    /// Posts that were there already, or that moderators have removed.
    pub skipped: u64,
    /// Posts that could not be created.
    pub failed: u64,
    /// Why the import ended early, or why the first post failed.
    pub error: Option<String>,
}

impl Store {
    /// Starts an import; `false` if one is running that was updated after `stale`.
    pub async fn begin_import(
        &self,
        user: UserId,
        total: u64,
        now: Timestamp,
        stale: Timestamp,
        audit: Option<NewAuditEntry>,
    ) -> Result<bool, Error> {
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        self.write(LockKey::User(user), move |tx| {
            async move {
                let params = [user.into(), now.into(), total.into(), stale.into()];
                let is_begun = tx.execute(BEGIN, &params).await? > 0;
                if let Some(audit) = audit.as_ref().filter(|_| is_begun) {
                    audit_log::append(tx, audit).await?;
                }
                Ok(is_begun)
            }
            .boxed()
        })
        .await
    }

    /// `false` if the import was cancelled, or another one of the user has started since.
    pub async fn update_import(
        &self,
        user: UserId,
        started_at: Timestamp,
        progress: ImportProgress,
        now: Timestamp,
        is_finished: bool,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let ImportProgress { imported, skipped, failed, error } = &progress;
                let count = |count: &u64| i64::try_from(*count).unwrap_or(i64::MAX).into();
                let params = [
                    now.into(),
                    is_finished.then_some(now.micros()).into(),
                    count(imported),
                    count(skipped),
                    count(failed),
                    error.as_deref().into(),
                    user.into(),
                    started_at.into(),
                ];
                Ok(tx.execute(UPDATE, &params).await? > 0)
            }
            .boxed()
        })
        .await
    }

    /// Ends the running import of a user, whose node learns it from its next update. `false` if none was
    /// updated after `stale`.
    pub async fn cancel_import(
        &self,
        user: UserId,
        reason: &'static str,
        now: Timestamp,
        stale: Timestamp,
    ) -> Result<bool, Error> {
        self.write(LockKey::User(user), move |tx| {
            async move {
                let params = [now.into(), reason.into(), user.into(), stale.into()];
                Ok(tx.execute(CANCEL, &params).await? > 0)
            }
            .boxed()
        })
        .await
    }

    pub async fn account_import(&self, user: UserId) -> Result<Option<AccountImport>, Error> {
        self.read(move |tx| async move { tx.first(FIND, &[user.into()], read_import).await }.boxed()).await
    }

    /// Whether the user has, or had, the post that was first published with this photo.
    pub async fn has_imported(&self, user: UserId, source: PhotoId) -> Result<bool, Error> {
        self.read(move |tx| async move { is_known(tx, user, &source).await }.boxed()).await
    }
}

pub(crate) async fn is_known(tx: &mut Tx<'_>, user: UserId, source: &PhotoId) -> Result<bool, Error> {
    Ok(tx.first(IS_KNOWN, &[user.into(), source.into()], |_| Ok(())).await?.is_some())
}

/// `false` if another import has created the post.
pub(crate) async fn reserve(tx: &mut Tx<'_>, user: UserId, source: &PhotoId) -> Result<bool, Error> {
    Ok(tx.execute(RESERVE, &[user.into(), source.into()]).await? > 0)
}

pub(crate) async fn assign(
    tx: &mut Tx<'_>,
    user: UserId,
    source: &PhotoId,
    post: PostId,
) -> Result<(), Error> {
    tx.execute(ASSIGN, &[post.into(), user.into(), source.into()]).await.map(drop)
}

/// Records the current photo of a post as the one that it was first published with, unless another is
/// recorded. From then on no import of its author creates the post.
pub(crate) async fn keep_source(tx: &mut Tx<'_>, post: PostId) -> Result<(), Error> {
    tx.execute(KEEP_SOURCE, &[post.into()]).await.map(drop)
}

fn read_import(row: &Row<'_, '_>) -> Result<AccountImport, Error> {
    let finished_at = if row.is_null(2)? { None } else { Some(row.timestamp(2)?) };
    let progress = ImportProgress {
        imported: row.unsigned(4)?,
        skipped: row.unsigned(5)?,
        failed: row.unsigned(6)?,
        error: row.optional_text(7)?,
    };
    let (started_at, updated_at) = (row.timestamp(0)?, row.timestamp(1)?);
    Ok(AccountImport { started_at, updated_at, finished_at, total: row.unsigned(3)?, progress })
}
