//! Who is calling, by cookie or by bearer token, and the cookie that carries a session.

use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::Token;

use super::Http;
use super::error::Problem;
use super::openapi::{Argument, Entry};
use crate::config::Config;

pub(crate) const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The caller of an operation that requires a session.
pub(crate) struct RequiredSession(pub(crate) app::Caller);

/// The caller of an operation that anyone may use. An expired session counts as none.
pub(crate) struct OptionalSession(pub(crate) Option<app::Caller>);

impl FromRequestParts<Http> for RequiredSession {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        Self::of(http, &parts.headers).await
    }
}

impl FromRequestParts<Http> for OptionalSession {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        Self::of(http, &parts.headers).await
    }
}

impl Argument for RequiredSession {
    fn describe(entry: &mut Entry) {
        entry.session(false);
    }
}

impl Argument for OptionalSession {
    fn describe(entry: &mut Entry) {
        entry.session(true);
    }
}

impl RequiredSession {
    pub(crate) async fn of(http: &Http, headers: &HeaderMap) -> Result<Self, Problem> {
        let OptionalSession(caller) = OptionalSession::of(http, headers).await?;
        caller.map(Self).ok_or_else(Problem::unauthorized)
    }
}

impl OptionalSession {
    pub(crate) async fn of(http: &Http, headers: &HeaderMap) -> Result<Self, Problem> {
        match credential(headers, http.cookie.name).and_then(|text| text.parse().ok()) {
            Some(token) => Ok(Self(http.app.authenticate(&token).await?)),
            None => Ok(Self(None)),
        }
    }
}

/// The session cookie. Its strictest form needs https.
#[derive(Debug, Clone)]
pub(crate) struct Cookie {
    pub(crate) name: &'static str,
    attributes: &'static str,
}

/// Longer than a session can go unused: the session ends it, not the browser. Browsers allow no more.
const MAX_AGE: u32 = 400 * 24 * 60 * 60;

impl Cookie {
    pub(crate) fn new(config: &Config) -> Self {
        let secure = config.public_url.as_ref().is_some_and(|url| url.is_https());
        let (name, attributes) = if secure {
            ("__Host-pinhole_session", "Path=/; HttpOnly; SameSite=Lax; Secure")
        } else {
            ("pinhole_session", "Path=/; HttpOnly; SameSite=Lax")
        };
        Self { name, attributes }
    }

    /// The headers that hand a session over: the cookie for browsers, the token for everyone else.
    pub(crate) fn hand_over(&self, token: &Token) -> [(HeaderName, String); 2] {
        let token = token.reveal();
        let cookie = format!("{}={token}; {}; Max-Age={MAX_AGE}", self.name, self.attributes);
        [(SET_COOKIE, cookie), (AUTH_TOKEN, token)]
    }

    /// The header that makes a browser forget it.
    pub(crate) fn take_back(&self) -> (HeaderName, String) {
        (SET_COOKIE, format!("{}=; {}; Max-Age=0", self.name, self.attributes))
    }
}

/// The bearer token, which wins, or the cookie.
fn credential<'a>(headers: &'a HeaderMap, cookie: &str) -> Option<&'a str> {
    bearer(headers).or_else(|| headers.get_all(COOKIE).iter().find_map(|value| cookie_value(value, cookie)))
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(crate) fn cookie_value<'a>(header: &'a HeaderValue, name: &str) -> Option<&'a str> {
    // Cookies of others may be no text at all; ours is.
    let pairs = header.as_bytes().split(|b| *b == b';').filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}
