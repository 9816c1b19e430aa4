//! The page templates and their variables. The markup is in `web/pages`.

use app::{Account, AuditRow, InputFormat, Instance, Report, SessionInfo};
use askama::Template;
use model::{Bio, DisplayName, Link, Profile, Reason, Registration, Status, User};

use super::cards::{Avatar, Card};
use super::layout::Layout;
use super::locale::{Locale, interpolate};

#[derive(Template)]
#[template(path = "feed.html")]
pub(super) struct FeedTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) cards: Vec<Card>,
    /// The content of `<template id="post-template">`.
    pub(super) empty_card: Card,
    /// The next page's URL for infinite scroll (JSON) and for browsers without scripts (HTML); empty on the
    /// last page.
    pub(super) next_json: String,
    pub(super) next_page: String,
    /// Whether this is a later page than the first.
    pub(super) older: bool,
}

#[derive(Template)]
#[template(path = "post.html")]
pub(super) struct PostTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) p: Card,
    pub(super) title: String,
    pub(super) description: String,
}

#[derive(Template)]
#[template(path = "profile.html")]
pub(super) struct ProfileTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) owner: Avatar,
    pub(super) user: User,
    /// Whether the current user is the owner.
    pub(super) own: bool,
    pub(super) cards: Vec<Card>,
    /// The content of `<template id="post-template">`.
    pub(super) empty_card: Card,
    pub(super) next_json: String,
    pub(super) next_page: String,
    pub(super) older: bool,
}

impl ProfileTemplate<'_> {
    fn is_moderator(&self) -> bool {
        self.layout.me.as_ref().is_some_and(|me| me.moderator)
    }

    fn profile(&self) -> Option<&Profile> {
        self.user.profile.as_deref()
    }

    fn has_display_name(&self) -> bool {
        self.profile().is_some_and(|profile| profile.display_name.is_some())
    }

    /// The display name, else the username.
    fn heading(&self) -> &str {
        let name = self.profile().and_then(|profile| profile.display_name.as_ref());
        name.map_or(self.owner.name.as_str(), DisplayName::as_str)
    }

    fn bio(&self) -> Option<&str> {
        self.profile()?.bio.as_ref().map(Bio::as_str)
    }

    fn link(&self) -> Option<&str> {
        self.profile()?.link.as_ref().map(Link::as_str)
    }

    /// The link without its scheme and without a slash at the end.
    fn link_text(&self) -> &str {
        let link = self.link().unwrap_or_default();
        link.split_once("://").map_or(link, |(_, address)| address.trim_end_matches('/'))
    }

    fn photos_by(&self) -> String {
        interpolate(&self.layout.locale.page.posts_of, "name", &self.owner.name)
    }

    fn avatar_alt(&self) -> String {
        interpolate(&self.layout.locale.page.profile_photo, "name", &self.owner.name)
    }

    fn no_posts(&self) -> String {
        interpolate(&self.layout.locale.page.profile_empty, "name", &self.owner.name)
    }

    /// The text before and after the date of registration.
    fn since(&self) -> (&str, &str) {
        self.layout.locale.page.since.split_once("{date}").unwrap_or_default()
    }

    fn joined(&self) -> String {
        self.user.created_at.to_string()
    }

    fn accept(&self) -> String {
        InputFormat::accept()
    }
}

#[derive(Template)]
#[template(path = "auth.html")]
pub(super) struct AuthTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) form: AuthForm,
    pub(super) min_password: usize,
    pub(super) instance: &'a Instance,
    /// Whether the link has the code of an invitation.
    pub(super) is_invited: bool,
}

/// The forms that start a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthForm {
    Join,
    Login,
    Recovery,
}

impl AuthForm {
    fn action(self) -> &'static str {
        match self {
            Self::Join => "/join/username",
            Self::Login => "/login/username",
            Self::Recovery => "/recover",
        }
    }

    fn is_join(self) -> bool {
        self == Self::Join
    }

    fn is_login(self) -> bool {
        self == Self::Login
    }

    fn is_recovery(self) -> bool {
        self == Self::Recovery
    }
}

