//! The layout of every page: the current user, the locale, and the assets to load.

use std::net::IpAddr;
use std::sync::Arc;

use app::{Client, Instance};
use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::Response;
use http::HeaderValue;
use http::header::SET_COOKIE;
use http::request::Parts;

use super::assets::Assets;
use super::cards::Avatar;
use super::locale::Locale;
use super::preferences::Preferences;
use super::response;
use super::response::accepts_gzip;
use crate::http::error::ApiError;
use crate::http::extract::session::OptionalSession;
use crate::http::state::Http;
use crate::links;

/// The context of a request for an HTML page.
pub(crate) struct PageRequest {
    pub(super) caller: Option<app::Caller>,
    pub(super) address: IpAddr,
    pub(super) query: String,
    pub(super) instance: Arc<Instance>,
    pub(super) preferences: Preferences,
    locale: &'static Locale,
    base_url: String,
    path: String,
    gzip: bool,
    /// Set for a caller with a session cookie.
    renewed_cookie: Option<HeaderValue>,
}

impl FromRequestParts<Http> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let OptionalSession(caller) = OptionalSession::from_request_parts(parts, http).await?;
        let renewed_cookie = caller.as_ref().and_then(|_| http.session_cookie.renewed(&parts.headers));
        let preferences = Preferences::of(&parts.headers);
        Ok(Self {
            caller,
            address: http.client_address((&*parts).into()),
            renewed_cookie,
            instance: http.app.instance().await?,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            locale: preferences.locale(&parts.headers),
            preferences,
            base_url: http.addresses.base_url((&*parts).into()),
            path: parts.uri.path().to_owned(),
            gzip: accepts_gzip(&parts.headers),
        })
    }
}

impl PageRequest {
    pub(super) fn client(&self) -> Client {
        let client = Client::anonymous(self.address);
        self.caller.as_ref().map_or(client, |caller| client.with_user(caller.user.id))
    }

    /// The layout of a page; `module` is its entry module beside the common one.
    pub(super) fn layout<'a>(&'a self, http: &'a Http, module: Option<&'static str>) -> Layout<'a> {
        let me = self
            .caller
            .as_ref()
            .map(|caller| Me { avatar: Avatar::of(&caller.user), moderator: caller.is_moderator() });
        Layout {
            base_url: &self.base_url,
            path: &self.path,
            me,
            module,
            nav: true,
            ..Layout::bare(http, self.locale, self.preferences.theme, &self.instance)
        }
    }
}

/// The current user.
pub(super) struct Me {
    pub(super) avatar: Avatar,
    pub(super) moderator: bool,
}

pub(super) struct Layout<'a> {
    pub(super) locale: &'static Locale,
    /// The theme that was chosen; `None` follows the system.
    pub(super) theme: Option<&'static str>,
    pub(super) assets: &'a Assets,
    /// The public base URL, for the absolute links in `<meta>` and `<link rel="canonical">`.
    pub(super) base_url: &'a str,
    pub(super) instance: &'a Instance,
    /// The name of the instance.
    pub(super) name: &'a str,
    /// The path of its logo.
    pub(super) logo: Option<String>,
    /// The query of the stylesheet with its accent colour.
    pub(super) accent: Option<String>,
    /// The request's path, to mark the current entry of the navigation.
    pub(super) path: &'a str,
    pub(super) me: Option<Me>,
    /// The page's entry module, loaded in addition to the common one.
    pub(super) module: Option<&'static str>,
    /// Whether the navigation is shown; off where the current user is unknown.
    pub(super) nav: bool,
}

impl<'a> Layout<'a> {
    /// Without navigation, for a page on which the current user is unknown.
    pub(super) fn bare(
        http: &'a Http,
        locale: &'static Locale,
        theme: Option<&'static str>,
        instance: &'a Instance,
    ) -> Self {
        Self {
            locale,
            theme,
            assets: &http.assets,
            base_url: "",
            path: "",
            instance,
            name: instance.name(),
            logo: instance.logo.as_ref().map(|logo| links::icon(logo, links::LOGO_SIDE)),
            accent: instance.accent.as_deref().map(links::accent_query),
            me: None,
            module: None,
            nav: false,
        }
    }

    /// What the instance is about.
    pub(super) fn description(&self) -> &str {
        self.instance.description.as_deref().unwrap_or(&self.locale.page.about)
    }

    /// The path of an icon: the logo, or else an icon of the web client.
    pub(super) fn icon(&self, side: u16) -> String {
        let own = || format!("{}/icon-{side}.png", self.assets);
        self.instance.logo.as_ref().map_or_else(own, |logo| links::icon(logo, side))
    }

    /// The modules for `<link rel="modulepreload">`: they load in parallel instead of import after import.
    pub(super) fn modules(&self) -> &[&'static str] {
        self.assets.modules(self.module)
    }

    pub(super) fn respond(&self, request: &PageRequest, page: &impl Template) -> Result<Response, ApiError> {
        let mut response = response::page(page, request.gzip)?;
        response.headers_mut().extend(request.renewed_cookie.clone().map(|cookie| (SET_COOKIE, cookie)));
        Ok(response)
    }
}
