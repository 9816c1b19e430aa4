//! Who is calling, by cookie or by bearer token, and the cookie that carries a session.

use axum::extract::FromRequestParts;
use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use model::Token;

use super::Http;
use super::error::Problem;
use crate::config::Config;

pub(crate) const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// A caller who must be signed in.
pub(crate) struct SignedIn(pub(crate) app::Caller);

/// A reader who may be anybody. A stale credential makes them nobody, not an error.
pub(crate) struct Reader(pub(crate) Option<app::Caller>);

impl FromRequestParts<Http> for SignedIn {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        signed_in(http, &parts.headers).await.map(Self)
    }
}

impl FromRequestParts<Http> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, Problem> {
        Ok(Self(caller(http, &parts.headers).await?))
    }
}

/// Whoever a request comes from, if they are signed in.
pub(crate) async fn caller(http: &Http, headers: &HeaderMap) -> Result<Option<app::Caller>, Problem> {
    match credential(headers, http.cookie.name).and_then(|text| text.parse().ok()) {
        Some(token) => Ok(http.app.authenticate(&token).await?),
        None => Ok(None),
    }
}

/// Whoever a request comes from, who must be signed in.
pub(crate) async fn signed_in(http: &Http, headers: &HeaderMap) -> Result<app::Caller, Problem> {
    caller(http, headers).await?.ok_or_else(Problem::unauthorized)
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
