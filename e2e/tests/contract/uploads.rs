//! Which pictures are taken, how large they may be, and when a body is not even looked at.

use e2e::picture::{self, BLUE, GREEN, RED, assert_colour};
use e2e::{Answer, Body, Form, Service, Wire};
use image::{DynamicImage, ImageFormat};
use serde_json::Value;

#[test]
fn every_format_shows_its_colours() {
    let ada = Service::shared().newcomer("ada");
    let stripes = picture::stripes(96, 32);
    let film = [stripes.clone(), picture::plain(96, 32, RED), picture::plain(96, 32, RED)];
    let deep = DynamicImage::ImageRgb16(stripes.to_rgb16());
    for (what, bytes) in [
        ("JPEG", picture::jpeg(&stripes)),
        ("PNG", picture::png(&stripes)),
        ("PNG with 16 bits", picture::png(&deep)),
        ("WebP", picture::encode(&stripes, ImageFormat::WebP)),
        ("GIF", picture::encode(&stripes, ImageFormat::Gif)),
        ("GIF, of several frames the first", picture::animation(&film)),
        ("AVIF", picture::STRIPES_AVIF.to_vec()),
        ("HEIC", picture::STRIPES_HEIC.to_vec()),
    ] {
        let post = ada.share(&bytes, what);
        assert_eq!((post["photo"]["width"].as_i64(), post["photo"]["height"].as_i64()), (Some(96), Some(32)));
        let image = ada.get(&image_path(&post, 60)).expect(200).picture();
        assert_colour(&image, (50, 50), GREEN, what);
    }
    let grey = DynamicImage::ImageLuma8(picture::plain(8, 8, [128; 3]).to_luma8());
    let post = ada.share(&picture::png(&grey), "grey");
    assert_colour(&ada.get(&image_path(&post, 8)).expect(200).picture(), (50, 50), [128; 3], "grey PNG");
}

#[test]
fn other_kinds_are_refused_with_the_formats_that_are_taken() {
    let ada = Service::shared().newcomer("ada");
    for file in
        [&b"BM6\0\0\0\0\0\0\0"[..], b"II*\0\x08\0\0\0", b"%PDF-1.7", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"]
    {
        let refused = ada.post("/posts", Form::photo(file)).expect(400);
        let error = &refused.json()["error"];
        assert_eq!(error["field"], "photo");
        let words = error["message"].as_str().unwrap();
        for format in ["JPEG", "PNG", "WebP", "GIF", "AVIF", "HEIC"] {
            assert!(words.contains(format), "{words}");
        }
    }
}

#[test]
fn what_a_camera_knew_is_taken_out_and_its_owner_is_told() {
    // Its own service, for a look into the folder.
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let (maker, home) = ("Camera No. 4711 of Ada", "the green door in Dorset Street");
    let told = |picture: &[u8], key: &str| {
        let request = ada.request("POST", "/posts").header("Idempotency-Key", key);
        let answer = request.body(Form::photo(picture)).send().expect(201);
        (answer.header("x-removed-metadata").map(str::to_owned), answer)
    };
    let stripes = picture::stripes(300, 100);
    let exif = Some(picture::exif_with_place(maker, home));
    let snapshot = picture::with_metadata(&stripes, ImageFormat::Jpeg, exif, None);
    let contains =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains(&snapshot, maker) && contains(&snapshot, home), "both were in the picture");

    let (removed, answer) = told(&snapshot, "snapshot");
    assert_eq!(removed.as_deref(), Some("gps, exif"), "{answer}");
    let (removed, again) = told(&snapshot, "snapshot");
    assert_eq!((removed, again.header("idempotency-replayed")), (None, Some("true")), "nothing was read");
    assert_eq!(again.json(), answer.json());

    let turned = picture::with_metadata(&stripes, ImageFormat::Jpeg, Some(picture::exif(6, "")), None);
    assert_eq!(told(&turned, "turned").0.as_deref(), Some("exif"));
    for (format, bytes) in [("JPEG", picture::jpeg(&stripes)), ("PNG", picture::png(&stripes))] {
        assert_eq!(told(&bytes, format).0, None, "a {format} of nothing but pixels");
    }

    ada.get(&image_path(&answer.json(), 64)).expect(200);
    service.assert_nowhere_on_disk(maker.as_bytes(), "the camera");
    service.assert_nowhere_on_disk(home.as_bytes(), "the place");
}

#[test]
fn the_bytes_tell_what_a_file_is_not_its_name_or_declared_type() {
    let ada = Service::shared().newcomer("ada");
    let blue = picture::png(&picture::plain(8, 8, BLUE));
    for headers in [
        "; filename=\"photo.jpg\"\r\nContent-Type: image/jpeg",
        "; filename=\"../../etc/passwd\"\r\nContent-Type: text/plain",
        "; filename=\"\"\r\nContent-Type: application/octet-stream",
        "; filename=\"été.png\"; filename*=UTF-8''%c3%a9t%c3%a9.png\r\nContent-Type: nonsense",
        "; filename=\"x.png\"",
        "",
    ] {
        let form = Form::new().file_with("photo", headers, &blue);
        let post = ada.post("/posts", form).expect(201).json();
        assert_colour(&ada.get(&image_path(&post, 8)).expect(200).picture(), (50, 50), BLUE, headers);
    }
    let claims = "; filename=\"photo.png\"\r\nContent-Type: image/png";
    let form = Form::new().file_with("photo", claims, b"<svg xmlns='http://www.w3.org/2000/svg'/>");
    ada.post("/posts", form).refused_for(400, Some("photo"));
}

