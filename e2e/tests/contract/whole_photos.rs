//! Whole photos: images that keep the aspect, originals, and the focus of squares.

use std::io::Cursor;

use e2e::picture::{self, BLUE, GREEN, RED, YELLOW, assert_colour};
use e2e::shape::assert_post;
use e2e::{Client, Encoding, FormData, Service};
use image::{ImageDecoder, ImageFormat};
use serde_json::{Value, json};

/// The pixels of these files are more than those of the photos: a clean aperture crops them.
const CROPPED_AVIF: &[u8] = include_bytes!("../../../crates/imaging/tests/corpus/avif/crop.avif");
const CROPPED_HEIC: &[u8] = include_bytes!("../../../crates/imaging/tests/corpus/heic/crop.heic");

fn photo_id(post: &Value) -> &str {
    post["photo"]["id"].as_str().unwrap()
}

fn fit(post: &Value, longest: u32) -> String {
    format!("/photos/{}/fit/{longest}", photo_id(post))
}

fn square(post: &Value, side: u32) -> String {
    format!("/photos/{}/{side}x{side}", photo_id(post))
}

fn original(post: &Value) -> String {
    format!("/photos/{}/original", photo_id(post))
}

fn path(post: &Value) -> String {
    format!("/posts/{}", post["id"])
}

