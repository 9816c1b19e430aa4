//! The square images of a photo: size, crop, orientation, colours, format, conditional requests.

use e2e::picture::{self, BLUE, GREEN, assert_colour};
use e2e::{Client, RawConnection, Response, Service};
use image::metadata::Orientation;
use image::{GenericImageView, ImageFormat};

const UNKNOWN: &str = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";

#[test]
fn images_have_exactly_the_requested_size() {
    let ada = Service::shared().new_user("ada");
    for (width, height) in [(300, 200), (1, 1), (2500, 2100)] {
        let photo = share(&ada, &picture::jpeg(&picture::plain(width, height, GREEN)));
        for side in [1, 7, 64, 511, 512, 1080, 2048] {
            for (accept, format) in [("image/jpeg", ImageFormat::Jpeg), ("image/webp", ImageFormat::WebP)] {
                let response = get(&ada, &photo, side, Some(accept)).expect(200);
                assert_eq!(image::guess_format(&response.bytes).unwrap(), format);
                let image = response.picture();
                assert_eq!(image.dimensions(), (side, side), "{width}x{height} as {accept}");
                assert_colour(&image, (50, 50), GREEN, "plain green");
            }
        }
    }
}

#[test]
fn a_size_is_two_equal_numbers_from_1_to_2048() {
    let ada = Service::shared().new_user("ada");
    let photo = share(&ada, &picture::tiny());
    for size in [
        "0x0",
        "512x511",
        "511x512",
        "2049x2049",
        "99999999999999999999x99999999999999999999",
        "-1x-1",
        "x",
        "10x",
        "x10",
        "axa",
        "1.5x1.5",
        "1e2x1e2",
        "10x10x10",
        "0x10",
    ] {
        ada.get(&format!("/photos/{photo}/{size}")).expect_error(400);
        // A missing photo takes precedence over an invalid size.
        ada.get(&format!("/photos/{UNKNOWN}/{size}")).expect_error_for(404, None);
    }
    for id in [UNKNOWN, "abc", "7", &photo[1..], &format!("{photo}0"), &photo.replace('-', "")] {
        ada.get(&format!("/photos/{id}/64x64")).expect_error_for(404, None);
    }
}

#[test]
fn images_are_cropped_to_the_centre() {
    let ada = Service::shared().new_user("ada");
    let wide = picture::stripes(300, 100);
    for (what, picture) in [("wide", wide.clone()), ("tall", wide.rotate90())] {
        let photo = share(&ada, &picture::png(&picture));
        for side in [16, 100, 700] {
            let image = get(&ada, &photo, side, None).expect(200).picture();
            for position in [(8, 8), (92, 8), (50, 50), (8, 92), (92, 92)] {
                assert_colour(&image, position, GREEN, &format!("{what} at {side}"));
            }
        }
    }
}

#[test]
fn images_are_rotated_by_their_exif_orientation() {
    let ada = Service::shared().new_user("ada");
    let stored = picture::corners(96, 64);
    let jpegs = (1..=8).map(|exif| (ImageFormat::Jpeg, exif));
    for (format, exif) in jpegs.chain([(ImageFormat::Png, 6), (ImageFormat::WebP, 6)]) {
        let block = picture::exif(exif, "camera description");
        let post = ada.share(&picture::with_metadata(&stored, format, Some(block), None), "");
        let mut upright = stored.clone();
        upright.apply_orientation(Orientation::from_exif(exif).unwrap());
        let sides = (post["photo"]["width"].as_i64(), post["photo"]["height"].as_i64());
        assert_eq!(sides, (Some(upright.width().into()), Some(upright.height().into())), "{format:?} {exif}");

        let image = get(&ada, post["photo"]["id"].as_str().unwrap(), 64, None).expect(200).picture();
        for position in [(25, 25), (75, 25), (25, 75), (75, 75)] {
            let expected =
                upright.get_pixel(position.0 * upright.width() / 100, position.1 * upright.height() / 100);
            let [red, green, blue, _] = expected.0;
            assert_colour(&image, position, [red, green, blue], &format!("{format:?}, orientation {exif}"));
        }
    }
}

