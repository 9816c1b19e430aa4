//! A full disk: the image cache leaves room, uploads stop first, deletes always work, and the service
//! recovers by itself.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{Body, Client, FormData, Response, Service, SmallDisk, eventually, picture};
use serde_json::Value;

use crate::metrics::{metric, with_metrics_in};

const TIMEOUT: Duration = Duration::from_secs(30);
const MIB: u64 = 1 << 20;
const IS_FULL: &str = "pinhole_disk_full";
const ON_DISK: &str = "pinhole_cache_entries{cache=\"image_disk\"}";

fn start(disk: &SmallDisk, flags: &[&str]) -> (Service, Client) {
    with_metrics_in(&disk.path().join("data"), flags)
}

/// Shares a photo that takes about a MiB, and returns its post.
fn share(client: &Client) -> Value {
    client.share(&picture::photograph(800, 800), "before")
}

fn path(post: &Value) -> String {
    format!("/posts/{}", post["id"])
}

fn edit(client: &Client, post: &Value, message: &str) -> Response {
    client.request("PATCH", &path(post)).body(FormData::message(message)).send()
}

#[track_caller]
fn assert_no_space(response: Response) {
    let response = response.expect_error(507);
    assert_eq!(response.header("retry-after"), Some("60"), "{response}");
    assert!(response.json()["error"]["message"].as_str().unwrap().contains("no space left"), "{response}");
}

/// Fills the disk until an edit fails: a checkpoint may free space after the disk was filled.
fn fill_until_edits_fail(disk: &SmallDisk, client: &Client, post: &Value) -> Response {
    eventually("an edit fails", TIMEOUT, || {
        disk.fill();
        Some(edit(client, post, "after")).filter(|response| response.status != 200)
    })
}

