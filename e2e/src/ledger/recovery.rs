//! After the fault: every ledger is held against what the service shows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::{Client, Form, PASSWORD, eventually, picture};

use super::{Fact, Worker};

/// The service as it has come back.
pub struct Recovery<'s> {
    base: &'s str,
    /// How long an image may outlive its post: no time on one node, five seconds on many.
    afterglow: Duration,
}

impl<'s> Recovery<'s> {
    pub fn of_one(base: &'s str) -> Self {
        Self { base, afterglow: Duration::ZERO }
    }

    pub fn of_many(base: &'s str) -> Self {
        Self { base, afterglow: Duration::from_secs(5) }
    }

    /// Asserts that everything acknowledged is there and settles what was under way. Tells how many photos
    /// live.
    pub fn verify(&self, workers: &mut [Worker]) -> usize {
        verify(&Client::anonymous(self.base), self, workers)
    }
}

fn verify(anyone: &Client, recovery: &Recovery<'_>, workers: &mut [Worker]) -> usize {
    for worker in workers.iter_mut() {
        worker.person = worker.person.moved_to(recovery.base);
        worker.person.get("/me").expect(200);
        settle_upload(anyone, worker);
        settle_joins(anyone, worker);
        settle_sessions(recovery.base, worker);
        settle_portrait(worker);
    }
    let feed = feed_of(anyone);
    for worker in workers.iter_mut() {
        settle_posts(anyone, recovery.afterglow, worker, &feed);
    }
    let posts: usize = workers.iter().map(|worker| worker.living().len()).sum();
    assert_eq!(feed.len(), posts, "posts in the feed and in the ledgers");
    settle_likes(workers, &feed);
    posts + workers.iter().filter(|worker| worker.portrait.known().is_some()).count()
}

/// Whether or not the upload was kept, sending it again ends with exactly one post.
fn settle_upload(anyone: &Client, worker: &mut Worker) {
    let Some(message) = worker.unanswered_upload.as_ref().map(|upload| upload.message.clone()) else {
        return;
    };
    let feed = feed_of(anyone);
    let kept: Vec<i64> =
        feed.iter().filter(|(_, post)| post["message"] == *message).map(|(id, _)| *id).collect();
    let answer = worker.pending_upload().expect("it is unanswered").send();
    let id = worker.adopt(answer);
    assert!(kept.is_empty() || kept == [id], "sent once, kept as {kept:?}, and again as {id}");
}

/// A join is whole or not at all: who exists can log in, who does not can join.
fn settle_joins(anyone: &Client, worker: &mut Worker) {
    for name in worker.unanswered_joins.drain(..) {
        let answer = anyone.post("/join/username", Form::account(&name, PASSWORD));
        assert!([201, 409].contains(&answer.status), "{answer}");
        anyone.login(&name).get("/me").expect(200);
    }
}

fn settle_sessions(base: &str, worker: &mut Worker) {
    for (session, open) in &mut worker.sessions {
        *session = session.moved_to(base);
        let me = session.get("/me");
        assert!([200, 401].contains(&me.status), "{me}");
        open.settle(me.status == 200, &format!("a session of {}", session.username()));
        if me.status == 200 {
            assert_eq!(me.json()["username"], session.username());
        }
    }
    // An ended session was seen to be ended; the open ones stay in the ledger.
    worker.sessions.retain(|(_, open)| *open == Fact::Sure(true));
}

fn settle_portrait(worker: &mut Worker) {
    let me = worker.person.get("/me").expect(200).json();
    let width = me["photo"]["width"].as_u64().map(|width| u32::try_from(width).unwrap());
    worker.portrait.settle(width, &format!("the photo of {}", worker.person.username()));
    if let Some(photo) = me["photo"]["id"].as_str() {
        worker.person.get(&format!("/photos/{photo}/16x16")).expect(200).picture();
    }
}

fn settle_posts(anyone: &Client, afterglow: Duration, worker: &mut Worker, feed: &BTreeMap<i64, Value>) {
    for (id, entry) in &mut worker.posts {
        let (path, image) = (format!("/posts/{id}"), format!("/photos/{}/16x16", entry.photo));
        let listed = feed.get(id);
        entry.lives.settle(listed.is_some(), &format!("post {id} lives"));
        match listed {
            Some(post) => {
                assert_eq!(anyone.get(&path).expect(200).json(), *post);
                assert_eq!(
                    (&post["photo"]["id"], &post["user"]["username"]),
                    (&Value::from(entry.photo.as_str()), &Value::from(worker.person.username()),)
                );
                let message = post.get("message").map(|text| text.as_str().unwrap().to_owned());
                entry.message.settle(message, &format!("the message of post {id}"));
                let shown = anyone.get(&image).expect(200).picture();
                assert_eq!((shown.width(), shown.height()), (16, 16));
                picture::assert_colour(&shown, (50, 50), entry.colour, &format!("the photo of post {id}"));
            }
            None => {
                anyone.get(&path).refused(404);
                eventually(&format!("the photo of post {id} is gone"), afterglow, || {
                    Some(anyone.get(&image)).filter(|answer| answer.status == 404)
                });
            }
        }
    }
}

/// Each likes what they said, and each count is the number of those who do.
fn settle_likes(workers: &mut [Worker], feed: &BTreeMap<i64, Value>) {
    let mut counts: BTreeMap<i64, i64> = feed.keys().map(|id| (*id, 0)).collect();
    for worker in workers {
        worker.likes.retain(|id, _| feed.contains_key(id));
        for (id, post) in feed_of(&worker.person) {
            let liked = post["is_liked"].as_bool().unwrap();
            let fact = worker.likes.entry(id).or_insert(Fact::Sure(false));
            fact.settle(liked, &format!("{} likes post {id}", worker.person.username()));
            *counts.get_mut(&id).expect("nobody posts now") += i64::from(liked);
        }
    }
    for (id, count) in counts {
        assert_eq!(feed[&id]["like_count"], count, "likes of post {id}");
    }
}

fn feed_of(reader: &Client) -> BTreeMap<i64, Value> {
    let mut posts = BTreeMap::new();
    let mut next = Some("/feed?limit=100".to_owned());
    while let Some(address) = next {
        let page = reader.get(&address).expect(200).json();
        for post in page["data"].as_array().unwrap() {
            let twice = posts.insert(post["id"].as_i64().unwrap(), post.clone());
            assert!(twice.is_none(), "twice in the feed: {post}");
        }
        next = page["paging"]["next"].as_str().map(str::to_owned);
    }
    posts
}
