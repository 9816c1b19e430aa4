//! Reports of posts and users, which moderators resolve.

use std::collections::HashMap;

use model::{
    AuditAction, Cursor, Limit, Post, PostId, Reason, Refusal, ReportId, Role, Status, Timestamp, User,
    UserId, Username,
};
use store::{Judge, NewReport, ReportOutcome, ResolveOutcome};

use crate::actor::{Audited, Logged};
use crate::{Actor, App, Caller, Error};

const REPORTED: Error = Error::Conflict {
    field: None,
    refusal: Refusal::ReportedAlready,
    message: "you have reported this already; a moderator will look at it",
};

const NO_SUCH_REPORT: Error = Error::NotFound("there is no such report");

/// A report as moderators see it.
#[derive(Debug, Clone)]
pub struct Report {
    pub id: ReportId,
    /// `None` if the reporter has left.
    pub reporter: Option<User>,
    /// The reported user, or the author of the reported post.
    pub user: User,
    pub post_id: Option<PostId>,
    /// The reported post; `None` if it is deleted.
    pub post: Option<Post>,
    pub reason: Reason,
    pub created_at: Timestamp,
    pub resolved_at: Option<Timestamp>,
    /// What the moderator did.
    pub resolution: Option<String>,
}

impl App {
    pub async fn report_post(&self, caller: &Caller, id: PostId, reason: Reason) -> Result<(), Error> {
        let author = self.post(Some(caller), id).await?.user.id;
        self.report(caller, author, Some(id), reason).await
    }

    pub async fn report_user(&self, caller: &Caller, name: &Username, reason: Reason) -> Result<(), Error> {
        let user = self.user(Some(caller), name).await?.id;
        self.report(caller, user, None, reason).await
    }

    async fn report(
        &self,
        caller: &Caller,
        user: UserId,
        post: Option<PostId>,
        reason: Reason,
    ) -> Result<(), Error> {
        caller.check_active()?;
        if user == caller.user.id {
            return Err(Error::Forbidden(
                Refusal::Yourself,
                "you cannot report yourself; delete what you regret",
            ));
        }
        let created_at = self.0.clock.now();
        let new = NewReport { reporter: caller.user.id, user, post, reason, created_at };
        match self.0.store.report(new).await? {
            ReportOutcome::Filed => {}
            ReportOutcome::Repeated => return Err(REPORTED),
            ReportOutcome::TooMany => {
                let message =
                    "you have 100 open reports, which is the limit; wait until moderators have handled some";
                return Err(Error::TooMany(Error::limit(Refusal::TooManyReports, 100, message)));
            }
        }
        tracing::info!(user_id = caller.user.id.0, reported_user_id = user.0, "report filed");
        Ok(())
    }

    /// The queue of open reports, or those that are resolved, newest first. Moderators do not see those about
    /// themselves and about owners.
    pub async fn reports(
        &self,
        moderator: &Caller,
        is_resolved: bool,
        before: Option<Cursor>,
        limit: Limit,
    ) -> Result<(Vec<Report>, Option<Cursor>), Error> {
        moderator.check_role(Role::Moderator)?;
        let judge = self.judge(Some(moderator.user.id).filter(|_| moderator.role < Role::Owner));
        let (rows, next) = self.0.store.reports(&judge, is_resolved, before, limit.get()).await?;
        let ids = rows.iter().flat_map(|row| [row.reporter_id, Some(row.user_id)]).flatten().collect();
        let users: HashMap<UserId, User> =
            self.0.store.authors(ids).await?.into_iter().map(|user| (user.id, user)).collect();
        let mut reports = Vec::with_capacity(rows.len());
        for row in rows {
            // Deleted meanwhile.
            let Some(user) = users.get(&row.user_id).filter(|user| user.status != Status::Deleted).cloned()
            else {
                continue;
            };
            let post = match row.post_id {
                Some(id) => match self.post(Some(moderator), id).await {
                    Ok(post) => Some(post),
                    Err(Error::NotFound(_)) => None,
                    Err(error) => return Err(error),
                },
                None => None,
            };
            reports.push(Report {
                id: row.id,
                reporter: row.reporter_id.and_then(|id| users.get(&id).cloned()),
                user,
                post_id: row.post_id,
                post,
                reason: row.reason,
                created_at: row.created_at,
                resolved_at: row.resolved_at,
                resolution: row.resolution,
            });
        }
        Ok((reports, next))
    }

    /// Closes a report that the actor sees. What was done about it is in the audit log as its own entry.
    pub async fn resolve_report(&self, actor: &Actor, id: ReportId, resolution: Reason) -> Result<(), Error> {
        let judge = self.judge(actor.restricted_to());
        let report = self.0.store.find_report(&judge, id).await?.ok_or(NO_SUCH_REPORT)?;
        let mut audit =
            self.audit(actor, AuditAction::ResolveReport).detail(format!("report {id}: {resolution}"));
        let user = self.0.store.author(report.user_id).await?.filter(|user| user.status != Status::Deleted);
        audit.username = user.map(|user| user.username.to_string());
        audit.post_id = report.post_id;
        match self.0.store.resolve_report(id, resolution.to_string(), audit.clone()).await? {
            ResolveOutcome::Resolved => audit.logged(Ok(())),
            ResolveOutcome::AlreadyResolved => Err(Error::Conflict {
                field: None,
                refusal: Refusal::ResolvedAlready,
                message: "this report is resolved already",
            }),
            ResolveOutcome::Missing => Err(NO_SUCH_REPORT),
        }
    }

    /// Which reports this moderator sees; `None` is an owner or the operator.
    fn judge(&self, moderator: Option<UserId>) -> Judge {
        match moderator {
            Some(user) => Judge::Moderator { user, owners: self.0.settings.admins.clone() },
            None => Judge::Owner,
        }
    }
}
