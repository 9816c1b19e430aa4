//! The feed: pagination, and the cached first page.

use std::borrow::Cow;
use std::sync::Arc;

use app::Sources;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::StatusCode;
use http::header::{ETAG, IF_NONE_MATCH};
use http::request::Parts;
use model::{Cursor, FeedStart, Limit, PostFilter};

use crate::http::error::ApiError;
use crate::http::etag::{if_none_match_contains, tag_of};
use crate::http::extract::paging::PageHead;
use crate::http::extract::session::OptionalSession;
use crate::http::json::json_bytes;
use crate::http::post_json::PostJson;
use crate::http::response_cache::FirstPageKey;
use crate::http::state::Http;

pub(crate) async fn feed(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    let json = read(&http, &parts, caller.as_ref()).await?;
    // Only those who poll send this header, so that all others do not pay for the hash.
    if !parts.headers.contains_key(IF_NONE_MATCH) {
        return Ok(json_bytes(StatusCode::OK, json));
    }
    let etag = tag_of(&json);
    let header = [(ETAG, format!("W/{etag}"))];
    Ok(match if_none_match_contains(&parts.headers, &etag) {
        true => (StatusCode::NOT_MODIFIED, header).into_response(),
        false => (header, json_bytes(StatusCode::OK, json)).into_response(),
    })
}

/// The requested page of the feed as JSON.
async fn read(http: &Http, parts: &Parts, caller: Option<&app::Caller>) -> Result<Bytes, ApiError> {
    let query = FeedQuery::parse(parts.uri.query().unwrap_or_default())?;
    if query.is_first_page() {
        return first_page(http, parts, caller, query).await;
    }
    // Boxed, so that this future does not enlarge that of a first page, which is the more frequent request.
    Box::pin(page(http, parts, caller, PostFilter::Any, "/feed", query)).await
}

/// The newest posts, from the response cache: encoded once for all callers, until a change of what they show.
async fn first_page(
    http: &Http,
    parts: &Parts,
    caller: Option<&app::Caller>,
    query: FeedQuery,
) -> Result<Bytes, ApiError> {
    let base_url = http.base_url(parts);
    let sources = http.app.sources();
    let compose = || async {
        // Most callers see the same posts; one who has blocked users or hidden posts has an entry of their
        // own.
        let excluding = match caller {
            Some(caller) if http.app.has_exclusions(&sources, caller).await? => Some(caller),
            _ => None,
        };
        let viewer = excluding.map(|caller| caller.user.id);
        let key = FirstPageKey { limit: query.limit_as_sent.clone(), base_url: base_url.clone(), viewer };
        let fill = async |sources: Arc<Sources>| {
            let (client, start, filter) = (http.client(caller), FeedStart::Offset(0), PostFilter::Any);
            let page = http.app.read_feed(&sources, client, excluding, filter, start, query.limit);
            let mut page = page.await?;
            page.posts.iter_mut().for_each(|post| post.is_liked = false);
            Ok::<_, ApiError>(Arc::new(query.encode(&page, &base_url, "/feed")))
        };
        let page = http.responses.first_pages.get(&sources, key, fill).await?;
        let (Some(caller), Some(oldest)) = (caller, page.oldest()) else { return Ok(page.bytes()) };
        let liked = http.app.liked_since(&sources, caller, oldest).await?;
        Ok::<_, ApiError>(page.with_likes(|post| liked.contains(post)))
    };
    match http.app.of_one_moment(&sources, compose).await? {
        Some(page) => Ok(page),
        None => Box::pin(self::page(http, parts, caller, PostFilter::Any, "/feed", query)).await,
    }
}

/// A page of posts as JSON; `path` is the path of the next page.
pub(crate) async fn page(
    http: &Http,
    parts: &Parts,
    caller: Option<&app::Caller>,
    filter: PostFilter,
    path: &str,
    query: FeedQuery,
) -> Result<Bytes, ApiError> {
    let client = http.client(caller);
    let page = http.app.feed(client, caller, filter, query.start(), query.limit).await?;
    Ok(query.encode(&page, &http.base_url(parts), path).bytes())
}

/// The pagination parameters of a list.
pub(crate) struct FeedQuery {
    limit: Limit,
    /// The `limit` parameter as the client sent it. It consists of digits, so the next link repeats it
    /// unescaped.
    limit_as_sent: Option<String>,
    offset: u64,
    after: Option<Cursor>,
}

impl FeedQuery {
    fn is_first_page(&self) -> bool {
        self.offset == 0 && self.after.is_none()
    }

    pub(crate) fn limit(&self) -> Limit {
        self.limit
    }

    /// The cursor of a list that has no offsets.
    pub(crate) fn cursor(&self) -> Option<Cursor> {
        self.after
    }

    pub(crate) fn start(&self) -> FeedStart {
        self.after.map_or(FeedStart::Offset(self.offset), FeedStart::After)
    }

    /// A page with the URL of the next page.
    pub(crate) fn encode(&self, page: &model::FeedPage, base_url: &str, path: &str) -> PostJson {
        let next = page.next.map(|cursor| self.next_url(cursor, page.posts.len(), base_url, path));
        PostJson::page(page, next.as_deref())
    }

    /// The URL of the page after one with this many items.
    pub(crate) fn next_url(&self, cursor: Cursor, items: usize, base_url: &str, path: &str) -> String {
        let offset = self.offset.saturating_add(items as u64);
        let default_limit = self.limit.get().to_string();
        let limit = self.limit_as_sent.as_deref().unwrap_or(&default_limit);
        let (offset, after) = (offset.to_string(), cursor.to_string());
        [base_url, path, "?limit=", limit, "&offset=", &offset, "&after=", &after].concat()
    }

    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        let (mut limit, mut offset, mut after) = (None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let parameter = match &*name {
                "limit" => &mut limit,
                "offset" => &mut offset,
                "after" => &mut after,
                _ => continue,
            };
            // The first value of a repeated parameter counts.
            parameter.get_or_insert(value);
        }
        let invalid = |name| move |rule: model::ValidationError| ApiError::invalid(name, rule);
        Ok(Self {
            limit: limit.as_deref().map_or(Ok(Limit::default()), str::parse).map_err(invalid("limit"))?,
            limit_as_sent: limit.map(Cow::into_owned),
            offset: offset.as_deref().map_or(Ok(0), parse_offset)?,
            after: after.as_deref().map(str::parse).transpose().map_err(invalid("after"))?,
        })
    }
}

/// The first value of a parameter.
pub(crate) fn parameter<'a>(query: &'a str, name: &str) -> Option<Cow<'a, str>> {
    form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value)
}

/// An offset that overflows is beyond all posts, so it is clamped rather than rejected.
fn parse_offset(raw: &str) -> Result<u64, ApiError> {
    if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ApiError::invalid("offset", "offset must be 0 or a positive whole number"));
    }
    Ok(raw.parse().unwrap_or(u64::MAX))
}
