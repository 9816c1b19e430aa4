//! The promise of memory under several attacks at once, each from networks of its own.

use std::time::{Duration, Instant};

use e2e::{Body, Client, FormData, Response, Service, concurrently, picture};
use image::ImageFormat;
use serde_json::Value;

use crate::budgets::{download, hold, unfinished_form};
use crate::memory::MAX_MEMORY;
use crate::probe::beside;

/// A request of the good client that takes longer counts as not served.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// Attackers keep what they hold until the last attack ends, longer than by default.
const FLAGS: [&str; 6] = ["--join-burst", "200", "--body-timeout", "3m", "--write-timeout", "3m"];

/// The pictures that take the most memory: up to the limit of pixels or of a side, in each format.
const PICTURES: [fn() -> Vec<u8>; 16] = [
    || picture::interlaced_png(8_000, 8_000),
    || picture::interlaced_png(65_535, 976),
    || picture::interlaced_png(976, 65_535),
    || picture::progressive(8_000, 8_000),
    || picture::progressive(65_535, 300),
    || webp(16_383, 2_700),
    || webp(2_700, 16_383),
    || gif(65_535, 300),
    || picture::interlaced_png(65_535, 1),
    || picture::interlaced_png(1, 65_535),
    || picture::progressive(65_535, 1),
    || picture::progressive(1, 65_535),
    || gif(65_535, 1),
    || gif(1, 65_535),
    || picture::GRID_AVIF.to_vec(),
    || picture::GRID_HEIC.to_vec(),
];

/// Lossless.
fn webp(width: u32, height: u32) -> Vec<u8> {
    picture::encode(&picture::plain(width, height, picture::BLUE), ImageFormat::WebP)
}

/// Animated.
fn gif(width: u32, height: u32) -> Vec<u8> {
    picture::animation(&[picture::RED, picture::BLUE].map(|colour| picture::plain(width, height, colour)))
}

#[test]
fn attacks_at_once_leave_memory_and_service_to_others() {
    let pictures = concurrently(PICTURES.len(), |n| PICTURES[n]());
    let noise = picture::png(&picture::noise(2_200, 2_200));
    let slow = e2e::archive_of(100, &picture::png(&picture::plain(6_000, 5_000, picture::BLUE)));
    let service = Service::single_node(&FLAGS);
    let new_user = |source: String| service.new_user("eve").with_source_ip(&source);
    let exporters: Vec<Client> = (0..8).map(|n| new_user(format!("127.0.3.{}", 1 + n / 4))).collect();
    let importers: Vec<Client> = (0..4).map(|n| new_user(format!("127.0.4.{}", 1 + n / 2))).collect();
    let uploaders: Vec<Client> = (0..8).map(|n| new_user(format!("127.0.5.{}", 1 + n))).collect();
    let editor = new_user("127.0.6.1".into());
    for eve in &exporters {
        eve.share(&noise, "");
        eve.post("/me/export", Body::none()).expect(201);
    }
    let original = editor.share(&noise, "")["photo"]["id"].as_str().unwrap().to_owned();
    let edited = format!("/posts/{}", editor.share(&picture::photograph(6_000, 4_000), "")["id"]);

    let mut good_client = GoodClient::new(&service);
    let attack = || {
        let mut held = hold(&service, "127.0.1.1", 1_000, unfinished_form());
        let original = download(&format!("/photos/{original}/original"), &editor);
        held.extend(hold(&service, "127.0.1.2", 30, original));
        for (n, eve) in exporters.iter().enumerate() {
            held.extend(hold(&service, &format!("127.0.3.{}", 1 + n / 4), 1, download("/me/export", eve)));
        }
        for eve in &importers {
            eve.post("/me/import", FormData::new().file("archive", &slow)).expect(202);
        }
        let mut responses = concurrently(48, |n| match n.checked_sub(8) {
            None => {
                let pictures = pictures.iter().skip(n).step_by(8);
                pictures.map(|picture| uploaders[n].post("/posts", FormData::photo(picture))).collect()
            }
            Some(n) => {
                let focus = FormData::new().text("focus", format!("0.{:02},0.5", 10 + n));
                vec![editor.put(&edited, focus)]
            }
        });
        for eve in &importers {
            eve.delete("/me/import");
        }
        drop(held);
        let edits: Vec<Response> = responses.split_off(8).into_iter().flatten().collect();
        (responses.into_iter().flatten().collect::<Vec<_>>(), edits)
    };
    let (uploads, edits) = beside(|number| good_client.request(number), attack);

    let peak = service.peak_memory();
    let GoodClient { requests, served, slowest, .. } = good_client;
    println!(
        "peak memory: {peak} MiB; {served} of {requests} requests were served, the slowest in {slowest:?}"
    );
    for (responses, success) in [(&uploads, 201), (&edits, 200)] {
        let statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
        assert!(statuses.iter().all(|status| [success, 400, 409, 503].contains(status)), "{statuses:?}");
        // On a busy machine all edits may wait for too long.
        assert!(success == 200 || statuses.contains(&success), "{statuses:?}");
    }
    assert!(peak < MAX_MEMORY, "{peak} MiB");
    service.assert_ready();
    assert!(requests >= 100 && served * 100 >= requests * 95, "{served} of {requests} requests were served");
}

/// A client of another network that reads pages and images, and likes.
struct GoodClient {
    client: Client,
    post: Value,
    requests: usize,
    served: usize,
    slowest: Duration,
}

impl GoodClient {
    fn new(service: &Service) -> Self {
        let client = service.new_user("ada").with_source_ip("127.0.2.1");
        let post = client.share(&picture::photograph(1_200, 900), "");
        Self { client, post, requests: 0, served: 0, slowest: Duration::ZERO }
    }

    fn request(&mut self, number: usize) {
        let post = format!("/posts/{}/likes", self.post["id"]);
        let image = |side| format!("/photos/{}/{side}x{side}", self.post["photo"]["id"].as_str().unwrap());
        let (method, path) = match number % 8 {
            0 | 4 => ("GET", "/feed".into()),
            // A cached one, and one that must be rendered.
            1 | 5 => ("GET", image(64)),
            2 | 6 => ("GET", image(65 + number % 1_000)),
            3 => ("POST", post),
            _ => ("DELETE", post),
        };
        let began = Instant::now();
        let response = self.client.request(method, &path).try_send();
        let took = began.elapsed();
        // After a like that was not served, the next unlike is a conflict.
        let is_answered = response.is_ok_and(|response| [200, 201, 409].contains(&response.status));
        self.requests += 1;
        self.served += usize::from(is_answered && took < SERVED_WITHIN);
        self.slowest = self.slowest.max(took);
    }
}