#[test]
fn users_can_empty_a_full_disk() {
    let disk = SmallDisk::mount(24);
    let (service, admin) = start(&disk, &[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let posts: Vec<Value> = (0..4).map(|_| share(&ada)).collect();
    let kept = &posts[0];
    bob.post(&format!("{}/likes", path(kept)), Body::none()).expect(201);
    bob.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let second_session = bob.login(bob.username());

    assert_no_space(fill_until_edits_fail(&disk, &ada, kept));
    disk.fill();
    assert_eq!(disk.free(), 0);
    assert_no_space(ada.post("/posts", FormData::photo(&picture::photograph(800, 800))));
    assert_no_space(service.anonymous().post("/join/username", FormData::account("eve", e2e::PASSWORD)));
    let not_ready = service.wait_for_readiness(503);
    assert!(not_ready.json()["error"]["message"].as_str().unwrap().contains("not ready: no space left"));
    ada.get(&path(kept)).expect(200);

    // Each works with not a byte free; then the foreign file goes, and so does the next one.
    let unlike = || bob.delete(&format!("{}/likes", path(kept)));
    let logout = || second_session.post("/logout", Body::none());
    let delete_photo = || bob.delete("/me/photo");
    let delete_post = || ada.delete(&path(&posts[1]));
    let deletes: [&dyn Fn() -> Response; 4] = [&unlike, &logout, &delete_photo, &delete_post];
    for delete in deletes {
        disk.fill();
        assert_eq!(disk.free(), 0);
        delete().expect(200);
        disk.clear();
        eventually("other writes work again", TIMEOUT, || {
            (edit(&ada, kept, "x").status == 200).then_some(())
        });
    }
    assert_eq!(ada.get(&path(kept)).expect(200).json()["like_count"], 0);
    second_session.post(&format!("{}/likes", path(kept)), Body::none()).expect(401);
    ada.get(&path(&posts[1])).expect(404);

    // What a delete frees is enough to go on, though the foreign file stays.
    disk.fill();
    for post in &posts[2..] {
        ada.delete(&path(post)).expect(200);
    }
    eventually("uploads work again", TIMEOUT, || {
        let response = ada.post("/posts", FormData::photo(&picture::photograph(400, 400)));
        (response.status == 201).then_some(())
    });
    edit(&ada, kept, "after").expect(200);
    service.assert_ready();
    assert_eq!(metric(&admin, IS_FULL), 0.0);
}

#[test]
fn only_deletes_are_accepted_until_there_is_space_again() {
    let disk = SmallDisk::mount(24);
    let (service, admin) = start(&disk, &[]);
    let ada = service.new_user("ada");
    let (first, second) = (share(&ada), share(&ada));
    assert_eq!(metric(&admin, IS_FULL), 0.0);
    let logs = |event: &str| service.log().iter().any(|line| line.contains(event));
    disk.fill_leaving(3 * MIB);
    eventually("the log says it before it happens", TIMEOUT, || logs("disk space low").then_some(()));
    disk.fill_leaving(MIB);
    eventually("the log says that uploads stop", TIMEOUT, || logs("uploads are rejected").then_some(()));
    assert!(metric(&admin, "pinhole_disk_free_bytes") <= MIB as f64);
    // Everything small still works, though uploads do not.
    assert_no_space(ada.post("/posts", FormData::photo(&picture::tiny())));
    edit(&ada, &first, "after").expect(200);
    service.assert_ready();

    let mut sessions: Vec<Client> = (0..4).map(|_| ada.login(ada.username())).collect();
    eventually("a logout needs the reserve", TIMEOUT, || {
        disk.fill();
        sessions.pop().unwrap().post("/logout", Body::none()).expect(200);
        // The checkpoint of a long log may have freed enough to go on.
        let edited = edit(&ada, &first, "after");
        (metric(&admin, IS_FULL) == 1.0 && edited.status == 507).then_some(())
    });
    eventually("the log says that the disk is full", TIMEOUT, || {
        logs("only deletes are accepted").then_some(())
    });

    disk.clear();
    eventually("the disk is no longer full", TIMEOUT, || (metric(&admin, IS_FULL) == 0.0).then_some(()));

    // A start needs space too, and takes it from the reserve.
    service.terminate();
    service.assert_clean_exit();
    disk.fill();
    let (service, _) = start(&disk, &[]);
    let ada = ada.with_base(service.base());
    assert_eq!(ada.get(&path(&first)).expect(200).json()["message"], "after");
    ada.delete(&path(&second)).expect(200);
    disk.clear();
    eventually("uploads work again", TIMEOUT, || {
        let response = ada.post("/posts", FormData::photo(&picture::photograph(400, 400)));
        (response.status == 201).then_some(())
    });
}

#[test]
fn the_image_cache_leaves_space_free_and_shrinks_when_others_fill_the_disk() {
    let disk = SmallDisk::mount(24);
    let (service, admin) = start(&disk, &["--image-cache", "0", "--cache-min-free", "1GiB"]);
    let ada = service.new_user("ada");
    let photo = share(&ada)["photo"]["id"].as_str().unwrap().to_owned();
    for side in 640..800 {
        service.anonymous().get(&format!("/photos/{photo}/{side}x{side}")).expect(200);
        // At most a quarter of the disk is left.
        assert!(disk.free() >= 5 * MIB, "{} bytes are free after the image of {side} pixels", disk.free());
    }
    let cached = metric(&admin, ON_DISK);
    assert!(cached > 8.0, "{cached} images are cached");

    disk.fill_leaving(3 * MIB);
    eventually("the cache shrinks", TIMEOUT, || (disk.free() >= 5 * MIB).then_some(()));
    assert!((1.0..cached).contains(&metric(&admin, ON_DISK)));
    share(&ada);
}

#[test]
fn the_image_cache_evicts_images_when_the_disk_is_full() {
    let disk = SmallDisk::mount(24);
    let (service, admin) = start(&disk, &["--image-cache", "0", "--cache-min-free", "0"]);
    let ada = service.new_user("ada");
    let photo = share(&ada)["photo"]["id"].as_str().unwrap().to_owned();
    let get = |side: u32| service.anonymous().get(&format!("/photos/{photo}/{side}x{side}")).expect(200);
    // The file of a small image weighs two blocks but takes one: evicting as much as the large image weighs
    // is not enough for it.
    let small = 16..96;
    eventually("the small images are cached", TIMEOUT, || {
        // Again, since a full write queue rejects images.
        small.clone().for_each(|side| drop(get(side)));
        (metric(&admin, ON_DISK) == small.len() as f64).then_some(())
    });
    disk.fill();
    get(400);
    eventually("the large image is cached", TIMEOUT, || {
        let is_large = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("400-");
        service.files("cache").iter().any(is_large).then_some(())
    });
}
