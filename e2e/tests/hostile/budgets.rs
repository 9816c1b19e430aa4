//! What one network makes the service hold is bounded, and leaves memory to others.

use e2e::{Body, Client, FormData, PASSWORD, RawConnection, Service, concurrently, picture};
use serde_json::Value;

use crate::memory::MAX_MEMORY;
use crate::probe::with_probe;

/// Many connections of one network, with a request on each whose response is not awaited.
pub(crate) fn hold(
    service: &Service,
    source: &str,
    count: usize,
    request: impl AsRef<[u8]>,
) -> Vec<RawConnection> {
    let open = |_| {
        let mut connection = RawConnection::connect_from(service, source).unwrap();
        // Fails once the service has closed the connection.
        connection.send(&request).ok();
        connection
    };
    (0..count).map(open).collect()
}

/// A login of which 7 KB are missing.
pub(crate) fn unfinished_form() -> Vec<u8> {
    let body = Body::new("application/x-www-form-urlencoded", "");
    let head = RawConnection::request_head("POST", "/login/username", "", &body, 262_000);
    [format!("{head}\r\n\r\nusername=").into_bytes(), vec![b'x'; 255 * 1024]].concat()
}

pub(crate) fn download(path: &str, client: &Client) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: e2e\r\nAuthorization: Bearer {}\r\n\r\n", client.token())
}

#[test]
fn unfinished_forms_of_one_network_leave_memory_to_others() {
    let service = Service::start(&["--body-timeout", "60s"]);
    let ada = service.new_user("ada");
    let before = service.peak_memory();
    let held = hold(&service, "127.0.1.1", 1_000, unfinished_form());
    let other = service.anonymous().with_source_ip("127.0.2.1");
    // Larger than what is not counted.
    let login = FormData::account(ada.username(), PASSWORD).text("unused", "x".repeat(60_000));
    for _ in 0..3 {
        other.post("/login/username", login.clone()).expect(200);
    }
    let peak = service.peak_memory();
    println!("{before} MiB before, {peak} MiB at most");
    assert!(peak < before + 220, "{before} MiB before, {peak} MiB at most");
    drop(held);
}

#[test]
fn responses_that_one_network_does_not_read_leave_memory_to_others() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::png(&picture::noise(2_200, 2_200)), "");
    let original = format!("/photos/{}/original", post["photo"]["id"].as_str().unwrap());
    let size = ada.get(&original).expect(200).bytes.len();
    // 300 MB.
    let held = hold(&service, "127.0.1.1", 300_000_000usize.div_ceil(size), download(&original, &ada));
    let other = service.anonymous().with_source_ip("127.0.2.1");
    let image = format!("/photos/{}/2048x2048", post["photo"]["id"].as_str().unwrap());
    for _ in 0..3 {
        assert!(other.get(&image).expect(200).bytes.len() > 64 * 1024);
        assert_eq!(ada.with_source_ip("127.0.2.1").get(&original).expect(200).bytes.len(), size);
    }
    drop(held);
}

#[test]
fn exports_that_two_networks_do_not_read_leave_a_slot_to_others() {
    let service = Service::start(&["--join-burst", "200"]);
    let large = picture::png(&picture::noise(2_200, 2_200));
    let held: Vec<RawConnection> = (0..8)
        .flat_map(|number| {
            let eve = service.new_user("eve");
            eve.share(&large, "");
            eve.post("/me/export", Body::none()).expect(201);
            hold(&service, &format!("127.0.1.{}", 1 + number / 4), 1, download("/me/export", &eve))
        })
        .collect();
    let ada = service.new_user("ada").with_source_ip("127.0.2.1");
    ada.share_tiny("taken along");
    ada.post("/me/export", Body::none()).expect(201);
    let archive = e2e::unzip(&ada.get("/me/export").expect(200).bytes);
    assert!(archive.contains_key("account.json"));
    drop(held);
}

#[test]
fn imports_of_two_networks_leave_a_slot_to_others_and_to_the_operator() {
    let service = Service::start(&["--join-burst", "200"]);
    let long = e2e::archive_of(100, &picture::png(&picture::plain(6_000, 5_000, picture::BLUE)));
    let eves: Vec<Client> = (0..4)
        .map(|number| service.new_user("eve").with_source_ip(&format!("127.0.1.{}", 1 + number / 2)))
        .collect();
    for eve in &eves {
        eve.post("/me/import", FormData::new().file("archive", &long)).expect(202);
    }
    let ada = service.new_user("ada").with_source_ip("127.0.2.1");
    let archive = e2e::archive_of(1, &picture::tiny());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, &archive).unwrap();
    let imported =
        service.operator(&["import-account", file.path().to_str().unwrap(), "--user", ada.username()]);
    assert_eq!(imported["imported"], 1, "{imported}");
    assert_eq!(ada.import_account(&archive)["skipped"], 1);
    let statuses: Vec<Value> = eves.iter().map(|eve| eve.get("/me/import").expect(200).json()).collect();
    let revoked =
        statuses.iter().filter(|status| status["error"].as_str().is_some_and(|e| e.contains("network")));
    assert_eq!(revoked.count(), 1, "{statuses:?}");
    for eve in &eves {
        eve.delete("/me/import");
    }
}

#[test]
fn edits_of_a_large_photo_are_read_into_reserved_memory() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::png(&picture::noise(3_000, 2_000)), "");
    let path = format!("/posts/{}", post["id"]);
    let before = service.peak_memory();
    let responses = with_probe(&service, || {
        concurrently(40, |number| {
            ada.put(&path, FormData::new().text("focus", format!("0.{:02},0.5", 10 + number)))
        })
    });
    let peak = service.peak_memory();
    println!("{before} MiB before, {peak} MiB at most");
    assert!(peak < MAX_MEMORY, "{before} MiB before, {peak} MiB at most");
    let edited = responses.iter().filter(|response| response.status == 200).count();
    assert!(edited > 0 && responses.iter().all(|response| [200, 409, 503].contains(&response.status)));
}
