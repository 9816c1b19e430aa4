//! Atom feeds (RFC 4287) of the instance and of a user, as an anonymous visitor sees them.

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, ETAG, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use model::{FeedStart, Limit, Post, PostFilter, Timestamp, Username};

use super::cards::Card;
use super::locale::{Locale, interpolate};
use super::response::{Coding, text};
use crate::http::error::ApiError;
use crate::http::etag::{if_none_match_contains, tag_of};
use crate::http::extract::path::PathId;
use crate::http::state::Http;
use crate::links;

/// Posts in a feed.
const POSTS: &str = "30";

/// The longest side of the photo in a feed.
const LONGEST: u32 = 1280;

pub(crate) async fn instance(State(http): State<Http>, request: Parts) -> Result<Response, ApiError> {
    let instance = http.app.instance().await?;
    respond(&http, &request, PostFilter::Any, instance.name(), "/").await
}

pub(crate) async fn user(
    State(http): State<Http>,
    PathId(name): PathId<Username>,
    request: Parts,
) -> Result<Response, ApiError> {
    let user = http.app.user(None, &name).await?;
    let locale = Locale::negotiate(&request.headers);
    let title = interpolate(&locale.page.posts_of, "name", user.username.as_str());
    respond(&http, &request, PostFilter::By(user.id), &title, &format!("/@{}", user.username)).await
}

async fn respond(
    http: &Http,
    request: &Parts,
    filter: PostFilter,
    title: &str,
    page_path: &str,
) -> Result<Response, ApiError> {
    let locale = Locale::negotiate(&request.headers);
    let base_url = http.base_url(request);
    let instance = http.app.instance().await?;
    let limit: Limit = POSTS.parse().map_err(|_| ApiError::internal())?;
    let page = http.app.feed(http.client(None), None, filter, FeedStart::Offset(0), limit).await?;
    let entries = page.posts.iter().map(|post| Entry::new(post, locale, &base_url));
    let entries = entries.collect::<Result<Vec<_>, _>>()?;
    let updated = page.posts.first().map_or(Timestamp::from_micros(0), |post| post.created_at);
    let feed = AtomTemplate {
        title: xml_text(title),
        subtitle: instance.description.as_deref().map(xml_text),
        icon: instance.logo.as_ref().map(|logo| format!("{base_url}{}", links::icon(logo, 192))),
        self_url: format!("{base_url}{}", request.uri.path()),
        page_url: format!("{base_url}{page_path}"),
        updated: rfc3339(updated),
        entries,
    };
    let xml = render(&feed)?;
    let etag = tag_of(xml.as_bytes());
    let mut headers = HeaderMap::new();
    headers.insert(ETAG, HeaderValue::try_from(format!("W/{etag}")).map_err(|_| ApiError::internal())?);
    // What is deleted is gone, so every use is revalidated.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding, Accept-Language"));
    if if_none_match_contains(&request.headers, &etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let mut response =
        text("application/atom+xml; charset=utf-8", xml.into(), Coding::accepted(&request.headers))?;
    response.headers_mut().extend(headers);
    Ok(response)
}

#[derive(Template)]
#[template(path = "atom.xml")]
struct AtomTemplate {
    title: String,
    subtitle: Option<String>,
    icon: Option<String>,
    self_url: String,
    page_url: String,
    updated: String,
    entries: Vec<Entry>,
}

struct Entry {
    url: String,
    title: String,
    photo_url: String,
    published: String,
    author: String,
    author_url: String,
    /// HTML, which the feed contains as text.
    content: String,
}

#[derive(Template)]
#[template(path = "partials/atom-content.html")]
struct ContentTemplate<'a> {
    p: &'a Card,
    photo_url: &'a str,
    size: (u32, u32),
}

impl Entry {
    fn new(post: &Post, locale: &Locale, base_url: &str) -> Result<Self, ApiError> {
        let card = Card::new(post, locale, false);
        let photo_url = format!("{base_url}{}", card.fit(LONGEST));
        let (title, _) = card.title_and_description(locale);
        let size = card.fit_size(LONGEST);
        let content = render(&ContentTemplate { p: &card, photo_url: &photo_url, size })?;
        Ok(Self {
            url: format!("{base_url}{}", card.url),
            title: xml_text(&title),
            photo_url,
            published: rfc3339(post.created_at),
            author: card.author.name,
            author_url: format!("{base_url}{}", card.author.url),
            content: xml_text(&content),
        })
    }
}

fn render(template: &impl Template) -> Result<String, ApiError> {
    template.render().map_err(|error| {
        tracing::error!(%error, "feed template failed to render");
        ApiError::internal()
    })
}

/// Without the control characters that XML cannot contain.
fn xml_text(text: &str) -> String {
    let is_allowed = |character: &char| {
        matches!(character, '\t' | '\n' | '\r')
            || (*character >= ' ' && !matches!(character, '\u{fffe}' | '\u{ffff}'))
    };
    text.chars().filter(is_allowed).collect()
}

fn rfc3339(time: Timestamp) -> String {
    time.to_string().replace("+0000", "Z")
}
