//! The image caches: single-flight rendering, the disk cache's budget and restart, deletion with the photo.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{Client, RawConnection, Response, Service, concurrently, eventually, picture};

use crate::metrics::{metric, with_metrics, with_metrics_in};

const RENDERS: &str = "pinhole_image_renders_total";
const ON_DISK: &str = "pinhole_cache_entries{cache=\"image_disk\"}";
const DISK_HITS: &str = "pinhole_cache_lookups_total{cache=\"image_disk\",result=\"hit\"}";
const DISK_EVICTIONS: &str = "pinhole_cache_evictions_total{cache=\"image_disk\"}";
const AVIF_ENCODES: &str = "pinhole_avif_encodes_total{result=\"encoded\"}";
const AVIF_QUEUE: &str = "pinhole_queue_depth{queue=\"avif\"}";
const TIMEOUT: Duration = Duration::from_secs(30);

fn share(client: &Client, picture: &[u8]) -> (i64, String) {
    let post = client.share(picture, "");
    (post["id"].as_i64().unwrap(), post["photo"]["id"].as_str().unwrap().to_owned())
}

fn get(client: &Client, photo: &str, side: u32) -> Response {
    client.get(&format!("/photos/{photo}/{side}x{side}")).expect(200)
}

/// Waits until the disk cache has `count` entries: they are written after the response is sent.
#[track_caller]
fn wait_for_disk_entries(admin: &Client, count: usize) {
    eventually("the images are on the disk", TIMEOUT, || {
        (metric(admin, ON_DISK) == count as f64).then_some(())
    });
}

/// Every file of a photo in the data folder.
fn files_of(service: &Service, photo: &str) -> Vec<PathBuf> {
    service.files("").into_iter().filter(|path| path.to_str().unwrap().contains(photo)).collect()
}

fn bytes_in_cache(service: &Service) -> u64 {
    // A file that is removed during the listing counts as 0 bytes.
    let lengths = service.files("cache").into_iter().filter_map(|path| Some(path.metadata().ok()?.len()));
    lengths.sum()
}

#[test]
fn one_photo_cannot_evict_the_images_of_others_from_the_disk_cache() {
    // The memory cache is off, so every request reaches the disk cache.
    let (service, admin) = with_metrics(&["--cache-disk", "1MiB", "--image-cache", "0"]);
    let ada = service.new_user("ada");
    let photograph = picture::photograph(600, 600);
    let (_, other) = share(&ada, &photograph);
    get(&ada, &other, 64);
    wait_for_disk_entries(&admin, 1);

    let (_, requested) = share(&ada, &photograph);
    for side in 100..220 {
        get(&ada, &requested, side);
        assert!(bytes_in_cache(&service) <= 1 << 20);
    }
    eventually("images of the requested photo evict each other", TIMEOUT, || {
        (metric(&admin, DISK_EVICTIONS) > 0.0).then_some(())
    });
    let (renders, hits) = (metric(&admin, RENDERS), metric(&admin, DISK_HITS));
    get(&ada, &other, 64);
    assert_eq!((metric(&admin, RENDERS), metric(&admin, DISK_HITS)), (renders, hits + 1.0));

    // The images of many photos together fill the budget, and never exceed it.
    for _ in 0..8 {
        let (_, photo) = share(&ada, &photograph);
        for side in 200..212 {
            get(&ada, &photo, side);
            assert!(bytes_in_cache(&service) <= 1 << 20);
        }
    }
    let counted = metric(&admin, "pinhole_cache_bytes{cache=\"image_disk\"}");
    assert!((524_288.0..=1_048_576.0).contains(&counted), "{counted}");
}

#[test]
fn deleting_a_post_removes_all_files_of_its_photo() {
    let (service, admin) = with_metrics(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let photograph = picture::photograph(500, 400);
    let (_, other) = share(&bob, &photograph);
    get(&bob, &other, 64);
    let (id, photo) = share(&ada, &photograph);
    for side in [16, 64, 400] {
        get(&ada, &photo, side);
        ada.request("GET", &format!("/photos/{photo}/{side}x{side}")).header("Accept", "image/webp").send();
    }
    wait_for_disk_entries(&admin, 7);
    assert_eq!(files_of(&service, &photo).len(), 6 + 5, "six images, four masters and the original");
    ada.delete(&format!("/posts/{id}")).expect(200);
    assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new());
    assert!(!files_of(&service, &other).is_empty());
    wait_for_disk_entries(&admin, 1);

    // Images that are rendered during the delete must not stay either.
    for round in 0..10 {
        let (id, photo) = share(&ada, &photograph);
        let responses = concurrently(9, |n| {
            if n == 0 {
                // Takes long enough for the other threads to have started.
                get(&bob, &other, 65 + round);
                ada.delete(&format!("/posts/{id}")).expect(200);
                assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new());
                return Vec::new();
            }
            let side = |step: u32| 20 * n as u32 + step;
            (0..5).map(|step| ada.get(&format!("/photos/{photo}/{0}x{0}", side(step))).status).collect()
        });
        assert!(responses.iter().flatten().all(|status| [200, 404].contains(status)), "{responses:?}");
        assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new(), "round {round}");
    }
}

