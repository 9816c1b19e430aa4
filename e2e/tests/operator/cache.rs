//! Finished images: made once, found again after a restart, bounded on the disk, gone with their photo.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{Answer, Client, Service, Wire, at_once, eventually, picture};

use crate::metrics::{figure, watched, watched_in};

const RENDERS: &str = "pinhole_image_renders_total";
const ON_DISK: &str = "pinhole_cache_entries{cache=\"image_disk\"}";
const DISK_HITS: &str = "pinhole_cache_lookups_total{cache=\"image_disk\",result=\"hit\"}";
const DISK_EVICTIONS: &str = "pinhole_cache_evictions_total{cache=\"image_disk\"}";
const LONG: Duration = Duration::from_secs(30);

fn share(person: &Client, picture: &[u8]) -> (i64, String) {
    let post = person.share(picture, "");
    (post["id"].as_i64().unwrap(), post["photo"]["id"].as_str().unwrap().to_owned())
}

fn get(person: &Client, photo: &str, side: u32) -> Answer {
    person.get(&format!("/photos/{photo}/{side}x{side}")).expect(200)
}

/// Waits until so many images lie on the disk: they are written after they are answered.
#[track_caller]
fn until_kept(admin: &Client, count: usize) {
    eventually("the images are on the disk", LONG, || (figure(admin, ON_DISK) == count as f64).then_some(()));
}

/// Everything of a photo, anywhere in the folder.
fn traces(service: &Service, photo: &str) -> Vec<PathBuf> {
    service.files("").into_iter().filter(|path| path.to_str().unwrap().contains(photo)).collect()
}

fn bytes_in_cache(service: &Service) -> u64 {
    // What vanishes while we look takes no room.
    let lengths = service.files("cache").into_iter().filter_map(|path| Some(path.metadata().ok()?.len()));
    lengths.sum()
}

#[test]
fn a_sweep_of_sizes_stays_within_its_bounds_and_leaves_others_alone() {
    // Without images in memory, everything shows on the disk.
    let (service, admin) = watched(&["--cache-disk", "1MiB", "--image-cache", "0"]);
    let ada = service.newcomer("ada");
    let photograph = picture::photograph(600, 600);
    let (_, bystander) = share(&ada, &photograph);
    get(&ada, &bystander, 64);
    until_kept(&admin, 1);

    let (_, swept) = share(&ada, &photograph);
    for side in 100..220 {
        get(&ada, &swept, side);
        assert!(bytes_in_cache(&service) <= 1 << 20);
    }
    eventually("images of the swept photo make room for others of it", LONG, || {
        (figure(&admin, DISK_EVICTIONS) > 0.0).then_some(())
    });
    let (renders, hits) = (figure(&admin, RENDERS), figure(&admin, DISK_HITS));
    get(&ada, &bystander, 64);
    assert_eq!((figure(&admin, RENDERS), figure(&admin, DISK_HITS)), (renders, hits + 1.0));

    // Many photos are another matter: together they fill the room, and never more than that.
    for _ in 0..8 {
        let (_, photo) = share(&ada, &photograph);
        for side in 200..212 {
            get(&ada, &photo, side);
            assert!(bytes_in_cache(&service) <= 1 << 20);
        }
    }
    let counted = figure(&admin, "pinhole_cache_bytes{cache=\"image_disk\"}");
    assert!((524_288.0..=1_048_576.0).contains(&counted), "{counted}");
}

