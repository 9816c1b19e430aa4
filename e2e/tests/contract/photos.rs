//! The square images of a photo: size, crop, direction, colours, format, caching.

use e2e::picture::{self, BLUE, GREEN, assert_colour};
use e2e::{Answer, Client, Service, Wire};
use image::metadata::Orientation;
use image::{GenericImageView, ImageFormat};

const UNKNOWN: &str = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";

#[test]
fn every_size_is_exactly_the_size_asked() {
    let ada = Service::shared().newcomer("ada");
    for (width, height) in [(300, 200), (1, 1), (2500, 2100)] {
        let photo = share(&ada, &picture::jpeg(&picture::plain(width, height, GREEN)));
        for side in [1, 7, 64, 511, 512, 1080, 2048] {
            for (accept, format) in [("image/jpeg", ImageFormat::Jpeg), ("image/webp", ImageFormat::WebP)] {
                let answer = get(&ada, &photo, side, Some(accept)).expect(200);
                assert_eq!(image::guess_format(&answer.bytes).unwrap(), format);
                let image = answer.picture();
                assert_eq!(image.dimensions(), (side, side), "{width}x{height} as {accept}");
                assert_colour(&image, (50, 50), GREEN, "plain green");
            }
        }
    }
}

#[test]
fn a_size_is_two_equal_numbers_from_1_to_2048() {
    let ada = Service::shared().newcomer("ada");
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
        ada.get(&format!("/photos/{photo}/{size}")).refused(400);
        // No such photo comes before no such size.
        ada.get(&format!("/photos/{UNKNOWN}/{size}")).refused_for(404, None);
    }
    for id in [UNKNOWN, "abc", "7", &photo[1..], &format!("{photo}0"), &photo.replace('-', "")] {
        ada.get(&format!("/photos/{id}/64x64")).refused_for(404, None);
    }
}

#[test]
fn the_centre_fills_the_square() {
    let ada = Service::shared().newcomer("ada");
    let wide = picture::stripes(300, 100);
    for (what, picture) in [("wide", wide.clone()), ("tall", wide.rotate90())] {
        let photo = share(&ada, &picture::png(&picture));
        for side in [16, 100, 700] {
            let image = get(&ada, &photo, side, None).expect(200).picture();
            for place in [(8, 8), (92, 8), (50, 50), (8, 92), (92, 92)] {
                assert_colour(&image, place, GREEN, &format!("{what} at {side}"));
            }
        }
    }
}

#[test]
fn pictures_stand_upright_whichever_way_the_camera_was_held() {
    let ada = Service::shared().newcomer("ada");
    let stored = picture::corners(96, 64);
    let jpegs = (1..=8).map(|exif| (ImageFormat::Jpeg, exif));
    for (format, exif) in jpegs.chain([(ImageFormat::Png, 6), (ImageFormat::WebP, 6)]) {
        let block = picture::exif(exif, "held");
        let post = ada.share(&picture::with_metadata(&stored, format, Some(block), None), "");
        let mut upright = stored.clone();
        upright.apply_orientation(Orientation::from_exif(exif).unwrap());
        let sides = (post["photo"]["width"].as_i64(), post["photo"]["height"].as_i64());
        assert_eq!(sides, (Some(upright.width().into()), Some(upright.height().into())), "{format:?} {exif}");

        let image = get(&ada, post["photo"]["id"].as_str().unwrap(), 64, None).expect(200).picture();
        for place in [(25, 25), (75, 25), (25, 75), (75, 75)] {
            let expected =
                upright.get_pixel(place.0 * upright.width() / 100, place.1 * upright.height() / 100);
            let [red, green, blue, _] = expected.0;
            assert_colour(&image, place, [red, green, blue], &format!("{format:?}, orientation {exif}"));
        }
    }
}

#[test]
fn jpeg_unless_accept_names_something_better() {
    let ada = Service::shared().newcomer("ada");
    let photo = share(&ada, &picture::jpeg(&picture::stripes(90, 90)));
    // The client always names something; a bare wire does not have to.
    let head = format!("GET /photos/{photo}/64x64 HTTP/1.1\r\nHost: e2e");
    let reply = Wire::ask(Service::shared(), &head, b"");
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("image/jpeg")));
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
        let answer = get(&ada, &photo, 64, accept).expect(200);
        assert_eq!(answer.header("content-type"), Some(kind), "Accept: {accept:?}");
        let format = ImageFormat::from_mime_type(kind).unwrap();
        assert_eq!(image::guess_format(&answer.bytes).unwrap(), format, "Accept: {accept:?}");
        assert_cacheable(&answer);
    }
}

