//! The feed: order, pages, and a walk through it while others post and delete.

use std::collections::HashMap;
use std::sync::LazyLock;

use e2e::shape::assert_page;
use e2e::{Client, Service};
use serde_json::Value;

/// A service whose feed holds still: 105 posts, and nobody writes any more.
struct Gallery {
    service: Service,
    /// Newest first.
    posts: Vec<i64>,
}

static GALLERY: LazyLock<Gallery> = LazyLock::new(|| {
    let service = Service::lasting(&[]);
    let ada = service.newcomer("ada");
    let mut posts: Vec<i64> = (1..=105).map(|number| ada.share_tiny(&format!("number {number}"))).collect();
    posts.reverse();
    Gallery { service, posts }
});

impl Gallery {
    #[track_caller]
    fn page(&self, query: &str) -> Value {
        let page = self.service.anyone().get(&format!("/feed{query}")).expect(200).json();
        assert_page(&page);
        page
    }
}

#[test]
fn the_newest_post_comes_first() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let ids: Vec<i64> = (0..5).map(|_| ada.share_tiny("one of five")).collect();
    let page = service.anyone().get("/feed?limit=100").expect(200).json();
    assert_page(&page);
    let mine: Vec<i64> = ids_of(&page).into_iter().filter(|id| ids.contains(id)).collect();
    assert_eq!(mine, ids.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn an_empty_feed_is_a_page_too() {
    let page = Service::start(&[]).anyone().get("/feed").expect(200).json();
    assert_eq!(page, serde_json::json!({"data": [], "paging": {}}));
}

#[test]
fn limit_is_a_positive_number_and_100_is_enough() {
    let gallery = &*GALLERY;
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
        assert_eq!(ids_of(&gallery.page(query)), gallery.posts[..count], "{query}");
    }
    for raw in ["0", "-1", "1.5", "ten", "", "%205", "1e1", "0x10"] {
        let answer = gallery.service.anyone().get(&format!("/feed?limit={raw}"));
        answer.refused_for(400, Some("limit"));
    }
}

#[test]
fn offset_is_how_many_posts_to_skip() {
    let gallery = &*GALLERY;
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
        let page = gallery.page(&format!("?limit={limit}&offset={offset}"));
        assert_eq!(ids_of(&page), gallery.posts[expected.clone()], "offset {offset}");
        assert_eq!(page["paging"].get("next").is_some(), expected.end < 105, "next behind {expected:?}");
    }
    for raw in ["-1", "1.5", "ten", "", "%201"] {
        let answer = gallery.service.anyone().get(&format!("/feed?offset={raw}"));
        answer.refused_for(400, Some("offset"));
    }
    // Who counts for themselves sees everything.
    let pages = (0..105).step_by(20).map(|offset| ids_of(&gallery.page(&format!("?offset={offset}"))));
    assert_eq!(pages.flatten().collect::<Vec<_>>(), gallery.posts);
}

#[test]
fn next_repeats_the_limit_and_carries_offset_and_anchor() {
    let gallery = &*GALLERY;
    for (query, limit, offset) in [
        ("", "20", "20"),
        ("?limit=7", "7", "7"),
        ("?limit=500", "500", "100"),
        ("?limit=20&offset=30", "20", "50"),
        ("?offset=3", "20", "23"),
        // Of a repeated one the first counts, and what we do not know does not.
        ("?limit=7&limit=8&offset=2&page=9&offset=3", "7", "9"),
    ] {
        let next = gallery.page(query)["paging"]["next"].as_str().unwrap().to_owned();
        let url = reqwest::Url::parse(&next).unwrap();
        assert!(next.starts_with(&format!("{}/feed?", gallery.service.base())), "{next}");
        let mut parameters: HashMap<_, _> = url.query_pairs().into_owned().collect();
        assert_eq!(parameters.remove("limit").as_deref(), Some(limit), "{next}");
        assert_eq!(parameters.remove("offset").as_deref(), Some(offset), "{next}");
        assert!(parameters.remove("after").is_some_and(|anchor| !anchor.is_empty()), "{next}");
        assert!(parameters.is_empty(), "one parameter more, not two: {next}");
    }
    for anchor in ["nonsense", "1", "%00", "-1", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "%F0%9F%98%80"] {
        let answer = gallery.service.anyone().get(&format!("/feed?after={anchor}"));
        answer.refused_for(400, Some("after"));
    }
}

#[test]
fn following_next_shows_everything_once_and_ends() {
    let gallery = &*GALLERY;
    for (limit, pages) in [(1, 105), (20, 6), (35, 3), (100, 2), (104, 2)] {
        let mut walk = Walk::begin(&gallery.service.anyone(), "/feed", limit);
        while walk.step() {}
        assert_eq!(walk.seen, gallery.posts, "limit {limit}");
        assert_eq!(walk.pages, pages, "limit {limit}");
    }
}

#[test]
fn a_walk_sees_every_surviving_post_once_whatever_happens_meanwhile() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let mut posts: Vec<i64> = (0..30).map(|_| ada.share_tiny("there from the start")).collect();
    posts.reverse();
    let mut doomed = Vec::new();
    let mut walk = Walk::begin(&service.anyone(), "/feed", 4);
    while walk.step() {
        bob.share_tiny("new");
        bob.share_tiny("newer");
        // The one just passed, on which the next page hangs, and one that lies ahead.
        let last = *walk.seen.last().unwrap();
        let ahead = posts.iter().find(|id| **id < last && !doomed.contains(*id)).copied();
        for id in [Some(last), ahead.filter(|id| id % 3 == 0)].into_iter().flatten() {
            ada.delete(&format!("/posts/{id}")).expect(200);
            doomed.push(id);
        }
    }
    let survivors = |ids: &[i64]| ids.iter().filter(|id| !doomed.contains(id)).copied().collect::<Vec<_>>();
    assert_eq!(survivors(&walk.seen), survivors(&posts));
    let mut once = walk.seen.clone();
    once.dedup();
    assert_eq!(once, walk.seen, "none twice");
    assert!(doomed.len() > 5 && walk.pages > 5, "{} pages, {} deleted", walk.pages, doomed.len());
}

#[test]
fn the_feed_knows_who_reads_it() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let id = ada.share_tiny("liked by its author");
    ada.post(&format!("/posts/{id}/likes"), e2e::Body::none()).expect(201);
    assert_eq!(ada.find_in_feed(id).unwrap()["is_liked"], true);
    assert_eq!(service.anyone().find_in_feed(id).unwrap()["is_liked"], false);
}

/// Somebody who follows `next`.
pub(crate) struct Walk {
    reader: Client,
    pub(crate) next: Option<String>,
    pub(crate) seen: Vec<i64>,
    pub(crate) pages: usize,
}

impl Walk {
    pub(crate) fn begin(reader: &Client, path: &str, limit: usize) -> Self {
        let next = Some(format!("{path}?limit={limit}"));
        Self { reader: reader.clone(), next, seen: Vec::new(), pages: 0 }
    }

    /// Reads one page; false when it was the last.
    pub(crate) fn step(&mut self) -> bool {
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
