//! What was acknowledged is what the next reader sees, however much of it is kept in memory and however many
//! look.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::{Body, Client, Form, Service, afterglow, eventually, picture};
use serde_json::Value;

const ROUNDS: usize = 40;

/// Runs a story while others read the same things all the time, so that whatever can be kept is kept.
fn among_readers(service: &Service, paths: &[String], readers: &[&Client], story: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for reader in readers {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for path in paths {
                        reader.get(path);
                    }
                }
            });
        }
        let _end = Ends(&done);
        story();
    });
    service.assert_alive();
}

/// However the story ends, the readers do too.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn in_feed(page: &Value, id: i64) -> Option<Value> {
    page["data"].as_array().unwrap().iter().find(|post| post["id"] == id).cloned()
}

#[test]
fn likes_show_at_once_to_everyone() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let id = ada.share_tiny("watched");
    let (post, likes) = (format!("/posts/{id}"), format!("/posts/{id}/likes"));
    let paths = ["/feed".to_owned(), "/feed?limit=5".to_owned(), post.clone()];
    among_readers(&service, &paths, &[&ada, &bob, &service.anyone()], || {
        for round in 0..ROUNDS {
            let liked = round % 2 == 0;
            let answer = if liked { bob.post(&likes, Body::none()) } else { bob.delete(&likes) };
            assert!(answer.status < 300, "{answer}");
            for (reader, is_liked) in [(&bob, liked), (&ada, false), (&service.anyone(), false)] {
                for path in ["/feed", "/feed?limit=5"] {
                    let seen = in_feed(&reader.get(path).expect(200).json(), id).expect("the post is there");
                    assert_eq!(seen["is_liked"], is_liked, "round {round}: {seen}");
                    assert_eq!(seen["like_count"], i64::from(liked), "round {round}: {seen}");
                }
                let seen = reader.get(&post).expect(200).json();
                assert_eq!(
                    (&seen["is_liked"], &seen["like_count"]),
                    (&is_liked.into(), &i64::from(liked).into())
                );
            }
        }
    });
}

#[test]
fn posts_come_change_and_go_at_once() {
    let service = Service::start(&[]);
    let (ada, anyone) = (service.newcomer("ada"), service.anyone());
    let mut images = Vec::new();
    among_readers(&service, &["/feed".to_owned()], &[&ada, &anyone, &anyone], || {
        for round in 0..ROUNDS {
            let post = ada.share(&picture::tiny(), "first words");
            let id = post["id"].as_i64().unwrap();
            assert_eq!(
                in_feed(&anyone.get("/feed").expect(200).json(), id),
                Some(anyone.get(&format!("/posts/{id}")).json())
            );
            ada.put(&format!("/posts/{id}"), Form::message("other words").text("alt", "a dot")).expect(200);
            let seen = in_feed(&anyone.get("/feed").expect(200).json(), id).unwrap();
            assert_eq!(
                (&seen["message"], &seen["photo"]["alt"]),
                (&"other words".into(), &"a dot".into()),
                "round {round}"
            );
            assert_eq!(anyone.get(&format!("/posts/{id}")).expect(200).json(), seen, "round {round}");

            let image = format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap());
            anyone.get(&image).expect(200);
            ada.delete(&format!("/posts/{id}")).expect(200);
            assert_eq!(in_feed(&anyone.get("/feed").expect(200).json(), id), None, "round {round}");
            anyone.get(&format!("/posts/{id}")).expect(404);
            assert_gone(&anyone, &image);
            images.push(image);
        }
    });
    for image in images {
        assert_gone(&anyone, &image);
    }
}

#[track_caller]
fn assert_gone(anyone: &Client, image: &str) {
    eventually("the image is gone", afterglow(), || {
        Some(anyone.get(image)).filter(|answer| answer.status == 404)
    });
}

#[test]
fn a_session_that_ended_is_over_everywhere_and_a_new_face_is_seen_at_once() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let id = ada.share_tiny("mine");
    let paths = ["/me".to_owned(), "/feed".to_owned()];
    let other = ada.login(ada.username());
    among_readers(&service, &paths, &[&ada, &other], || {
        for round in 0..ROUNDS / 4 {
            let session = ada.login(ada.username());
            session.get("/me").expect(200);
            session.post("/logout", Body::none()).expect(200);
            session.get("/me").expect(401);

            let shown = if round % 2 == 0 {
                ada.put("/me/photo", Form::photo(&picture::tiny())).expect(200).json()["photo"].clone()
            } else {
                ada.delete("/me/photo").expect(200);
                Value::Null
            };
            for reader in [&ada, &other] {
                assert_eq!(reader.get("/me").expect(200).json()["photo"], shown, "round {round}");
                let post = in_feed(&reader.get("/feed").expect(200).json(), id).unwrap();
                assert_eq!(post["user"]["photo"], shown, "round {round}");
                let post = reader.get(&format!("/posts/{id}")).expect(200).json();
                assert_eq!(post["user"]["photo"], shown, "round {round}");
            }
        }
    });
}
