//! The templates of the instance and of moderation, and their variables. The markup is in `web/pages`.

use app::{Actor, AuditRow, Caller, InputFormat, Instance, Quota, Report, UsableInvitation};
use askama::Template;
use model::{AuditAction, Registration, Role};

use super::layout::Layout;
use super::locale::{Locale, interpolate};
use super::members::{JOINED, MemberItem, Members};
use super::size::exact_size;

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
    pub(super) members: Members,
    pub(super) invitations: Vec<InvitationItem>,
    pub(super) audit: Vec<AuditItem>,
    /// For owners.
    pub(super) instance: Option<&'a Instance>,
}

/// The parameter of a quota, its label and its value.
type QuotaField<'a> = (&'static str, &'a str, String);

/// The values of a `<select>` with their labels.
type Choices<'a> = Vec<(&'static str, &'a str)>;

impl AdminTemplate<'_> {
    /// How many accounts wait for approval.
    fn waiting(&self) -> String {
        interpolate(&self.layout.locale.page.members_waiting, "count", &self.members.waiting)
    }

    /// What the filter of members offers: each parameter with its label and its choices.
    fn choices(&self) -> [(&'static str, &str, Choices<'_>); 3] {
        let messages = &self.layout.locale.page;
        let statuses = vec![
            ("", messages.any.as_str()),
            ("active", messages.active.as_str()),
            ("pending", messages.pending.as_str()),
            ("suspended", messages.suspended.as_str()),
            ("hidden", messages.suspended_hidden.as_str()),
        ];
        let roles = std::iter::once(("", messages.any.as_str())).chain(self.roles()).collect();
        let times = vec![
            ("", messages.joined_any.as_str()),
            ("1", messages.joined_hour.as_str()),
            ("24", messages.joined_day.as_str()),
            ("168", messages.joined_week.as_str()),
            ("720", messages.joined_month.as_str()),
        ];
        [
            ("status", &messages.status, statuses),
            ("role", &messages.role, roles),
            (JOINED, &messages.joined, times),
        ]
    }

    /// The roles with their names.
    fn roles(&self) -> Choices<'_> {
        [Role::Member, Role::Moderator, Role::Owner].map(|role| (role.as_str(), self.role(role))).into()
    }

    fn role(&self, role: Role) -> &str {
        let messages = &self.layout.locale.page;
        match role {
            Role::Member => &messages.role_member,
            Role::Moderator => &messages.role_moderator,
            Role::Owner => &messages.role_owner,
        }
    }

    /// What is special about an account.
    fn badges(&self, member: &MemberItem) -> Vec<&str> {
        let messages = &self.layout.locale.page;
        let status = match member.status {
            "pending" => Some(messages.pending.as_str()),
            "suspended" => Some(messages.suspended.as_str()),
            "hidden" => Some(messages.suspended_hidden.as_str()),
            _ => None,
        };
        let role = (member.role > Role::Member).then(|| self.role(member.role));
        let own = member.is_self.then_some(messages.you.as_str());
        [own, role, status].into_iter().flatten().collect()
    }

    /// The text before and after the time when an account was made.
    fn joined(&self) -> (&str, &str) {
        self.layout.locale.page.joined_at.split_once("{time}").unwrap_or_default()
    }

    fn all_from(&self, network: &str) -> String {
        interpolate(&self.layout.locale.page.network_show, "network", network)
    }

    fn photos(&self, member: &MemberItem) -> String {
        let messages = &self.layout.locale.page;
        counted(member.posts, &messages.photo_count_one, &messages.photo_count)
    }

    fn likes(&self, member: &MemberItem) -> String {
        let messages = &self.layout.locale.page;
        counted(member.likes, &messages.like_count_one, &messages.like_count)
    }

    fn uses_left(&self, invitation: &InvitationItem) -> String {
        let text = interpolate(&self.layout.locale.page.invite_left, "left", &invitation.left.to_string());
        interpolate(&text, "max", &invitation.max.to_string())
    }

    /// The role that an invitation grants, if it is more than that of a member.
    fn granted(&self, invitation: &InvitationItem) -> Option<&str> {
        (invitation.role > Role::Member).then(|| self.role(invitation.role))
    }

    fn maker(&self, invitation: &InvitationItem) -> String {
        let messages = &self.layout.locale.page;
        match &invitation.maker {
            Some(name) => interpolate(&messages.invite_by, "name", name),
            None => messages.invite_operator.clone(),
        }
    }

    /// The text before and after the day on which an invitation expires.
    fn expires(&self) -> (&str, &str) {
        self.layout.locale.page.invite_expires.split_once("{time}").unwrap_or_default()
    }

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
            let size = |bytes| exact_size(bytes, &messages.decimal_point);
            let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
            [
                ("bytes", messages.quota_bytes_field.as_str(), bytes.map(size).unwrap_or_default()),
                ("posts_per_day", messages.quota_posts_field.as_str(), number(posts_per_day)),
                ("likes_per_minute", messages.quota_likes_field.as_str(), number(likes_per_minute)),
            ]
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

fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { one.to_owned() } else { interpolate(many, "count", &count.to_string()) }
}

/// An invitation that can be used.
pub(super) struct InvitationItem {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) left: u32,
    pub(super) max: u32,
    /// The username of its maker; `None` for the operator.
    pub(super) maker: Option<String>,
    pub(super) expires: String,
    /// Whether the viewer may revoke it.
    pub(super) is_revocable: bool,
}

impl InvitationItem {
    pub(super) fn new(UsableInvitation { invitation, maker }: UsableInvitation, viewer: &Caller) -> Self {
        let is_of_viewer_or_member =
            maker.as_ref().is_some_and(|user| user.id == viewer.user.id || user.role == Role::Member);
        Self {
            is_revocable: viewer.role == Role::Owner || is_of_viewer_or_member,
            id: invitation.id.to_string(),
            role: invitation.role,
            left: invitation.max_uses.saturating_sub(invitation.uses),
            max: invitation.max_uses,
            maker: maker.map(|user| user.username.to_string()),
            expires: invitation.expires_at.to_string(),
        }
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