#[test]
fn who_has_the_image_is_not_sent_it_again() {
    let ada = Service::shared().newcomer("ada");
    let photo = share(&ada, &picture::jpeg(&picture::stripes(90, 90)));
    let etag =
        |side, accept| get(&ada, &photo, side, Some(accept)).expect(200).header("etag").unwrap().to_owned();
    let jpeg = etag(64, "image/jpeg");
    let others = [etag(64, "image/webp"), etag(65, "image/jpeg"), "\"nonsense\"".to_owned()];
    assert!(others.iter().all(|other| *other != jpeg), "an ETag names one representation: {others:?}");

    let ask = |known: &str| {
        ada.request("GET", &format!("/photos/{photo}/64x64")).header("If-None-Match", known).send()
    };
    for known in [&jpeg, "*", &format!("\"other\", {jpeg}"), &format!("W/{jpeg}")] {
        let answer = ask(known).expect(304);
        assert!(answer.bytes.is_empty(), "{answer}");
        assert_eq!(answer.header("etag"), Some(jpeg.as_str()));
        assert_cacheable(&answer);
    }
    for known in others {
        ask(&known).expect(200);
    }
}

#[test]
fn transparency_is_kept_in_webp_and_white_in_jpeg() {
    let ada = Service::shared().newcomer("ada");
    let glass = picture::half_transparent(64);
    for bytes in [picture::png(&glass), picture::encode(&glass, ImageFormat::WebP)] {
        let photo = share(&ada, &bytes);
        let jpeg = get(&ada, &photo, 64, None).expect(200).picture();
        assert_colour(&jpeg, (20, 50), [255; 3], "glass on white");
        assert_colour(&jpeg, (80, 50), BLUE, "the blue half");
        let webp = get(&ada, &photo, 64, Some("image/webp")).expect(200).picture().to_rgba8();
        assert_eq!((webp.get_pixel(12, 32)[3], webp.get_pixel(52, 32)[3]), (0, 255), "alpha of both halves");
    }
}

#[test]
fn phone_colours_do_not_turn_dull() {
    let ada = Service::shared().newcomer("ada");
    // The Display-P3 numbers of a red whose sRGB numbers are the second.
    let (numbers, red) = ([200, 60, 50], [217, 41, 38]);
    for format in [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP] {
        let plain = picture::plain(64, 64, numbers);
        let photo = share(&ada, &picture::with_metadata(&plain, format, None, Some(picture::DISPLAY_P3)));
        for accept in ["image/jpeg", "image/webp"] {
            let image = get(&ada, &photo, 64, Some(accept)).expect(200).picture();
            assert_colour(&image, (50, 50), red, &format!("{format:?} served as {accept}"));
        }
    }
}

#[test]
fn nothing_but_pixels_is_kept() {
    // Its own service, for a look into the folder.
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
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
        assert!(contains(&upload), "the secret was in the picture");
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
    service.assert_nowhere_on_disk(secret.as_bytes(), "what the camera knew");
}

fn share(person: &Client, picture: &[u8]) -> String {
    person.share(picture, "")["photo"]["id"].as_str().unwrap().to_owned()
}

fn get(person: &Client, photo: &str, side: u32, accept: Option<&str>) -> Answer {
    let mut request = person.request("GET", &format!("/photos/{photo}/{side}x{side}"));
    if let Some(accept) = accept {
        request = request.header("Accept", accept);
    }
    request.send()
}

#[track_caller]
fn assert_cacheable(answer: &Answer) {
    let etag = answer.header("etag").unwrap_or_else(|| panic!("no ETag: {answer}"));
    assert!(etag.len() > 2 && etag.starts_with('"') && etag.ends_with('"'), "not a strong ETag: {etag}");
    assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"), "{answer}");
    let vary = answer.header("vary").unwrap_or_default();
    assert!(vary.split(',').any(|name| name.trim().eq_ignore_ascii_case("accept")), "{answer}");
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer}");
}
