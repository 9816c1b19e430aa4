//! The feed: order, `limit` and `offset`, and pagination while others post and delete.

use std::collections::HashMap;
use std::sync::LazyLock;

use e2e::shape::assert_page;
use e2e::{Body, Client, Service};
use serde_json::Value;

/// A service with 105 posts that no test writes to.
struct StaticFeed {
    service: Service,
    /// Newest first.
    posts: Vec<i64>,
}

static STATIC_FEED: LazyLock<StaticFeed> = LazyLock::new(|| {
    let service = Service::start_static(&[]);
    let ada = service.new_user("ada");
    let mut posts: Vec<i64> = (1..=105).map(|number| ada.share_tiny(&format!("number {number}"))).collect();
    posts.reverse();
    StaticFeed { service, posts }
});

impl StaticFeed {
    #[track_caller]
    fn page(&self, query: &str) -> Value {
        let page = self.service.anonymous().get(&format!("/feed{query}")).expect(200).json();
        assert_page(&page);
        page
    }
}

#[test]
fn the_newest_post_comes_first() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let ids: Vec<i64> = (0..5).map(|_| ada.share_tiny("one of five")).collect();
    let page = service.anonymous().get("/feed?limit=100").expect(200).json();
    assert_page(&page);
    let listed: Vec<i64> = ids_of(&page).into_iter().filter(|id| ids.contains(id)).collect();
    assert_eq!(listed, ids.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn an_empty_feed_is_an_empty_page() {
    let page = Service::start(&[]).anonymous().get("/feed").expect(200).json();
    assert_eq!(page, serde_json::json!({"data": [], "paging": {}}));
}

#[test]
fn limit_is_a_positive_number_capped_at_100() {
    let feed = &*STATIC_FEED;
    for (query, count) in [
        ("", 20),
        ("?limit=1", 1),
        ("?limit=20", 20),
        ("?limit=99", 99),
        ("?limit=100", 100),
        ("?limit=101", 100),
        ("?limit=500", 100),
        ("?limit=99999999999999999999", 100),
        ("?unknown=1", 20),
    ] {
        assert_eq!(ids_of(&feed.page(query)), feed.posts[..count], "{query}");
    }
    for raw in ["0", "-1", "1.5", "ten", "", "%205", "1e1", "0x10"] {
        let response = feed.service.anonymous().get(&format!("/feed?limit={raw}"));
        response.expect_error_for(400, Some("limit"));
    }
}

#[test]
fn offset_is_the_number_of_posts_to_skip() {
    let feed = &*STATIC_FEED;
    for (offset, limit, expected) in [
        ("0", 20, 0..20),
        ("5", 20, 5..25),
        ("100", 3, 100..103),
        ("100", 20, 100..105),
        ("104", 20, 104..105),
        ("105", 20, 105..105),
        ("1000000", 20, 105..105),
        ("9223372036854775808", 20, 105..105),
    ] {
        let page = feed.page(&format!("?limit={limit}&offset={offset}"));
        assert_eq!(ids_of(&page), feed.posts[expected.clone()], "offset {offset}");
        assert_eq!(page["paging"].get("next").is_some(), expected.end < 105, "next after {expected:?}");
    }
    for raw in ["-1", "1.5", "ten", "", "%201"] {
        let response = feed.service.anonymous().get(&format!("/feed?offset={raw}"));
        response.expect_error_for(400, Some("offset"));
    }
    // Paging by offset alone returns every post.
    let pages = (0..105).step_by(20).map(|offset| ids_of(&feed.page(&format!("?offset={offset}"))));
    assert_eq!(pages.flatten().collect::<Vec<_>>(), feed.posts);
}

#[test]
fn next_repeats_the_limit_and_carries_offset_and_cursor() {
    let feed = &*STATIC_FEED;
    for (query, limit, offset) in [
        ("", "20", "20"),
        ("?limit=7", "7", "7"),
        ("?limit=500", "500", "100"),
        ("?limit=20&offset=30", "20", "50"),
        ("?offset=3", "20", "23"),
        // The first of a repeated parameter counts, and unknown ones are ignored.
        ("?limit=7&limit=8&offset=2&page=9&offset=3", "7", "9"),
    ] {
        let next = feed.page(query)["paging"]["next"].as_str().unwrap().to_owned();
        let url = reqwest::Url::parse(&next).unwrap();
        assert!(next.starts_with(&format!("{}/feed?", feed.service.base())), "{next}");
        let mut parameters: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(parameters.remove("limit").as_deref(), Some(limit), "{next}");
        assert_eq!(parameters.remove("offset").as_deref(), Some(offset), "{next}");
        assert!(parameters.remove("after").is_some_and(|cursor| !cursor.is_empty()), "{next}");
        assert!(parameters.is_empty(), "unexpected parameters: {next}");
    }
    for cursor in ["nonsense", "1", "%00", "-1", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "%F0%9F%98%80"] {
        let response = feed.service.anonymous().get(&format!("/feed?after={cursor}"));
        response.expect_error_for(400, Some("after"));
    }
}

#[test]
fn following_next_returns_every_post_once_and_ends() {
    let feed = &*STATIC_FEED;
    for (limit, pages) in [(1, 105), (20, 6), (35, 3), (100, 2), (104, 2)] {
        let mut pager = Pager::new(&feed.service.anonymous(), "/feed", limit);
        while pager.read_page() {}
        assert_eq!(pager.seen, feed.posts, "limit {limit}");
        assert_eq!(pager.pages, pages, "limit {limit}");
    }
}

#[test]
fn following_next_returns_every_surviving_post_once_while_others_post_and_delete() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let mut posts: Vec<i64> = (0..30).map(|_| ada.share_tiny("there from the start")).collect();
    posts.reverse();
    let mut deleted = Vec::new();
    let mut pager = Pager::new(&service.anonymous(), "/feed", 4);
    while pager.read_page() {
        bob.share_tiny("new");
        bob.share_tiny("newer");
        // The last post read, which is the cursor of the next page, and one that follows it.
        let last = *pager.seen.last().unwrap();
        let ahead = posts.iter().find(|id| **id < last && !deleted.contains(*id)).copied();
        for id in [Some(last), ahead.filter(|id| id % 3 == 0)].into_iter().flatten() {
            ada.delete(&format!("/posts/{id}")).expect(200);
            deleted.push(id);
        }
    }
    let survivors = |ids: &[i64]| ids.iter().filter(|id| !deleted.contains(id)).copied().collect::<Vec<_>>();
    assert_eq!(survivors(&pager.seen), survivors(&posts));
    assert!(
        pager.seen.is_sorted_by(|newer, older| newer > older),
        "a post was returned twice: {:?}",
        pager.seen
    );
    assert!(deleted.len() > 5 && pager.pages > 5, "{} pages, {} deleted", pager.pages, deleted.len());
}