#[test]
fn the_message_may_come_before_or_after_the_photo() {
    let ada = Service::shared().newcomer("ada");
    let tiny = picture::tiny();
    for form in [Form::message("words").file("photo", &tiny), Form::photo(&tiny).text("message", "words")] {
        assert_eq!(ada.post("/posts", form).expect(201).json()["message"], "words");
    }
}

#[test]
fn a_file_may_be_as_large_as_the_limit_and_not_a_byte_larger() {
    let service = Service::start(&["--max-upload", "1MiB"]);
    let ada = service.newcomer("ada");
    for (size, taken) in [(1 << 20, true), ((1 << 20) + 1, false), (3 << 20, false)] {
        let answer = ada.post("/posts", Form::photo(&jpeg_of(size)).text("message", "x".repeat(5_000)));
        if taken {
            answer.expect(201);
        } else {
            assert_names(&answer.refused_for(400, Some("photo")), ["1", "1048576"]);
        }
    }
}

#[test]
fn a_picture_may_have_as_many_pixels_as_the_limit_and_no_more() {
    let service = Service::start(&["--max-megapixels", "5"]);
    let ada = service.newcomer("ada");
    for (width, height, taken) in [(2500, 2000, true), (2500, 2001, false), (1, 5_000_001, false)] {
        // A tall PNG is the only format of these whose sides may be that long.
        let answer = ada.post("/posts", Form::photo(&picture::png(&picture::plain(width, height, BLUE))));
        if taken {
            answer.expect(201);
        } else {
            assert_names(&answer.refused_for(400, Some("photo")), ["5", "5000000"]);
        }
    }
}

#[test]
fn by_default_32_mib_are_taken() {
    let ada = Service::shared().newcomer("ada");
    ada.post("/posts", Form::photo(&jpeg_of(32 << 20))).expect(201);
    let refused = ada.post("/posts", Form::photo(&jpeg_of((32 << 20) + 1))).refused_for(400, Some("photo"));
    assert_names(&refused, ["32", "33554432"]);
}

#[test]
fn an_unauthorized_upload_is_refused_before_its_body_is_read() {
    let service = Service::shared();
    let body = Body::new("multipart/form-data; boundary=b", "");
    for (method, path) in [("POST", "/posts"), ("PUT", "/me/photo")] {
        let head = Wire::head_for(method, path, "nonsense", &body, 30_000_000);
        let chunked = head.replace("Content-Length: 30000000", "Transfer-Encoding: chunked");
        for head in [
            head.clone(),
            format!("{head}Expect: 100-continue\r\n"),
            head.replace("Authorization: Bearer nonsense\r\n", ""),
            head.replace("multipart/form-data; boundary=b", "application/json"),
            format!("{head}Idempotency-Key: \r\n"),
            chunked,
        ] {
            // Not one byte of the body is ever sent: an answer shows that none was waited for.
            let reply = Wire::ask(service, head.trim_end(), b"");
            assert_eq!(reply.status, 401, "{head}");
            e2e::shape::assert_error_object(&reply.json());
        }
    }
}

/// The words of an error name the limit, in one of its spellings.
#[track_caller]
pub(crate) fn assert_names(answer: &Answer, limit: [&str; 2]) {
    let error = answer.json();
    let words = error["error"]["message"].as_str().unwrap();
    let named = words.split(|c: char| !c.is_ascii_digit()).any(|number| limit.contains(&number));
    assert!(named, "the limit is not in the words: {words}");
}

pub(crate) fn image_path(post: &Value, side: u32) -> String {
    format!("/photos/{}/{side}x{side}", post["photo"]["id"].as_str().unwrap())
}

/// A small picture in a file of exactly this size, filled up with comments.
pub(crate) fn jpeg_of(size: usize) -> Vec<u8> {
    let plain = picture::jpeg(&picture::plain(16, 16, BLUE));
    let (mut comments, mut missing) = (Vec::new(), size - plain.len());
    while missing > 0 {
        // A comment has four bytes of its own and 65,533 of text at most; the last two share what is left.
        let whole = if (65_538..65_550).contains(&missing) { 1_000 } else { missing.min(65_537) };
        comments.extend_from_slice(&[0xff, 0xfe]);
        comments.extend_from_slice(&u16::try_from(whole - 2).unwrap().to_be_bytes());
        comments.resize(comments.len() + whole - 4, b'.');
        missing -= whole;
    }
    let jpeg = [&plain[..2], &comments, &plain[2..]].concat();
    assert_eq!(jpeg.len(), size);
    jpeg
}
