//! Paths and links.

use model::{RecoveryCode, Tag, Username};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The page on which an invited user joins.
pub(crate) fn invitation(base_url: &str, code: &RecoveryCode) -> String {
    format!("{base_url}/join?invitation={}", code.reveal())
}

/// The page on which a user sets a new password. The code is in the fragment, which is not sent to the server
/// and so in no access log.
pub(crate) fn reset(base_url: &str, username: &Username, code: &RecoveryCode) -> String {
    let username = username.as_str().replace('+', "%2B");
    format!("{base_url}/recovery?username={username}#{}", code.reveal())
}

/// The path of the page of a tag, which `encodeURIComponent` encodes in the same way.
pub(crate) fn tag(tag: &Tag) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_');
    format!("/tags/{}", utf8_percent_encode(tag.as_str(), ENCODED))
}

/// The path of the logo, which changes with it.
pub(crate) fn logo(logo: &app::Logo) -> String {
    format!("/instance/logo?{}", logo_query(logo))
}

/// The side of the logo beside the name, for screens with three pixels for each of the layout.
pub(crate) const LOGO_SIDE: u16 = 96;

/// The path of the logo as a PNG of this side.
pub(crate) fn icon(logo: &app::Logo, side: u16) -> String {
    format!("/logo/{side}x{side}?{}", logo_query(logo))
}

pub(crate) fn logo_query(logo: &app::Logo) -> String {
    format!("v={}", logo.version)
}

/// The query of the stylesheet with the accent colour.
pub(crate) fn accent_query(colour: &str) -> String {
    format!("colour={}", colour.trim_start_matches('#').to_lowercase())
}

/// For what has its version in the query: another version must not be cached under it.
pub(crate) fn cache_control(is_current: bool) -> &'static str {
    if is_current { "public, max-age=86400" } else { "no-store" }
}
