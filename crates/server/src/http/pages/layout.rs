//! The layout of every page: the current user, the locale, and the assets to load.

use std::net::IpAddr;
use std::sync::Arc;

use app::{Caller, Client, Instance, Sources};
use askama::Template;
use axum::extract::FromRequestParts;
use axum::response::Response;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use http::header::SET_COOKIE;
use http::request::Parts;
use model::{Cursor, Limit, Post};

use super::assets::{Assets, messages_file};
use super::cards::{Avatar, Card};
use super::locale::Locale;
use super::preferences::{Preferences, View};
use super::response::{Coding, html, render};
use super::shared::{Audience, Marker, PageKey, Part, SharedPage, Slot};
use crate::http::error::ApiError;
use crate::http::extract::session::OptionalSession;
use crate::http::handlers::feed::parameter;
use crate::http::state::Http;
use crate::links;

/// The context of a request for an HTML page.
pub(crate) struct PageRequest {
    pub(super) caller: Option<app::Caller>,
    pub(super) address: IpAddr,
    pub(super) query: String,
    pub(super) instance: Arc<Instance>,
    pub(super) preferences: Preferences,
    /// If not the whole page is wanted.
    pub(super) part: Option<Part>,
    pub(super) locale: &'static Locale,
    base_url: String,
    path: String,
    accepted: Coding,
    /// Set for a caller with a session cookie.
    renewed_cookie: Option<HeaderValue>,
}

fn part_of(query: &str) -> Result<Option<Part>, ApiError> {
    match parameter(query, "part").as_deref() {
        Some("posts") => {
            let limit = parameter(query, "limit").map_or(Ok(Limit::default()), |limit| limit.parse());
            limit.map(|limit| Some(Part::Posts(limit))).map_err(|rule| ApiError::invalid("limit", rule))
        }
        Some("post") => Ok(Some(Part::Post)),
        _ => Ok(None),
    }
}

impl FromRequestParts<Http> for PageRequest {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, http: &Http) -> Result<Self, ApiError> {
        let OptionalSession(caller) = OptionalSession::from_request_parts(parts, http).await?;
        let renewed_cookie = caller.as_ref().and_then(|_| http.session_cookie.renewed(&parts.headers));
        let preferences = Preferences::of(&parts.headers);
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self {
            caller,
            address: http.arrival.client,
            renewed_cookie,
            instance: http.app.instance().await?,
            query: query.to_owned(),
            part: part_of(query)?,
            locale: preferences.locale(&parts.headers),
            preferences,
            base_url: http.base_url(parts),
            path: parts.uri.path().to_owned(),
            accepted: Coding::accepted(&parts.headers),
        })
    }
}

impl PageRequest {
    pub(super) fn client(&self) -> Client {
        let client = Client::anonymous(self.address);
        self.caller.as_ref().map_or(client, |caller| client.with_user(caller.user.id))
    }

