//! The session cookie and the bearer token: how a session travels.

use http::header::{AUTHORIZATION, COOKIE, SET_COOKIE};
use http::{HeaderMap, HeaderName, HeaderValue};
use model::Token;

use crate::config::Config;

const AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// The session cookie. Its strictest form needs https.
#[derive(Debug, Clone)]
pub(crate) struct SessionCookie {
    pub(crate) name: &'static str,
    attributes: &'static str,
}

/// Longer than a session can go unused: the session ends it, not the browser. Browsers allow no more.
const MAX_AGE: u32 = 400 * 24 * 60 * 60;

impl SessionCookie {
    pub(crate) fn new(config: &Config) -> Self {
        let secure = config.public_url.as_ref().is_some_and(|url| url.is_https());
        let (name, attributes) = if secure {
            ("__Host-pinhole_session", "Path=/; HttpOnly; SameSite=Lax; Secure")
        } else {
            ("pinhole_session", "Path=/; HttpOnly; SameSite=Lax")
        };
        Self { name, attributes }
    }

    /// The headers that start a session: the cookie for browsers, the token for other clients.
    pub(crate) fn set_cookie(&self, token: &Token) -> [(HeaderName, String); 2] {
        let token = token.reveal();
        let cookie = format!("{}={token}; {}; Max-Age={MAX_AGE}", self.name, self.attributes);
        [(SET_COOKIE, cookie), (AUTH_TOKEN, token)]
    }

    /// The header that clears the cookie.
    pub(crate) fn clear_cookie(&self) -> (HeaderName, String) {
        (SET_COOKIE, format!("{}=; {}; Max-Age=0", self.name, self.attributes))
    }
}

/// The bearer token, which wins, or the cookie.
pub(crate) fn credential<'a>(headers: &'a HeaderMap, cookie: &str) -> Option<&'a str> {
    bearer(headers).or_else(|| headers.get_all(COOKIE).iter().find_map(|value| cookie_value(value, cookie)))
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

pub(crate) fn cookie_value<'a>(header: &'a HeaderValue, name: &str) -> Option<&'a str> {
    // Other cookies may not be text.
    let pairs = header.as_bytes().split(|b| *b == b';').filter_map(|pair| std::str::from_utf8(pair).ok());
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}