#[test]
fn the_format_is_jpeg_unless_accept_prefers_webp() {
    let ada = Service::shared().new_user("ada");
    let photo = share(&ada, &picture::jpeg(&picture::stripes(90, 90)));
    // Without any Accept header, which the HTTP client always sends.
    let head = format!("GET /photos/{photo}/64x64 HTTP/1.1\r\nHost: e2e");
    let response = RawConnection::exchange(Service::shared(), &head, b"");
    assert_eq!((response.status, response.header("content-type")), (200, Some("image/jpeg")));
    for (accept, kind) in [
        (Some("*/*"), "image/jpeg"),
        (Some("image/*"), "image/jpeg"),
        (Some("image/jpeg"), "image/jpeg"),
        (Some("image/avif"), "image/jpeg"),
        (Some("text/html"), "image/jpeg"),
        (Some("nonsense;;q=,"), "image/jpeg"),
        (Some("image/webp;q=0"), "image/jpeg"),
        (Some("image/webp;q=0, */*"), "image/jpeg"),
        (Some("image/jpeg;q=1, image/webp;q=0.5"), "image/jpeg"),
        (Some("image/webp"), "image/webp"),
        (Some("IMAGE/WEBP"), "image/webp"),
        (Some("image/webp;q=0.8, image/jpeg;q=0.5"), "image/webp"),
        (Some("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"), "image/webp"),
    ] {
        let response = get(&ada, &photo, 64, accept).expect(200);
        assert_eq!(response.header("content-type"), Some(kind), "Accept: {accept:?}");
        let format = ImageFormat::from_mime_type(kind).unwrap();
        assert_eq!(image::guess_format(&response.bytes).unwrap(), format, "Accept: {accept:?}");
        assert_cacheable(&response);
    }
}

#[test]
fn if_none_match_with_the_current_etag_returns_304() {
    let ada = Service::shared().new_user("ada");
    let photo = share(&ada, &picture::jpeg(&picture::stripes(90, 90)));
    let etag =
        |side, accept| get(&ada, &photo, side, Some(accept)).expect(200).header("etag").unwrap().to_owned();
    let jpeg = etag(64, "image/jpeg");
    let others = [etag(64, "image/webp"), etag(65, "image/jpeg"), "\"nonsense\"".to_owned()];
    assert!(others.iter().all(|other| *other != jpeg), "an ETag names one representation: {others:?}");

    let get_if_changed = |known: &str| {
        ada.request("GET", &format!("/photos/{photo}/64x64")).header("If-None-Match", known).send()
    };
    for known in [&jpeg, "*", &format!("\"other\", {jpeg}"), &format!("W/{jpeg}")] {
        let response = get_if_changed(known).expect(304);
        assert!(response.bytes.is_empty(), "{response}");
        assert_eq!(response.header("etag"), Some(jpeg.as_str()));
        assert_cacheable(&response);
    }
    for known in others {
        get_if_changed(&known).expect(200);
    }
}

#[test]
fn transparency_is_preserved_in_webp_and_white_in_jpeg() {
    let ada = Service::shared().new_user("ada");
    let transparent = picture::half_transparent(64);
    for bytes in [picture::png(&transparent), picture::encode(&transparent, ImageFormat::WebP)] {
        let photo = share(&ada, &bytes);
        let jpeg = get(&ada, &photo, 64, None).expect(200).picture();
        assert_colour(&jpeg, (20, 50), [255; 3], "the transparent half is white");
        assert_colour(&jpeg, (80, 50), BLUE, "the blue half");
        let webp = get(&ada, &photo, 64, Some("image/webp")).expect(200).picture().to_rgba8();
        assert_eq!((webp.get_pixel(12, 32)[3], webp.get_pixel(52, 32)[3]), (0, 255), "alpha of both halves");
    }
}