#[test]
fn nothing_is_left_of_a_deleted_photo() {
    let (service, admin) = watched(&[]);
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    let photograph = picture::photograph(500, 400);
    let (_, other) = share(&bob, &photograph);
    get(&bob, &other, 64);
    let (id, photo) = share(&ada, &photograph);
    for side in [16, 64, 400] {
        get(&ada, &photo, side);
        ada.request("GET", &format!("/photos/{photo}/{side}x{side}")).header("Accept", "image/webp").send();
    }
    until_kept(&admin, 7);
    assert_eq!(traces(&service, &photo).len(), 6 + 3, "images, two squares and the original");
    ada.delete(&format!("/posts/{id}")).expect(200);
    assert_eq!(traces(&service, &photo), Vec::<PathBuf>::new());
    assert!(!traces(&service, &other).is_empty());
    until_kept(&admin, 1);

    // Images that are ready just then must not stay either.
    for round in 0..10 {
        let (id, photo) = share(&ada, &photograph);
        let answers = at_once(9, |n| {
            if n == 0 {
                // As long as it takes others to have begun.
                get(&bob, &other, 65 + round);
                ada.delete(&format!("/posts/{id}")).expect(200);
                assert_eq!(traces(&service, &photo), Vec::<PathBuf>::new());
                return Vec::new();
            }
            let side = |step: u32| 20 * n as u32 + step;
            (0..5).map(|step| ada.get(&format!("/photos/{photo}/{0}x{0}", side(step))).status).collect()
        });
        assert!(answers.iter().flatten().all(|status| [200, 404].contains(status)), "{answers:?}");
        assert_eq!(traces(&service, &photo), Vec::<PathBuf>::new(), "round {round}");
    }
}

#[test]
fn after_a_restart_images_come_from_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = watched_in(folder.path(), &[]);
    let ada = service.newcomer("ada");
    let (_, photo) = share(&ada, &picture::photograph(500, 500));
    let before = get(&ada, &photo, 300);
    assert_eq!(figure(&admin, RENDERS), 1.0);
    service.terminate();
    service.assert_ends_well();

    let (service, admin) = watched_in(folder.path(), &[]);
    let ada = ada.moved_to(service.base());
    let after = get(&ada, &photo, 300);
    assert_eq!((after.bytes, after.headers.get("etag")), (before.bytes, before.headers.get("etag")));
    assert_eq!((figure(&admin, RENDERS), figure(&admin, DISK_HITS)), (0.0, 1.0));
    until_kept(&admin, 1);
}

#[test]
fn a_damaged_file_is_made_anew() {
    let (service, admin) = watched(&["--image-cache", "0"]);
    let ada = service.newcomer("ada");
    let (_, photo) = share(&ada, &picture::photograph(500, 500));
    let right = get(&ada, &photo, 300).bytes;
    until_kept(&admin, 1);

    let file = service.files("cache").pop().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert!(get(&ada, &photo, 300).bytes == right, "what was drawn the first time");
    assert_eq!((figure(&admin, RENDERS), figure(&admin, DISK_HITS)), (2.0, 0.0));
    until_kept(&admin, 1);
    assert!(get(&ada, &photo, 300).bytes == right);
    assert_eq!((figure(&admin, RENDERS), figure(&admin, DISK_HITS)), (2.0, 1.0));
}

#[test]
fn what_many_want_at_once_is_made_once_though_the_first_hangs_up() {
    let (service, admin) = watched(&[]);
    let ada = service.newcomer("ada");
    let (_, photo) = share(&ada, &picture::photograph(2_100, 2_100));
    let path = format!("/photos/{photo}/2048x2048");
    let mut first = Wire::connect(&service);
    first.send(format!("GET {path} HTTP/1.1\r\nHost: e2e\r\n\r\n")).unwrap();
    eventually("it is being made", LONG, || {
        let depth = figure(&admin, "pinhole_queue_depth{queue=\"render\"}");
        (depth + figure(&admin, RENDERS) > 0.0).then_some(())
    });
    first.hang_up();

    let answers = at_once(100, |_| ada.get(&path));
    for answer in &answers {
        assert_eq!(answer.status, 200, "{answer}");
        assert!(answer.bytes == answers[0].bytes);
    }
    assert_eq!(figure(&admin, RENDERS), 1.0);
}

