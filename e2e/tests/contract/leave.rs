//! Leaving: the account is gone at once, and what belongs to it right after.

use std::time::Duration;

use e2e::{Body, Client, FormData, PASSWORD, Service, eventually, picture};

fn leave(client: &Client, password: &str) -> e2e::Response {
    client.request("DELETE", "/me").body(FormData::new().text("password", password)).send()
}

#[test]
fn a_user_who_leaves_is_gone_at_once_and_like_counts_stay_exact() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let posts: Vec<_> = (0..20).map(|_| ada.share(&picture::tiny(), "mine")).collect();
    let others: Vec<i64> = (0..5).map(|_| bob.share_tiny("bob's")).collect();
    for post in &others {
        ada.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
        bob.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    }
    bob.post(&format!("/posts/{}/likes", posts[0]["id"]), Body::none()).expect(201);
    let second = service.anonymous().login(ada.username());
    let me = ada.get("/me").expect(200).json();
    let photos: Vec<&str> = posts.iter().map(|post| post["photo"]["id"].as_str().unwrap()).collect();
    for photo in photos.iter().copied().chain(me["photo"]["id"].as_str()) {
        bob.get(&format!("/photos/{photo}/8x8")).expect(200);
    }

    leave(&ada, "not the password").expect_error_for(400, Some("password"));
    ada.request("DELETE", "/me").send().expect_error_for(400, Some("password"));
    ada.get("/me").expect(200);
    let left = leave(&ada, PASSWORD).expect(200);
    assert!(left.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")), "{left}");

    for client in [&bob, &service.anonymous(), &ada, &second] {
        for post in &posts {
            client.get(&format!("/posts/{}", post["id"])).expect_error(404);
        }
        for photo in photos.iter().copied().chain(me["photo"]["id"].as_str()) {
            client.get(&format!("/photos/{photo}/8x8")).expect_error(404);
        }
        client.get(&format!("/users/{}", ada.username())).expect_error(404);
        client.get(&format!("/users/{}/posts", ada.username())).expect_error(404);
        let feed = client.get("/feed?limit=100").expect(200).json();
        assert_eq!(feed["data"].as_array().unwrap().len(), others.len(), "{feed}");
        let likers = client.get(&format!("/posts/{}/likes", others[0])).expect(200).json();
        let names: Vec<_> = likers["data"].as_array().unwrap().iter().map(|user| &user["username"]).collect();
        assert_eq!(names, [bob.username()]);
    }
    for session in [&ada, &second] {
        session.get("/me").expect_error(401);
        session.post("/posts", FormData::photo(&picture::tiny())).expect_error(401);
    }
    let login = FormData::account(ada.username(), PASSWORD);
    service.anonymous().post("/login/username", login).expect_error(400);

    let counts = || {
        let page = bob.get("/feed?limit=100").expect(200).json();
        page["data"].as_array().unwrap().iter().map(|post| post["like_count"].as_i64().unwrap()).collect()
    };
    let one_each: Vec<i64> = vec![1; others.len()];
    eventually("the likes of the user who left are gone", Duration::from_secs(60), || {
        let counts: Vec<i64> = counts();
        (counts == one_each).then_some(())
    });
    eventually("rows and files are gone", Duration::from_secs(60), || {
        let stats = service.operator(&["stats"]);
        (stats["photos"] == 5 && stats["users"] == 1).then_some(())
    });
    eventually("files are gone", Duration::from_secs(60), || {
        let is_left =
            |path: &std::path::PathBuf| photos.iter().any(|photo| path.to_string_lossy().contains(photo));
        (!service.files("photos").iter().any(is_left)).then_some(())
    });

    // The name is free, and the newcomer has nothing of the one who left.
    let again = service.anonymous().join(ada.username());
    assert_ne!(again.get("/me").expect(200).json()["id"], me["id"]);
    let posts = again.get(&format!("/users/{}/posts", again.username())).expect(200).json();
    assert_eq!(posts["data"], serde_json::json!([]));
}

#[test]
fn the_name_of_a_suspended_or_banned_account_is_not_free_after_its_deletion() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start_in(dir.path(), &[]);
    let suspend = |user: &Client, more: &[&str]| {
        let suspend = ["user", "suspend", user.username(), "--reason", "spam"];
        service.operator(&suspend.into_iter().chain(more.iter().copied()).collect::<Vec<_>>());
    };
    let [ada, bob, carol, dan, eve] =
        ["ada", "bob", "carol", "dan", "eve"].map(|name| service.new_user(name));
    suspend(&ada, &[]);
    suspend(&bob, &["--hide-posts"]);
    suspend(&carol, &[]);
    for user in [&ada, &bob, &eve] {
        leave(user, PASSWORD).expect(200);
    }
    service.operator(&["user", "delete", carol.username()]);
    service.operator(&["user", "delete", dan.username()]);
    let join = |service: &Service, name: &str| {
        service.anonymous().post("/join/username", FormData::account(name, PASSWORD))
    };
    join(&service, eve.username()).expect(201);
    for user in [&ada, &bob, &carol, &dan] {
        eventually("the rows are gone", Duration::from_secs(60), || {
            (service.operator(&["stats"])["deleting"] == 0).then_some(())
        });
        for name in [user.username().to_owned(), user.username().to_uppercase()] {
            let refused = join(&service, &name).expect_error_for(409, Some("username"));
            assert_eq!(refused.header("x-error-reason"), Some("username_taken"));
        }
    }
    service.kill();

    // Only the operator gives the name to someone.
    let service = Service::start_in(dir.path(), &[]);
    join(&service, ada.username()).expect_error(409);
    service.operator(&["user", "add", ada.username()]);
    service.operator(&["user", "delete", ada.username()]);
    join(&service, ada.username()).expect_error(409);
}

#[test]
fn the_deletion_of_an_account_is_finished_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start_in(dir.path(), &[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let post = bob.share_tiny("bob's");
    for _ in 0..40 {
        ada.share_tiny("mine");
    }
    ada.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    leave(&ada, PASSWORD).expect(200);
    service.kill();

    let service = Service::start_in(dir.path(), &[]);
    let bob = bob.with_base(service.base());
    let feed = bob.get("/feed?limit=100").expect(200).json();
    assert_eq!(feed["data"].as_array().unwrap().len(), 1, "{feed}");
    eventually("the rest is deleted", Duration::from_secs(60), || {
        let count = bob.get(&format!("/posts/{post}")).expect(200).json()["like_count"].clone();
        let stats = service.operator(&["stats"]);
        (count == 0 && stats["photos"] == 1 && stats["users"] == 1).then_some(())
    });
}
