//! The archive of an account: export, and import into another account.

use std::io::Cursor;
use std::time::Duration;

use e2e::{Body, Client, FormData, RawConnection, Service, eventually, picture, unzip, zip};
use image::{ImageDecoder, ImageFormat};
use serde_json::{Value, json};

fn posts_of(client: &Client) -> Vec<Value> {
    let page = client.get(&format!("/users/{}/posts?limit=100", client.username())).expect(200).json();
    page["data"].as_array().unwrap().clone()
}

/// A photo that is stored turned by 90 degrees.
fn turned() -> Vec<u8> {
    let exif = picture::exif(6, "turned");
    picture::with_metadata(&picture::corners(90, 60), ImageFormat::Jpeg, Some(exif), None)
}

fn counts(import: &Value) -> [u64; 4] {
    ["total", "imported", "skipped", "failed"].map(|key| import[key].as_u64().unwrap())
}

/// What an import keeps of posts, newest first.
fn content(posts: &[Value]) -> Vec<[&Value; 6]> {
    fn of(post: &Value) -> [&Value; 6] {
        let photo = &post["photo"];
        let size = [&photo["width"], &photo["height"]];
        [&post["message"], &post["created_at"], &photo["alt"], size[0], size[1], &photo["placeholder"]]
    }
    posts.iter().map(of).collect()
}

#[test]
fn an_export_has_photos_posts_likes_and_profile() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    ada.get("/me/export").expect_error(404);
    ada.put("/me/photo", FormData::photo(&picture::tiny()).text("alt", "Ada")).expect(200);
    let profile = FormData::new().text("display_name", "Ada L.").text("bio", "<b>Engines</b>");
    ada.request("PATCH", "/me").body(profile).send().expect(200);
    let form = FormData::photo(&turned()).text("message", "Up & \"right\"").text("alt", "corners");
    let first = ada.post("/posts", form).expect(201).json();
    let second = ada.share(&picture::png(&picture::stripes(40, 30)), "");
    let other = bob.share_tiny("bob's");
    ada.post(&format!("/posts/{other}/likes"), Body::none()).expect(201);
    bob.post(&format!("/posts/{}/likes", first["id"]), Body::none()).expect(201);

    let started = ada.post("/me/export", Body::none()).expect(201).json();
    assert_eq!(started["posts"], 2, "{started}");
    let response = ada.get("/me/export").expect(200);
    let name = response.header("content-disposition").unwrap();
    assert!(name.contains(&format!("\"{}-", ada.username())), "{name}");
    assert_eq!(response.header("content-type"), Some("application/zip"));
    assert_eq!(response.header("cache-control"), Some("private, no-store"));
    let mut dates = zip::ZipArchive::new(Cursor::new(&response.bytes)).unwrap();
    let year = |index: usize| dates.by_index(index).unwrap().last_modified().unwrap().year();
    assert!((0..5).map(year).all(|year| year >= 2026), "files have the dates of the posts");
    let files = unzip(&response.bytes);
    let json = |path: &str| -> Value { serde_json::from_slice(&files[path]).unwrap() };

    let account = json("account.json");
    assert_eq!((&account["format"], &account["version"]), (&"pinhole-account".into(), &1.into()));
    assert_eq!((&account["posts"], &account["likes"]), (&2.into(), &1.into()));
    assert_eq!(account["profile"]["username"], ada.username());
    assert_eq!(account["profile"]["display_name"], "Ada L.");
    assert_eq!(account["profile"]["photo"]["alt"], "Ada");
    assert_eq!(account["instance"]["url"], service.base());
    let likes = json("likes.json");
    assert_eq!((likes[0]["author"].as_str(), likes.as_array().unwrap().len()), (Some(bob.username()), 1));
    assert_eq!(likes[0]["url"], format!("{}/p/{other}", service.base()));

    let posts = json("posts.json");
    let [oldest, newest] = posts.as_array().unwrap().as_slice() else { panic!("{posts}") };
    assert_eq!((&oldest["id"], &newest["id"]), (&first["photo"]["id"], &second["photo"]["id"]));
    assert_eq!((&oldest["message"], &oldest["photo"]["alt"]), (&"Up & \"right\"".into(), &"corners".into()));
    assert_eq!((&oldest["like_count"], &oldest["created_at"]), (&1.into(), &first["created_at"]));
    assert_eq!(newest.get("message"), None);
    let upright = &files[oldest["photo"]["file"].as_str().unwrap()];
    let decoded = image::ImageReader::new(Cursor::new(upright)).with_guessed_format().unwrap();
    let orientation = decoded.into_decoder().unwrap().orientation().unwrap();
    assert_eq!(orientation.to_exif(), 6, "viewers turn it as the service does");
    assert!(newest["photo"]["file"].as_str().unwrap().ends_with(".png"));
    assert!(files.contains_key(account["profile"]["photo"]["file"].as_str().unwrap()));

    let page = String::from_utf8(files["index.html"].clone()).unwrap();
    for text in [
        "Ada L.",
        "&#60;b&#62;Engines",
        "Up &#38; &#34;right&#34;",
        "alt=\"corners\"",
        "Photos: 2.",
        "Liked photos",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");

    // Another user has another export, and a session is needed for both.
    bob.get("/me/export").expect_error(404);
    service.anonymous().get("/me/export").expect_error(401);
}