#[test]
fn an_image_of_the_whole_photo_keeps_its_aspect_and_is_never_enlarged() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let reader = service.anonymous();
    for (width, height, sizes) in [
        (900, 601, &[(1, 1, 1), (64, 64, 43), (333, 333, 222), (900, 900, 601), (4096, 900, 601)][..]),
        (301, 1204, &[(301, 75, 301), (1204, 301, 1204), (2048, 301, 1204)]),
        (120, 120, &[(50, 50, 50), (4096, 120, 120)]),
        // Beyond the largest master, from the original.
        (2600, 1300, &[(2048, 2048, 1024), (2049, 2049, 1025), (4096, 2600, 1300)]),
    ] {
        let post = ada.share(&picture::jpeg(&picture::corners(width, height)), "");
        for (longest, expected_width, expected_height) in sizes {
            for (accept, media_type) in [("image/jpeg", "image/jpeg"), ("image/webp", "image/webp")] {
                let request = reader.request("GET", &fit(&post, *longest)).header("Accept", accept);
                let response = request.send().expect(200);
                let what = format!("{longest} of {width} x {height} as {media_type}");
                assert_eq!(response.header("content-type"), Some(media_type), "{what}");
                let image = response.picture();
                assert_eq!((image.width(), image.height()), (*expected_width, *expected_height), "{what}");
                if *longest >= 50 {
                    for (at, colour) in [((3, 3), RED), ((97, 3), GREEN), ((3, 97), BLUE), ((97, 97), YELLOW)]
                    {
                        assert_colour(&image, at, colour, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn images_of_whole_photos_are_upright_and_keep_transparency() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let rotated = picture::with_metadata(
        &picture::corners(64, 48),
        ImageFormat::Jpeg,
        Some(picture::exif(6, "a secret place")),
        None,
    );
    let post = ada.share(&rotated, "");
    assert_eq!((&post["photo"]["width"], &post["photo"]["height"]), (&json!(48), &json!(64)));
    let image = ada.get(&fit(&post, 64)).expect(200).picture();
    assert_eq!((image.width(), image.height()), (48, 64));
    assert_colour(&image, (90, 10), RED, "rotated clockwise");
    assert_colour(&image, (10, 10), BLUE, "rotated clockwise");

    let wide = picture::half_transparent(64).resize_exact(128, 64, image::imageops::FilterType::Nearest);
    let post = ada.share(&picture::png(&wide), "");
    let webp = ada.request("GET", &fit(&post, 64)).header("Accept", "image/webp").send().expect(200);
    assert_eq!(webp.picture().to_rgba8().get_pixel(5, 16).0[3], 0);
    assert_colour(&ada.get(&fit(&post, 64)).expect(200).picture(), (10, 50), [255; 3], "JPEG, on white");
}

#[test]
fn images_of_whole_photos_are_cached_like_squares() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&picture::photograph(300, 200), "");
    let first = ada.get(&fit(&post, 150)).expect(200);
    assert_eq!(first.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(first.header("vary"), Some("Accept"));
    assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
    let etag = first.header("etag").unwrap();
    assert_ne!(Some(etag), ada.get(&square(&post, 150)).expect(200).header("etag"));
    let unchanged = ada.request("GET", &fit(&post, 150)).header("If-None-Match", etag).send();
    assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0));
    let head = ada.request("HEAD", &fit(&post, 150)).send().expect(200);
    assert_eq!(head.header("content-length"), Some(&*first.bytes.len().to_string()));
    // The same image, so the same tag.
    let tag = |longest| ada.get(&fit(&post, longest)).expect(200).header("etag").map(str::to_owned);
    assert_eq!(tag(300), tag(4096));

    for wrong in ["0", "4097", "99999999999999", "x", "-1", "1.5", "8x8", "%20"] {
        let response = ada.get(&format!("/photos/{}/fit/{wrong}", photo_id(&post)));
        response.expect_error_for(400, None);
    }
    let unknown = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";
    for missing in [
        format!("/photos/{unknown}/fit/0"),
        "/photos/x/fit/8".to_owned(),
        format!("/photos/{unknown}/original"),
    ] {
        ada.get(&missing).expect_error_for(404, None);
    }
    ada.delete(&path(&post)).expect(200);
    for gone in [fit(&post, 150), fit(&post, 10), original(&post)] {
        ada.get(&gone).expect_error_for(404, None);
        service.anonymous().get(&gone).expect_error_for(404, None);
    }
}

#[test]
fn an_original_that_was_stored_turned_is_downloaded_turned() {
    let ada = Service::shared().new_user("ada");
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        // Several chunks.
        let exif = Some(picture::exif(6, "turned"));
        let upload = picture::with_metadata(&picture::noise(300, 240), format, exif, None);
        let response = ada.get(&original(&ada.share(&upload, ""))).expect(200);
        let length = response.bytes.len();
        assert!(length > 128 << 10, "{format:?}: {length} bytes");
        assert_eq!(response.header("content-length"), Some(&*length.to_string()), "{format:?}");
        let reader = image::ImageReader::new(Cursor::new(&response.bytes)).with_guessed_format().unwrap();
        assert_eq!(reader.into_decoder().unwrap().orientation().unwrap().to_exif(), 6, "{format:?}");
        let [sent, received] = [&upload, &response.bytes].map(|file| image::load_from_memory(file).unwrap());
        assert!(sent == received, "{format:?}");
        let again = ada.share(&response.bytes, "");
        assert_eq!((&again["photo"]["width"], &again["photo"]["height"]), (&json!(240), &json!(300)));
    }
}

#[test]
fn an_original_is_for_its_author_unless_it_is_shared() {
    let service = Service::shared();
    let (ada, bob, anonymous) = (service.new_user("ada"), service.new_user("bob"), service.anonymous());
    let secret = "a secret place";
    let upload = picture::with_metadata(
        &picture::corners(64, 48),
        ImageFormat::Jpeg,
        Some(picture::exif(6, secret)),
        None,
    );
    let post = ada.share(&upload, "");
    assert!(post.get("share_original").is_none());
    let response = ada.get(&original(&post)).expect(200);
    assert_eq!(response.header("content-type"), Some("image/jpeg"));
    assert_eq!(response.header("cache-control"), Some("private, no-cache"));
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
    let name = format!("inline; filename=\"{}.jpg\"", photo_id(&post));
    assert_eq!(response.header("content-disposition"), Some(&*name));
    assert!(!response.bytes.windows(secret.len()).any(|bytes| bytes == secret.as_bytes()), "no metadata");
    // Its pixels are those of the upload, and it has its orientation.
    let decoded = image::load_from_memory(&response.bytes).unwrap();
    assert_eq!(decoded, image::load_from_memory(&upload).unwrap());
    let again = ada.share(&response.bytes, "");
    assert_eq!((&again["photo"]["width"], &again["photo"]["height"]), (&json!(48), &json!(64)));

    let etag = response.header("etag").unwrap();
    let head = ada.request("HEAD", &original(&post)).send().expect(200);
    assert_eq!(head.header("content-length"), Some(&*response.bytes.len().to_string()));
    assert_eq!(ada.request("GET", &original(&post)).header("If-None-Match", etag).send().status, 304);
    let not_shared = |client: &Client, status| {
        client.get(&original(&post)).expect_error_for(status, None);
        let conditional = client.request("GET", &original(&post)).header("If-None-Match", "*").send();
        conditional.expect_error_for(status, None);
    };
    not_shared(&bob, 403);
    not_shared(&anonymous, 401);

    for encoding in Encoding::BOTH {
        let share = |value: &str| FormData::new().text("share_original", value).encoded(encoding);
        let shared = ada.request("PATCH", &path(&post)).body(share("true")).send().expect(200).json();
        assert_post(&shared);
        assert_eq!(shared["share_original"], true);
        assert_eq!(anonymous.get(&path(&post)).expect(200).json()["share_original"], true);
        for client in [&ada, &bob, &anonymous] {
            assert!(client.get(&original(&post)).expect(200).bytes == response.bytes);
        }
        let edited = ada.put(&path(&post), share("false")).expect(200).json();
        assert!(edited.get("share_original").is_none());
        not_shared(&bob, 403);
        not_shared(&anonymous, 401);
        ada.put(&path(&post), share("perhaps")).expect_error_for(400, Some("share_original"));
    }
    let form = FormData::photo(&upload).text("share_original", "true");
    let shared = ada.post("/posts", form).expect(201).json();
    assert_eq!(shared["share_original"], true);
    anonymous.get(&original(&shared)).expect(200);
    let wrong = FormData::photo(&upload).text("share_original", "");
    ada.post("/posts", wrong).expect_error_for(400, Some("share_original"));

    for (value, is_shared) in
        [("True", true), ("on", true), ("1", true), ("False", false), ("off", false), ("0", false)]
    {
        let form = FormData::new().text("share_original", value);
        let edited = ada.put(&path(&shared), form).expect(200).json();
        assert_eq!(edited.get("share_original").is_some(), is_shared, "{value}");
    }

    // A profile photo is never shared.
    let user = ada.put("/me/photo", FormData::photo(&upload)).expect(200).json();
    ada.get(&original(&user)).expect(200);
    bob.get(&original(&user)).expect_error_for(403, None);
}

#[test]
fn the_original_of_a_cropped_photo_is_used_and_served() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    for file in [CROPPED_AVIF, CROPPED_HEIC] {
        let post = ada.share(file, "");
        let (width, height) = (&post["photo"]["width"], &post["photo"]["height"]);
        let response = ada.get(&original(&post)).expect(200);
        let again = ada.share(&response.bytes, "");
        assert_eq!((&again["photo"]["width"], &again["photo"]["height"]), (width, height));
        // Cut again from the original.
        ada.put(&path(&post), FormData::new().text("focus", "0,0")).expect(200);
    }
}

