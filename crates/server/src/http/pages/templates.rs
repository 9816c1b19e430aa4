//! The page templates and their variables. The markup is in `web/pages`.

use app::InputFormat;
use askama::Template;
use model::User;

use super::cards::{Avatar, Card};
use super::layout::Layout;
use super::locale::interpolate;

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
    pub(super) joining: bool,
    pub(super) min_password: usize,
}

impl AuthTemplate<'_> {
    fn title(&self) -> &str {
        let messages = &self.layout.locale.page;
        if self.joining { &messages.join_title } else { &messages.login_title }
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
