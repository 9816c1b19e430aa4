//! Tests of timeouts that take hours or days: a real server on a real port, with a clock that is advanced.

#![allow(clippy::unwrap_used, reason = "a failed expectation must end the test")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::Clock;
use server::Service;
use server::config::{Config, Flags};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A 2 by 1 pixel GIF.
const GIF: &[u8] =
    b"GIF89a\x02\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x02\x00\x01\x00\x00\x02\x02\x04\n\x00;";

struct TestServer {
    service: Option<Service>,
    clock: Clock,
    address: SocketAddr,
    config: Config,
    folder: tempfile::TempDir,
}

impl TestServer {
    async fn start(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        let fixed = [("listen", "127.0.0.1:0"), ("data_dir", folder.path().to_str().unwrap())];
        for (key, value) in fixed.iter().chain(settings) {
            flags.values.insert((*key).to_owned(), (*value).to_owned());
        }
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        let clock = Clock::system();
        let service = Service::start(&config, clock.clone()).await.unwrap();
        Self { address: service.address(), service: Some(service), clock, config, folder }
    }

    async fn restart(&mut self) {
        self.service.take().unwrap().stop().await;
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        // The tasks of the first service still hold the lock of the folder for a moment.
        let service = loop {
            match Service::start(&self.config, self.clock.clone()).await {
                Ok(service) => break service,
                Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        (self.address, self.service) = (service.address(), Some(service));
    }

    /// The files of unfinished uploads.
    fn part_count(&self) -> usize {
        let (mut folders, mut parts) = (vec![self.folder.path().join("photos")], 0);
        while let Some(folder) = folders.pop() {
            // It may have been deleted since it was listed.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                parts += usize::from(entry.file_name().to_string_lossy().starts_with("part"));
                folders.extend(entry.path().is_dir().then(|| entry.path()));
            }
        }
        parts
    }

    /// Sends a request; returns the status and the whole response.
    async fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        let (address, request) = (self.address, [head.as_bytes(), body].concat());
        let response = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&request).unwrap();
            let mut response = Vec::new();
            stream.read_to_end(&mut response).unwrap();
            String::from_utf8_lossy(&response).into_owned()
        });
        let response = response.await.unwrap();
        (response[9..12].parse().unwrap(), response)
    }

    async fn form(&self, path: &str, form: &str) -> (u16, String) {
        self.send("POST", path, "Content-Type: application/x-www-form-urlencoded\r\n", form.as_bytes()).await
    }

    async fn token(&self, path: &str, form: &str) -> String {
        let (status, response) = self.form(path, form).await;
        assert!(status < 300, "{response}");
        header(&response, "x-auth-token").unwrap().to_owned()
    }

    async fn upload(&self, headers: &str) -> (u16, String) {
        let mut body =
            b"--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p.gif\"\r\n\r\n".to_vec();
        body.extend_from_slice(GIF);
        body.extend_from_slice(b"\r\n--b--\r\n");
        let headers = format!("{headers}Content-Type: multipart/form-data; boundary=b\r\n");
        self.send("POST", "/posts", &headers, &body).await
    }

    async fn stop(mut self) {
        self.service.take().unwrap().stop().await;
    }
}

fn header<'a>(response: &'a str, name: &str) -> Option<&'a str> {
    response
        .lines()
        .find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))
        .map(|p| p.1)
}

