//! Profile photos.

use std::path::PathBuf;
use std::time::Duration;

use e2e::picture::{self, BLUE, RED, assert_colour};
use e2e::shape::assert_user;
use e2e::{Client, FormData, Service, concurrently, eventually};
use image::ImageFormat;
use serde_json::{Value, json};

use crate::uploads::{assert_message_names, image_path, jpeg_of};

#[test]
fn every_response_with_a_user_has_the_current_profile_photo() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share_tiny("before the profile photo");
    let stripes = picture::png(&picture::stripes(96, 32));
    for (file, alt) in [(&stripes, Some("Ada in stripes")), (&picture::tiny(), None)] {
        let mut form = FormData::photo(file);
        if let Some(text) = alt {
            form = form.text("alt", text);
        }
        let user = ada.put("/me/photo", form).expect(200).json();
        assert_user(&user);
        assert_eq!(user["username"], ada.username());
        assert_eq!(user["photo"].get("alt").and_then(Value::as_str), alt);
        assert_user_everywhere(service, &ada, post, &user);
        service.anonymous().get(&image_path(&user, 16)).expect(200);
    }

    for _ in 0..2 {
        // Deleting is idempotent.
        assert_eq!(ada.delete("/me/photo").expect(200).json(), json!({}));
        let user = ada.get("/me").expect(200).json();
        assert_eq!(user["photo"], Value::Null);
        assert_user_everywhere(service, &ada, post, &user);
    }
}

#[track_caller]
fn assert_user_everywhere(service: &Service, ada: &Client, post: i64, user: &Value) {
    let anonymous = service.anonymous();
    assert_eq!(ada.get("/me").expect(200).json(), *user);
    assert_eq!(anonymous.get(&format!("/users/{}", ada.username())).expect(200).json(), *user);
    assert_eq!(anonymous.login(ada.username()).get("/me").expect(200).json(), *user);
    assert_eq!(anonymous.get(&format!("/posts/{post}")).expect(200).json()["user"], *user);
    assert_eq!(anonymous.find_in_feed(post).unwrap()["user"], *user);
}

#[test]
fn a_profile_photo_is_rotated_by_its_exif_orientation() {
    let ada = Service::shared().new_user("ada");
    // Orientation 6 is a rotation by 90° clockwise: red moves from the upper left to the upper right.
    let corners = picture::corners(64, 48);
    let rotated = picture::with_metadata(&corners, ImageFormat::Jpeg, Some(picture::exif(6, "")), None);
    let user = ada.put("/me/photo", FormData::photo(&rotated)).expect(200).json();
    assert_eq!((&user["photo"]["width"], &user["photo"]["height"]), (&json!(48), &json!(64)));
    let image = ada.get(&image_path(&user, 32)).expect(200).picture();
    assert_colour(&image, (90, 10), RED, "rotated clockwise");
    assert_colour(&image, (10, 10), BLUE, "rotated clockwise");
}