#[test]
fn an_import_brings_every_post_exactly_once() {
    let service = Service::start(&[]);
    let (ada, eve) = (service.new_user("ada"), service.new_user("eve"));
    let bio = FormData::new().text("bio", "Engines").text("display_name", "Ada");
    ada.request("PATCH", "/me").body(bio).send().expect(200);
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    eve.request("PATCH", "/me").body(FormData::new().text("display_name", "Eve")).send().expect(200);
    ada.post("/posts", FormData::photo(&turned()).text("message", "first").text("alt", "corners"))
        .expect(201);
    for n in 0..5 {
        ada.share(&picture::png(&picture::stripes(30 + n, 20)), &format!("post {n}"));
    }
    let archive = ada.export_account();

    let import = eve.import_account(&archive);
    assert_eq!((&import["status"], counts(&import)), (&"finished".into(), [6, 6, 0, 0]), "{import}");
    let (theirs, own) = (posts_of(&ada), posts_of(&eve));
    assert_eq!(content(&own), content(&theirs));
    for post in &own {
        let photo = post["photo"]["id"].as_str().unwrap();
        service.anonymous().get(&format!("/photos/{photo}/8x8")).expect(200);
    }
    let me = eve.get("/me").expect(200).json();
    assert_eq!(
        (&me["display_name"], &me["bio"]),
        (&"Eve".into(), &"Engines".into()),
        "only what was missing"
    );
    assert!(me["photo"].is_object());

    // Again: nothing changes, and what was deleted stays so.
    eve.delete(&format!("/posts/{}", own[0]["id"])).expect(200);
    eve.request("PATCH", "/me").body(FormData::new().text("bio", "")).send().expect(200);
    assert_eq!(counts(&eve.import_account(&archive)), [6, 0, 6, 0]);
    assert_eq!(posts_of(&eve), own[1..]);
    // Nor does it come back to where it was first published, on the way over another account.
    assert_eq!(counts(&ada.import_account(&eve.export_account())), [5, 0, 5, 0]);
    assert_eq!(posts_of(&ada), theirs);
    // New posts of a later archive are added.
    ada.share_tiny("later");
    assert_eq!(counts(&eve.import_account(&ada.export_account())), [7, 1, 6, 0]);
}

