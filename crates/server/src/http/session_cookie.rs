//! The session cookie, and the bearer token that carries the same session for clients that are no browsers.

use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::Token;

use crate::config::Config;

const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// The name and attributes of the session cookie. The `__Host-` prefix and `Secure` need https.
#[derive(Debug, Clone)]
pub(crate) struct SessionCookie {
    pub(crate) name: &'static str,
    attributes: &'static str,
    /// How long a session may stay unused, in seconds. Pages renew the cookie, so that it ends when its
    /// session does.
    max_age: u64,
}

impl SessionCookie {
    pub(crate) fn new(config: &Config) -> Self {
        let secure = config.public_url.as_ref().is_some_and(|url| url.is_https());
        let (name, attributes) = if secure {
            ("__Host-pinhole_session", "Path=/; HttpOnly; SameSite=Lax; Secure")
        } else {
            ("pinhole_session", "Path=/; HttpOnly; SameSite=Lax")
        };
        Self { name, attributes, max_age: config.session_idle.as_secs() }
    }

    /// The headers that start a session: `Set-Cookie` for browsers, `X-Auth-Token` for other clients.
    pub(crate) fn set_cookie(&self, token: &Token) -> [(HeaderName, String); 2] {
        let token = token.reveal();
        [(SET_COOKIE, self.with_value(&token)), (AUTH_TOKEN, token)]
    }

    /// The `Set-Cookie` header that prolongs the session cookie of a navigation that has one. Not if a script
    /// fetches a page: its response may arrive after the browser has logged out, or in as another user.
    pub(crate) fn renewed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        if headers.get(SEC_FETCH_MODE).is_some_and(|mode| mode != "navigate") {
            return None;
        }
        let token = headers.get_all(COOKIE).iter().find_map(|value| cookie_value(value, self.name))?;
        HeaderValue::try_from(self.with_value(token)).ok()
    }

    fn with_value(&self, token: &str) -> String {
        format!("{}={token}; {}; Max-Age={}", self.name, self.attributes, self.max_age)
    }

    /// The `Set-Cookie` header that deletes the session cookie.
    pub(crate) fn clear_cookie(&self) -> (HeaderName, String) {
        (SET_COOKIE, format!("{}=; {}; Max-Age=0", self.name, self.attributes))
    }
}

/// The session token of a request: the bearer token, or else the session cookie.
pub(crate) fn credential<'a>(headers: &'a HeaderMap, cookie: &str) -> Option<&'a str> {
    bearer(headers).or_else(|| headers.get_all(COOKIE).iter().find_map(|value| cookie_value(value, cookie)))
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The value of the cookie `name` in a `Cookie` header.
pub(crate) fn cookie_value<'a>(header: &'a HeaderValue, name: &str) -> Option<&'a str> {
    // Other cookies on the same host may not be UTF-8; they are skipped.
    let pairs = header.as_bytes().split(|b| *b == b';').filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}
