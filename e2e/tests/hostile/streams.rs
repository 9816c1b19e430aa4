//! Originals and exports that are read slowly: the service holds a chunk of the file for each, and not the
//! file.

use std::io::Read;
use std::path::Path;
use std::time::Duration;

use e2e::{Body, Client, RawConnection, Service, eventually, picture};

/// Beyond the peak before, in MiB: for all of them together.
const MAX_HELD: u64 = 64;

/// So that the slow ones are still there when the last one has begun.
const FLAGS: [&str; 4] = ["--write-timeout", "300s", "--join-burst", "200"];

/// A service and its users, each with this photo. It was restarted: the memory of the uploads is not in its
/// peak.
fn restarted(folder: &Path, users: usize, photo: &[u8]) -> (Service, Vec<(Client, String)>) {
    let service = Service::start_in(folder, &FLAGS);
    let join = |_| {
        let user = service.new_user("eve");
        let post = user.share(photo, "");
        user.post("/me/export", Body::none()).expect(201);
        (user, format!("/photos/{}/original", post["photo"]["id"].as_str().unwrap()))
    };
    let users: Vec<_> = (0..users).map(join).collect();
    service.terminate();
    service.assert_clean_exit();
    let service = Service::start_in(folder, &FLAGS);
    let users = users.into_iter().map(|(user, original)| (user.with_base(service.base()), original));
    let users = users.collect();
    (service, users)
}

/// Sends a request whose response is the last of its connection.
fn request(service: &Service, source: &str, user: &Client, path: &str) -> RawConnection {
    let mut connection = RawConnection::connect_from(service, source).unwrap();
    let token = user.token();
    let head =
        format!("GET {path} HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {token}\r\nConnection: close");
    connection.send(format!("{head}\r\n\r\n")).unwrap();
    connection
}

#[test]
fn slow_readers_of_a_large_original_hold_a_chunk_each() {
    let folder = tempfile::tempdir().unwrap();
    let (service, users) = restarted(folder.path(), 1, &picture::png(&picture::noise(3_300, 3_000)));
    let (ada, original) = &users[0];
    let before = service.peak_memory();
    let mut held: Vec<RawConnection> =
        (0..40).map(|_| request(&service, "127.0.1.1", ada, original)).collect();
    let statuses: Vec<u16> =
        held.iter_mut().map(|connection| connection.receive(true).expect("a response").status).collect();
    assert_eq!(statuses, [200; 40]);
    let whole = ada.get(original).expect(200).bytes;
    let peak = service.peak_memory();
    println!("{before} MiB before, {peak} MiB at most, {} MiB each", whole.len() >> 20);
    assert!(peak < before + MAX_HELD, "{before} MiB before, {peak} MiB at most");
    // A reader that goes on gets the whole file.
    assert!(held.swap_remove(0).read_to_end() == whole);
}

#[test]
fn an_export_ends_with_its_session() {
    let service = Service::start(&FLAGS);
    let ada = service.new_user("ada");
    let photo = picture::png(&picture::noise(2_000, 2_000));
    for _ in 0..3 {
        ada.share(&photo, "");
    }
    ada.post("/me/export", Body::none()).expect(201);
    let mut export = request(&service, "127.0.1.1", &ada, "/me/export");
    assert_eq!(export.receive(true).expect("a response").status, 200);
    ada.post("/logout", Body::none()).expect(200);
    let read = export.read_to_end().len();
    assert!(read < 3 * photo.len(), "{read} bytes of three photos with {} each", photo.len());
}

#[test]
fn slow_exports_of_large_photos_hold_a_chunk_each() {
    let folder = tempfile::tempdir().unwrap();
    let (service, users) = restarted(folder.path(), 8, &picture::png(&picture::noise(2_400, 2_400)));
    let before = service.peak_memory();
    let export = |(number, (user, _)): (usize, &(Client, String))| {
        request(&service, &format!("127.0.1.{}", 1 + number / 4), user, "/me/export")
    };
    let mut held: Vec<RawConnection> = users.iter().enumerate().map(export).collect();
    for connection in &mut held {
        assert_eq!(connection.receive(true).expect("a response").status, 200);
        // Some of the photo.
        connection.writer().read_exact(&mut vec![0; 256 << 10]).unwrap();
    }
    let peak = service.peak_memory();
    println!("{before} MiB before, {peak} MiB at most");
    assert!(peak < before + MAX_HELD, "{before} MiB before, {peak} MiB at most");

    drop(held);
    let (ada, original) = &users[0];
    let archive = eventually("an export ends with its connection", Duration::from_secs(30), || {
        Some(ada.get("/me/export")).filter(|response| response.status == 200)
    });
    let original = ada.get(original).expect(200).bytes;
    assert!(e2e::unzip(&archive.bytes).values().any(|file| *file == original));
}
