//! The CSRF check (cross-site request forgery), which `RequestContext::admit` runs for every request.

use http::header::{COOKIE, HeaderName, ORIGIN};

use crate::http::middleware::addresses::{Addresses, Head};
use crate::http::session_cookie::{bearer, cookie_value};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Which requests of an endpoint are checked. None with a bearer token is: a browser does not add it on its
/// own, so such a request is no forgery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CsrfCheck {
    /// Writes with the session cookie: without it there is no session to abuse.
    CookieWrites,
    /// All, for endpoints that act on the browser itself. A form of another site could sign the browser in to
    /// another account, or fill its composer.
    Always,
}

/// Whether a page of another origin sent this request. `Sec-Fetch-Site` decides, or without it `Origin`; a
/// request with neither does not come from a browser.
pub(crate) fn is_forged(check: CsrfCheck, addresses: &Addresses, head: Head<'_>, cookie_name: &str) -> bool {
    let is_checked = match check {
        CsrfCheck::CookieWrites => !head.method.is_safe() && has_cookie(head, cookie_name),
        CsrfCheck::Always => true,
    };
    if !is_checked || bearer(head.headers).is_some() {
        return false;
    }
    if let Some(site) = head.headers.get(SEC_FETCH_SITE) {
        // `same-site` is another origin too, such as another service on a subdomain.
        return site != "same-origin" && site != "none";
    }
    let origin = head.headers.get(ORIGIN);
    origin.is_some_and(|origin| !origin.to_str().is_ok_and(|origin| addresses.is_own_origin(head, origin)))
}

fn has_cookie(head: Head<'_>, name: &str) -> bool {
    head.headers.get_all(COOKIE).iter().any(|value| cookie_value(value, name).is_some())
}