#[test]
fn an_import_does_not_bring_back_what_moderators_removed() {
    let service = Service::start(&[]);
    let (moderator, ada) = (service.new_user_with_role("moderator"), service.new_user("ada"));
    let eve = service.new_user("eve");
    let kept = ada.share_tiny("kept");
    let [removed, deleted, by_operator, hidden, own] =
        ["removed", "deleted", "by the operator", "hidden", "her own"].map(|message| ada.share_tiny(message));
    let moved = ada.share(&picture::png(&picture::stripes(40, 20)), "with another focus");
    let moved = moved["id"].as_i64().unwrap();
    let archive = ada.export_account();
    assert_eq!(counts(&eve.import_account(&archive)), [7, 7, 0, 0]);

    let reason = || FormData::new().text("reason", "rude");
    moderator.request("DELETE", &format!("/admin/posts/{removed}")).body(reason()).send().expect(200);
    moderator.delete(&format!("/posts/{deleted}")).expect(200);
    service.operator(&["post", "delete", &by_operator.to_string(), "--reason", "rude"]);
    ada.put(&format!("/posts/{moved}"), FormData::new().text("focus", "0.1,0.5")).expect(200);
    moderator.delete(&format!("/posts/{moved}")).expect(200);
    // Its author does not get rid of the moderators' decision.
    moderator.put(&format!("/admin/posts/{hidden}/hidden"), reason()).expect(200);
    ada.delete(&format!("/posts/{hidden}")).expect(200);
    ada.delete(&format!("/posts/{own}")).expect(200);

    assert_eq!(counts(&ada.import_account(&archive)), [7, 1, 6, 0]);
    let posts = posts_of(&ada);
    let messages: Vec<_> = posts.iter().map(|post| post["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["her own", "kept"]);
    assert_eq!(posts[1]["id"], kept);
    // Nor what was imported, and was removed from there.
    let imported = &posts_of(&eve)[0];
    moderator.delete(&format!("/posts/{}", imported["id"])).expect(200);
    assert_eq!(counts(&eve.import_account(&archive)), [7, 0, 7, 0]);
}

#[test]
fn an_import_does_not_bring_back_a_profile_photo_that_moderators_removed() {
    let service = Service::start(&[]);
    let (moderator, ada) = (service.new_user_with_role("moderator"), service.new_user("ada"));
    let photo = || ada.get("/me").expect(200).json()["photo"].clone();
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    ada.request("PATCH", "/me").body(FormData::new().text("bio", "Engines")).send().expect(200);
    let archive = ada.export_account();
    ada.delete("/me/photo").expect(200);
    ada.import_account(&archive);
    assert!(photo().is_object(), "what its owner has removed");

    ada.request("PATCH", "/me").body(FormData::new().text("bio", "")).send().expect(200);
    let removal = moderator.request("DELETE", &format!("/admin/users/{}/photo", ada.username()));
    removal.body(FormData::new().text("reason", "rude")).send().expect(200);
    let import = ada.import_account(&archive);
    assert_eq!((&import["status"], import.get("error")), (&"finished".into(), None), "{import}");
    assert_eq!((photo(), ada.get("/me").expect(200).json()["bio"].as_str()), (Value::Null, Some("Engines")));
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
}

#[test]
fn an_archive_may_be_as_large_as_the_quota_of_bytes() {
    const TEXTS: usize = 4 << 20;
    let service = Service::start(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let photo = picture::photograph(600, 400);
    let archive = e2e::archive_of(3, &photo);
    assert_eq!(counts(&ada.import_account(&archive)), [3, 3, 0, 0]);
    let used = ada.get("/me/account").expect(200).json()["usage"]["bytes"].as_u64().unwrap() as usize;
    let quota = used + photo.len();
    let set = FormData::new().text("member_bytes", quota.to_string());
    owner.request("PATCH", "/admin/instance").body(set).send().expect(200);

    let of_size = |size: usize| {
        let names = ["account.json", "padding"];
        let account: &[u8] = &unzip(&archive)["account.json"];
        let rest = size - zip(&[(names[0], account), (names[1], b"")]).len();
        zip(&[(names[0], account), (names[1], &vec![0; rest])])
    };
    let largest = of_size(quota + TEXTS);
    assert_eq!(largest.len(), quota + TEXTS);
    let send =
        |client: &Client, archive: &[u8]| client.post("/me/import", FormData::new().file("archive", archive));
    // Its length is known at once, or when it has arrived.
    let body = FormData::new().file("archive", b"").body();
    let mut unsent = RawConnection::connect(&service);
    unsent
        .send(RawConnection::request_head("POST", "/me/import", ada.token(), &body, 600_000_000) + "\r\n")
        .unwrap();
    let refused = unsent.receive(false).expect("a response before the body");
    assert_eq!((refused.status, refused.header("x-error-reason")), (507, Some("archive_too_large")));
    let refused = send(&ada, &of_size(quota + TEXTS + 1)).expect_error(507);
    assert_eq!(refused.header("x-error-reason"), Some("archive_too_large"));
    let message = refused.json()["error"]["message"].to_string();
    assert!(message.contains(&format!("your quota of {quota} bytes")), "{message}");
    assert_eq!(ada.get("/me/import").expect(200).json()["imported"], 3, "neither was begun");

    assert_eq!(ada.import_account(&largest)["total"], 3);
    // An archive of which all is imported is larger than what is left of the quota.
    assert_eq!(counts(&ada.import_account(&archive)), [3, 0, 3, 0]);
    send(&owner, &of_size(quota + TEXTS + 1)).expect(202);
}

#[test]
fn an_import_rejects_what_it_cannot_use_and_says_why() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let import = |bytes: &[u8]| ada.post("/me/import", FormData::new().file("archive", bytes));
    ada.get("/me/import").expect_error(404);
    ada.post("/me/import", FormData::new()).expect_error_for(400, Some("archive"));
    for no_archive in [&b"no zip"[..], &picture::tiny(), &zip(&[("a.txt", b"")])] {
        import(no_archive).expect_error_for(400, Some("archive"));
    }
    let account = |version: u32, posts: u32| {
        json!({ "format": "pinhole-account", "version": version, "exported_at": "", "posts": posts, "likes": 0,
            "instance": { "name": "Elsewhere", "url": "https://elsewhere.example" },
            "profile": { "username": "ada", "link": "javascript:alert(1)", "created_at": "",
                "photo": { "file": "no/such/file", "is_original": true } } })
        .to_string()
    };
    let newer = import(&zip(&[("account.json", account(2, 0).as_bytes())])).expect_error(400);
    assert!(newer.json()["error"]["message"].as_str().unwrap().contains("newer"), "{newer}");

    let post = |id: &str, file: &str, created_at: &str, message: &str| {
        json!({ "id": id, "url": "", "created_at": created_at, "message": message,
            "photo": { "file": file, "is_original": true } })
    };
    let id = |n: u32| format!("0199b1c4-7e2a-7d10-9a55-00000000000{n}");
    let time = "2019-05-17T08:00:00+0000";
    let posts = json!([
        post(&id(1), "photos/1.jpg", time, "from elsewhere"),
        post(&id(2), "photos/missing.jpg", time, ""),
        post(&id(3), "photos/text.jpg", time, ""),
        post("no id", "photos/2.jpg", time, ""),
        post(&id(4), "photos/3.jpg", "yesterday", ""),
        post(&id(5), "photos/4.jpg", time, &"x".repeat(5_001)),
        post(&id(6), "photos/5.jpg", "2090-01-01T00:00:00Z", "from the future"),
        post(&id(7), "photos/6.jpg", "2020-01-01T00:00:00+02:00", "last"),
    ]);
    let tiny = picture::tiny();
    let (account_json, posts_json) = (account(1, 8), posts.to_string());
    let names: Vec<String> = (1..=6).map(|n| format!("photos/{n}.jpg")).collect();
    let mut files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), tiny.as_slice())).collect();
    files.extend([
        ("account.json", account_json.as_bytes()),
        ("posts.json", posts_json.as_bytes()),
        ("photos/text.jpg", b"text"),
    ]);
    let archive = zip(&files);
    let status = ada.import_account(&archive);
    assert_eq!((&status["status"], counts(&status)), (&"finished".into(), [8, 3, 0, 5]), "{status}");
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("photos/missing.jpg"), "{error}");
    let own = posts_of(&ada);
    let dates: Vec<_> = own.iter().map(|post| (&post["message"], &post["created_at"])).collect();
    let [last, future, first] = dates.as_slice() else { panic!("{own:?}") };
    assert_eq!(*last, (&"last".into(), &"2019-12-31T22:00:00+0000".into()));
    assert_eq!(*first, (&"from elsewhere".into(), &"2019-05-17T08:00:00+0000".into()));
    assert!(future.1.as_str() < Some("2090"), "a date in the future is that of the import: {future:?}");
    assert!(ada.get("/me").expect(200).json().get("link").is_none());

    let broken = zip(&[("account.json", account(1, 1).as_bytes()), ("posts.json", b"[{\"id\":")]);
    let status = ada.import_account(&broken);
    assert!(status["error"].as_str().unwrap().contains("damaged"), "{status}");

    service.operator(&["user", "suspend", ada.username(), "--reason", "spam"]);
    import(&archive).expect_error(403);
    // What is theirs they may still take along.
    assert!(unzip(&ada.export_account()).contains_key("index.html"));
}

