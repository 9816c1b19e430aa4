//! The page in the archive of an account, which shows it offline. Its markup is in `web/pages/archive`; it
//! has its styles inside and needs no script.

use std::convert::Infallible;

use askama::Template;
use axum::extract::FromRequestParts;
use http::request::Parts;

use super::locale::{Locale, interpolate};
use crate::account_archive::{AccountRecord, LikeRecord, OfflinePage, PostRecord};
use crate::http::openapi::Argument;
use crate::http::state::Http;

/// The page in the language of the request.
pub(crate) struct ArchivePage(&'static Locale);

impl FromRequestParts<Http> for ArchivePage {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &Http) -> Result<Self, Infallible> {
        Ok(Self(Locale::negotiate(&parts.headers)))
    }
}

impl Argument for ArchivePage {}

#[derive(Template)]
#[template(path = "archive/head.html")]
struct Head<'a> {
    locale: &'static Locale,
    account: &'a AccountRecord,
}

#[derive(Template)]
#[template(path = "archive/post.html")]
struct Post<'a> {
    locale: &'static Locale,
    account: &'a AccountRecord,
    post: &'a PostRecord,
}

#[derive(Template)]
#[template(path = "archive/middle.html")]
struct Middle<'a> {
    locale: &'static Locale,
    account: &'a AccountRecord,
}

#[derive(Template)]
#[template(path = "archive/like.html")]
struct Like<'a> {
    like: &'a LikeRecord,
}

impl Head<'_> {
    fn name(&self) -> &str {
        let profile = &self.account.profile;
        profile.display_name.as_ref().unwrap_or(&profile.username)
    }

    fn profile_alt(&self) -> &str {
        let photo = self.account.profile.photo.as_ref();
        photo.and_then(|photo| photo.alt.as_deref()).unwrap_or_default()
    }

    fn summary(&self) -> String {
        let AccountRecord { posts, exported_at, .. } = self.account;
        let text = interpolate(&self.locale.page.archive_summary, "count", &posts.to_string());
        interpolate(&text, "date", exported_at.get(..10).unwrap_or_default())
    }
}

impl Post<'_> {
    fn alt(&self) -> String {
        let by_author = || interpolate(&self.locale.page.photo_by, "name", &self.account.profile.username);
        self.post.photo.alt.clone().unwrap_or_else(by_author)
    }

    fn date(&self) -> &str {
        self.post.created_at.get(..10).unwrap_or_default()
    }
}

impl Like<'_> {
    fn date(&self) -> &str {
        self.like.created_at.get(..10).unwrap_or_default()
    }
}

impl OfflinePage for ArchivePage {
    fn head(&self, account: &AccountRecord) -> String {
        Head { locale: self.0, account }.render().unwrap_or_default()
    }

    fn post(&self, account: &AccountRecord, post: &PostRecord) -> String {
        Post { locale: self.0, account, post }.render().unwrap_or_default()
    }

    fn middle(&self, account: &AccountRecord) -> String {
        Middle { locale: self.0, account }.render().unwrap_or_default()
    }

    fn like(&self, like: &LikeRecord) -> String {
        Like { like }.render().unwrap_or_default()
    }

    fn tail(&self) -> String {
        "</ul>\n</body>\n</html>\n".into()
    }
}
