//! Reports of posts and users: the queue of the moderators.

use futures_util::FutureExt;
use model::{Cursor, PostId, Reason, ReportId, Timestamp, UserId, Username};

use crate::audit_log::{self, NewAuditEntry};
use crate::column::Column;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};
use crate::users::{ANONYMOUS, owner_keys, role_of_user};

table! {
    /// A row of `reports`.
    ReportRow = "reports", key (id), sequence {
        id: ReportId,
        reporter_id: Option<UserId>,
        user_id: UserId,
        post_id: Option<PostId>,
        reason: Reason,
        created_at: Timestamp,
        resolved_at: Option<Timestamp>,
        resolution: Option<String>,
    }
}

statements! {
    OPEN_BY = "SELECT user_id, post_id FROM reports WHERE reporter_id = $1 AND resolved_at IS NULL LIMIT $2";
    FIND = sql!("SELECT ", ReportRow::COLUMN_LIST, " FROM reports WHERE id = $1", JUDGED);
    OPEN = sql!("SELECT ", ReportRow::COLUMN_LIST, " FROM reports
        WHERE id < $1", JUDGED, " AND resolved_at IS NULL ORDER BY id DESC LIMIT $4");
    RESOLVED = sql!("SELECT ", ReportRow::COLUMN_LIST, " FROM reports
        WHERE id < $1", JUDGED, " AND resolved_at IS NOT NULL ORDER BY id DESC LIMIT $4");
    RESOLVE = "UPDATE reports SET resolved_at = $1, resolution = $2 WHERE id = $3 AND resolved_at IS NULL";
    EXISTS = "SELECT 1 FROM reports WHERE id = $1";
}

/// The reports that a [`Judge`] sees.
const JUDGED: &str = sql!(
    " AND (CAST($2 AS BIGINT) = 0 OR user_id <> $2 AND (SELECT ",
    role_of_user!("$3"),
    " FROM users u WHERE u.id = reports.user_id) <> 'owner')"
);

/// Who sees and resolves reports.
#[derive(Debug, Clone)]
pub enum Judge {
    /// An owner, who sees all reports.
    Owner,
    /// A moderator does not see reports about themselves and about owners. `owners` are owners whatever
    /// their row says.
    Moderator { user: UserId, owners: Vec<Username> },
}

impl Judge {
    /// The parameters of [`JUDGED`].
    fn conditions(&self) -> (UserId, String) {
        match self {
            Self::Owner => (ANONYMOUS, String::new()),
            Self::Moderator { user, owners } => (*user, owner_keys(owners)),
        }
    }
}

#[derive(Debug, Clone)]
pub struct NewReport {
    pub reporter: UserId,
    /// The reported user, or the author of the reported post.
    pub user: UserId,
    pub post: Option<PostId>,
    pub reason: Reason,
    pub created_at: Timestamp,
}

/// Open reports that a user may have.
const MAX_OPEN_REPORTS: i64 = 100;

/// The result of filing a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportOutcome {
    Filed,
    /// The reporter has an open one about the same.
    Repeated,
    /// The reporter has as many open ones as a user may have.
    TooMany,
}

/// The result of resolving a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveOutcome {
    Resolved,
    /// Another moderator was faster.
    AlreadyResolved,
    Missing,
}

impl Store {
    pub async fn report(&self, new: NewReport) -> Result<ReportOutcome, Error> {
        self.write(LockKey::User(new.reporter), move |tx| {
            async move {
                let params = [new.reporter.into(), MAX_OPEN_REPORTS.into()];
                let read = |row: &Row<'_, '_>| Ok((row.user_id(0)?, PostId::read_nullable(row, 1)?));
                let open = tx.all(OPEN_BY, &params, read).await?;
                if open.contains(&(new.user, new.post)) {
                    return Ok(ReportOutcome::Repeated);
                }
                if open.len() as i64 >= MAX_OPEN_REPORTS {
                    return Ok(ReportOutcome::TooMany);
                }
                let row = ReportRow {
                    // Assigned by the sequence.
                    id: ReportId(0),
                    reporter_id: Some(new.reporter),
                    user_id: new.user,
                    post_id: new.post,
                    reason: new.reason.clone(),
                    created_at: new.created_at,
                    resolved_at: None,
                    resolution: None,
                };
                tx.execute(ReportRow::INSERT_NEW, &row.values()[1..]).await?;
                Ok(ReportOutcome::Filed)
            }
            .boxed()
        })
        .await
    }

    /// The report with this id, if the judge sees it.
    pub async fn find_report(&self, judge: &Judge, id: ReportId) -> Result<Option<ReportRow>, Error> {
        let (user, owners) = judge.conditions();
        self.read(move |tx| {
            async move {
                let params = [id.into(), user.into(), owners.as_str().into()];
                tx.first(FIND, &params, ReportRow::read).await
            }
            .boxed()
        })
        .await
    }

    /// The reports before `before` that the judge sees, newest first, and the cursor of the next page.
    pub async fn reports(
        &self,
        judge: &Judge,
        is_resolved: bool,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<(Vec<ReportRow>, Option<Cursor>), Error> {
        let before = before.map_or(i64::MAX, |cursor| cursor.0);
        let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let statement = if is_resolved { RESOLVED } else { OPEN };
        let (user, owners) = judge.conditions();
        let page = self.read(move |tx| {
            async move {
                let params = [before.into(), user.into(), owners.as_str().into(), fetched.into()];
                tx.page(limit, (statement, &params), ReportRow::read).await
            }
            .boxed()
        });
        let (rows, more) = page.await?;
        let next = rows.last().filter(|_| more).map(|row| Cursor(row.id.0));
        Ok((rows, next))
    }

    pub async fn resolve_report(
        &self,
        id: ReportId,
        resolution: String,
        audit: NewAuditEntry,
    ) -> Result<ResolveOutcome, Error> {
        self.write(LockKey::Unshared, move |tx| {
            async move {
                let params = [audit.created_at.into(), resolution.as_str().into(), id.into()];
                if tx.execute(RESOLVE, &params).await? == 0 {
                    let found = tx.first(EXISTS, &[id.into()], |_| Ok(())).await?;
                    return Ok(found.map_or(ResolveOutcome::Missing, |()| ResolveOutcome::AlreadyResolved));
                }
                audit_log::append(tx, &audit).await?;
                Ok(ResolveOutcome::Resolved)
            }
            .boxed()
        })
        .await
    }
}
