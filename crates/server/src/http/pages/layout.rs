//! The layout around every page: the current user, the locale, and the files it needs.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::request::Parts;

use super::assets::Assets;
use super::cards::Avatar;
use super::locale::Words;
use super::response;
use super::response::takes_gzip;
use crate::http::error::ApiError;
use crate::http::extract::session::OptionalSession;
use crate::http::state::Http;

/// A request for a page.
pub(crate) struct PageRequest {
    pub(super) caller: Option<app::Caller>,
    pub(super) query: String,
    words: &'static Words,
    base: String,
    path: String,
    gzip: bool,
}

impl FromRequestParts<Http> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let OptionalSession(caller) = OptionalSession::from_request_parts(parts, http).await?;
        Ok(Self {
            caller,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            words: Words::for_reader(&parts.headers),
            base: http.addresses.base_url((&*parts).into()),
            path: parts.uri.path().to_owned(),
            gzip: takes_gzip(&parts.headers),
        })
    }
}

impl PageRequest {
    /// The layout of a page with a script of its own.
    pub(super) fn layout<'a>(&'a self, http: &'a Http, module: Option<&'static str>) -> Layout<'a> {
        let me = self
            .caller
            .as_ref()
            .map(|caller| Me { avatar: Avatar::of(&caller.user), admin: caller.is_admin });
        Layout {
            words: self.words,
            assets: &http.assets,
            base: &self.base,
            here: &self.path,
            me,
            module,
            nav: true,
        }
    }
}

/// The current user.
pub(super) struct Me {
    pub(super) avatar: Avatar,
    pub(super) admin: bool,
}

pub(super) struct Layout<'a> {
    pub(super) words: &'static Words,
    pub(super) assets: &'a Assets,
    /// The public address, for links that leave the site.
    pub(super) base: &'a str,
    pub(super) here: &'a str,
    pub(super) me: Option<Me>,
    /// The page's own script, beside the one they share.
    pub(super) module: Option<&'static str>,
    /// Off where the current user is unknown.
    pub(super) nav: bool,
}

impl Layout<'_> {
    /// Every script the page will ask for, so that none waits for another to name it.
    pub(super) fn modules(&self) -> &[&'static str] {
        self.assets.modules(self.module)
    }

    pub(super) fn respond(&self, request: &PageRequest, page: &impl Template) -> Result<Response, ApiError> {
        response::page(page, request.gzip)
    }
}
