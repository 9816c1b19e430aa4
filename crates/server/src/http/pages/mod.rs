//! The web client: pages rendered here, and the files they are made of. It reads what the API reads; what
//! people do on a page goes through the API itself.

pub(super) mod assets;
mod cards;
pub(super) mod error_page;
mod layout;
mod locale;
mod placeholder;
mod response;
pub(super) mod site_files;
mod templates;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Anchor, FeedStart, Limit, PostId, Username, Whose};

use crate::http::error::ApiError;
use crate::http::extract::path::PathId;
use crate::http::state::Http;
use cards::{Avatar, Card};
use layout::PageRequest;
use templates::{Compose, Enter, Feed, Person, Single};

pub(super) use error_page::offline;

/// Photos on a page of the feed, and on a page of one person: whole rows of three.
const FEED_PAGE: &str = "20";
const PERSON_PAGE: &str = "30";

pub(crate) async fn home(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    let (after, limit) = (after(&request)?, limit(FEED_PAGE));
    let page = http.app.feed(request.caller.as_ref(), Whose::Everyones, start(after), limit).await?;
    let next_json = link(&page, |anchor| format!("/feed?limit={FEED_PAGE}&after={anchor}"));
    let next_page = link(&page, |anchor| format!("/?after={anchor}"));
    let layout = request.layout(&http, Some("feed.js"));
    let (cards, blank) = (Card::list(&page.posts, layout.words), Card::blank());
    layout.respond(
        &request,
        &Feed { layout: &layout, cards, blank, next_json, next_page, older: after.is_some() },
    )
}

pub(crate) async fn single(
    State(http): State<Http>,
    PathId(id): PathId<PostId>,
    request: PageRequest,
) -> Result<Response, ApiError> {
    let post = http.app.post(request.caller.as_ref(), id).await?;
    let layout = request.layout(&http, Some("post.js"));
    let p = Card::new(&post, layout.words, true);
    let (title, description) = p.introduction(layout.words);
    layout.respond(&request, &Single { layout: &layout, p, title, description })
}

pub(crate) async fn person(
    State(http): State<Http>,
    PathId(name): PathId<Username>,
    request: PageRequest,
) -> Result<Response, ApiError> {
    let (after, limit) = (after(&request)?, limit(PERSON_PAGE));
    let user = http.app.user(&name).await?;
    let page = http.app.feed(request.caller.as_ref(), Whose::Only(user.id), start(after), limit).await?;
    let person = Avatar::of(&user);
    let next_json =
        link(&page, |anchor| format!("/users/{}/posts?limit={PERSON_PAGE}&after={anchor}", person.name));
    let next_page = link(&page, |anchor| format!("{}?after={anchor}", person.url));
    let own = request.caller.as_ref().is_some_and(|caller| caller.user.id == user.id);
    let layout = request.layout(&http, Some("person.js"));
    let (cards, blank) = (Card::list(&page.posts, layout.words), Card::blank());
    let older = after.is_some();
    layout.respond(
        &request,
        &Person { layout: &layout, person, user, own, cards, blank, next_json, next_page, older },
    )
}

pub(crate) async fn join(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    enter(&http, &request, true)
}

pub(crate) async fn login(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    enter(&http, &request, false)
}

/// Both ways in look alike.
fn enter(http: &Http, request: &PageRequest, joining: bool) -> Result<Response, ApiError> {
    if request.caller.is_some() {
        return Ok(Redirect::to("/").into_response());
    }
    let layout = request.layout(http, Some("enter.js"));
    let min_password = http.app.min_password();
    layout.respond(request, &Enter { layout: &layout, joining, min_password })
}

pub(crate) async fn compose(State(http): State<Http>, request: PageRequest) -> Result<Response, ApiError> {
    if request.caller.is_none() {
        return Ok(Redirect::to("/login?next=/new").into_response());
    }
    let layout = request.layout(&http, Some("compose.js"));
    let max_upload = http.app.max_upload();
    layout.respond(&request, &Compose { layout: &layout, max_upload })
}

/// The service worker takes what a phone shares. Without one the photo is lost, and the composer says so.
pub(crate) async fn share() -> Redirect {
    Redirect::to("/new?shared")
}

/// The place a reader without scripts has reached.
fn after(request: &PageRequest) -> Result<Option<Anchor>, ApiError> {
    let after = form_urlencoded::parse(request.query.as_bytes()).find(|(key, _)| key == "after");
    let parsed = after.map(|(_, anchor)| anchor.parse()).transpose();
    parsed.map_err(|rule: model::Invalid| ApiError::invalid("after", rule.0))
}

fn start(after: Option<Anchor>) -> FeedStart {
    after.map_or(FeedStart::Offset(0), FeedStart::After)
}

fn limit(number: &str) -> Limit {
    number.parse().expect("a page of ours has a legal length")
}

/// An address made of the place behind a page; empty when nothing follows.
fn link(page: &model::FeedPage, address: impl Fn(Anchor) -> String) -> String {
    page.next.map(address).unwrap_or_default()
}