#[test]
fn the_quota_of_posts_stops_an_import_that_goes_on_later() {
    let service = Service::single_node(&[]);
    let (owner, ada, eve) =
        (service.new_user_with_role("owner"), service.new_user("ada"), service.new_user("eve"));
    for n in 0..4 {
        ada.share_tiny(&format!("post {n}"));
    }
    let archive = ada.export_account();
    let set = |quota: &str| {
        let form = FormData::new().text("member_posts_per_day", quota);
        owner.request("PATCH", "/admin/instance").body(form).send().expect(200);
    };
    set("3");
    let status = eve.import_account(&archive);
    assert_eq!(counts(&status), [4, 3, 0, 0], "{status}");
    let error = status["error"].as_str().unwrap();
    assert!(error.contains("you may post 3 photos") && error.contains("again later"), "{error}");
    // An imported post counts at the time of its upload, however old it is.
    eve.post("/posts", FormData::photo(&picture::tiny())).expect_error(429);
    eve.post("/me/import", FormData::new().file("archive", &archive)).expect_error(429);
    set("");
    assert_eq!(counts(&eve.import_account(&archive)), [4, 1, 3, 0]);
}

#[test]
fn an_import_ends_with_the_session_that_has_started_it() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let thief = ada.login(ada.username());
    let archive = e2e::archive_of(40, &picture::png(&picture::plain(6_000, 5_000, picture::BLUE)));
    thief.post("/me/import", FormData::new().file("archive", &archive)).expect(202);
    let passwords =
        FormData::new().text("current_password", e2e::PASSWORD).text("password", "another password");
    ada.put("/me/password", passwords).expect(200);
    let ended = eventually("the import ends", Duration::from_secs(60), || {
        Some(ada.get("/me/import").expect(200).json()).filter(|status| status["status"] == "finished")
    });
    assert!(ended["error"].as_str().unwrap().contains("session"), "{ended}");
    assert!(ended["imported"].as_u64() < Some(40), "{ended}");
}