fn get_avif(client: &Client, photo: &str, side: u32) -> Response {
    client.request("GET", &format!("/photos/{photo}/{side}x{side}")).header("Accept", "image/avif").send()
}

/// Requests an image until it is an AVIF.
fn wait_for_avif(client: &Client, photo: &str, side: u32) -> Response {
    eventually("the AVIF is served", TIMEOUT, || {
        let response = get_avif(client, photo, side).expect(200);
        (response.header("content-type") == Some("image/avif")).then_some(response)
    })
}

#[test]
fn an_avif_is_encoded_once_and_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::photograph(500, 500));
    for response in concurrently(20, |_| get_avif(&ada, &photo, 300)) {
        assert_eq!(response.status, 200, "{response}");
    }
    let before = wait_for_avif(&ada, &photo, 300);
    assert_eq!((metric(&admin, AVIF_ENCODES), metric(&admin, AVIF_QUEUE)), (1.0, 0.0));
    assert!(metric(&admin, "pinhole_avif_encode_seconds_total") > 0.0);
    // Encoded after all that were queued before it.
    wait_for_avif(&ada, &photo, 302);
    assert_eq!(metric(&admin, AVIF_ENCODES), 2.0);
    // Both as JPEG and AVIF.
    wait_for_disk_entries(&admin, 4);
    service.terminate();
    service.assert_clean_exit();

    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = ada.with_base(service.base());
    let after = get_avif(&ada, &photo, 300);
    assert!(after.bytes == before.bytes, "the first response is the AVIF from the disk: {after}");
    assert_eq!((metric(&admin, AVIF_ENCODES), metric(&admin, RENDERS)), (0.0, 0.0));
}

#[test]
fn deleting_a_post_removes_its_avif() {
    let (service, admin) = with_metrics(&[]);
    let ada = service.new_user("ada");
    // Deleted while it is being encoded, which takes a second.
    let (id, photo) = share(&ada, &picture::photograph(1200, 1200));
    get_avif(&ada, &photo, 1200).expect(200);
    eventually("the first thread for AVIF has started", TIMEOUT, || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", service.pid())).unwrap();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
        names.into_iter().any(|name| name.trim() == "avif").then_some(())
    });
    ada.delete(&format!("/posts/{id}")).expect(200);
    eventually("no AVIF is queued", TIMEOUT, || (metric(&admin, AVIF_QUEUE) == 0.0).then_some(()));
    assert_eq!(metric(&admin, AVIF_ENCODES), 1.0, "the delete came before the end of the encode");
    // The cache writes after the encode.
    get(&ada, &share(&ada, &picture::photograph(300, 300)).1, 64);
    wait_for_disk_entries(&admin, 1);
    assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new());

    let photograph = picture::photograph(500, 500);
    let (id, photo) = share(&ada, &photograph);
    wait_for_avif(&ada, &photo, 300);
    eventually("the AVIF is on the disk", TIMEOUT, || {
        let is_avif = |path: &PathBuf| path.to_str().unwrap().contains("-avif-");
        files_of(&service, &photo).iter().any(is_avif).then_some(())
    });
    ada.delete(&format!("/posts/{id}")).expect(200);
    assert_eq!(get_avif(&ada, &photo, 300).status, 404);
    assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new());

    // Nor does one stay that is queued or being encoded when its photo is deleted.
    for round in 0..5 {
        let (id, photo) = share(&ada, &photograph);
        for side in 300..303 {
            get_avif(&ada, &photo, side).expect(200);
        }
        ada.delete(&format!("/posts/{id}")).expect(200);
        eventually("no AVIF is queued", TIMEOUT, || (metric(&admin, AVIF_QUEUE) == 0.0).then_some(()));
        assert_eq!(files_of(&service, &photo), Vec::<PathBuf>::new(), "round {round}");
        assert_eq!(get_avif(&ada, &photo, 300).status, 404);
    }
}

#[test]
fn the_disk_cache_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::photograph(500, 500));
    let before = get(&ada, &photo, 300);
    assert_eq!(metric(&admin, RENDERS), 1.0);
    service.terminate();
    service.assert_clean_exit();

    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = ada.with_base(service.base());
    let after = get(&ada, &photo, 300);
    assert_eq!((after.bytes, after.headers.get("etag")), (before.bytes, before.headers.get("etag")));
    assert_eq!((metric(&admin, RENDERS), metric(&admin, DISK_HITS)), (0.0, 1.0));
    wait_for_disk_entries(&admin, 1);
}

