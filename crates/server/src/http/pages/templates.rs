//! The pages, each with what it shows. Their markup is in `web/pages`.

use app::InputFormat;
use askama::Template;
use model::User;

use super::cards::{Avatar, Card};
use super::layout::Layout;
use super::locale::fill;

#[derive(Template)]
#[template(path = "feed.html")]
pub(super) struct Feed<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) cards: Vec<Card>,
    pub(super) blank: Card,
    /// Where scripts find the next posts, and where readers without them do; empty at the end.
    pub(super) next_json: String,
    pub(super) next_page: String,
    /// Not the first page.
    pub(super) older: bool,
}

#[derive(Template)]
#[template(path = "post.html")]
pub(super) struct Single<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) p: Card,
    pub(super) title: String,
    pub(super) description: String,
}

#[derive(Template)]
#[template(path = "person.html")]
pub(super) struct Person<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) person: Avatar,
    pub(super) user: User,
    pub(super) own: bool,
    pub(super) cards: Vec<Card>,
    pub(super) blank: Card,
    pub(super) next_json: String,
    pub(super) next_page: String,
    pub(super) older: bool,
}

impl Person<'_> {
    fn photos_by(&self) -> String {
        fill(&self.layout.words.page.posts_of, "name", &self.person.name)
    }

    fn avatar_alt(&self) -> String {
        fill(&self.layout.words.page.profile_photo, "name", &self.person.name)
    }

    fn nothing(&self) -> String {
        fill(&self.layout.words.page.person_empty, "name", &self.person.name)
    }

    /// What stands before and behind the day they joined.
    fn since(&self) -> (&str, &str) {
        self.layout.words.page.since.split_once("{date}").unwrap_or_default()
    }

    fn joined(&self) -> String {
        self.user.created_at.to_string()
    }

    fn accept(&self) -> String {
        InputFormat::accept()
    }
}

#[derive(Template)]
#[template(path = "enter.html")]
pub(super) struct Enter<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) joining: bool,
    pub(super) min_password: usize,
}

impl Enter<'_> {
    fn title(&self) -> &str {
        let words = &self.layout.words.page;
        if self.joining { &words.join_title } else { &words.login_title }
    }

    fn password_hint(&self) -> String {
        fill(&self.layout.words.page.password_hint, "min", &self.min_password.to_string())
    }
}

#[derive(Template)]
#[template(path = "new.html")]
pub(super) struct Compose<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) max_upload: u64,
}

impl Compose<'_> {
    fn accept(&self) -> String {
        InputFormat::accept()
    }

    fn formats(&self) -> String {
        fill(&self.layout.words.page.formats, "max", &format!("{} MiB", self.max_upload >> 20))
    }
}

#[derive(Template)]
#[template(path = "notice.html")]
pub(super) struct Notice<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) title: &'a str,
    pub(super) text: &'a str,
    pub(super) request_id: Option<String>,
}
