//! Peak memory during concurrent uploads of large pictures.

use std::time::Duration;

use e2e::{Client, FormData, Service, concurrently, picture};

use crate::probe::with_probe;

/// The limit of the service's peak resident memory, in MiB.
pub(crate) const MAX_MEMORY: u64 = 512;

#[test]
fn concurrent_large_uploads_stay_within_the_memory_limit() {
    let service = Service::start(&[]);
    // Each hash of a password takes memory too.
    let users: Vec<Client> = (0..8).map(|_| service.new_user("user")).collect();
    // 24 megapixels of a camera, and the pixel limit in the two formats that need the most memory.
    let camera = picture::photograph(6_000, 4_000);
    let large = picture::progressive(8_000, 8_000);
    let png = picture::png(&picture::plain(8_000, 8_000, picture::BLUE));
    println!(
        "uploads of {} and {} KiB, a PNG of {} KiB",
        camera.len() >> 10,
        large.len() >> 10,
        png.len() >> 10
    );
    let uploads = [&large, &png, &large, &png, &camera, &large, &png, &large];

    let responses =
        with_probe(&service, || concurrently(8, |n| users[n].post("/posts", FormData::photo(uploads[n]))));
    let peak = service.peak_memory();
    println!("peak memory: {peak} MiB");
    assert!(peak < MAX_MEMORY, "{peak} MiB");
    for response in &responses {
        if response.status == 503 {
            response.clone().expect_error_for(503, None);
            assert!(response.header("retry-after").is_some(), "{response}");
        } else {
            let post = response.clone().expect(201).json();
            let image = format!("/photos/{}/512x512", post["photo"]["id"].as_str().unwrap());
            e2e::eventually("the image is rendered", Duration::from_secs(30), || {
                let image = users[0].get(&image);
                assert!([200, 503].contains(&image.status), "{image}");
                (image.status == 200).then(|| assert_eq!(image.picture().width(), 512))
            });
        }
    }
    assert!(responses.iter().any(|response| response.status == 201), "no upload was accepted");
}

#[test]
fn the_first_pages_of_long_parameters_stay_within_the_memory_of_their_cache() {
    let service = Service::start(&[]);
    service.new_user("ada").share_tiny("first");
    let (before, reader) = (service.peak_memory(), service.anonymous());
    for number in 1..=3_000 {
        reader.get(&format!("/feed?limit={number:030000}")).expect(200);
    }
    let peak = service.peak_memory();
    println!("{before} MiB before, {peak} MiB at most");
    assert!(peak < before + 48, "{before} MiB before, {peak} MiB at most");
}