#[test]
fn a_corrupt_cache_file_is_rendered_again() {
    let (service, admin) = with_metrics(&["--image-cache", "0"]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::photograph(500, 500));
    let original = get(&ada, &photo, 300).bytes;
    wait_for_disk_entries(&admin, 1);

    let file = service.files("cache").pop().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert!(get(&ada, &photo, 300).bytes == original, "the same bytes as the first time");
    assert_eq!((metric(&admin, RENDERS), metric(&admin, DISK_HITS)), (2.0, 0.0));
    wait_for_disk_entries(&admin, 1);
    assert!(get(&ada, &photo, 300).bytes == original);
    assert_eq!((metric(&admin, RENDERS), metric(&admin, DISK_HITS)), (2.0, 1.0));
}

#[test]
fn concurrent_requests_render_an_image_once_though_the_first_client_disconnects() {
    let (service, admin) = with_metrics(&[]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::photograph(2_100, 2_100));
    let path = format!("/photos/{photo}/2048x2048");
    let mut first = RawConnection::connect(&service);
    first.send(format!("GET {path} HTTP/1.1\r\nHost: e2e\r\n\r\n")).unwrap();
    eventually("the render has started", TIMEOUT, || {
        let depth = metric(&admin, "pinhole_queue_depth{queue=\"render\"}");
        (depth + metric(&admin, RENDERS) > 0.0).then_some(())
    });
    first.close();

    let responses = concurrently(100, |_| ada.get(&path));
    for response in &responses {
        assert_eq!(response.status, 200, "{response}");
        assert!(response.bytes == responses[0].bytes);
    }
    assert_eq!(metric(&admin, RENDERS), 1.0);
}

#[test]
fn a_disk_cache_budget_of_0_empties_and_disables_it() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::tiny());
    get(&ada, &photo, 64);
    wait_for_disk_entries(&admin, 1);
    service.terminate();
    service.assert_clean_exit();

    let (service, admin) = with_metrics_in(folder.path(), &["--cache-disk", "0"]);
    let ada = ada.with_base(service.base());
    get(&ada, &photo, 64);
    eventually("the disk cache is cleared", TIMEOUT, || service.files("cache").is_empty().then_some(()));
    assert_eq!((metric(&admin, RENDERS), metric(&admin, ON_DISK)), (1.0, 0.0));
}

#[test]
fn cached_images_of_photos_missing_from_the_database_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = with_metrics_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let (_, known) = share(&ada, &picture::tiny());
    get(&ada, &known, 64);
    wait_for_disk_entries(&admin, 1);
    let file = service.files("cache").pop().unwrap();
    service.terminate();
    service.assert_clean_exit();
    // An image of a photo that is not in the database, as after restoring an older backup.
    let unknown = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";
    let orphan = folder.path().join("cache/5b").join(unknown);
    std::fs::create_dir_all(&orphan).unwrap();
    std::fs::copy(&file, orphan.join(file.file_name().unwrap())).unwrap();

    let (service, admin) = with_metrics_in(folder.path(), &[]);
    eventually("the orphaned images are removed", TIMEOUT, || {
        files_of(&service, unknown).is_empty().then_some(())
    });
    assert!(!orphan.exists());
    wait_for_disk_entries(&admin, 1);
}

#[test]
fn images_that_are_requested_before_the_first_is_read_arrive_whole() {
    const ROUNDS: usize = 100;
    let (service, _) = with_metrics(&[]);
    let ada = service.new_user("ada");
    let (_, photo) = share(&ada, &picture::photograph(1600, 1600));
    let (small, large) = (get(&ada, &photo, 800), get(&ada, &photo, 1600));
    assert!(small.bytes.len() > 16 << 10 && large.bytes.len() > 64 << 10, "{}", small.bytes.len());

    // The responses are written in many short writes.
    let mut connection = RawConnection::connect(&service);
    let request =
        |method, side| format!("{method} /photos/{photo}/{side}x{side} HTTP/1.1\r\nHost: e2e\r\n\r\n");
    for _ in 0..ROUNDS {
        connection.send(request("GET", 800) + &request("GET", 1600) + &request("HEAD", 1600)).unwrap();
    }
    for round in 0..ROUNDS {
        for (image, is_head) in [(&small, false), (&large, false), (&large, true)] {
            let response = connection.receive(is_head).expect("a response to each");
            let expected: &[u8] = if is_head { &[] } else { &image.bytes };
            assert!(response.status == 200 && response.body == expected, "round {round}, HEAD {is_head}");
        }
    }
}
