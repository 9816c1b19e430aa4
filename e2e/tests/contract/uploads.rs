//! Uploads: accepted formats, size and pixel limits, metadata stripping, authorization before the body.

use e2e::picture::{self, BLUE, GREEN, RED, assert_colour};
use e2e::{Body, FormData, RawConnection, Response, Service};
use image::{DynamicImage, ImageFormat};
use serde_json::Value;

#[test]
fn every_supported_format_is_decoded() {
    let ada = Service::shared().new_user("ada");
    let stripes = picture::stripes(96, 32);
    let frames = [stripes.clone(), picture::plain(96, 32, RED), picture::plain(96, 32, RED)];
    let deep = DynamicImage::ImageRgb16(stripes.to_rgb16());
    for (what, bytes) in [
        ("JPEG", picture::jpeg(&stripes)),
        ("PNG", picture::png(&stripes)),
        ("PNG with 16 bits", picture::png(&deep)),
        ("WebP", picture::encode(&stripes, ImageFormat::WebP)),
        ("GIF", picture::encode(&stripes, ImageFormat::Gif)),
        ("the first frame of a GIF", picture::animation(&frames)),
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
fn the_error_for_an_unsupported_format_lists_the_supported_ones() {
    let ada = Service::shared().new_user("ada");
    for file in
        [&b"BM6\0\0\0\0\0\0\0"[..], b"II*\0\x08\0\0\0", b"%PDF-1.7", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom"]
    {
        let rejected = ada.post("/posts", FormData::photo(file)).expect(400);
        let error = &rejected.json()["error"];
        assert_eq!(error["field"], "photo");
        let message = error["message"].as_str().unwrap();
        for format in ["JPEG", "PNG", "WebP", "GIF", "AVIF", "HEIC"] {
            assert!(message.contains(format), "{message}");
        }
    }
}

#[test]
fn removed_metadata_is_named_in_x_removed_metadata() {
    // A service of its own, whose data folder is searched.
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let (camera, area) = ("Camera No. 4711 of Ada", "the green door in Dorset Street");
    let upload = |picture: &[u8], key: &str| {
        let request = ada.request("POST", "/posts").header("Idempotency-Key", key);
        let response = request.body(FormData::photo(picture)).send().expect(201);
        (response.header("x-removed-metadata").map(str::to_owned), response)
    };
    let stripes = picture::stripes(300, 100);
    let exif = Some(picture::exif_with_gps(camera, area));
    let snapshot = picture::with_metadata(&stripes, ImageFormat::Jpeg, exif, None);
    let contains =
        |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(contains(&snapshot, camera) && contains(&snapshot, area), "the upload contains both");

    let (removed, response) = upload(&snapshot, "snapshot");
    assert_eq!(removed.as_deref(), Some("gps, exif"), "{response}");
    let (removed, again) = upload(&snapshot, "snapshot");
    assert_eq!(
        (removed, again.header("idempotency-replayed")),
        (None, Some("true")),
        "a replay reads no metadata"
    );
    assert_eq!(again.json(), response.json());

    let turned = picture::with_metadata(&stripes, ImageFormat::Jpeg, Some(picture::exif(6, "")), None);
    assert_eq!(upload(&turned, "turned").0.as_deref(), Some("exif"));
    for (format, bytes) in [("JPEG", picture::jpeg(&stripes)), ("PNG", picture::png(&stripes))] {
        assert_eq!(upload(&bytes, format).0, None, "a {format} without metadata");
    }

    ada.get(&image_path(&response.json(), 64)).expect(200);
    service.assert_nowhere_on_disk(camera.as_bytes(), "the camera description");
    service.assert_nowhere_on_disk(area.as_bytes(), "the GPS area");
}

#[test]
fn the_format_is_detected_from_the_bytes_not_from_name_or_type() {
    let ada = Service::shared().new_user("ada");
    let blue = picture::png(&picture::plain(8, 8, BLUE));
    for headers in [
        "; filename=\"photo.jpg\"\r\nContent-Type: image/jpeg",
        "; filename=\"../../etc/passwd\"\r\nContent-Type: text/plain",
        "; filename=\"\"\r\nContent-Type: application/octet-stream",
        "; filename=\"été.png\"; filename*=UTF-8''%c3%a9t%c3%a9.png\r\nContent-Type: nonsense",
        "; filename=\"x.png\"",
        "",
    ] {
        let form = FormData::new().file_with("photo", headers, &blue);
        let post = ada.post("/posts", form).expect(201).json();
        assert_colour(&ada.get(&image_path(&post, 8)).expect(200).picture(), (50, 50), BLUE, headers);
    }
    let png_headers = "; filename=\"photo.png\"\r\nContent-Type: image/png";
    let form = FormData::new().file_with("photo", png_headers, b"<svg xmlns='http://www.w3.org/2000/svg'/>");
    ada.post("/posts", form).expect_error_for(400, Some("photo"));
}

#[test]
fn the_message_may_precede_or_follow_the_photo() {
    let ada = Service::shared().new_user("ada");
    let tiny = picture::tiny();
    for form in
        [FormData::message("text").file("photo", &tiny), FormData::photo(&tiny).text("message", "text")]
    {
        assert_eq!(ada.post("/posts", form).expect(201).json()["message"], "text");
    }
}

#[test]
fn max_upload_limits_the_file_size_to_the_byte() {
    let service = Service::start(&["--max-upload", "1MiB"]);
    let ada = service.new_user("ada");
    for (size, accepted) in [(1 << 20, true), ((1 << 20) + 1, false), (3 << 20, false)] {
        let response = ada.post("/posts", FormData::photo(&jpeg_of(size)).text("message", "x".repeat(5_000)));
        if accepted {
            response.expect(201);
        } else {
            assert_message_names(&response.expect_error_for(400, Some("photo")), ["1", "1048576"]);
        }
    }
}

#[test]
fn max_megapixels_limits_the_pixels_exactly() {
    let service = Service::start(&["--max-megapixels", "5"]);
    let ada = service.new_user("ada");
    for (width, height, accepted) in [(2500, 2000, true), (2500, 2001, false), (1, 5_000_001, false)] {
        // PNG, because the other formats do not allow a side of 5,000,001 pixels.
        let response =
            ada.post("/posts", FormData::photo(&picture::png(&picture::plain(width, height, BLUE))));
        if accepted {
            response.expect(201);
        } else {
            assert_message_names(&response.expect_error_for(400, Some("photo")), ["5", "5000000"]);
        }
    }
}

#[test]
fn the_default_upload_limit_is_32_mib() {
    let ada = Service::shared().new_user("ada");
    ada.post("/posts", FormData::photo(&jpeg_of(32 << 20))).expect(201);
    let rejected =
        ada.post("/posts", FormData::photo(&jpeg_of((32 << 20) + 1))).expect_error_for(400, Some("photo"));
    assert_message_names(&rejected, ["32", "33554432"]);
}

#[test]
fn an_upload_without_a_session_is_rejected_before_its_body_is_read() {
    let service = Service::shared();
    let body = Body::new("multipart/form-data; boundary=b", "");
    for (method, path) in [("POST", "/posts"), ("PUT", "/me/photo")] {
        let head = RawConnection::request_head(method, path, "nonsense", &body, 30_000_000);
        let chunked = head.replace("Content-Length: 30000000", "Transfer-Encoding: chunked");
        for head in [
            head.clone(),
            format!("{head}Expect: 100-continue\r\n"),
            head.replace("Authorization: Bearer nonsense\r\n", ""),
            head.replace("multipart/form-data; boundary=b", "application/json"),
            format!("{head}Idempotency-Key: \r\n"),
            chunked,
        ] {
            // No byte of the body is sent, so a response proves that the service does not wait for it.
            let response = RawConnection::exchange(service, head.trim_end(), b"");
            assert_eq!(response.status, 401, "{head}");
            e2e::shape::assert_error_object(&response.json());
        }
    }
}

/// Asserts that the error message contains the limit, in one of two spellings.
#[track_caller]
pub(crate) fn assert_message_names(response: &Response, limit: [&str; 2]) {
    let error = response.json();
    let message = error["error"]["message"].as_str().unwrap();
    let named = message.split(|c: char| !c.is_ascii_digit()).any(|number| limit.contains(&number));
    assert!(named, "the limit is not in the message: {message}");
}

pub(crate) fn image_path(post: &Value, side: u32) -> String {
    format!("/photos/{}/{side}x{side}", post["photo"]["id"].as_str().unwrap())
}

/// A small JPEG padded with comment segments to exactly this size.
pub(crate) fn jpeg_of(size: usize) -> Vec<u8> {
    let plain = picture::jpeg(&picture::plain(16, 16, BLUE));
    let (mut comments, mut missing) = (Vec::new(), size - plain.len());
    while missing > 0 {
        // A comment segment has 4 bytes of overhead and at most 65,533 of text. A rest too short for a
        // segment of its own is avoided by shortening the one before.
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