fn post_id(response: &str) -> i64 {
    let body = response.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str::<serde_json::Value>(body).unwrap()["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_expires_after_a_year_although_it_is_used() {
    let server = TestServer::start(&[]).await;
    let used = server.token("/join/username", "username=ada&password=correct+horse").await;
    let used = format!("Authorization: Bearer {used}\r\n");
    for _ in 0..6 {
        server.clock.advance(60 * DAY);
        assert_eq!(server.send("GET", "/me", &used, b"").await.0, 200);
        // The use of a session is recorded asynchronously.
        flush_writes(&server).await;
    }
    server.clock.advance(6 * DAY);
    assert_eq!(server.send("GET", "/me", &used, b"").await.0, 401);
    // Nor is it listed.
    let new = server.token("/login/username", "username=ada&password=correct+horse").await;
    let (_, listed) =
        server.send("GET", "/me/sessions", &format!("Authorization: Bearer {new}\r\n"), b"").await;
    assert_eq!(listed.matches("\"id\"").count(), 1, "{listed}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_export_can_be_downloaded_for_a_day() {
    let server = TestServer::start(&[]).await;
    let token = server.token("/join/username", "username=ada&password=correct+horse").await;
    let token = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(server.send("POST", "/me/export", &token, b"").await.0, 201);
    server.clock.advance(DAY - Duration::from_secs(60));
    assert_eq!(server.send("GET", "/me/export", &token, b"").await.0, 200);
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(server.send("GET", "/me/export", &token, b"").await.0, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_upload_expires_a_day_after_its_last_piece() {
    let mut server = TestServer::start(&[]).await;
    let token = server.token("/join/username", "username=ada&password=correct+horse").await;
    let token = format!("Authorization: Bearer {token}\r\n");
    let form = "Content-Type: multipart/form-data; boundary=b\r\nUpload-Complete: ?0\r\n";
    let start = async |server: &TestServer| {
        let (status, response) = server.send("POST", "/posts", &format!("{token}{form}"), b"--b").await;
        assert_eq!(status, 201, "{response}");
        header(&response, "location").unwrap().to_owned()
    };
    let upload = start(&server).await;
    server.clock.advance(DAY.checked_sub(Duration::from_secs(60)).unwrap());
    let piece = "Content-Type: application/partial-upload\r\nUpload-Offset: 3\r\nUpload-Complete: ?0\r\n";
    assert_eq!(server.send("PATCH", &upload, &format!("{token}{piece}"), b"\r\n").await.0, 204);
    server.clock.advance(DAY.checked_sub(Duration::from_secs(60)).unwrap());
    let (status, response) = server.send("HEAD", &upload, &token, b"").await;
    assert_eq!((status, header(&response, "upload-offset")), (204, Some("5")), "{response}");

    // Of nine uploads, the one that has been idle for an hour makes room.
    server.clock.advance(Duration::from_secs(30));
    let others = [start(&server).await, start(&server).await];
    for _ in 0..6 {
        start(&server).await;
    }
    assert_eq!(server.send("HEAD", &upload, &token, b"").await.0, 404);
    assert_eq!(server.send("HEAD", &others[0], &token, b"").await.0, 204);

    assert!(server.part_count() >= 8, "{}", server.part_count());
    server.clock.advance(DAY);
    assert_eq!(server.send("HEAD", &others[1], &token, b"").await.0, 404);
    server.restart().await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while server.part_count() > 0 {
        assert!(tokio::time::Instant::now() < deadline, "{} parts are not deleted", server.part_count());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_upload_expires_a_week_after_its_start() {
    let server = TestServer::start(&[]).await;
    let token = server.token("/join/username", "username=ada&password=correct+horse").await;
    let token = format!("Authorization: Bearer {token}\r\n");
    let form = "Content-Type: multipart/form-data; boundary=b\r\nUpload-Complete: ?0\r\n";
    let (_, response) = server.send("POST", "/posts", &format!("{token}{form}"), b"--").await;
    let upload = header(&response, "location").unwrap().to_owned();
    let append = async |offset: u32| {
        let piece = format!(
            "{token}Content-Type: application/partial-upload\r\nUpload-Offset: {offset}\r\nUpload-Complete: ?0\r\n"
        );
        server.send("PATCH", &upload, &piece, b"b").await.0
    };
    for day in 0..6 {
        server.clock.advance(DAY.checked_sub(Duration::from_secs(60)).unwrap());
        assert_eq!(append(2 + day).await, 204, "day {day}");
    }
    server.clock.advance(Duration::from_secs(60 * 60));
    assert_eq!(append(8).await, 204);
    let (_, response) = server.send("HEAD", &upload, &token, b"").await;
    let limit = header(&response, "upload-limit").unwrap();
    assert!(limit.rsplit_once("max-age=").unwrap().1.parse::<u64>().unwrap() < 24 * 60 * 60, "{limit}");
    server.clock.advance(DAY.checked_sub(Duration::from_secs(30 * 60)).unwrap());
    assert_eq!(append(9).await, 404);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_expires_after_ninety_idle_days_and_each_use_extends_it() {
    let server = TestServer::start(&[]).await;
    let used = server.token("/join/username", "username=ada&password=correct+horse").await;
    let idle = server.token("/login/username", "username=ada&password=correct+horse").await;
    let (used, idle) =
        (format!("Authorization: Bearer {used}\r\n"), format!("Cookie: pinhole_session={idle}\r\n"));

    server.clock.advance(60 * DAY);
    assert_eq!(server.send("GET", "/me", &used, b"").await.0, 200);
    // The use of a session is recorded asynchronously.
    flush_writes(&server).await;
    server.clock.advance(31 * DAY);
    assert_eq!(server.send("GET", "/me", &used, b"").await.0, 200, "last used 31 days ago");

    // Unused for 91 days: private routes return 401, and public routes treat the client as logged out.
    let (status, response) = server.upload(&used).await;
    assert_eq!(status, 201, "{response}");
    let post = format!("/posts/{}", post_id(&response));
    let likes = format!("{post}/likes");
    for (method, path) in [
        ("GET", "/me"),
        ("POST", "/logout"),
        ("PUT", "/me/photo"),
        ("DELETE", "/me/photo"),
        ("POST", "/posts"),
        ("PUT", &post),
        ("PATCH", &post),
        ("DELETE", &post),
        ("POST", &likes),
        ("DELETE", &likes),
    ] {
        assert_eq!(
            server.send(method, path, &idle, b"").await.0,
            401,
            "{method} {path} with an expired cookie"
        );
        let bearer = idle.replace("Cookie: pinhole_session=", "Authorization: Bearer ");
        assert_eq!(
            server.send(method, path, &bearer, b"").await.0,
            401,
            "{method} {path} with an expired token"
        );
    }
    for path in ["/feed", &post, "/users/ada", "/users/ada/posts"] {
        assert_eq!(server.send("GET", path, &idle, b"").await.0, 200, "{path} is public");
    }
    server.stop().await;
}

/// Waits for queued writes: a write is committed after all that were queued before it.
async fn flush_writes(server: &TestServer) {
    static USERS: AtomicU64 = AtomicU64::new(0);
    for _ in 0..2 {
        let name = USERS.fetch_add(1, Ordering::Relaxed);
        server.token("/join/username", &format!("username=w{name}&password=correct+horse")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_logins_are_rate_limited_until_the_window_has_passed() {
    let server = TestServer::start(&[("login_failures", "5"), ("login_window", "5m")]).await;
    server.token("/join/username", "username=ada&password=correct+horse").await;
    for attempt in 0..5 {
        assert_eq!(
            server.form("/login/username", "username=ada&password=wrong+horse").await.0,
            400,
            "attempt {attempt}"
        );
    }
    let (status, response) = server.form("/login/username", "username=ADA&password=correct+horse").await;
    assert_eq!(status, 429, "the sixth attempt, even with the right password and other letter case");
    // One minute, minus the duration of the attempts.
    let wait: Option<u64> = header(&response, "retry-after").and_then(|wait| wait.parse().ok());
    assert!(wait.is_some_and(|wait| (1..=60).contains(&wait)), "{response}");
    assert!(header(&response, "ratelimit").is_some_and(|v| v.starts_with("\"login\";r=0;t=")), "{response}");
    assert_eq!(header(&response, "x-error-code"), Some("rate_limited"));
    server.token("/join/username", "username=bob&password=correct+horse").await;
    server.token("/login/username", "username=bob&password=correct+horse").await;

    server.clock.advance(Duration::from_secs(61));
    server.token("/login/username", "username=ada&password=correct+horse").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_from_one_address_are_rate_limited() {
    let server = TestServer::start(&[("join_burst", "2"), ("join_interval", "10s")]).await;
    for name in ["a", "b"] {
        server.token("/join/username", &format!("username={name}&password=correct+horse")).await;
    }
    assert_eq!(server.form("/join/username", "username=c&password=correct+horse").await.0, 429);
    server.clock.advance(Duration::from_secs(10));
    server.token("/join/username", "username=c&password=correct+horse").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_expires_after_a_day() {
    let server = TestServer::start(&[]).await;
    let token = server.token("/join/username", "username=ada&password=correct+horse").await;
    let keyed = format!("Authorization: Bearer {token}\r\nIdempotency-Key: abc\r\n");
    let first = post_id(&server.upload(&keyed).await.1);
    server.clock.advance(DAY.checked_sub(Duration::from_secs(60)).unwrap());
    assert_eq!(post_id(&server.upload(&keyed).await.1), first);
    server.clock.advance(Duration::from_secs(120));
    assert_ne!(post_id(&server.upload(&keyed).await.1), first);
    server.stop().await;
}