#[test]
fn replacing_or_deleting_a_profile_photo_removes_all_its_files() {
    let service = Service::single_node(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let others = bob.put("/me/photo", FormData::photo(&picture::tiny())).expect(200).json();
    let photograph = picture::photograph(600, 500);

    let first = set_and_render(&service, &ada, &photograph);
    let second = set_and_render(&service, &ada, &photograph);
    assert_photo_deleted(&service, &first);
    assert_ne!(files_of(&service, &second), Vec::<PathBuf>::new());
    assert_eq!(ada.delete("/me/photo").expect(200).json(), json!({}));
    assert_photo_deleted(&service, &second);
    assert_eq!(photos(&service), [photo_id(&others)], "the photos of other users are untouched");
    bob.get(&image_path(&others, 16)).expect(200);
}

/// Sets a profile photo and requests several images of it, until all are in the disk cache.
fn set_and_render(service: &Service, client: &Client, file: &[u8]) -> Value {
    let user = client.put("/me/photo", FormData::photo(file)).expect(200).json();
    for side in [16, 64, 500] {
        for accept in ["image/jpeg", "image/webp"] {
            client.request("GET", &image_path(&user, side)).header("Accept", accept).send().expect(200);
        }
    }
    let is_cached = |path: &PathBuf| path.starts_with(service.data_dir().join("cache"));
    eventually("its images are in the disk cache", Duration::from_secs(30), || {
        (files_of(service, &user).iter().filter(|path| is_cached(path)).count() == 6).then_some(())
    });
    user
}

#[track_caller]
fn assert_photo_deleted(service: &Service, user: &Value) {
    assert_eq!(files_of(service, user), Vec::<PathBuf>::new());
    for side in [16, 64, 500, 2048] {
        let path = image_path(user, side);
        service.anonymous().get(&path).expect_error_for(404, None);
        service
            .anonymous()
            .request("GET", &path)
            .header("Accept", "image/webp")
            .send()
            .expect_error_for(404, None);
        service
            .anonymous()
            .request("GET", &path)
            .header("If-None-Match", "*")
            .send()
            .expect_error_for(404, None);
    }
}

#[test]
fn a_rejected_profile_photo_leaves_the_current_one() {
    let service = Service::start(&["--max-upload", "1MiB", "--max-megapixels", "5"]);
    let ada = service.new_user("ada");
    let user = ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200).json();
    for (what, file) in [
        ("empty", &b""[..]),
        ("text", b"not a picture"),
        ("an unsupported format", b"%PDF-1.7"),
        ("a truncated picture", &picture::photograph(300, 300)[..9_000]),
    ] {
        let response = ada.put("/me/photo", FormData::photo(file));
        assert_eq!(response.status, 400, "{what}: {response}");
        response.expect_error_for(400, Some("photo"));
    }
    let large = ada.put("/me/photo", FormData::photo(&jpeg_of((1 << 20) + 1)));
    assert_message_names(&large.expect_error_for(400, Some("photo")), ["1", "1048576"]);
    let wide = ada.put("/me/photo", FormData::photo(&picture::png(&picture::plain(2500, 2001, BLUE))));
    assert_message_names(&wide.expect_error_for(400, Some("photo")), ["5", "5000000"]);

    assert_eq!(ada.get("/me").expect(200).json(), user);
    ada.get(&image_path(&user, 8)).expect(200);
    assert_eq!(photos(&service), [photo_id(&user)]);
    ada.put("/me/photo", FormData::photo(&jpeg_of(1 << 20))).expect(200);
}

#[test]
fn metadata_is_stripped_from_profile_photos() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let (camera, area) = ("Camera No. 4711 of Ada", "the green door in Dorset Street");
    let exif = Some(picture::exif_with_gps(camera, area));
    let stripes = picture::stripes(300, 100);
    let snapshot = picture::with_metadata(&stripes, ImageFormat::Jpeg, exif, None);
    let response = ada.put("/me/photo", FormData::photo(&snapshot)).expect(200);
    assert_eq!(response.header("x-removed-metadata"), Some("gps, exif"), "{response}");
    service.assert_nowhere_on_disk(camera.as_bytes(), "the camera description");
    service.assert_nowhere_on_disk(area.as_bytes(), "the GPS area");

    let response = ada.put("/me/photo", FormData::photo(&picture::jpeg(&stripes))).expect(200);
    assert_eq!(response.header("x-removed-metadata"), None, "{response}");
}

#[test]
fn of_concurrent_profile_photos_one_remains_and_the_others_are_removed() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let file = picture::jpeg(&picture::stripes(300, 300));
    for round in 0..5 {
        let users = concurrently(6, |_| ada.put("/me/photo", FormData::photo(&file)).expect(200).json());
        let last = ada.get("/me").expect(200).json();
        assert!(users.contains(&last), "round {round}: {last}");
        assert_eq!(photos(&service), [photo_id(&last)], "round {round}");
        for user in &users {
            let status = if *user == last { 200 } else { 404 };
            assert_eq!(ada.get(&image_path(user, 16)).status, status, "round {round}");
        }
    }
    // The same with concurrent deletes.
    for round in 0..5 {
        concurrently(6, |n| {
            if n % 2 == 0 {
                ada.delete("/me/photo").expect(200)
            } else {
                ada.put("/me/photo", FormData::photo(&file)).expect(200)
            }
        });
        let last = ada.get("/me").expect(200).json();
        let expected = if last["photo"].is_null() { vec![] } else { vec![photo_id(&last)] };
        assert_eq!(photos(&service), expected, "round {round}");
    }
    assert!(service.files("tmp").is_empty(), "{:?}", service.files("tmp"));
}

fn photo_id(user: &Value) -> String {
    user["photo"]["id"].as_str().unwrap().to_owned()
}

/// Every file of a user's photo in the data folder.
fn files_of(service: &Service, user: &Value) -> Vec<PathBuf> {
    service.files("").into_iter().filter(|path| path.to_str().unwrap().contains(&photo_id(user))).collect()
}

/// The ids of all stored photos.
fn photos(service: &Service) -> Vec<String> {
    let files = service.files("photos").into_iter();
    let mut names: Vec<String> =
        files.map(|path| path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}
