//! The feed and its pages.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use model::{Anchor, FeedStart, Limit, Whose};

use super::Http;
use super::auth::Reader;
use super::error::Problem;
use super::wire::{FeedPage, Paging, Post, json};

/// Read the feed
///
/// Newest first. Whoever follows `paging.next` sees every post that was there at the start exactly once,
/// whatever is posted or deleted meanwhile.
#[utoipa::path(
    get, path = "/feed", tag = "feed", operation_id = "feed",
    params(
        ("limit" = Option<i64>, Query, description = "Posts on a page; more than 100 counts as 100", example = 20,
            minimum = 1, nullable = false),
        ("offset" = Option<i64>, Query, description = "How many of the newest posts to skip", example = 0,
            minimum = 0, nullable = false),
        ("after" = Option<String>, Query, description = "A place in the feed, taken from `paging.next`; then \
            `offset` only counts on in the next link", nullable = false),
    ),
    responses((status = 200, description = "A page of posts", body = FeedPage)),
    security((), ("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn feed(
    State(http): State<Http>,
    Reader(caller): Reader,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    page(&http, &parts, caller.as_ref(), Whose::Everyones, "/feed").await
}

/// A page of posts as the query asks for it; `path` is where the next one is found.
pub(crate) async fn page(
    http: &Http,
    parts: &Parts,
    caller: Option<&app::Caller>,
    whose: Whose,
    path: &str,
) -> Result<Response, Problem> {
    let ask = Ask::parse(parts.uri.query().unwrap_or_default())?;
    let start = ask.after.map_or(FeedStart::Offset(ask.offset), FeedStart::After);
    let page = http.app.feed(caller, whose, start, ask.limit).await?;
    let next = page.next.map(|anchor| {
        let offset = ask.offset.saturating_add(page.posts.len() as u64);
        let limit = ask.limit_as_sent.unwrap_or_else(|| ask.limit.get().to_string());
        format!("{}{path}?limit={limit}&offset={offset}&after={anchor}", http.addresses.base_url(parts))
    });
    let data = page.posts.into_iter().map(Post::from).collect();
    Ok(json(StatusCode::OK, &FeedPage { data, paging: Paging { next } }))
}

/// What a reader asked for.
struct Ask {
    limit: Limit,
    /// Digits only, so it can go into a link as it is.
    limit_as_sent: Option<String>,
    offset: u64,
    after: Option<Anchor>,
}

impl Ask {
    fn parse(query: &str) -> Result<Self, Problem> {
        let first = |name: &str| {
            form_urlencoded::parse(query.as_bytes())
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
        };
        let limit_as_sent = first("limit");
        let limit = limit_as_sent.as_deref().map(str::parse).transpose();
        let after = first("after").as_deref().map(str::parse).transpose();
        Ok(Self {
            limit: limit
                .map_err(|rule: model::Invalid| Problem::invalid("limit", rule.0))?
                .unwrap_or_default(),
            limit_as_sent,
            offset: first("offset").as_deref().map_or(Ok(0), parse_offset)?,
            after: after.map_err(|rule: model::Invalid| Problem::invalid("after", rule.0))?,
        })
    }
}

/// An offset beyond all numbers is beyond all posts as well.
fn parse_offset(raw: &str) -> Result<u64, Problem> {
    if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Problem::invalid("offset", "offset must be 0 or a positive whole number"));
    }
    Ok(raw.parse().unwrap_or(u64::MAX))
}
