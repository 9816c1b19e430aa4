//! Large pictures at once: the service holds only what it can.

use std::time::Duration;

use e2e::{Form, Service, at_once, picture};

use crate::bystander::beside;

/// What the whole service may ever hold, in MiB.
const MEMORY: u64 = 512;

#[test]
fn large_pictures_at_once_stay_within_bounds() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    // 24 megapixels of a camera, and as many as are allowed, in the ways that take most memory.
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

    let answers = beside(&service, || at_once(8, |n| ada.post("/posts", Form::photo(uploads[n]))));
    let peak = service.peak_memory();
    println!("peak memory: {peak} MiB");
    assert!(peak < MEMORY, "{peak} MiB");
    for answer in &answers {
        if answer.status == 503 {
            answer.clone().refused_for(503, None);
            assert!(answer.header("retry-after").is_some(), "{answer}");
        } else {
            let post = answer.clone().expect(201).json();
            let image = format!("/photos/{}/512x512", post["photo"]["id"].as_str().unwrap());
            e2e::eventually("the picture is shown", Duration::from_secs(30), || {
                let shown = ada.get(&image);
                assert!([200, 503].contains(&shown.status), "{shown}");
                (shown.status == 200).then(|| assert_eq!(shown.picture().width(), 512))
            });
        }
    }
    assert!(answers.iter().any(|answer| answer.status == 201), "nobody got in");
}
