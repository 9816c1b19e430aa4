//! The web client: pages rendered here, and the files they are made of. It reads what the API reads; what people do
//! on a page goes through the API itself.

mod answer;
pub(super) mod assets;
mod cards;
mod frame;
mod haze;
pub(super) mod install;
mod notice;
mod templates;
mod words;

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Anchor, FeedStart, Limit, PostId, Username, Whose};

use super::Http;
use super::error::Problem;
use super::path::PathId;
use cards::{Card, Face};
use frame::Visit;
use templates::{Compose, Enter, Feed, Person, Single};

pub(super) use assets::Assets;
pub(super) use notice::{Look, offline};

/// Photos on a page of the feed, and on a page of one person: whole rows of three.
const FEED_PAGE: &str = "20";
const PERSON_PAGE: &str = "30";

pub(crate) async fn home(State(http): State<Http>, visit: Visit) -> Result<Response, Problem> {
    let (after, limit) = (after(&visit)?, limit(FEED_PAGE));
    let page = http.app.feed(visit.caller.as_ref(), Whose::Everyones, start(after), limit).await?;
    let next_json = link(&page, |anchor| format!("/feed?limit={FEED_PAGE}&after={anchor}"));
    let next_page = link(&page, |anchor| format!("/?after={anchor}"));
    let frame = visit.frame(&http, Some("feed.js"));
    let (cards, blank) = (Card::list(&page.posts, frame.words), Card::blank());
    frame.answer(&visit, &Feed { frame: &frame, cards, blank, next_json, next_page, older: after.is_some() })
}

pub(crate) async fn single(
    State(http): State<Http>,
    PathId(id): PathId<PostId>,
    visit: Visit,
) -> Result<Response, Problem> {
    let post = http.app.post(visit.caller.as_ref(), id).await?;
    let frame = visit.frame(&http, Some("post.js"));
    let p = Card::new(&post, frame.words, true);
    let (title, description) = p.introduction(frame.words);
    frame.answer(&visit, &Single { frame: &frame, p, title, description })
}

pub(crate) async fn person(
    State(http): State<Http>,
    PathId(name): PathId<Username>,
    visit: Visit,
) -> Result<Response, Problem> {
    let (after, limit) = (after(&visit)?, limit(PERSON_PAGE));
    let user = http.app.user(&name).await?;
    let page = http.app.feed(visit.caller.as_ref(), Whose::Only(user.id), start(after), limit).await?;
    let person = Face::of(&user);
    let next_json =
        link(&page, |anchor| format!("/users/{}/posts?limit={PERSON_PAGE}&after={anchor}", person.name));
    let next_page = link(&page, |anchor| format!("{}?after={anchor}", person.url));
    let own = visit.caller.as_ref().is_some_and(|caller| caller.user.id == user.id);
    let frame = visit.frame(&http, Some("person.js"));
    let (cards, blank) = (Card::list(&page.posts, frame.words), Card::blank());
    let older = after.is_some();
    frame.answer(
        &visit,
        &Person { frame: &frame, person, user, own, cards, blank, next_json, next_page, older },
    )
}

pub(crate) async fn join(State(http): State<Http>, visit: Visit) -> Result<Response, Problem> {
    enter(&http, &visit, true)
}

pub(crate) async fn login(State(http): State<Http>, visit: Visit) -> Result<Response, Problem> {
    enter(&http, &visit, false)
}

/// Both ways in look alike.
fn enter(http: &Http, visit: &Visit, joining: bool) -> Result<Response, Problem> {
    if visit.caller.is_some() {
        return Ok(Redirect::to("/").into_response());
    }
    let frame = visit.frame(http, Some("enter.js"));
    let min_password = http.app.min_password();
    frame.answer(visit, &Enter { frame: &frame, joining, min_password })
}

pub(crate) async fn compose(State(http): State<Http>, visit: Visit) -> Result<Response, Problem> {
    if visit.caller.is_none() {
        return Ok(Redirect::to("/login?next=/new").into_response());
    }
    let frame = visit.frame(&http, Some("compose.js"));
    let max_upload = http.app.max_upload();
    frame.answer(&visit, &Compose { frame: &frame, max_upload })
}

/// The service worker takes what a phone shares. Without one the photo is lost, and the composer says so.
pub(crate) async fn share() -> Redirect {
    Redirect::to("/new?shared")
}

/// The place a reader without scripts has reached.
fn after(visit: &Visit) -> Result<Option<Anchor>, Problem> {
    let after = form_urlencoded::parse(visit.query.as_bytes()).find(|(key, _)| key == "after");
    let parsed = after.map(|(_, anchor)| anchor.parse()).transpose();
    parsed.map_err(|rule: model::Invalid| Problem::invalid("after", rule.0))
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
