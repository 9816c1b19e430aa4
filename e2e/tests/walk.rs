//! Any walk through the feed, whatever others do between two pages: nothing is missed, nothing seen twice.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use e2e::{Body, Client, Service};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// What somebody does while another one turns the page.
#[derive(Debug, Clone)]
enum Act {
    Post,
    Delete(Index),
    /// Deletes the post the reader saw last, on which the next page hangs.
    DeleteLastSeen,
    LikeOrUnlike(Index),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Post),
        3 => any::<Index>().prop_map(Act::Delete),
        1 => Just(Act::DeleteLastSeen),
        2 => any::<Index>().prop_map(Act::LikeOrUnlike),
    ]
}

#[test]
fn whoever_follows_next_sees_every_surviving_post_once() {
    let service = Service::start(&[]);
    let stage = Mutex::new(Stage { author: service.newcomer("author"), posts: BTreeMap::new() });
    // Uploads are real, so cases are few; a failing one is printed, not kept in a file.
    let config = Config { cases: 12, max_shrink_iters: 100, failure_persistence: None, ..Config::default() };
    let acts_between_pages = prop::collection::vec(prop::collection::vec(act(), 0..4), 0..10);
    let story = (0..14usize, 1..7usize, acts_between_pages);
    TestRunner::new(config)
        .run(&story, |(start, limit, between)| {
            // A failed case must not keep the next, smaller one from the stage.
            let mut stage = stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            stage.clear();
            (0..start).for_each(|_| stage.act(&Act::Post, None));
            stage.walk(&service.anyone(), limit, &between)
        })
        .unwrap();
}

/// The feed as it should be: each living post, and whether the author likes it.
struct Stage {
    author: Client,
    posts: BTreeMap<i64, bool>,
}

impl Stage {
    fn clear(&mut self) {
        for (id, _) in std::mem::take(&mut self.posts) {
            // A case that failed in the middle of a delete leaves its books open.
            let answer = self.author.delete(&format!("/posts/{id}"));
            assert!([200, 404].contains(&answer.status), "{answer}");
        }
    }

    fn act(&mut self, act: &Act, last_seen: Option<i64>) {
        let ids: Vec<i64> = self.posts.keys().copied().collect();
        match act {
            Act::Post => {
                let id = self.author.share_tiny("");
                self.posts.insert(id, false);
            }
            Act::Delete(index) if !ids.is_empty() => self.delete(*index.get(&ids)),
            Act::DeleteLastSeen => match last_seen {
                Some(id) if self.posts.contains_key(&id) => self.delete(id),
                _ => {}
            },
            Act::LikeOrUnlike(index) if !ids.is_empty() => {
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
            Act::Delete(_) | Act::LikeOrUnlike(_) => {}
        }
    }

    fn delete(&mut self, id: i64) {
        self.author.delete(&format!("/posts/{id}")).expect(200);
        self.posts.remove(&id);
    }

    fn walk(&mut self, reader: &Client, limit: usize, between: &[Vec<Act>]) -> Result<(), TestCaseError> {
        let at_start: BTreeSet<i64> = self.posts.keys().copied().collect();
        let mut seen: Vec<i64> = Vec::new();
        let mut acts = between.iter();
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
            for act in acts.next().into_iter().flatten() {
                self.act(act, seen.last().copied());
            }
            prop_assert!(seen.len() <= 200, "the walk does not end");
        }
        prop_assert!(seen.is_sorted_by(|newer, older| newer > older), "newest first, none twice: {seen:?}");
        let survivors: Vec<i64> = at_start.iter().filter(|id| self.posts.contains_key(id)).copied().collect();
        let missed: Vec<_> = survivors.iter().filter(|id| !seen.contains(id)).collect();
        prop_assert!(missed.is_empty(), "missed {missed:?} of {survivors:?}, saw {seen:?}");
        Ok(())
    }
}
