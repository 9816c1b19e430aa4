//! The templates of the instance and of moderation, and their variables. The markup is in `web/pages`.

use app::{Actor, AuditRow, InputFormat, Instance, Quota, Report};
use askama::Template;
use model::{AuditAction, Registration, Role, Status, User};

use super::layout::Layout;
use super::locale::{Locale, interpolate};

#[derive(Template)]
#[template(path = "about.html")]
pub(super) struct AboutTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) instance: &'a Instance,
    pub(super) version: &'static str,
}

impl AboutTemplate<'_> {
    fn registration(&self) -> &str {
        registration_text(self.layout.locale, self.instance.registration)
    }

    fn runs_on(&self) -> String {
        interpolate(&self.layout.locale.page.runs_on, "version", self.version)
    }
}

fn registration_text(locale: &Locale, registration: Registration) -> &str {
    let messages = &locale.page;
    match registration {
        Registration::Open => &messages.registration_open,
        Registration::Invitation => &messages.registration_invitation,
        Registration::Approval => &messages.registration_approval,
        Registration::Closed => &messages.registration_closed,
    }
}

#[derive(Template)]
#[template(path = "admin.html")]
pub(super) struct AdminTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) reports: Vec<ReportItem>,
    pub(super) accounts: Vec<AccountItem>,
    pub(super) audit: Vec<AuditItem>,
    /// For owners.
    pub(super) instance: Option<&'a Instance>,
}

/// The parameter of a quota, its label and its value.
type QuotaField<'a> = (&'static str, &'a str, String);

impl AdminTemplate<'_> {
    /// The choices of who may join, with their labels.
    fn registrations(&self) -> Vec<(&'static str, &str)> {
        let label = |choice: &Registration| (choice.as_str(), registration_text(self.layout.locale, *choice));
        Registration::ALL.iter().map(label).collect()
    }

    /// The quotas of both roles: the prefix of their parameters, a title, and each one's parameter, label and
    /// value.
    fn quotas(&self, instance: &Instance) -> [(&'static str, &str, [QuotaField<'_>; 3]); 2] {
        let messages = &self.layout.locale.page;
        let fields = |Quota { bytes, posts_per_day, likes_per_minute }: Quota| {
            [
                ("bytes", &messages.quota_bytes_field, bytes),
                ("posts_per_day", &messages.quota_posts_field, posts_per_day),
                ("likes_per_minute", &messages.quota_likes_field, likes_per_minute),
            ]
            .map(|(key, label, value)| {
                (key, label.as_str(), value.map(|n| n.to_string()).unwrap_or_default())
            })
        };
        [
            ("member", &messages.quota_members, fields(instance.member_quota)),
            ("moderator", &messages.quota_moderators, fields(instance.moderator_quota)),
        ]
    }

    /// The `accept` attribute of the logo.
    fn accept(&self) -> String {
        InputFormat::accept()
    }
}

/// A report in the queue.
pub(super) struct ReportItem {
    pub(super) id: i64,
    pub(super) user: String,
    pub(super) reporter: String,
    pub(super) reason: String,
    pub(super) time: String,
    pub(super) post: Option<String>,
    pub(super) photo: Option<String>,
    pub(super) alt: String,
    pub(super) is_hidden: bool,
}

impl ReportItem {
    pub(super) fn new(report: &Report, locale: &Locale) -> Self {
        let post = report.post.as_ref();
        let user = report.user.username.to_string();
        Self {
            id: report.id.0,
            reporter: report.reporter.as_ref().map(|user| user.username.to_string()).unwrap_or_default(),
            reason: report.reason.to_string(),
            time: report.created_at.to_string(),
            post: post.map(|post| post.id.to_string()),
            photo: post.map(|post| post.photo.id.to_string()),
            alt: interpolate(&locale.page.photo_by, "name", &user),
            is_hidden: post.is_some_and(|post| post.hidden_reason.is_some()),
            user,
        }
    }
}

/// An account that waits for approval or is suspended.
pub(super) struct AccountItem {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) is_pending: bool,
}

impl From<&User> for AccountItem {
    fn from(user: &User) -> Self {
        let is_pending = user.status == Status::Pending;
        Self { id: user.id.0, name: user.username.to_string(), is_pending }
    }
}

/// An entry of the audit log.
pub(super) struct AuditItem {
    pub(super) time: String,
    pub(super) actor: String,
    /// What was done, and to whom.
    pub(super) action: String,
    pub(super) detail: String,
}

impl AuditItem {
    pub(super) fn new(row: &AuditRow, locale: &Locale) -> Self {
        let is_operator = row.actor == Actor::OPERATOR;
        let (user, post) = (row.username.clone(), row.post_id.map(|post| format!("#{post}")));
        let (user, post) = (user.unwrap_or_default(), post.unwrap_or_default());
        let action = locale.audit(&row.action).map_or_else(
            || format!("{} {user} {post}", row.action),
            |text| interpolate(&interpolate(text, "user", &user), "post", &post),
        );
        Self {
            time: row.created_at.to_string(),
            actor: if is_operator { locale.page.operator.clone() } else { row.actor.clone() },
            action,
            detail: row.detail.as_deref().map(|detail| audit_detail(row, detail, locale)).unwrap_or_default(),
        }
    }
}

/// The detail of an entry in words.
fn audit_detail(row: &AuditRow, detail: &str, locale: &Locale) -> String {
    let role = |word: &str| {
        word.parse::<Role>().map_or_else(|_| word.to_owned(), |role| locale.role(role).to_owned())
    };
    match row.action.parse() {
        Ok(AuditAction::SetRole | AuditAction::AddUser) => role(detail),
        Ok(AuditAction::Invite) => detail
            .split_once(" × ")
            .map_or_else(|| detail.to_owned(), |(uses, word)| format!("{uses} × {}", role(word))),
        Ok(AuditAction::EditInstance) => {
            let mut labels: Vec<&str> = detail.split(", ").map(|key| setting(key, locale)).collect();
            labels.dedup();
            labels.join(", ")
        }
        // The id of the report says nothing here.
        Ok(AuditAction::ResolveReport) => detail.split_once(": ").map_or(detail, |(_, text)| text).to_owned(),
        _ => detail.to_owned(),
    }
}

/// The label of a setting of the instance.
fn setting<'a>(key: &'a str, locale: &'a Locale) -> &'a str {
    let messages = &locale.page;
    match key {
        "name" => &messages.instance_name,
        "description" => &messages.description,
        "rules" => &messages.rules,
        "terms" => &messages.terms,
        "contact" => &messages.contact,
        "accent" => &messages.accent,
        "logo" => &messages.logo,
        "registration" => &messages.registration,
        "member_invitations" => &messages.member_invitations,
        _ if key.starts_with("member_") => &messages.quota_members,
        _ if key.starts_with("moderator_") => &messages.quota_moderators,
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_the_instance_has_a_label() {
        for locale in Locale::all() {
            for key in app::App::instance_keys() {
                assert_ne!(setting(key, locale), key);
            }
        }
    }
}
