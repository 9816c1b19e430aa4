//! Read-your-writes: an acknowledged write is visible to the next reader, regardless of what is cached.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use e2e::{Body, Client, FormData, Service, picture};
use serde_json::Value;

const ROUNDS: usize = 40;

/// Runs `test` while other threads read the same paths continuously, so that every cache is filled.
fn with_readers(service: &Service, paths: &[String], readers: &[&Client], test: impl FnOnce()) {
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
        let _done = SetOnDrop(&done);
        test();
    });
    service.assert_ready();
}

/// Sets the flag when it is dropped, also during a panic.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn in_feed(page: &Value, id: i64) -> Option<Value> {
    page["data"].as_array().unwrap().iter().find(|post| post["id"] == id).cloned()
}

#[test]
fn likes_are_visible_to_everyone_immediately() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let id = ada.share_tiny("liked");
    let (post, likes) = (format!("/posts/{id}"), format!("/posts/{id}/likes"));
    let paths = ["/feed".to_owned(), "/feed?limit=5".to_owned(), post.clone()];
    with_readers(&service, &paths, &[&ada, &bob, &service.anonymous()], || {
        for round in 0..ROUNDS {
            let liked = round % 2 == 0;
            let response = if liked { bob.post(&likes, Body::none()) } else { bob.delete(&likes) };
            assert!(response.status < 300, "{response}");
            for (reader, is_liked) in [(&bob, liked), (&ada, false), (&service.anonymous(), false)] {
                for path in ["/feed", "/feed?limit=5"] {
                    let seen =
                        in_feed(&reader.get(path).expect(200).json(), id).expect("the post is in the feed");
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
fn new_edited_and_deleted_posts_are_visible_immediately() {
    let service = Service::start(&[]);
    let (ada, anonymous) = (service.new_user("ada"), service.anonymous());
    let mut images = Vec::new();
    with_readers(&service, &["/feed".to_owned()], &[&ada, &anonymous, &anonymous], || {
        for round in 0..ROUNDS {
            let post = ada.share(&picture::tiny(), "first words");
            let id = post["id"].as_i64().unwrap();
            assert_eq!(
                in_feed(&anonymous.get("/feed").expect(200).json(), id),
                Some(anonymous.get(&format!("/posts/{id}")).json())
            );
            ada.put(&format!("/posts/{id}"), FormData::message("other words").text("alt", "a dot"))
                .expect(200);
            let seen = in_feed(&anonymous.get("/feed").expect(200).json(), id).unwrap();
            assert_eq!(
                (&seen["message"], &seen["photo"]["alt"]),
                (&"other words".into(), &"a dot".into()),
                "round {round}"
            );
            assert_eq!(anonymous.get(&format!("/posts/{id}")).expect(200).json(), seen, "round {round}");

            let image = format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap());
            anonymous.get(&image).expect(200);
            ada.delete(&format!("/posts/{id}")).expect(200);
            assert_eq!(in_feed(&anonymous.get("/feed").expect(200).json(), id), None, "round {round}");
            anonymous.get(&format!("/posts/{id}")).expect(404);
            anonymous.get(&image).expect(404);
            images.push(image);
        }
    });
    for image in images {
        anonymous.get(&image).expect(404);
    }
}

#[test]
fn logouts_and_new_profile_photos_take_effect_immediately() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let id = ada.share_tiny("mine");
    let paths = ["/me".to_owned(), "/feed".to_owned()];
    let other = ada.login(ada.username());
    with_readers(&service, &paths, &[&ada, &other], || {
        for round in 0..ROUNDS / 4 {
            let session = ada.login(ada.username());
            session.get("/me").expect(200);
            session.post("/logout", Body::none()).expect(200);
            session.get("/me").expect(401);

            let photo = if round % 2 == 0 {
                ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200).json()["photo"].clone()
            } else {
                ada.delete("/me/photo").expect(200);
                Value::Null
            };
            for reader in [&ada, &other] {
                assert_eq!(reader.get("/me").expect(200).json()["photo"], photo, "round {round}");
                let post = in_feed(&reader.get("/feed").expect(200).json(), id).unwrap();
                assert_eq!(post["user"]["photo"], photo, "round {round}");
                let post = reader.get(&format!("/posts/{id}")).expect(200).json();
                assert_eq!(post["user"]["photo"], photo, "round {round}");
            }
        }
    });
}
