//! The page templates and their variables. The markup is in `web/pages`.

use app::{Account, InputFormat, Instance, Quota, SessionInfo};
use askama::Template;
use model::{Bio, Cursor, DisplayName, Link, Profile, Reason, Registration, Status, Tag, User};

use super::cards::{Avatar, Card};
use super::empty::{Empty, LeftOut};
use super::layout::Layout;
use super::locale::{Locale, interpolate};
use super::preferences::View;
use crate::http::handlers::upload::file_size;

#[derive(Template)]
#[template(path = "feed.html")]
pub(super) struct FeedTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) cards: Vec<Card>,
    /// What the page says if there are no posts.
    pub(super) empty: Option<Empty>,
    /// The path of the next page; empty on the last one.
    pub(super) next_page: String,
    /// Whether this is a later page than the first.
    pub(super) older: bool,
    pub(super) view: View,
    /// Whether the introduction for guests is shown.
    pub(super) intro: bool,
}

impl FeedTemplate<'_> {
    fn intro_title(&self) -> &str {
        self.layout.instance.name.as_deref().unwrap_or(&self.layout.locale.page.intro_title)
    }

    fn intro_lead(&self) -> String {
        let about = || interpolate(&self.layout.locale.page.intro_lead, "name", self.layout.name);
        self.layout.instance.description.clone().unwrap_or_else(about)
    }

    /// Each view with its label.
    fn views(&self) -> [(View, &str); 3] {
        let messages = &self.layout.locale.page;
        View::ALL.map(|view| match view {
            View::List => (view, messages.view_list.as_str()),
            View::Columns => (view, messages.view_columns.as_str()),
            View::Grid => (view, messages.view_grid.as_str()),
        })
    }
}

/// The posts of the feed, for scripts that add them to it.
#[derive(Template)]
#[template(path = "partials/post-list.html")]
pub(super) struct PostListTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) cards: Vec<Card>,
    pub(super) view: View,
    pub(super) next_page: String,
}

/// The same of a profile or a tag.
#[derive(Template)]
#[template(path = "partials/tile-list.html")]
pub(super) struct TileListTemplate {
    pub(super) cards: Vec<Card>,
    pub(super) next_page: String,
}

/// One post, for scripts that have changed it.
#[derive(Template)]
#[template(path = "partials/card.html")]
pub(super) struct CardTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) p: Card,
    pub(super) large: bool,
    pub(super) sizes: &'a str,
}

#[derive(Template)]
#[template(path = "post.html")]
pub(super) struct PostTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) p: Card,
    pub(super) title: String,
    pub(super) description: String,
    /// Other posts of the author, newest first.
    pub(super) more: Vec<Card>,
    /// Why the reader's lists leave the post out.
    pub(super) left_out: Option<LeftOut<'a>>,
}

impl PostTemplate<'_> {
    /// The address of the post's oEmbed description.
    fn oembed(&self) -> String {
        let base_url = self.layout.base_url;
        let post = format!("{base_url}{}", self.p.url);
        let query = form_urlencoded::Serializer::new(String::new()).append_pair("url", &post).finish();
        format!("{base_url}/oembed?{query}")
    }

    fn more_by(&self) -> String {
        interpolate(&self.layout.locale.page.more_by, "name", &self.p.author.name)
    }
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
    /// What the page says if there are no posts.
    pub(super) empty: Option<Empty>,
    pub(super) next_page: String,
    pub(super) older: bool,
    /// How many posts the reader's lists show.
    pub(super) post_count: u64,
    /// Whether the reader has blocked the owner.
    pub(super) is_blocked: bool,
}

impl ProfileTemplate<'_> {
    fn photo_count(&self) -> String {
        let messages = &self.layout.locale.page;
        let text = if self.post_count == 1 { &messages.photo_count_one } else { &messages.photo_count };
        interpolate(text, "count", &self.post_count.to_string())
    }

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

    fn block(&self) -> String {
        interpolate(&self.layout.locale.page.block, "name", &self.owner.name)
    }

    fn report_title(&self) -> String {
        interpolate(&self.layout.locale.page.report_user, "name", &self.owner.name)
    }

    fn avatar_alt(&self) -> String {
        interpolate(&self.layout.locale.page.profile_photo, "name", &self.owner.name)
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
#[template(path = "tag.html")]
pub(super) struct TagTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) tag: Tag,
    /// The path of its first page.
    pub(super) url: String,
    pub(super) cards: Vec<Card>,
    /// What the page says if there are no posts.
    pub(super) empty: Option<Empty>,
    pub(super) next_page: String,
    pub(super) older: bool,
}

impl TagTemplate<'_> {
    fn photos_with(&self) -> String {
        interpolate(&self.layout.locale.page.posts_with_tag, "tag", &format!("#{}", self.tag))
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
    /// A page of the posts that the user has hidden, and where the next one begins.
    pub(super) hidden: Vec<Card>,
    pub(super) hidden_next: Option<Cursor>,
    /// Whether this is a later page than the first.
    pub(super) hidden_older: bool,
    /// The tag of the language that was chosen.
    pub(super) language: Option<&'static str>,
    /// Whether an import into the account is running.
    pub(super) is_importing: bool,
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
            client: client_name(session.client, locale),
            network: session.network.unwrap_or_default(),
            last_used: session.last_used_at.to_string(),
            is_current: session.is_current,
        }
    }
}

/// `Firefox on Windows` in the words of the locale.
fn client_name(client: Option<String>, locale: &Locale) -> String {
    let Some(client) = client else { return locale.page.session_unknown.clone() };
    let browser = client.split_once(" on ").map(|(browser, system)| {
        interpolate(&interpolate(&locale.page.session_browser, "browser", browser), "system", system)
    });
    browser.unwrap_or(client)
}

impl SettingsTemplate<'_> {
    fn locales(&self) -> &'static [Locale] {
        Locale::all()
    }

    /// Why the account cannot write.
    fn status_notice(&self) -> Option<&str> {
        let messages = &self.layout.locale.page;
        match self.account.status {
            Status::Active | Status::Deleted => None,
            Status::Pending => Some(&messages.pending_notice),
            Status::Suspended | Status::Hidden => Some(&messages.suspended_notice),
        }
    }

    /// What the user has stored and done, with the limits where there are some.
    fn quota_lines(&self) -> Vec<String> {
        let messages = &self.layout.locale.page;
        let (Quota { bytes, posts_per_day, likes_per_minute }, usage) =
            (self.account.quota, self.account.usage);
        let line = |used: String, max: Option<String>, plain: &str, limited: &str| match max {
            Some(max) => interpolate(&interpolate(limited, "used", &used), "max", &max),
            None => interpolate(plain, "used", &used),
        };
        let size = |bytes: u64| self.layout.locale.size(bytes);
        let posts = posts_per_day.map(|max| max.to_string());
        let likes = likes_per_minute.map(|max| interpolate(&messages.quota_likes, "max", &max.to_string()));
        [
            line(size(usage.bytes), bytes.map(size), &messages.quota_bytes, &messages.quota_bytes_of),
            line(usage.posts_today.to_string(), posts, &messages.quota_posts, &messages.quota_posts_of),
        ]
        .into_iter()
        .chain(likes)
        .collect()
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
        interpolate(&self.layout.locale.page.formats, "max", &file_size(self.max_upload))
    }
}

#[derive(Template)]
#[template(path = "unreachable.html")]
pub(super) struct UnreachableTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
}

#[derive(Template)]
#[template(path = "error.html")]
pub(super) struct ErrorTemplate<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) request_id: Option<String>,
}