#[test]
fn an_import_is_cancelled_and_goes_on_when_the_archive_is_sent_again() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    ada.delete("/me/import").expect_error(404);
    let archive = e2e::archive_of(40, &picture::png(&picture::plain(6_000, 5_000, picture::BLUE)));
    ada.post("/me/import", FormData::new().file("archive", &archive)).expect(202);
    let status = || ada.get("/me/import").expect(200).json();
    eventually("posts are imported", Duration::from_secs(60), || {
        (status()["imported"].as_u64() > Some(0)).then_some(())
    });
    ada.delete("/me/import").expect(200);
    let cancelled = status();
    assert_eq!(cancelled["status"], "finished", "{cancelled}");
    assert!(cancelled["error"].as_str().unwrap().contains("cancelled"), "{cancelled}");
    ada.delete("/me/import").expect_error(404);

    // It ends with the next update of its progress, a second later at most. Then nothing more is imported.
    let log = "account import ended";
    eventually(log, Duration::from_secs(30), || {
        service.log().iter().any(|line| line.contains(log)).then_some(())
    });
    let imported = posts_of(&ada).len() as u64;
    assert!((1..40).contains(&imported), "{imported} posts were imported");
    assert_eq!(status(), cancelled);
    ada.post("/me/import", FormData::new().file("archive", &archive)).expect(202);
    eventually("the import goes on", Duration::from_secs(60), || {
        let [_, more, skipped, _] = counts(&status());
        (more > 0).then(|| assert!(skipped >= imported, "{skipped} of {imported}"))
    });
    ada.delete("/me/import");
}