impl AuthTemplate<'_> {
    fn title(&self) -> &str {
        let messages = &self.layout.locale.page;
        match self.form {
            AuthForm::Join => &messages.join_title,
            AuthForm::Login => &messages.login_title,
            AuthForm::Recovery => &messages.recovery_title,
        }
    }

    fn lead(&self) -> &str {
        let messages = &self.layout.locale.page;
        match self.form {
            AuthForm::Join => match self.instance.registration {
                _ if self.is_invited => &messages.join_lead,
                Registration::Open => &messages.join_lead,
                Registration::Invitation => &messages.join_invited,
                Registration::Approval => &messages.join_approval,
                Registration::Closed => &messages.join_closed,
            },
            AuthForm::Login => &messages.login_lead,
            AuthForm::Recovery => &messages.recovery_lead,
        }
    }

    fn submit(&self) -> &str {
        let messages = &self.layout.locale.page;
        match self.form {
            AuthForm::Join => &messages.join,
            AuthForm::Login => &messages.login,
            AuthForm::Recovery => &messages.recovery_submit,
        }
    }

    /// Whether the form can be submitted at all.
    fn is_possible(&self) -> bool {
        self.form != AuthForm::Join || self.is_invited || self.instance.registration != Registration::Closed
    }

    fn asks_for_invitation(&self) -> bool {
        self.form == AuthForm::Join
            && (self.is_invited || self.instance.registration == Registration::Invitation)
    }

    fn has_terms(&self) -> bool {
        self.form == AuthForm::Join && self.instance.terms.is_some()
    }

    fn password_hint(&self) -> String {
        interpolate(&self.layout.locale.page.password_hint, "min", &self.min_password.to_string())
    }
}

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

impl AdminTemplate<'_> {
    /// The choices of who may join, with their labels.
    fn registrations(&self) -> Vec<(&'static str, &str)> {
        let label = |choice: &Registration| (choice.as_str(), registration_text(self.layout.locale, *choice));
        Registration::ALL.iter().map(label).collect()
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
    pub(super) action: String,
    pub(super) target: String,
    pub(super) detail: String,
}

impl From<&AuditRow> for AuditItem {
    fn from(row: &AuditRow) -> Self {
        let post = row.post_id.map(|post| format!(" #{post}")).unwrap_or_default();
        Self {
            time: row.created_at.to_string(),
            actor: row.actor.clone(),
            action: row.action.clone(),
            target: row.username.clone().unwrap_or_default() + &post,
            detail: row.detail.clone().unwrap_or_default(),
        }
    }
}

#[derive(Template)]
#[template(path = "settings.html")]
pub(super) struct SettingsTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    /// The username, for password managers.
    pub(super) name: String,
    /// The profile's texts; empty if there are none.
    pub(super) display_name: String,
    pub(super) bio: String,
    pub(super) link: String,
    pub(super) sessions: Vec<SessionItem>,
    pub(super) recovery_codes: u64,
    pub(super) min_password: usize,
    /// The id and the name of blocked users.
    pub(super) blocked: Vec<(i64, String)>,
    pub(super) account: Account,
}

/// A session in the list of the settings.
pub(super) struct SessionItem {
    pub(super) id: String,
    pub(super) client: String,
    pub(super) network: String,
    pub(super) last_used: String,
    pub(super) is_current: bool,
}

impl SessionItem {
    pub(super) fn new(session: SessionInfo, locale: &Locale) -> Self {
        Self {
            id: session.id.to_string(),
            client: session.client.unwrap_or_else(|| locale.page.session_unknown.clone()),
            network: session.network.unwrap_or_default(),
            last_used: session.last_used_at.to_string(),
            is_current: session.is_current,
        }
    }
}

impl SettingsTemplate<'_> {
    /// Why the account cannot write.
    fn status_notice(&self) -> Option<&str> {
        let messages = &self.layout.locale.page;
        match self.account.status {
            Status::Active | Status::Deleted => None,
            Status::Pending => Some(&messages.pending_notice),
            Status::Suspended | Status::Hidden => Some(&messages.suspended_notice),
        }
    }

    fn status_reason(&self) -> &str {
        self.account.status_reason.as_ref().map(Reason::as_str).unwrap_or_default()
    }

    /// The text before and after the time of the last use.
    fn last_used(&self) -> (&str, &str) {
        self.layout.locale.page.session_used.split_once("{time}").unwrap_or_default()
    }

    fn codes_left(&self) -> String {
        let messages = &self.layout.locale.page;
        match self.recovery_codes {
            0 => messages.codes_none.clone(),
            count => interpolate(&messages.codes_left, "count", &count.to_string()),
        }
    }

    fn password_hint(&self) -> String {
        interpolate(&self.layout.locale.page.password_hint, "min", &self.min_password.to_string())
    }
}

#[derive(Template)]
#[template(path = "compose.html")]
pub(super) struct ComposeTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) max_upload: u64,
}

impl ComposeTemplate<'_> {
    fn accept(&self) -> String {
        InputFormat::accept()
    }

    fn formats(&self) -> String {
        interpolate(&self.layout.locale.page.formats, "max", &format!("{} MiB", self.max_upload >> 20))
    }
}

#[derive(Template)]
#[template(path = "error.html")]
pub(super) struct ErrorTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) request_id: Option<String>,
}