#[test]
fn display_p3_is_kept_in_webp_and_converted_to_srgb_in_jpeg() {
    let ada = Service::shared().new_user("ada");
    // A red in Display P3, and the same colour in sRGB.
    let (display_p3, srgb) = ([200, 60, 50], [217, 41, 38]);
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        let plain = picture::plain(64, 64, display_p3);
        let photo = share(&ada, &picture::with_metadata(&plain, format, None, Some(picture::DISPLAY_P3)));
        for (accept, colour) in [("image/jpeg", srgb), ("image/webp", display_p3)] {
            let response = get(&ada, &photo, 64, Some(accept)).expect(200);
            // The chunk of a profile.
            let is_tagged = response.bytes.windows(4).any(|window| window == b"ICCP");
            assert_eq!(is_tagged, accept == "image/webp", "{format:?} served as {accept}");
            assert_colour(&response.picture(), (50, 50), colour, &format!("{format:?} served as {accept}"));
        }
    }
}

#[test]
fn metadata_is_stripped_from_images_and_stored_files() {
    // A service of its own, whose data folder is searched.
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let secret = "51.4778N 0.0014W home";
    let picture = picture::stripes(300, 100);
    let exif = Some(picture::exif(1, secret));
    let jpeg = picture::with_metadata(&picture, ImageFormat::Jpeg, exif.clone(), None);
    let jpeg = picture::jpeg_with_segment(&jpeg, 0xfe, format!("comment {secret}").as_bytes());
    let xmp = format!("http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>{secret}</x:xmpmeta>");
    let jpeg = picture::jpeg_with_segment(&jpeg, 0xe1, xmp.as_bytes());
    let iptc = format!("Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x1a\x1c\x02\x78\0\x15{secret}");
    let jpeg = picture::jpeg_with_segment(&jpeg, 0xed, iptc.as_bytes());
    let png = picture::with_metadata(&picture, ImageFormat::Png, exif.clone(), None);
    let png = picture::png_with_chunk(&png, b"tEXt", format!("Comment\0{secret}").as_bytes());
    let webp = picture::with_metadata(&picture, ImageFormat::WebP, exif, None);
    let contains = |bytes: &[u8]| bytes.windows(secret.len()).any(|window| window == secret.as_bytes());

    for upload in [jpeg, png, webp] {
        assert!(contains(&upload), "the upload contains the secret");
        let photo = share(&ada, &upload);
        for side in [8, 100, 2048] {
            for accept in ["image/jpeg", "image/webp"] {
                assert!(
                    !contains(&get(&ada, &photo, side, Some(accept)).expect(200).bytes),
                    "{accept} at {side}"
                );
            }
        }
    }
    service.assert_nowhere_on_disk(secret.as_bytes(), "metadata");
}

fn share(client: &Client, picture: &[u8]) -> String {
    client.share(picture, "")["photo"]["id"].as_str().unwrap().to_owned()
}

fn get(client: &Client, photo: &str, side: u32, accept: Option<&str>) -> Response {
    let mut request = client.request("GET", &format!("/photos/{photo}/{side}x{side}"));
    if let Some(accept) = accept {
        request = request.header("Accept", accept);
    }
    request.send()
}

#[track_caller]
fn assert_cacheable(response: &Response) {
    let etag = response.header("etag").unwrap_or_else(|| panic!("no ETag: {response}"));
    assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "not a strong ETag: {etag}");
    assert_eq!(response.header("cache-control"), Some("public, max-age=31536000, immutable"), "{response}");
    let vary = response.header("vary").unwrap_or_default();
    assert!(vary.split(',').any(|name| name.trim().eq_ignore_ascii_case("accept")), "{response}");
    assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{response}");
}
