//! Stories that take days, told in a moment: a real server on a real port, with a clock that is turned.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use model::Clock;
use server::Service;
use server::config::{Config, Flags};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A 2 by 1 pixel GIF.
const PICTURE: &[u8] =
    b"GIF89a\x02\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00!\xf9\x04\x00\x00\x00\x00\x00,\
    \x00\x00\x00\x00\x02\x00\x01\x00\x00\x02\x02\x04\n\x00;";

struct House {
    service: Option<Service>,
    clock: Clock,
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl House {
    async fn open(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        let fixed = [("listen", "127.0.0.1:0"), ("data_dir", folder.path().to_str().unwrap())];
        for (key, value) in fixed.iter().chain(settings) {
            flags.values.insert((*key).to_owned(), (*value).to_owned());
        }
        let config = Config::load(&flags, [], |_| Err(std::io::ErrorKind::NotFound.into())).unwrap().config;
        let clock = Clock::system();
        let service = Service::start(&config, clock.clone()).await.unwrap();
        Self { address: service.address(), service: Some(service), clock, _folder: folder }
    }

    /// Sends a request as it stands; returns status and the whole answer.
    async fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        let (address, request) = (self.address, [head.as_bytes(), body].concat());
        let answer = tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&request).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        });
        let answer = answer.await.unwrap();
        (answer[9..12].parse().unwrap(), answer)
    }

    async fn form(&self, path: &str, form: &str) -> (u16, String) {
        self.send("POST", path, "Content-Type: application/x-www-form-urlencoded\r\n", form.as_bytes()).await
    }

    async fn token(&self, path: &str, form: &str) -> String {
        let (status, answer) = self.form(path, form).await;
        assert!(status < 300, "{answer}");
        header(&answer, "x-auth-token").unwrap().to_owned()
    }

    async fn upload(&self, headers: &str) -> (u16, String) {
        let mut body =
            b"--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"p.gif\"\r\n\r\n".to_vec();
        body.extend_from_slice(PICTURE);
        body.extend_from_slice(b"\r\n--b--\r\n");
        let headers = format!("{headers}Content-Type: multipart/form-data; boundary=b\r\n");
        self.send("POST", "/posts", &headers, &body).await
    }

    async fn close(mut self) {
        self.service.take().unwrap().stop().await;
    }
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer
        .lines()
        .find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))
        .map(|p| p.1)
}

fn post_id(answer: &str) -> i64 {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str::<serde_json::Value>(body).unwrap()["id"].as_i64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_lives_while_it_is_used_and_ends_after_ninety_idle_days() {
    let house = House::open(&[]).await;
    let used = house.token("/join/username", "username=ada&password=secret1").await;
    let idle = house.token("/login/username", "username=ada&password=secret1").await;
    let (used, idle) =
        (format!("Authorization: Bearer {used}\r\n"), format!("Cookie: pinhole_session={idle}\r\n"));

    house.clock.turn(60 * DAY);
    assert_eq!(house.send("GET", "/me", &used, b"").await.0, 200);
    // The use is noted beside the answer; wait until it is.
    until_noted(&house).await;
    house.clock.turn(31 * DAY);
    assert_eq!(house.send("GET", "/me", &used, b"").await.0, 200, "used 31 days ago");

    // Unused for 91 days: nothing private works any more, and on public pages its holder is nobody.
    let (status, answer) = house.upload(&used).await;
    assert_eq!(status, 201, "{answer}");
    let post = format!("/posts/{}", post_id(&answer));
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
            house.send(method, path, &idle, b"").await.0,
            401,
            "{method} {path} with an expired cookie"
        );
        let bearer = idle.replace("Cookie: pinhole_session=", "Authorization: Bearer ");
        assert_eq!(
            house.send(method, path, &bearer, b"").await.0,
            401,
            "{method} {path} with an expired token"
        );
    }
    for path in ["/feed", &post, "/users/ada", "/users/ada/posts"] {
        assert_eq!(house.send("GET", path, &idle, b"").await.0, 200, "{path} is public");
    }
    house.close().await;
}

/// Any write that is answered has been committed behind those queued before it.
async fn until_noted(house: &House) {
    for name in ["w1", "w2"] {
        house.token("/join/username", &format!("username={name}&password=secret1")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_passwords_run_out_and_come_back_with_time() {
    let house = House::open(&[("login_failures", "5"), ("login_window", "5m")]).await;
    house.token("/join/username", "username=ada&password=secret1").await;
    for attempt in 0..5 {
        assert_eq!(
            house.form("/login/username", "username=ada&password=wrong1").await.0,
            400,
            "attempt {attempt}"
        );
    }
    let (status, answer) = house.form("/login/username", "username=ADA&password=secret1").await;
    assert_eq!(status, 429, "the sixth, even if right, in any spelling");
    // A minute, less what the guesses took.
    let wait: Option<u64> = header(&answer, "retry-after").and_then(|wait| wait.parse().ok());
    assert!(wait.is_some_and(|wait| (1..=60).contains(&wait)), "{answer}");
    assert!(header(&answer, "ratelimit").is_some_and(|v| v.starts_with("\"login\";r=0;t=")), "{answer}");
    assert_eq!(header(&answer, "x-error-code"), Some("rate_limited"));
    house.token("/join/username", "username=bob&password=secret1").await;
    house.token("/login/username", "username=bob&password=secret1").await;

    house.clock.turn(Duration::from_secs(61));
    house.token("/login/username", "username=ada&password=secret1").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_from_one_address_slow_down() {
    let house = House::open(&[("join_burst", "2"), ("join_interval", "10s")]).await;
    for name in ["a", "b"] {
        house.token("/join/username", &format!("username={name}&password=secret1")).await;
    }
    assert_eq!(house.form("/join/username", "username=c&password=secret1").await.0, 429);
    house.clock.turn(Duration::from_secs(10));
    house.token("/join/username", "username=c&password=secret1").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_holds_for_a_day() {
    let house = House::open(&[]).await;
    let token = house.token("/join/username", "username=ada&password=secret1").await;
    let keyed = format!("Authorization: Bearer {token}\r\nIdempotency-Key: abc\r\n");
    let first = post_id(&house.upload(&keyed).await.1);
    house.clock.turn(DAY.checked_sub(Duration::from_secs(60)).unwrap());
    assert_eq!(post_id(&house.upload(&keyed).await.1), first);
    house.clock.turn(Duration::from_secs(120));
    assert_ne!(post_id(&house.upload(&keyed).await.1), first);
    house.close().await;
}
