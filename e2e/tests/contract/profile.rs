//! The photo people show of themselves.

use std::path::PathBuf;
use std::time::Duration;

use e2e::picture::{self, BLUE, RED, assert_colour};
use e2e::shape::assert_user;
use e2e::{Client, Form, Service, at_once, eventually};
use image::ImageFormat;
use serde_json::{Value, json};

use crate::uploads::{assert_names, image_path, jpeg_of};

#[test]
fn a_profile_photo_shows_wherever_its_owner_does() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share_tiny("before there was a photo");
    let stripes = picture::png(&picture::stripes(96, 32));
    for (file, alt) in [(&stripes, Some("Ada in stripes")), (&picture::tiny(), None)] {
        let mut form = Form::photo(file);
        if let Some(text) = alt {
            form = form.text("alt", text);
        }
        let user = ada.put("/me/photo", form).expect(200).json();
        assert_user(&user);
        assert_eq!(user["username"], ada.username());
        assert_eq!(user["photo"].get("alt").and_then(Value::as_str), alt);
        assert_shown(service, &ada, post, &user);
        service.anyone().get(&image_path(&user, 16)).expect(200);
    }

    for _ in 0..2 {
        // Gone is gone, and what is gone already is no mistake.
        assert_eq!(ada.delete("/me/photo").expect(200).json(), json!({}));
        let user = ada.get("/me").expect(200).json();
        assert_eq!(user["photo"], Value::Null);
        assert_shown(service, &ada, post, &user);
    }
}

#[track_caller]
fn assert_shown(service: &Service, ada: &Client, post: i64, user: &Value) {
    let anyone = service.anyone();
    assert_eq!(ada.get("/me").expect(200).json(), *user);
    assert_eq!(anyone.get(&format!("/users/{}", ada.username())).expect(200).json(), *user);
    assert_eq!(anyone.login(ada.username()).get("/me").expect(200).json(), *user);
    assert_eq!(anyone.get(&format!("/posts/{post}")).expect(200).json()["user"], *user);
    assert_eq!(anyone.find_in_feed(post).unwrap()["user"], *user);
}

#[test]
fn the_photo_is_upright_and_in_its_colours() {
    let ada = Service::shared().newcomer("ada");
    // Lies on its side, and says so: red is the upper left once it stands.
    let corners = picture::corners(64, 48);
    let lying = picture::with_metadata(&corners, ImageFormat::Jpeg, Some(picture::exif(6, "")), None);
    let user = ada.put("/me/photo", Form::photo(&lying)).expect(200).json();
    assert_eq!((&user["photo"]["width"], &user["photo"]["height"]), (&json!(48), &json!(64)));
    let image = ada.get(&image_path(&user, 32)).expect(200).picture();
    assert_colour(&image, (90, 10), RED, "turned to the right");
    assert_colour(&image, (10, 10), BLUE, "turned to the right");
}