#[test]
fn squares_are_cut_around_the_focus() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let stripes = picture::png(&picture::stripes(300, 100));
    for (focus, colour) in [("0,0.5", RED), ("0.5,0.5", GREEN), ("1,1", BLUE), ("0.05,0", RED)] {
        let form = FormData::photo(&stripes).text("focus", focus);
        let post = ada.post("/posts", form).expect(201).json();
        assert_post(&post);
        let expected: Vec<f64> = focus.split(',').map(|value| value.parse().unwrap()).collect();
        match focus {
            "0.5,0.5" => assert!(post["photo"].get("focus").is_none(), "the centre is absent"),
            _ => assert_eq!(post["photo"]["focus"], json!({ "x": expected[0], "y": expected[1] })),
        }
        assert_eq!(service.anonymous().get(&path(&post)).expect(200).json(), post);
        for side in [16, 100, 500] {
            let image = ada.get(&square(&post, side)).expect(200).picture();
            assert_eq!((image.width(), image.height()), (side, side));
            for at in [(10, 10), (90, 90), (50, 50)] {
                assert_colour(&image, at, colour, focus);
            }
        }
        let whole = ada.get(&fit(&post, 300)).expect(200).picture();
        for (x, colour) in [(10, RED), (50, GREEN), (90, BLUE)] {
            assert_colour(&whole, (x, 50), colour, "the focus does not change the whole photo");
        }
    }
    for wrong in ["", "0.5", "0.5,1.1", "-0.1,0", "a,b", "NaN,0", "0,0,0"] {
        let form = FormData::photo(&stripes).text("focus", wrong);
        ada.post("/posts", form).expect_error_for(400, Some("focus"));
    }
    let square_photo = FormData::photo(&picture::tiny()).text("focus", "0,0");
    assert!(ada.post("/posts", square_photo).expect(201).json()["photo"].get("focus").is_none());
}