#[test]
fn is_liked_in_the_feed_depends_on_the_reader() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let id = ada.share_tiny("liked by its author");
    ada.post(&format!("/posts/{id}/likes"), e2e::Body::none()).expect(201);
    assert_eq!(ada.find_in_feed(id).unwrap()["is_liked"], true);
    assert_eq!(service.anonymous().find_in_feed(id).unwrap()["is_liked"], false);
}

#[test]
fn a_poll_is_answered_without_a_body_while_nothing_changes() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let post = ada.share_tiny("first");
    assert_eq!(bob.get("/feed").expect(200).header("etag"), None, "only polls pay for a tag");
    for reader in [&bob, &service.anonymous()] {
        let poll = |etag: &str| reader.request("GET", "/feed?limit=3").header("If-None-Match", etag).send();
        let first = poll("\"\"").expect(200);
        assert_eq!(first.json(), reader.get("/feed?limit=3").expect(200).json());
        let etag = first.header("etag").unwrap();
        let unchanged = poll(etag);
        assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0));
        bob.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
        assert_eq!(poll(etag).expect(200).json()["data"][0]["like_count"], 1);
        bob.delete(&format!("/posts/{post}/likes")).expect(200);
    }
}

/// A reader that follows `paging.next`.
pub(crate) struct Pager {
    reader: Client,
    pub(crate) next: Option<String>,
    pub(crate) seen: Vec<i64>,
    pub(crate) pages: usize,
}

impl Pager {
    pub(crate) fn new(reader: &Client, path: &str, limit: usize) -> Self {
        let next = Some(format!("{path}?limit={limit}"));
        Self { reader: reader.clone(), next, seen: Vec::new(), pages: 0 }
    }

    /// Reads one page; false when it was the last.
    pub(crate) fn read_page(&mut self) -> bool {
        let page = self.reader.get(&self.next.take().unwrap()).expect(200).json();
        assert_page(&page);
        self.seen.extend(ids_of(&page));
        self.pages += 1;
        self.next = page["paging"].get("next").map(|next| next.as_str().unwrap().to_owned());
        self.next.is_some()
    }
}

pub(crate) fn ids_of(page: &Value) -> Vec<i64> {
    page["data"].as_array().unwrap().iter().map(|post| post["id"].as_i64().unwrap()).collect()
}
