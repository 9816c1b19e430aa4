//! oEmbed (version 1.0): sites that are given the link of a post learn how to show its photo.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use serde_json::json;

use super::cards::Card;
use super::locale::Locale;
use crate::http::error::ApiError;
use crate::http::handlers::feed::parameter;
use crate::http::state::Http;

/// The longest side of the photo; `maxwidth` and `maxheight` make it smaller.
const LONGEST: u32 = 1280;

pub(crate) async fn oembed(State(http): State<Http>, request: Parts) -> Result<Response, ApiError> {
    let query = request.uri.query().unwrap_or_default();
    if parameter(query, "format").is_some_and(|format| format != "json") {
        return Err(ApiError::unsupported("format must be json"));
    }
    let base_url = http.base_url(&request);
    let url =
        parameter(query, "url").ok_or_else(|| ApiError::invalid("url", "url must be the link of a post"))?;
    let path = url.strip_prefix(base_url.as_str()).and_then(|path| path.strip_prefix("/p/"));
    let missing = || ApiError::not_found("there is no post at this url");
    let id = path.and_then(|id| id.split(['?', '#']).next()?.parse().ok()).ok_or_else(missing)?;
    // As everyone sees it, not the caller.
    let post = http.app.post(None, id).await?;
    let locale = Locale::negotiate(&request.headers);
    let card = Card::new(&post, locale, false);
    let (width, height) = largest(&card, limit(query, "maxwidth")?, limit(query, "maxheight")?);
    let (title, _) = card.title_and_description(locale);
    let instance = http.app.instance().await?;
    let body = json!({
        "version": "1.0",
        "type": "photo",
        "title": title,
        "author_name": card.author.name,
        "author_url": format!("{base_url}{}", card.author.url),
        "provider_name": instance.name(),
        "provider_url": format!("{base_url}/"),
        "url": format!("{base_url}{}", card.fit(width.max(height))),
        "width": width,
        "height": height,
    });
    // What is deleted is gone, so every use is revalidated.
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-cache")];
    Ok((headers, body.to_string()).into_response())
}

fn limit(query: &str, name: &'static str) -> Result<u32, ApiError> {
    let Some(text) = parameter(query, name) else { return Ok(LONGEST) };
    let positive = text.parse().ok().filter(|pixels| *pixels > 0);
    positive
        .ok_or_else(|| ApiError::invalid(name, format!("{name} must be a positive whole number of pixels")))
}

/// The dimensions of the whole photo within a width and a height.
fn largest(card: &Card, max_width: u32, max_height: u32) -> (u32, u32) {
    let fits = |longest: u32| {
        let (width, height) = card.fit_size(longest);
        width <= max_width && height <= max_height
    };
    // Rounding may add a pixel to the other side.
    let mut longest = LONGEST.min(max_width.max(max_height));
    while longest > 1 && !fits(longest) {
        longest -= 1;
    }
    card.fit_size(longest)
}
