//! Property test of the feed: with any writes between two pages, no post is missed or repeated.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use e2e::{Body, Client, Service};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// A write between two pages of a reader.
#[derive(Debug, Clone)]
enum Write {
    Post,
    Delete(Index),
    /// Deletes the last post of the page, which is the anchor of the next page.
    DeleteLastSeen,
    LikeOrUnlike(Index),
}

fn any_write() -> impl Strategy<Value = Write> {
    prop_oneof![
        3 => Just(Write::Post),
        3 => any::<Index>().prop_map(Write::Delete),
        1 => Just(Write::DeleteLastSeen),
        2 => any::<Index>().prop_map(Write::LikeOrUnlike),
    ]
}

#[test]
fn following_next_returns_every_surviving_post_once() {
    let service = Service::start(&[]);
    let model = Mutex::new(FeedModel { author: service.new_user("author"), posts: BTreeMap::new() });
    // Few cases, because every post is a real upload. A failing case is printed, not written to a file.
    let config = Config { cases: 12, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    let writes_between_pages = prop::collection::vec(prop::collection::vec(any_write(), 0..4), 0..10);
    let inputs = (0..14usize, 1..7usize, writes_between_pages);
    TestRunner::new(config)
        .run(&inputs, |(start, limit, between)| {
            // A failed case poisons the lock; the shrunk case runs all the same.
            let mut model = model.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            model.clear();
            (0..start).for_each(|_| model.apply(&Write::Post, None));
            model.read_all_pages(&service.anonymous(), limit, &between)
        })
        .unwrap();
}

/// The expected feed: every existing post, and whether the author likes it.
struct FeedModel {
    author: Client,
    posts: BTreeMap<i64, bool>,
}

impl FeedModel {
    fn clear(&mut self) {
        for (id, _) in std::mem::take(&mut self.posts) {
            // A case that failed during a delete may leave a deleted post in the model.
            let response = self.author.delete(&format!("/posts/{id}"));
            assert!([200, 404].contains(&response.status), "{response}");
        }
    }

    fn apply(&mut self, write: &Write, last_seen: Option<i64>) {
        let ids: Vec<i64> = self.posts.keys().copied().collect();
        match write {
            Write::Post => {
                let id = self.author.share_tiny("");
                self.posts.insert(id, false);
            }
            Write::Delete(index) if !ids.is_empty() => self.delete(*index.get(&ids)),
            Write::DeleteLastSeen => match last_seen {
                Some(id) if self.posts.contains_key(&id) => self.delete(id),
                _ => {}
            },
            Write::LikeOrUnlike(index) if !ids.is_empty() => {
                let id = index.get(&ids);
                let liked = self.posts.get_mut(id).unwrap();
                let likes = format!("/posts/{id}/likes");
                if *liked {
                    self.author.delete(&likes).expect(200);
                } else {
                    self.author.post(&likes, Body::none()).expect(201);
                }
                *liked = !*liked;
            }
            Write::Delete(_) | Write::LikeOrUnlike(_) => {}
        }
    }

    fn delete(&mut self, id: i64) {
        self.author.delete(&format!("/posts/{id}")).expect(200);
        self.posts.remove(&id);
    }

    fn read_all_pages(
        &mut self,
        reader: &Client,
        limit: usize,
        between: &[Vec<Write>],
    ) -> Result<(), TestCaseError> {
        let at_start: BTreeSet<i64> = self.posts.keys().copied().collect();
        let mut seen: Vec<i64> = Vec::new();
        let mut writes = between.iter();
        let mut next = Some(format!("/feed?limit={limit}"));
        while let Some(address) = next {
            let page = reader.get(&address).expect(200).json();
            let posts = page["data"].as_array().unwrap();
            next = page["paging"]["next"].as_str().map(str::to_owned);
            prop_assert!(posts.len() <= limit, "{} posts on a page of {limit}", posts.len());
            prop_assert!(next.is_none() || posts.len() == limit, "a short page in the middle");
            for post in posts {
                let id = post["id"].as_i64().unwrap();
                prop_assert_eq!(
                    self.posts.get(&id).map(|liked| i64::from(*liked)),
                    post["like_count"].as_i64()
                );
                seen.push(id);
            }
            for write in writes.next().into_iter().flatten() {
                self.apply(write, seen.last().copied());
            }
            prop_assert!(seen.len() <= 200, "pagination does not end");
        }
        prop_assert!(
            seen.is_sorted_by(|newer, older| newer > older),
            "not newest first, or a post twice: {seen:?}"
        );
        let survivors: Vec<i64> = at_start.iter().filter(|id| self.posts.contains_key(id)).copied().collect();
        let missed: Vec<_> = survivors.iter().filter(|id| !seen.contains(id)).collect();
        prop_assert!(missed.is_empty(), "missed {missed:?} of {survivors:?}, read {seen:?}");
        Ok(())
    }
}
