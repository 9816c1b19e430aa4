//! The feed and its pages.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use model::{Anchor, FeedStart, Limit, Whose};

use crate::http::error::ApiError;
use crate::http::extract::paging::PageHead;
use crate::http::extract::session::OptionalSession;
use crate::http::front::{Form, Written};
use crate::http::json::json_bytes;
use crate::http::middleware::addresses::Head;
use crate::http::state::Http;
use crate::http::written;

pub(crate) async fn feed(
    State(http): State<Http>,
    OptionalSession(caller): OptionalSession,
    PageHead(parts): PageHead,
) -> Result<Response, ApiError> {
    Ok(json_bytes(StatusCode::OK, read(&http, (&parts).into(), caller.as_ref()).await?))
}

/// The page of the feed that a request asks for, as JSON.
pub(crate) async fn read(
    http: &Http,
    head: Head<'_>,
    caller: Option<&app::Caller>,
) -> Result<Bytes, ApiError> {
    let ask = Ask::parse(head.uri.query().unwrap_or_default())?;
    // Before the posts are read: a change in between makes the page old at once, not wrong for ever.
    if let Some(version) = http.app.feed_version().filter(|_| ask.is_front()) {
        return front(http, head, caller, ask, version).await;
    }
    // In a box, as below: what is seldom needed must not make every request larger.
    Box::pin(page(http, head, caller, Whose::Everyones, "/feed", ask)).await
}

/// The newest posts: written once for all readers, as long as nothing changes.
async fn front(
    http: &Http,
    head: Head<'_>,
    caller: Option<&app::Caller>,
    ask: Ask,
    version: u64,
) -> Result<Bytes, ApiError> {
    let asked = |form: &Form| form.limit == ask.limit_as_sent && http.addresses.is_base_url(&form.base, head);
    let page = match http.front.find(version, asked) {
        Some(page) => page,
        None => Box::pin(written_anew(http, head, ask, version)).await?,
    };
    match (caller, page.oldest()) {
        (Some(caller), Some(oldest)) => Ok(page.seen_by(&*http.app.liked_since(caller, oldest).await?)),
        _ => Ok(page.plain()),
    }
}

/// The newest posts as they are now.
async fn written_anew(http: &Http, head: Head<'_>, ask: Ask, version: u64) -> Result<Arc<Written>, ApiError> {
    let form = Form { limit: ask.limit_as_sent.clone(), base: http.addresses.base_url(head) };
    let page = http.app.feed(None, Whose::Everyones, FeedStart::Offset(0), ask.limit).await?;
    let ids: Vec<_> = page.posts.iter().map(|post| post.id).collect();
    let json = ask.answer(&page, &form.base, "/feed");
    let page = Arc::new(Written::new(form, version, json, &ids));
    if page.oldest().is_none_or(|oldest| http.app.may_keep(oldest)) {
        http.front.keep(&page);
    }
    Ok(page)
}

/// A page of posts as `ask` has it, as JSON; `path` is where the next one is found.
pub(crate) async fn page(
    http: &Http,
    head: Head<'_>,
    caller: Option<&app::Caller>,
    whose: Whose,
    path: &str,
    ask: Ask,
) -> Result<Bytes, ApiError> {
    let start = ask.after.map_or(FeedStart::Offset(ask.offset), FeedStart::After);
    let page = http.app.feed(caller, whose, start, ask.limit).await?;
    Ok(ask.answer(&page, &http.addresses.base_url(head), path))
}

/// What a reader asked for.
pub(crate) struct Ask {
    limit: Limit,
    /// Digits only, so it can go into a link as it is.
    limit_as_sent: Option<String>,
    offset: u64,
    after: Option<Anchor>,
}

impl Ask {
    fn is_front(&self) -> bool {
        self.offset == 0 && self.after.is_none()
    }

    /// A page with the link to the next one, as JSON.
    fn answer(self, page: &model::FeedPage, base: &str, path: &str) -> Bytes {
        let next = page.next.map(|anchor| {
            let offset = self.offset.saturating_add(page.posts.len() as u64);
            let limit = self.limit_as_sent.unwrap_or_else(|| self.limit.get().to_string());
            let (offset, after) = (offset.to_string(), anchor.to_string());
            [base, path, "?limit=", &limit, "&offset=", &offset, "&after=", &after].concat()
        });
        written::page(page, next.as_deref())
    }

    pub(crate) fn parse(query: &str) -> Result<Self, ApiError> {
        let (mut limit, mut offset, mut after) = (None, None, None);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let first = match &*name {
                "limit" => &mut limit,
                "offset" => &mut offset,
                "after" => &mut after,
                _ => continue,
            };
            first.get_or_insert(value);
        }
        let invalid = |name| move |rule: model::Invalid| ApiError::invalid(name, rule.0);
        Ok(Self {
            limit: limit.as_deref().map_or(Ok(Limit::default()), str::parse).map_err(invalid("limit"))?,
            limit_as_sent: limit.map(Cow::into_owned),
            offset: offset.as_deref().map_or(Ok(0), parse_offset)?,
            after: after.as_deref().map(str::parse).transpose().map_err(invalid("after"))?,
        })
    }
}

/// An offset beyond all numbers is beyond all posts as well.
fn parse_offset(raw: &str) -> Result<u64, ApiError> {
    if raw.is_empty() || !raw.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ApiError::invalid("offset", "offset must be 0 or a positive whole number"));
    }
    Ok(raw.parse().unwrap_or(u64::MAX))
}
