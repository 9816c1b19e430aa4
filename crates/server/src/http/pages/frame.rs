//! What stands around every page: who reads it, in which language, and the files it needs.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::request::Parts;

use super::super::Http;
use super::super::auth::OptionalSession;
use super::super::error::Problem;
use super::answer::{self, takes_gzip};
use super::assets::Assets;
use super::cards::Face;
use super::words::Words;

/// Somebody who opens a page.
pub(crate) struct Visit {
    pub(super) caller: Option<app::Caller>,
    pub(super) query: String,
    words: &'static Words,
    base: String,
    path: String,
    gzip: bool,
}

impl FromRequestParts<Http> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
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

impl Visit {
    /// The frame of a page with a script of its own.
    pub(super) fn frame<'a>(&'a self, http: &'a Http, module: Option<&'static str>) -> Frame<'a> {
        let me =
            self.caller.as_ref().map(|caller| Me { face: Face::of(&caller.user), admin: caller.is_admin });
        Frame {
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

/// Who is signed in.
pub(super) struct Me {
    pub(super) face: Face,
    pub(super) admin: bool,
}

pub(super) struct Frame<'a> {
    pub(super) words: &'static Words,
    pub(super) assets: &'a Assets,
    /// The public address, for links that leave the site.
    pub(super) base: &'a str,
    pub(super) here: &'a str,
    pub(super) me: Option<Me>,
    /// The page's own script, beside the one they share.
    pub(super) module: Option<&'static str>,
    /// Not where we cannot know who reads.
    pub(super) nav: bool,
}

impl Frame<'_> {
    /// Every script the page will ask for, so that none waits for another to name it.
    pub(super) fn modules(&self) -> &[&'static str] {
        self.assets.modules(self.module)
    }

    pub(super) fn answer(&self, visit: &Visit, page: &impl Template) -> Result<Response, Problem> {
        answer::page(page, visit.gzip)
    }
}
