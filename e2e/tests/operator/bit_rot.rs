//! Damaged and lost files of photos: checksums find them, and masters are rebuilt from what is left.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use e2e::{Client, FormData, RawConnection, Service, picture};
use serde_json::Value;

use crate::backup::{pinhole, stop};
use crate::doctor::{finding, run_doctor};
use crate::metrics::{metric, with_metrics};
use crate::snapshot::{Snapshot, Users, files, photo_file, without_checksum};
use crate::start::{assert_contains, run};

/// What a failing disk does to a file.
const DAMAGES: [fn(&Path); 3] = [
    |path| {
        let mut bytes = fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 4;
        fs::write(path, bytes).unwrap();
    },
    |path| fs::File::options().write(true).open(path).unwrap().set_len(100).unwrap(),
    |path| fs::remove_file(path).unwrap(),
];

/// Posts a photo with all four masters, and returns its id.
fn post_photo(client: &Client) -> String {
    let sent = picture::with_metadata(
        &picture::corners(2400, 2100),
        image::ImageFormat::Jpeg,
        Some(picture::exif(6, "turned")),
        None,
    );
    client.share(&sent, "a photo")["photo"]["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn assert_same_picture(service: &Service, photo: &str, sides: [u32; 2]) {
    let [left, right] = sides.map(|side| {
        let image = service.anonymous().get(&format!("/photos/{photo}/{side}x{side}")).expect(200).picture();
        image.resize_exact(64, 64, image::imageops::FilterType::Triangle).to_rgb8()
    });
    let difference = left.iter().zip(right.iter()).map(|(left, right)| u64::from(left.abs_diff(*right)));
    let mean = difference.sum::<u64>() / left.len() as u64;
    assert!(mean < 8, "{sides:?} differ by {mean} levels");
}

#[test]
fn a_damaged_or_lost_master_is_rebuilt_from_the_original_byte_for_byte() {
    let (service, admin) = with_metrics(&[]);
    let photo = post_photo(&service.new_user("ada"));
    let mut requested = 0;
    for name in ["2048", "1024", "512", "256"] {
        for damage in DAMAGES {
            let path = photo_file(service.data_dir(), &photo, name);
            let before = fs::read(&path).unwrap();
            damage(&path);
            // Each request is for a size that no cache has.
            requested += 1;
            let side = name.parse::<u32>().unwrap() - requested;
            assert_same_picture(&service, &photo, [side, 200]);
            assert!(fs::read(&path).unwrap() == before, "{name} must be as it was");
        }
    }
    assert_eq!(metric(&admin, "pinhole_photo_files_rebuilt_total"), 12.0);
    service.assert_logged(&["photo file damaged or lost", &photo, "photo file rebuilt"]);
}

#[test]
fn masters_of_the_whole_photo_are_made_again_from_the_original() {
    let service = Service::single_node(&["--image-cache", "0", "--cache-disk", "0"]);
    let photo = post_photo(&service.new_user("ada"));
    let get =
        |longest: u32| service.anonymous().get(&format!("/photos/{photo}/fit/{longest}")).expect(200).bytes;
    let whole = get(1000);
    // Made at the first request.
    get(2048);
    for name in ["fit1094", "fit2048", "fit273"] {
        for damage in DAMAGES {
            let path = photo_file(service.data_dir(), &photo, name);
            let before = fs::read(&path).unwrap();
            damage(&path);
            let image = image::load_from_memory(&get(name[3..].parse().unwrap())).unwrap();
            let expected = image.height() * 2100 / 2400;
            assert!(expected.abs_diff(image.width()) <= 1, "{name}: upright, with its aspect");
            assert!(fs::read(&path).unwrap() == before, "{name} must be as it was");
        }
    }
    assert!(get(1000) == whole);
    let (healthy, findings) = run_doctor(service.data_dir(), &["--deep"]);
    assert!(healthy, "{findings:?}");

    // As in a version before there were such masters, without originals: only the squares are left.
    for name in ["fit2048", "fit1094", "fit547", "fit273", "original"] {
        DAMAGES[2](&photo_file(service.data_dir(), &photo, name));
    }
    let square = image::load_from_memory(&get(700)).unwrap();
    assert_eq!((square.width(), square.height()), (700, 700));
    service.anonymous().get(&format!("/photos/{photo}/original")).expect_error(401);
}

#[test]
fn a_damaged_original_is_an_error_that_says_so() {
    let service = Service::single_node(&[]);
    let ada = service.new_user("ada");
    for (number, damage) in DAMAGES[..2].iter().enumerate() {
        let photo = post_photo(&ada);
        damage(&photo_file(service.data_dir(), &photo, "original"));
        let path = format!("/photos/{photo}/original");
        let response = ada.get(&path);
        assert_eq!(response.header("x-error-reason"), Some("original_damaged"), "{response}");
        let error = response.expect_error(500).json();
        assert!(error["error"]["message"].as_str().unwrap().contains("damaged"), "{error}");
        assert_eq!(ada.request("HEAD", &path).send().status, 500);
        service.assert_logged(&["photo file damaged", &photo]);
        // Nothing else needs the original but a move of the focus.
        assert_same_picture(&service, &photo, [2000, 500]);
        let post = &ada.get(&format!("/users/{}/posts", ada.username())).expect(200).json()["data"][0];
        let moved = ada.put(&format!("/posts/{}", post["id"]), FormData::new().text("focus", "0.5,0.1"));
        assert_eq!(moved.header("x-error-reason"), Some("original_damaged"), "{moved}");
        let archive = e2e::unzip(&ada.export_account());
        let posts: Value = serde_json::from_slice(&archive["posts.json"]).unwrap();
        assert_eq!(posts.as_array().unwrap().len(), number + 1);
        assert_eq!(posts[number]["photo"]["is_original"], false, "{posts}");
        let square = image::load_from_memory(&archive[posts[number]["photo"]["file"].as_str().unwrap()]);
        assert_eq!(square.unwrap().width(), 2048);
    }
    let photo = post_photo(&ada);
    DAMAGES[2](&photo_file(service.data_dir(), &photo, "original"));
    ada.get(&format!("/photos/{photo}/original")).expect_error(404);
}

#[test]
fn a_download_of_an_original_that_is_damaged_meanwhile_ends_before_its_length() {
    let service = Service::single_node(&["--write-timeout", "60s"]);
    let ada = service.new_user("ada");
    // More than the sockets hold.
    let post = ada.share(&picture::png(&picture::noise(3_000, 2_000)), "");
    let photo = post["photo"]["id"].as_str().unwrap();
    let mut connection = RawConnection::connect(&service);
    let token = ada.token();
    let head = format!("GET /photos/{photo}/original HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {token}");
    connection.send(format!("{head}\r\n\r\n")).unwrap();
    let response = connection.receive(true).expect("a response");
    let length: u64 = response.header("content-length").unwrap().parse().unwrap();
    let file =
        fs::File::options().write(true).open(photo_file(service.data_dir(), photo, "original")).unwrap();
    file.write_all_at(b"wrong", length - 5).unwrap();
    let received = connection.read_to_end().len() as u64;
    assert!((length - (64 << 10)..length).contains(&received), "{received} of {length} bytes");
    service.assert_logged(&["photo file not sent to its end", photo]);
    ada.get(&format!("/photos/{photo}/original")).expect_error(500);
}

#[test]
fn without_an_original_a_master_is_rebuilt_from_a_larger_one() {
    let service = Service::single_node(&["--keep-originals", "off"]);
    let photo = post_photo(&service.new_user("ada"));
    let path = |name: &str| photo_file(service.data_dir(), &photo, name);
    DAMAGES[0](&path("1024"));
    DAMAGES[2](&path("512"));
    assert_same_picture(&service, &photo, [500, 2000]);
    assert_same_picture(&service, &photo, [1000, 2000]);
    let (healthy, findings) = run_doctor(service.data_dir(), &["--deep"]);
    assert!(healthy, "{findings:?}");

    // Nothing has the detail of the largest master.
    DAMAGES[0](&path("2048"));
    service.anonymous().get(&format!("/photos/{photo}/1999x1999")).expect(500);
    service.assert_logged(&["with 2048 pixels is lost", "doctor --deep --fix"]);
    assert_same_picture(&service, &photo, [999, 500]);
}

/// An instance that is not running, with damage of every kind.
struct DamagedInstance {
    folder: tempfile::TempDir,
    /// Its original and its master of 512 pixels are damaged.
    whole: String,
    /// It has no original, and its largest master is lost.
    bare: String,
    /// All its files are damaged.
    gone: String,
}

impl DamagedInstance {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start_in(folder.path(), &["--keep-originals", "off"]);
        let ada = service.new_user("ada");
        let bare = post_photo(&ada);
        stop(service);
        let service = Service::start_in(folder.path(), &[]);
        let ada = ada.with_base(service.base());
        let (whole, gone) = (post_photo(&ada), post_photo(&ada));
        stop(service);
        let damaged = |photo: &str, names: &[&str]| {
            for (name, damage) in names.iter().zip(DAMAGES.iter().cycle()) {
                damage(&photo_file(folder.path(), photo, name));
            }
        };
        damaged(&whole, &["512", "original"]);
        damaged(&gone, &["2048", "1024", "512", "256", "original"]);
        fs::remove_file(photo_file(folder.path(), &bare, "2048")).unwrap();
        Self { folder, whole, bare, gone }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

#[test]
fn doctor_names_all_damage_and_rebuilds_what_it_can() {
    let instance = DamagedInstance::new();
    let DamagedInstance { whole, bare, gone, .. } = &instance;
    let (healthy, findings) = run_doctor(instance.path(), &["--deep"]);
    assert!(!healthy);
    let [rebuildable, lost] =
        ["checksum", "lost"].map(|check| finding(&findings, check)["names"].to_string());
    let upscaled = format!("{bare}/2048 is damaged or lost; rebuilt from the smaller 1024");
    assert_contains(
        &rebuildable,
        &[&format!("{whole}/512 is damaged or lost; rebuilt from 1024"), &upscaled],
    );
    assert_contains(
        &lost,
        &[&format!("{whole}/original"), &format!("{gone}/2048"), &format!("{gone}/original")],
    );

    let (healthy, findings) = run_doctor(instance.path(), &["--deep", "--fix"]);
    assert!(!healthy && finding(&findings, "checksum")["fixed"] == "rebuilt: 2 masters", "{findings:?}");
    let (_, findings) = run_doctor(instance.path(), &["--deep"]);
    assert!(findings.iter().all(|finding| finding["check"] != "checksum"), "{findings:?}");
    let service = Service::start_in(instance.path(), &[]);
    assert_same_picture(&service, whole, [500, 2000]);
    assert_same_picture(&service, bare, [2000, 1000]);
    service.anonymous().get(&format!("/photos/{gone}/100x100")).expect(500);
}

#[test]
fn a_backup_names_all_damage_and_has_every_post_whose_image_is_left() {
    let instance = DamagedInstance::new();
    let DamagedInstance { whole, bare, gone, .. } = &instance;
    let (workdir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let archive = workdir.path().join("backup.tar");
    let name = archive.to_str().unwrap();
    let data_dir = instance.path().to_str().unwrap();
    let output = run(&["backup", name, "--data-dir", data_dir], &[]);
    assert_eq!(output.status.code(), Some(3));
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_contains(&printed, &[&format!("{whole}/512 is damaged or lost; rebuilt from 1024")]);
    assert_contains(&printed, &[&format!("{whole}/original is damaged or lost; the images are intact")]);
    assert_contains(&printed, &[&format!("{bare}/2048 is damaged or lost; rebuilt from the smaller 1024")]);
    assert_contains(
        &printed,
        &[&format!("{gone} has no intact file"), "not in the backup: post 3", "2 posts"],
    );
    let lost = "1 photo had no intact file when the backup was made, and so post 3";
    assert_contains(&pinhole(elsewhere.path(), &["backup", "verify", name]), &[lost]);

    assert_contains(&pinhole(elsewhere.path(), &["restore", name]), &[lost]);
    let (healthy, findings) = run_doctor(elsewhere.path(), &["--deep"]);
    assert!(healthy, "{findings:?}");
    let service = Service::start_in(elsewhere.path(), &[]);
    assert_same_picture(&service, whole, [500, 2000]);
    assert_same_picture(&service, bare, [2000, 1000]);
    service.anonymous().get(&format!("/photos/{gone}/100x100")).expect(404);
}

#[test]
fn files_of_a_version_without_checksums_are_served_and_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    let users = Users::create(&service);
    let photo = post_photo(&users.ada);
    let before = Snapshot::take(&service, &users);
    stop(service);
    for path in files(folder.path()).into_keys().map(|path| folder.path().join("photos").join(path)) {
        fs::rename(&path, without_checksum(&path)).unwrap();
    }
    let service = Service::start_in(folder.path(), &[]);
    assert_same_picture(&service, &photo, [700, 1500]);
    // Without a checksum, damage is noticed when a file cannot be decoded.
    fs::write(photo_file(folder.path(), &photo, "256"), "not a picture").unwrap();
    assert_same_picture(&service, &photo, [150, 300]);
    stop(service);

    let (healthy, findings) = run_doctor(folder.path(), &["--deep"]);
    let note = findings.iter().find(|finding| finding["level"] == "note").expect("a note");
    assert!(healthy && note["what"].as_str().unwrap().contains("without a checksum"), "{findings:?}");
    let (healthy, findings) = run_doctor(folder.path(), &["--deep", "--fix"]);
    assert!(healthy, "{findings:?}");
    assert!(files(folder.path()).keys().all(|path| without_checksum(path) != *path));
    let (_, findings) = run_doctor(folder.path(), &["--deep"]);
    assert!(finding(&findings, "checksum")["what"].as_str().unwrap().contains("intact"), "{findings:?}");
    let service = Service::start_in(folder.path(), &[]);
    before.assert_preserved_in(&service, &users);
}