#[test]
fn nothing_is_left_of_a_photo_that_was_replaced_or_taken_away() {
    let service = Service::alone(&[]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let others = bob.put("/me/photo", Form::photo(&picture::tiny())).expect(200).json();
    let photograph = picture::photograph(600, 500);

    let first = show(&service, &ada, &photograph);
    let second = show(&service, &ada, &photograph);
    assert_gone(&service, &first);
    assert_ne!(traces(&service, &second), Vec::<PathBuf>::new());
    assert_eq!(ada.delete("/me/photo").expect(200).json(), json!({}));
    assert_gone(&service, &second);
    assert_eq!(photos(&service), [name(&others)], "and nothing of anybody else");
    bob.get(&image_path(&others, 16)).expect(200);
}

/// Shows a photo and looks at it in several ways, until its images lie on the disk.
fn show(service: &Service, person: &Client, file: &[u8]) -> Value {
    let user = person.put("/me/photo", Form::photo(file)).expect(200).json();
    for side in [16, 64, 500] {
        for accept in ["image/jpeg", "image/webp"] {
            person.request("GET", &image_path(&user, side)).header("Accept", accept).send().expect(200);
        }
    }
    let kept = |path: &PathBuf| path.starts_with(service.data_dir().join("cache"));
    eventually("its images are on the disk", Duration::from_secs(30), || {
        (traces(service, &user).iter().filter(|path| kept(path)).count() == 6).then_some(())
    });
    user
}

#[track_caller]
fn assert_gone(service: &Service, user: &Value) {
    assert_eq!(traces(service, user), Vec::<PathBuf>::new());
    for side in [16, 64, 500, 2048] {
        let path = image_path(user, side);
        service.anyone().get(&path).refused_for(404, None);
        service.anyone().request("GET", &path).header("Accept", "image/webp").send().refused_for(404, None);
        service.anyone().request("GET", &path).header("If-None-Match", "*").send().refused_for(404, None);
    }
}

#[test]
fn what_is_no_photo_for_a_post_is_none_for_a_profile_and_the_earlier_one_stays() {
    let service = Service::start(&["--max-upload", "1MiB", "--max-megapixels", "5"]);
    let ada = service.newcomer("ada");
    let user = ada.put("/me/photo", Form::photo(&picture::tiny())).expect(200).json();
    for (what, file) in [
        ("empty", &b""[..]),
        ("words", b"not a picture"),
        ("a kind we do not read", b"%PDF-1.7"),
        ("half a picture", &picture::photograph(300, 300)[..9_000]),
    ] {
        let answer = ada.put("/me/photo", Form::photo(file));
        assert_eq!(answer.status, 400, "{what}: {answer}");
        answer.refused_for(400, Some("photo"));
    }
    let large = ada.put("/me/photo", Form::photo(&jpeg_of((1 << 20) + 1)));
    assert_names(&large.refused_for(400, Some("photo")), ["1", "1048576"]);
    let wide = ada.put("/me/photo", Form::photo(&picture::png(&picture::plain(2500, 2001, BLUE))));
    assert_names(&wide.refused_for(400, Some("photo")), ["5", "5000000"]);

    assert_eq!(ada.get("/me").expect(200).json(), user);
    ada.get(&image_path(&user, 8)).expect(200);
    assert_eq!(photos(&service), [name(&user)]);
    ada.put("/me/photo", Form::photo(&jpeg_of(1 << 20))).expect(200);
}

#[test]
fn what_a_camera_knew_is_taken_out_of_a_profile_photo_too() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let (maker, home) = ("Camera No. 4711 of Ada", "the green door in Dorset Street");
    let exif = Some(picture::exif_with_place(maker, home));
    let stripes = picture::stripes(300, 100);
    let snapshot = picture::with_metadata(&stripes, ImageFormat::Jpeg, exif, None);
    let answer = ada.put("/me/photo", Form::photo(&snapshot)).expect(200);
    assert_eq!(answer.header("x-removed-metadata"), Some("gps, exif"), "{answer}");
    service.assert_nowhere_on_disk(maker.as_bytes(), "the camera");
    service.assert_nowhere_on_disk(home.as_bytes(), "the place");

    let answer = ada.put("/me/photo", Form::photo(&picture::jpeg(&stripes))).expect(200);
    assert_eq!(answer.header("x-removed-metadata"), None, "{answer}");
}

#[test]
fn of_many_photos_at_once_one_stays_whole_and_nothing_of_the_others() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let file = picture::jpeg(&picture::stripes(300, 300));
    for round in 0..5 {
        let shown = at_once(6, |_| ada.put("/me/photo", Form::photo(&file)).expect(200).json());
        let last = ada.get("/me").expect(200).json();
        assert!(shown.contains(&last), "round {round}: {last}");
        assert_eq!(photos(&service), [name(&last)], "round {round}");
        for user in &shown {
            let status = if *user == last { 200 } else { 404 };
            assert_eq!(ada.get(&image_path(user, 16)).status, status, "round {round}");
        }
    }
    // The same with somebody who takes it away meanwhile.
    for round in 0..5 {
        at_once(6, |n| {
            if n % 2 == 0 {
                ada.delete("/me/photo").expect(200)
            } else {
                ada.put("/me/photo", Form::photo(&file)).expect(200)
            }
        });
        let last = ada.get("/me").expect(200).json();
        let left = if last["photo"].is_null() { vec![] } else { vec![name(&last)] };
        assert_eq!(photos(&service), left, "round {round}");
    }
    assert!(service.files("tmp").is_empty(), "{:?}", service.files("tmp"));
}

fn name(user: &Value) -> String {
    user["photo"]["id"].as_str().unwrap().to_owned()
}

/// Everything of a user's photo, anywhere in the folder.
fn traces(service: &Service, user: &Value) -> Vec<PathBuf> {
    service.files("").into_iter().filter(|path| path.to_str().unwrap().contains(&name(user))).collect()
}

/// The photos whose bytes are kept.
fn photos(service: &Service) -> Vec<String> {
    let files = service.files("photos").into_iter();
    let mut names: Vec<String> =
        files.map(|path| path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}
