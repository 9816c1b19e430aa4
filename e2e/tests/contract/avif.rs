//! AVIF: served once it is encoded, until then WebP or JPEG for a minute; to clients that name it only.

use std::time::Duration;

use e2e::picture::{self, BLUE, GREEN, assert_colour};
use e2e::{Client, Response, Service, eventually};
use image::DynamicImage;

const BROWSER: &str = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
const FOREVER: &str = "public, max-age=31536000, immutable";
const A_MINUTE: &str = "public, max-age=60";
const TIMEOUT: Duration = Duration::from_secs(120);

/// Type, lifetime and ETag of a response that varies by `Accept`.
#[track_caller]
fn caching(response: &Response) -> (Option<&str>, &str, &str) {
    let header = |name| response.header(name).unwrap_or_else(|| panic!("no {name}: {response}"));
    assert_eq!(header("vary"), "Accept", "{response}");
    assert_eq!(header("x-content-type-options"), "nosniff", "{response}");
    (response.header("content-type"), header("cache-control"), header("etag"))
}

fn get(client: &Client, path: &str, accept: &str) -> Response {
    client.request("GET", path).header("Accept", accept).send().expect(200)
}

fn share(client: &Client, photo: &[u8]) -> String {
    client.share(photo, "")["photo"]["id"].as_str().unwrap().to_owned()
}

/// Requests the image until it is an AVIF.
fn wait_for_avif(client: &Client, path: &str) -> Response {
    eventually("the AVIF is served", TIMEOUT, || {
        let response = get(client, path, BROWSER);
        (response.header("content-type") == Some("image/avif")).then_some(response)
    })
}

#[test]
fn an_image_is_served_as_avif_once_it_is_encoded() {
    // Each node encodes for itself.
    let service = Service::single_node(&[]);
    let (ada, reader) = (service.new_user("ada"), service.anonymous());
    let photo = share(&ada, &picture::photograph(700, 500));
    for path in [format!("/photos/{photo}/320x320"), format!("/photos/{photo}/fit/400")] {
        let webp = get(&reader, &path, "image/webp");
        let (kind, lifetime, webp_etag) = caching(&webp);
        assert_eq!((kind, lifetime), (Some("image/webp"), FOREVER), "without AVIF, nothing changes");
        // The first request that would take an AVIF, for which the client has the WebP.
        let request = |method, known: &str| {
            let request = reader.request(method, &path).header("Accept", BROWSER);
            request.header("If-None-Match", known).send()
        };
        let unchanged = request("GET", webp_etag).expect(304);
        assert_eq!(caching(&unchanged), (None, A_MINUTE, webp_etag));

        let avif = wait_for_avif(&reader, &path);
        let (kind, lifetime, etag) = caching(&avif);
        assert_eq!((kind, lifetime), (Some("image/avif"), FOREVER));
        assert_ne!(etag, webp_etag, "an ETag names one representation");
        assert_eq!(&avif.bytes[4..12], b"ftypavif");
        let head = reader.request("HEAD", &path).header("Accept", BROWSER).send().expect(200);
        assert_eq!(caching(&head), caching(&avif));
        assert_eq!(head.header("content-length"), Some(avif.bytes.len().to_string().as_str()));
        for known in [etag, "*", &format!("W/{etag}"), &format!("\"other\", {etag}")] {
            assert_eq!(caching(&request("GET", known).expect(304)), (None, FOREVER, etag), "{known}");
        }
        for known in [webp_etag, "\"other\""] {
            assert!(request("GET", known).expect(200).bytes == avif.bytes, "{known}");
        }
    }
}

#[test]
fn only_clients_that_prefer_avif_by_name_get_it() {
    let service = Service::single_node(&[]);
    let ada = service.new_user("ada");
    let path = format!("/photos/{}/256x256", share(&ada, &picture::photograph(300, 300)));
    // Without WebP it is JPEG that the client gets first.
    let first = get(&ada, &path, "image/avif");
    assert_eq!((caching(&first).0, caching(&first).1), (Some("image/jpeg"), A_MINUTE));
    wait_for_avif(&ada, &path);
    for (accept, kind) in [
        ("image/avif", "image/avif"),
        ("image/avif;q=0.5, image/webp;q=0.5", "image/avif"),
        ("image/avif;q=0.5, */*", "image/avif"),
        ("image/avif;q=0.5, image/webp", "image/webp"),
        ("image/avif;q=0.5, image/jpeg", "image/jpeg"),
        ("image/avif;q=0, image/webp", "image/webp"),
        ("image/avif;q=0", "image/jpeg"),
        ("image/webp", "image/webp"),
        ("image/*", "image/jpeg"),
        ("*/*", "image/jpeg"),
    ] {
        let response = get(&ada, &path, accept);
        assert_eq!((caching(&response).0, caching(&response).1), (Some(kind), FOREVER), "Accept: {accept}");
    }
}

#[test]
fn an_image_that_never_becomes_avif_is_immutable_at_once() {
    let on = Service::single_node(&[]);
    let off = Service::single_node(&["--avif", "off"]);
    let without_cache = Service::single_node(&["--cache-disk", "0"]);
    // Too small to save bytes, and too large to be encoded beside other work.
    for (service, sides) in [(&on, &[64, 160, 1300, 2048][..]), (&off, &[320]), (&without_cache, &[320])] {
        let ada = service.new_user("ada");
        let photo = share(&ada, &picture::photograph(300, 300));
        for side in sides {
            let response = get(&ada, &format!("/photos/{photo}/{side}x{side}"), BROWSER);
            assert_eq!((caching(&response).0, caching(&response).1), (Some("image/webp"), FOREVER), "{side}");
        }
    }
}

/// The tests cannot decode AVIF, but the service can: its AVIF is uploaded again.
#[test]
fn avif_has_the_colours_and_the_transparency_of_the_photo() {
    let service = Service::single_node(&[]);
    let ada = service.new_user("ada");
    let as_webp = |upload: &[u8]| -> DynamicImage {
        let avif = wait_for_avif(&ada, &format!("/photos/{}/240x240", share(&ada, upload)));
        let path = format!("/photos/{}/240x240", share(&ada, &avif.bytes));
        get(&ada, &path, "image/webp").picture()
    };
    assert_colour(&as_webp(&picture::jpeg(&picture::plain(300, 300, GREEN))), (50, 50), GREEN, "green");
    let transparent = as_webp(&picture::png(&picture::half_transparent(300)));
    assert_colour(&transparent, (80, 50), BLUE, "the blue half");
    let alpha = |x| transparent.to_rgba8().get_pixel(x, 120)[3];
    assert_eq!((alpha(40), alpha(200)), (0, 255), "alpha of both halves");
}