#[test]
fn an_edit_of_the_focus_gives_the_photo_a_new_id() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let form = FormData::photo(&picture::jpeg(&picture::stripes(300, 100)));
    let form = form.text("message", "Sunday").text("alt", "Stripes").text("share_original", "true");
    let post = ada.post("/posts", form).expect(201).json();
    bob.post(&format!("{}/likes", path(&post)), e2e::Body::none()).expect(201);
    assert_colour(&ada.get(&square(&post, 60)).expect(200).picture(), (50, 50), GREEN, "the centre");
    ada.get(&fit(&post, 60)).expect(200);
    let before = ada.get(&original(&post)).expect(200).bytes;

    let edit = |focus: &str| FormData::new().text("focus", focus).text("message", "Monday");
    let edited = ada.request("PATCH", &path(&post)).body(edit("1,0.5")).send().expect(200).json();
    assert_post(&edited);
    assert_ne!(photo_id(&edited), photo_id(&post));
    assert_eq!(edited["photo"]["focus"], json!({ "x": 1.0, "y": 0.5 }));
    let expected = json!([post["id"], "Monday", "Stripes", 300, 100, true, 1, post["created_at"]]);
    let members = ["id", "message"].map(|name| &edited[name]);
    let photo = ["alt", "width", "height"].map(|name| &edited["photo"][name]);
    let others = ["share_original", "like_count", "created_at"].map(|name| &edited[name]);
    assert_eq!(
        json!([members[0], members[1], photo[0], photo[1], photo[2], others[0], others[1], others[2]]),
        expected
    );
    assert_eq!(service.anonymous().find_in_feed(post["id"].as_i64().unwrap()).unwrap(), edited);
    assert_colour(&ada.get(&square(&edited, 60)).expect(200).picture(), (50, 50), BLUE, "the right");
    assert!(bob.get(&original(&edited)).expect(200).bytes == before);
    let whole = ada.get(&fit(&edited, 60)).expect(200).picture();
    assert_colour(&whole, (10, 50), RED, "the whole photo");
    for gone in [square(&post, 60), fit(&post, 60), original(&post)] {
        ada.get(&gone).expect_error_for(404, None);
    }

    // The same focus changes nothing.
    let same = ada.put(&path(&post), FormData::new().text("focus", "1,0.5")).expect(200).json();
    assert_eq!(same, edited);
    bob.put(&path(&post), edit("0,0")).expect_error_for(403, None);
    ada.put(&path(&post), edit("2,0")).expect_error_for(400, Some("focus"));
    assert_eq!(ada.get(&path(&post)).expect(200).json(), same);
    ada.delete(&path(&post)).expect(200);
    for gone in [square(&edited, 60), fit(&edited, 60)] {
        ada.get(&gone).expect_error_for(404, None);
    }
}

#[test]
fn concurrent_edits_of_the_focus_leave_one_photo() {
    let service = Service::single_node(&[]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::png(&picture::stripes(300, 100)), "");
    e2e::concurrently(6, |number| {
        let focus = format!("0.{number},0.5");
        let response = ada.put(&path(&post), FormData::new().text("focus", &*focus));
        assert!([200, 409].contains(&response.status), "{response}");
    });
    let current = ada.get(&path(&post)).expect(200).json();
    ada.get(&square(&current, 60)).expect(200);
    let folders = || {
        let files = service.files("photos").into_iter();
        let mut folders: Vec<_> =
            files.filter_map(|file| Some(file.parent()?.file_name()?.to_owned())).collect();
        folders.dedup();
        folders
    };
    e2e::eventually("the files of the other photos are deleted", std::time::Duration::from_secs(30), || {
        (folders() == [photo_id(&current)]).then_some(())
    });
}

#[test]
fn without_originals_the_whole_photo_is_kept_up_to_2048_pixels() {
    let service = Service::single_node(&["--keep-originals", "off"]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::jpeg(&picture::corners(2600, 1300)), "");
    for (longest, expected) in [(300, (300, 150)), (2048, (2048, 1024)), (4096, (2048, 1024))] {
        let image = ada.get(&fit(&post, longest)).expect(200).picture();
        assert_eq!((image.width(), image.height()), expected);
        assert_colour(&image, (3, 3), RED, "the whole photo");
    }
    let kept = ada.get(&original(&post)).expect(200).picture();
    assert_eq!((kept.width(), kept.height()), (2048, 1024));
    let edited = ada.put(&path(&post), FormData::new().text("focus", "0,0")).expect(200).json();
    assert_eq!((&edited["photo"]["width"], &edited["photo"]["height"]), (&json!(2048), &json!(1024)));
    let image = ada.get(&square(&edited, 1024)).expect(200).picture();
    assert_colour(&image, (50, 10), RED, "the left half");
    ada.get(&fit(&edited, 800)).expect(200);
}
