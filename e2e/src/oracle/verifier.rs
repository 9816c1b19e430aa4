//! Compares the service after a fault with what every worker has recorded.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{Client, FormData, PASSWORD, picture};

use super::{Expected, Worker};

/// Asserts of a service that runs again after a fault that every acknowledged write is visible, and resolves
/// the unacknowledged ones. Returns the number of photos that exist.
pub fn verify(base: &str, workers: &mut [Worker]) -> usize {
    let anonymous = &Client::anonymous(base);
    for worker in workers.iter_mut() {
        worker.client = worker.client.with_base(base);
        worker.client.get("/me").expect(200);
        resolve_upload(anonymous, worker);
        resolve_joins(anonymous, worker);
        resolve_sessions(base, worker);
        resolve_profile_photo(worker);
    }
    let feed = read_feed(anonymous);
    for worker in workers.iter_mut() {
        resolve_posts(anonymous, worker, &feed);
    }
    let posts: usize = workers.iter().map(|worker| worker.writable_posts().len()).sum();
    assert_eq!(feed.len(), posts, "the feed lists exactly the recorded posts");
    resolve_likes(workers, &feed);
    posts + workers.iter().filter(|worker| worker.profile_photo.value().is_some()).count()
}

/// Whether or not the pending upload was stored, sending it again ends with exactly one post.
fn resolve_upload(anonymous: &Client, worker: &mut Worker) {
    let Some(message) = worker.pending_upload.as_ref().map(|upload| upload.message.clone()) else {
        return;
    };
    let feed = read_feed(anonymous);
    let stored: Vec<i64> =
        feed.iter().filter(|(_, post)| post["message"] == *message).map(|(id, _)| *id).collect();
    let response = worker.pending_upload_request().expect("an upload is pending").send();
    let id = worker.record_upload(response);
    assert!(stored.is_empty() || stored == [id], "stored as {stored:?}, and after the retry as {id}");
}

/// A join is atomic: afterwards the name either logs in or can still be taken.
fn resolve_joins(anonymous: &Client, worker: &mut Worker) {
    for name in worker.pending_joins.drain(..) {
        let response = anonymous.post("/join/username", FormData::account(&name, PASSWORD));
        assert!([201, 409].contains(&response.status), "{response}");
        anonymous.login(&name).get("/me").expect(200);
    }
}

fn resolve_sessions(base: &str, worker: &mut Worker) {
    for (session, is_open) in &mut worker.sessions {
        *session = session.with_base(base);
        let me = session.get("/me");
        assert!([200, 401].contains(&me.status), "{me}");
        is_open.resolve(me.status == 200, &format!("a session of {}", session.username()));
        if me.status == 200 {
            assert_eq!(me.json()["username"], session.username());
        }
    }
    // A session that was seen to be closed needs no further check.
    worker.sessions.retain(|(_, is_open)| *is_open == Expected::Known(true));
}

fn resolve_profile_photo(worker: &mut Worker) {
    let me = worker.client.get("/me").expect(200).json();
    let width = me["photo"]["width"].as_u64().map(|width| u32::try_from(width).unwrap());
    worker.profile_photo.resolve(width, &format!("the profile photo of {}", worker.client.username()));
    if let Some(photo) = me["photo"]["id"].as_str() {
        worker.client.get(&format!("/photos/{photo}/16x16")).expect(200).picture();
    }
}

fn resolve_posts(anonymous: &Client, worker: &mut Worker, feed: &BTreeMap<i64, Value>) {
    for (id, state) in &mut worker.posts {
        let (path, image) = (format!("/posts/{id}"), format!("/photos/{}/16x16", state.photo));
        let listed = feed.get(id);
        state.exists.resolve(listed.is_some(), &format!("post {id} exists"));
        match listed {
            Some(post) => {
                assert_eq!(anonymous.get(&path).expect(200).json(), *post);
                assert_eq!(
                    (&post["photo"]["id"], &post["user"]["username"]),
                    (&Value::from(state.photo.as_str()), &Value::from(worker.client.username()),)
                );
                let message = post.get("message").map(|text| text.as_str().unwrap().to_owned());
                state.message.resolve(message, &format!("the message of post {id}"));
                let rendered = anonymous.get(&image).expect(200).picture();
                assert_eq!((rendered.width(), rendered.height()), (16, 16));
                picture::assert_colour(&rendered, (50, 50), state.colour, &format!("the photo of post {id}"));
            }
            None => {
                anonymous.get(&path).expect_error(404);
                anonymous.get(&image).expect_error(404);
            }
        }
    }
}

/// Each worker's likes are as recorded, and each post's `like_count` is the number of workers that like it.
fn resolve_likes(workers: &mut [Worker], feed: &BTreeMap<i64, Value>) {
    let mut counts: BTreeMap<i64, i64> = feed.keys().map(|id| (*id, 0)).collect();
    for worker in workers {
        worker.likes.retain(|id, _| feed.contains_key(id));
        for (id, post) in read_feed(&worker.client) {
            let liked = post["is_liked"].as_bool().unwrap();
            let like = worker.likes.entry(id).or_insert(Expected::Known(false));
            like.resolve(liked, &format!("{} likes post {id}", worker.client.username()));
            *counts.get_mut(&id).expect("no worker posts during the check") += i64::from(liked);
        }
    }
    for (id, count) in counts {
        assert_eq!(feed[&id]["like_count"], count, "likes of post {id}");
    }
}

fn read_feed(reader: &Client) -> BTreeMap<i64, Value> {
    let mut posts = BTreeMap::new();
    let mut next = Some("/feed?limit=100".to_owned());
    while let Some(address) = next {
        let page = reader.get(&address).expect(200).json();
        for post in page["data"].as_array().unwrap() {
            let duplicate = posts.insert(post["id"].as_i64().unwrap(), post.clone());
            assert!(duplicate.is_none(), "twice in the feed: {post}");
        }
        next = page["paging"]["next"].as_str().map(str::to_owned);
    }
    posts
}
