//! How a browser wants to see pages: theme, language and the view of the feed. They are cookies, so that
//! guests have them, too, and that a page is right before any script runs. `web/script/preferences.js` sets
//! them.

use http::header::COOKIE;
use http::{HeaderMap, HeaderValue};

use super::locale::Locale;
use crate::http::session_cookie::cookie_value;

const YEAR_SECONDS: u32 = 31_536_000;

/// The cookie with the view of the feed.
const VIEW: &str = "pinhole_view";

#[derive(Debug)]
pub(crate) struct Preferences {
    /// `None` follows the system.
    pub(super) theme: Option<&'static str>,
    /// `None` follows `Accept-Language`.
    pub(super) language: Option<&'static Locale>,
    pub(super) view: View,
    /// Whether the introduction was closed.
    pub(super) is_introduced: bool,
}

impl Preferences {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let cookie = |name| headers.get_all(COOKIE).iter().find_map(|value| cookie_value(value, name));
        let theme = cookie("pinhole_theme");
        Self {
            theme: ["light", "dark"].into_iter().find(|known| theme == Some(known)),
            language: cookie("pinhole_language").and_then(Locale::by_tag),
            view: cookie(VIEW).and_then(View::by_name).unwrap_or(View::List),
            is_introduced: cookie("pinhole_introduced").is_some(),
        }
    }

    /// The locale of a page: the one that was chosen, else the one that the browser asks for.
    pub(super) fn locale(&self, headers: &HeaderMap) -> &'static Locale {
        self.language.unwrap_or_else(|| Locale::negotiate(headers))
    }
}

/// How the feed shows its posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum View {
    List,
    Columns,
    Grid,
}

impl View {
    pub(super) const ALL: [Self; 3] = [Self::List, Self::Columns, Self::Grid];

    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Columns => "columns",
            Self::Grid => "grid",
        }
    }

    /// Posts on the first page and, without scripts, on every one. Ten large photos are more than a phone
    /// shows before the next ones are loaded, and half of twenty posts' work until it shows the first.
    pub(super) fn page_size(self) -> &'static str {
        match self {
            Self::List => "10",
            Self::Columns | Self::Grid => "20",
        }
    }

    /// The width of an image, for the `sizes` attribute; the style sheet has the same numbers. On a phone
    /// with three pixels per CSS pixel, two look the same and take half of the bytes.
    pub(super) fn sizes(self) -> &'static str {
        match self {
            Self::List => "(min-width: 40rem) 36rem, (min-resolution: 2.5x) 66vw, 100vw",
            Self::Columns => {
                "(min-width: 68.75rem) 24rem, (min-width: 40rem) 36rem, (min-resolution: 2.5x) 66vw, 100vw"
            }
            Self::Grid => "(min-width: 68.75rem) 20vw, 33vw",
        }
    }

    /// Keeps the view for later visits.
    pub(super) fn set_cookie(self) -> HeaderValue {
        let cookie = format!("{VIEW}={}; Path=/; Max-Age={YEAR_SECONDS}; SameSite=Lax", self.name());
        HeaderValue::try_from(cookie).expect("a view's name is ASCII")
    }
}