    /// The layout of a page for the caller; `module` is its entry module beside the common one.
    pub(super) fn layout<'a>(&'a self, http: &'a Http, module: Option<&'static str>) -> Layout<'a> {
        self.layout_for(http, &Reader::of(self.caller.as_ref()), &self.instance, module)
    }

    /// The layout of a page for its readers, with the instance that the page is made from.
    pub(super) fn layout_for<'a>(
        &'a self,
        http: &'a Http,
        reader: &Reader,
        instance: &'a Instance,
        module: Option<&'static str>,
    ) -> Layout<'a> {
        Layout {
            base_url: &self.base_url,
            path: &self.path,
            me: reader.me.clone(),
            module,
            nav: true,
            ..Layout::bare(http, self.locale, self.preferences.theme, instance)
        }
    }

    /// Responds with a page. Guests share what `render` makes of it, and so do members if `is_for_members`,
    /// and if they have not blocked or hidden anything. `view` and `after` are what it depends on beside the
    /// request.
    pub(super) async fn shared<'a>(
        &'a self,
        http: &'a Http,
        (view, after, is_for_members): (View, Option<Cursor>, bool),
        render: impl Fn(Arc<Sources>, Reader) -> BoxFuture<'a, Result<String, ApiError>> + Send + Sync,
    ) -> Result<Response, ApiError> {
        let sources = Arc::new(http.app.sources());
        let caller = self.caller.as_ref();
        let compose = || async {
            let is_shared = match caller {
                None => true,
                Some(caller) => is_for_members && !http.app.has_exclusions(&sources, caller).await?,
            };
            if !is_shared {
                return Ok(None);
            }
            let (audience, readers) = match caller {
                None => (Audience::Guests(self.accepted), Reader::of(None)),
                Some(caller) => {
                    let are_moderators = caller.is_moderator();
                    (Audience::Members { are_moderators }, Reader::members(http.marker, are_moderators))
                }
            };
            let key = PageKey {
                path: self.path.clone(),
                base_url: self.base_url.clone(),
                after,
                part: self.part,
                locale: &self.locale.tag,
                theme: self.preferences.theme,
                view,
                is_introduced: self.preferences.is_introduced,
                audience,
            };
            let fill = async |sources: Arc<Sources>| {
                let page = render(sources, readers).await?;
                Ok::<_, ApiError>(Arc::new(match audience {
                    Audience::Guests(accepted) => SharedPage::of_guests(accepted.apply(page.into())?),
                    Audience::Members { .. } => SharedPage::of_members(&page, http.marker),
                }))
            };
            let page = http.responses.pages.get(&sources, key, fill).await?;
            let Some(caller) = caller else { return Ok(Some(page.encoded())) };
            let liked = match page.oldest() {
                Some(oldest) => Some(http.app.liked_since(&sources, caller, oldest).await?),
                None => None,
            };
            let is_liked = |post| liked.as_ref().is_some_and(|liked| liked.contains(post));
            let page = page.of_reader(&Avatar::of(&caller.user), is_liked)?;
            Ok::<_, ApiError>(Some(self.accepted.apply(page.into())?))
        };
        let (coding, body) = match http.app.of_one_moment(&sources, compose).await?.flatten() {
            Some(page) => page,
            None => {
                let sources = Arc::new(http.app.sources());
                let page = render(sources.clone(), Reader::of(caller)).await;
                http.app.settle(&sources, Ok::<_, app::Error>(())).await?;
                self.accepted.apply(page?.into())?
            }
        };
        Ok(self.with_cookie(html(coding, body)))
    }

    fn with_cookie(&self, mut response: Response) -> Response {
        response.headers_mut().extend(self.renewed_cookie.clone().map(|cookie| (SET_COOKIE, cookie)));
        response
    }
}

/// For whom a page is rendered.
pub(super) struct Reader {
    /// `None` for guests, and for members who share a page.
    pub(super) caller: Option<Caller>,
    me: Option<Me>,
    marker: Option<Marker>,
}

impl Reader {
    pub(super) fn of(caller: Option<&Caller>) -> Self {
        let me = caller.map(|caller| {
            let avatar = Avatar::of(&caller.user);
            Me {
                name: avatar.name.clone(),
                url: avatar.url.clone(),
                avatar: avatar.to_string(),
                moderator: caller.is_moderator(),
            }
        });
        Self { caller: caller.cloned(), me, marker: None }
    }

    /// Members who share a page, with slots for what is theirs.
    fn members(marker: Marker, are_moderators: bool) -> Self {
        let [name, url, avatar] = [Slot::Name, Slot::Url, Slot::Avatar].map(|slot| marker.at(slot));
        Self {
            caller: None,
            me: Some(Me { name, url, avatar, moderator: are_moderators }),
            marker: Some(marker),
        }
    }

    /// The posts of a list.
    pub(super) fn cards(&self, posts: &[Post], locale: &Locale, is_part: bool) -> Vec<Card> {
        let mut cards = Card::list(posts, locale, is_part);
        if let Some(marker) = self.marker {
            for (card, post) in cards.iter_mut().zip(posts) {
                card.liked = marker.at(Slot::Like(post.id));
            }
        }
        cards
    }
}

/// The current user.
#[derive(Debug, Clone)]
pub(super) struct Me {
    pub(super) name: String,
    /// The path of the profile.
    pub(super) url: String,
    /// As HTML.
    pub(super) avatar: String,
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

    /// The file with the messages that scripts show.
    pub(super) fn messages_file(&self) -> String {
        messages_file(&self.locale.tag)
    }

    /// The modules for `<link rel="modulepreload">`: they load in parallel instead of import after import.
    pub(super) fn modules(&self) -> &[&'static str] {
        self.assets.modules(self.module)
    }

    pub(super) fn respond(&self, request: &PageRequest, page: &impl Template) -> Result<Response, ApiError> {
        let (coding, body) = request.accepted.apply(render(page)?.into())?;
        Ok(request.with_cookie(html(coding, body)))
    }
}
