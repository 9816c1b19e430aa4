//! What a page says instead of a list without posts, and about a post that lists leave out.

use model::{PostId, Tag};

use super::layout::Layout;
use super::locale::{Locale, interpolate};

#[derive(Debug, Default)]
pub(super) struct Empty {
    pub(super) title: String,
    pub(super) text: String,
    /// The path and the label of what to do about it.
    pub(super) link: Option<(&'static str, String)>,
    /// Whether a button unblocks the owner of the profile.
    pub(super) unblock: bool,
}

impl Empty {
    pub(super) fn feed(layout: &Layout<'_>) -> Self {
        let messages = &layout.locale.page;
        let (path, label) = match layout.me {
            Some(_) => ("/new", &messages.empty_post),
            None => ("/join?next=/new", &messages.empty_join),
        };
        let (title, text) = (messages.empty_title.clone(), messages.empty_text.clone());
        Self { title, text, link: Some((path, label.clone())), ..Self::default() }
    }

    pub(super) fn tag(locale: &Locale, tag: &Tag) -> Self {
        let title = interpolate(&locale.page.tag_empty, "tag", &format!("#{tag}"));
        Self { title, ..Self::default() }
    }

    pub(super) fn profile(locale: &Locale, name: &str) -> Self {
        Self { title: interpolate(&locale.page.profile_empty, "name", name), ..Self::default() }
    }

    pub(super) fn own_profile(locale: &Locale) -> Self {
        let messages = &locale.page;
        let link = Some(("/new", messages.new.clone()));
        Self { title: messages.profile_empty_own.clone(), link, ..Self::default() }
    }

    /// The posts are left out, because the reader has hidden them or blocked their authors.
    pub(super) fn left_out(locale: &Locale) -> Self {
        let messages = &locale.page;
        Self {
            title: messages.left_out_title.clone(),
            text: messages.left_out_text.clone(),
            link: Some(("/settings#blocks-title", messages.left_out_link.clone())),
            ..Self::default()
        }
    }

    /// The profile of a user whom the reader has blocked.
    pub(super) fn blocked(locale: &Locale, name: &str) -> Self {
        let messages = &locale.page;
        let text = |message| interpolate(message, "name", name);
        let (title, text) = (text(&messages.blocked_title), text(&messages.blocked_text));
        Self { title, text, unblock: true, ..Self::default() }
    }

    /// The reader's own profile, whose posts moderators have hidden.
    pub(super) fn moderated(locale: &Locale) -> Self {
        let messages = &locale.page;
        let (title, link) =
            (messages.moderated_title.clone(), Some(("/settings", messages.settings.clone())));
        Self { title, text: messages.moderated_text.clone(), link, ..Self::default() }
    }
}

/// A post that the reader's lists leave out.
pub(super) struct LeftOut<'a> {
    pub(super) text: String,
    /// What to delete so that lists show it again.
    pub(super) path: String,
    pub(super) label: &'a str,
}

impl<'a> LeftOut<'a> {
    pub(super) fn author(locale: &'a Locale, name: &str) -> Self {
        let text = interpolate(&locale.page.blocked_title, "name", name);
        Self { text, path: format!("/me/blocks/{name}"), label: &locale.page.unblock }
    }

    pub(super) fn post(locale: &'a Locale, id: PostId) -> Self {
        let (text, label) = (locale.page.hidden_by_reader.clone(), &locale.page.show_again);
        Self { text, path: format!("/me/hidden-posts/{id}"), label }
    }
}