#[test]
fn without_room_on_the_disk_nothing_is_kept_there() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = watched_in(folder.path(), &[]);
    let ada = service.newcomer("ada");
    let (_, photo) = share(&ada, &picture::tiny());
    get(&ada, &photo, 64);
    until_kept(&admin, 1);
    service.terminate();
    service.assert_ends_well();

    let (service, admin) = watched_in(folder.path(), &["--cache-disk", "0"]);
    let ada = ada.moved_to(service.base());
    get(&ada, &photo, 64);
    eventually("what was there is cleared", LONG, || service.files("cache").is_empty().then_some(()));
    assert_eq!((figure(&admin, RENDERS), figure(&admin, ON_DISK)), (1.0, 0.0));
}

#[test]
fn images_of_photos_that_a_restored_database_does_not_know_are_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let (service, admin) = watched_in(folder.path(), &[]);
    let ada = service.newcomer("ada");
    let (_, known) = share(&ada, &picture::tiny());
    get(&ada, &known, 64);
    until_kept(&admin, 1);
    let file = service.files("cache").pop().unwrap();
    service.terminate();
    service.assert_ends_well();
    // Images of a photo that came after the backup, as it were.
    let unknown = "0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b";
    let stranger = folder.path().join("cache/5b").join(unknown);
    std::fs::create_dir_all(&stranger).unwrap();
    std::fs::copy(&file, stranger.join(file.file_name().unwrap())).unwrap();

    let (service, admin) = watched_in(folder.path(), &[]);
    eventually("they are cleared", LONG, || traces(&service, unknown).is_empty().then_some(()));
    assert!(!stranger.exists());
    until_kept(&admin, 1);
}

#[test]
fn an_image_asked_for_often_is_sent_from_a_file_of_its_own_until_its_photo_goes() {
    const FROM_FILE: &str = "pinhole_cache_lookups_total{cache=\"image_file\",result=\"hit\"}";
    const FILES: &str = "pinhole_cache_entries{cache=\"image_file\"}";
    const OFTEN: usize = 100;
    let (service, admin) = watched(&[]);
    let ada = service.newcomer("ada");
    let (post, photo) = share(&ada, &picture::photograph(1600, 1600));
    let (small, large) = (get(&ada, &photo, 800), get(&ada, &photo, 1600));
    assert!(small.bytes.len() > 16 << 10 && large.bytes.len() > 64 << 10, "{}", small.bytes.len());

    eventually("both come from a file", LONG, || {
        let before = figure(&admin, FROM_FILE);
        for side in [800, 1600] {
            get(&ada, &photo, side);
        }
        (figure(&admin, FROM_FILE) - before == 2.0).then_some(())
    });
    eventually("they have one each", LONG, || (figure(&admin, FILES) == 2.0).then_some(()));

    // Whoever sends all requests before reading an answer gets them in pieces, as the connection takes them.
    let before = figure(&admin, FROM_FILE);
    let mut wire = Wire::connect(&service);
    let ask = |method, side| format!("{method} /photos/{photo}/{side}x{side} HTTP/1.1\r\nHost: e2e\r\n\r\n");
    for _ in 0..OFTEN {
        wire.send(ask("GET", 800) + &ask("GET", 1600) + &ask("HEAD", 1600)).unwrap();
    }
    for round in 0..OFTEN {
        for (image, is_head) in [(&small, false), (&large, false), (&large, true)] {
            let reply = wire.receive(is_head).expect("an answer to each");
            let expected: &[u8] = if is_head { &[] } else { &image.bytes };
            assert!(reply.status == 200 && reply.body == expected, "round {round}, HEAD {is_head}");
        }
    }
    assert!(figure(&admin, FROM_FILE) - before >= 3.0 * OFTEN as f64);

    ada.delete(&format!("/posts/{post}")).expect(200);
    ada.get(&format!("/photos/{photo}/800x800")).expect(404);
    // The connection above may hold the last one until it is used again.
    drop(wire);
    eventually("their files are gone", LONG, || (figure(&admin, FILES) == 0.0).then_some(()));
}
