//! Reports of posts and users: the queue of the moderators.

use futures_util::FutureExt;
use model::{Cursor, PostId, Reason, ReportId, Timestamp, UserId};

use crate::audit_log::{self, NewAuditEntry};
use crate::column::Column;
use crate::error::Error;
use crate::lock_key::LockKey;
use crate::row::Row;
use crate::statements::{sql, statements};
use crate::store::Store;
use crate::table::{TableRow, table};

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
    OPEN = sql!("SELECT ", ReportRow::COLUMN_LIST, " FROM reports
        WHERE id < $1 AND resolved_at IS NULL ORDER BY id DESC LIMIT $2");
    RESOLVED = sql!("SELECT ", ReportRow::COLUMN_LIST, " FROM reports
        WHERE id < $1 AND resolved_at IS NOT NULL ORDER BY id DESC LIMIT $2");
    RESOLVE = "UPDATE reports SET resolved_at = $1, resolution = $2 WHERE id = $3 AND resolved_at IS NULL";
    EXISTS = "SELECT 1 FROM reports WHERE id = $1";
    COUNT_OPEN = "SELECT count(*) FROM reports WHERE id > 0 AND resolved_at IS NULL";
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

    /// Reports before `before`, newest first, and the cursor of the next page.
    pub async fn reports(
        &self,
        is_resolved: bool,
        before: Option<Cursor>,
        limit: usize,
    ) -> Result<(Vec<ReportRow>, Option<Cursor>), Error> {
        let before = before.map_or(i64::MAX, |cursor| cursor.0);
        let fetched = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let statement = if is_resolved { RESOLVED } else { OPEN };
        let page = self.read(move |tx| {
            async move {
                tx.page(limit, (statement, &[before.into(), fetched.into()]), ReportRow::read).await
            }
            .boxed()
        });
        let (rows, more) = page.await?;
        let next = rows.last().filter(|_| more).map(|row| Cursor(row.id.0));
        Ok((rows, next))
    }

    /// The number of open reports.
    pub async fn open_reports(&self) -> Result<u64, Error> {
        Ok(self.read(|tx| tx.first(COUNT_OPEN, &[], |row| row.unsigned(0)).boxed()).await?.unwrap_or(0))
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
