//! Request bodies that are too large, malformed, or not valid text.

use std::io::Write;
use std::time::{Duration, Instant};

use e2e::shape::assert_error_object;
use e2e::{Body, Encoding, FormData, RawConnection, picture};

use crate::probe::with_probe;
use crate::shared_service;

const FLOOD_BYTES: usize = 200 << 20;

#[test]
fn an_oversized_body_is_rejected_before_it_is_read_completely() {
    let eve = shared_service().new_user("eve");
    let kind = Body::new("multipart/form-data; boundary=flood", "");
    let start = "--flood\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"x\"\r\n\r\n";
    let declared = RawConnection::request_head("POST", "/posts", eve.token(), &kind, FLOOD_BYTES);
    let chunked = declared.replace(&format!("Content-Length: {FLOOD_BYTES}"), "Transfer-Encoding: chunked");
    let login = declared.replace("/posts", "/login/username");
    for (what, head, in_chunks) in
        [("declared", declared, false), ("chunked", chunked, true), ("to a small form", login, false)]
    {
        let began = Instant::now();
        let response = with_probe(shared_service(), || {
            let mut connection = RawConnection::connect(shared_service());
            connection.send(format!("{head}\r\n")).unwrap();
            let mut writer = connection.writer();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let block = vec![b'x'; 64 * 1024];
                    let mut send = |bytes: &[u8]| {
                        if in_chunks {
                            write!(writer, "{:x}\r\n", bytes.len())?;
                        }
                        writer.write_all(bytes)?;
                        if in_chunks { writer.write_all(b"\r\n") } else { Ok(()) }
                    };
                    // Stops when the service closes the connection.
                    let mut more = send(start.as_bytes()).is_ok();
                    for _ in 0..FLOOD_BYTES / block.len() {
                        more = more && send(&block).is_ok();
                    }
                });
                let response =
                    connection.receive(false).unwrap_or_else(|| panic!("{what}: closed without a response"));
                connection.close();
                response
            })
        });
        assert!([400, 413].contains(&response.status), "{what}: {response:?}");
        assert_error_object(&response.json());
        if response.status == 400 {
            assert_eq!(response.json()["error"]["field"], "photo", "{what}");
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", began.elapsed());
    }
}

#[test]
fn multipart_bodies_beyond_the_limits_are_rejected() {
    let eve = shared_service().new_user("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let parts = |count: usize| {
        (0..count).fold(FormData::new(), |form, _| form.text("p", "")).encoded(Encoding::Multipart)
    };
    let multipart = |text: String| Body::new("multipart/form-data; boundary=b", text);
    let opening = "--b\r\nContent-Disposition: form-data; name=\"message\"";
    let end = "\r\n\r\nx\r\n--b--\r\n";
    let long = |count: usize| "x".repeat(count);
    let cases = [
        ("thousands of parts", "POST", "/posts", parts(5_000).body()),
        ("thousands of empty parts", "PUT", &path, multipart("--b\r\n\r\n\r\n".repeat(5_000) + "--b--\r\n")),
        (
            "a huge part header",
            "POST",
            "/posts",
            multipart(format!("{opening}; junk=\"{}\"{end}", long(1 << 20))),
        ),
        ("a part header without end", "PUT", &path, multipart(format!("{opening}{}", long(100_000)))),
        (
            "thousands of part headers",
            "PUT",
            &path,
            multipart(format!("{opening}{}{end}", "\r\na: b".repeat(10_000))),
        ),
        (
            "a huge name",
            "PUT",
            &path,
            multipart(format!("{opening}{end}").replace("message", &long(100_000))),
        ),
        ("no boundary", "POST", "/posts", Body::new("multipart/form-data", format!("{opening}{end}"))),
        ("no final boundary", "POST", "/posts", multipart(format!("{opening}\r\n\r\nx"))),
        ("nothing but boundaries", "PUT", &path, multipart("--b\r\n".repeat(10_000))),
    ];
    with_probe(shared_service(), || {
        for (what, method, path, body) in cases {
            let response = eve.request(method, path).body(body).send();
            assert_eq!(response.status, 400, "{what}: {response}");
            response.expect_error(400);
        }
    });
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn text_with_nul_or_invalid_utf_8_is_rejected() {
    let eve = shared_service().new_user("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let tiny = picture::tiny();
    with_probe(shared_service(), || {
        for bytes in [
            &b"a\0b"[..],
            b"\0",
            b"\xff\xfe",
            b"cut \xf0\x9f\x98",
            b"surrogate \xed\xa0\x80",
            b"overlong \xc0\xaf",
            b"beyond \xf5\x80\x80\x80",
        ] {
            eve.post("/posts", FormData::photo(&tiny).text("message", bytes))
                .expect_error_for(400, Some("message"));
            for encoding in Encoding::BOTH {
                let form = FormData::new().text("message", bytes).encoded(encoding);
                eve.put(&path, form).expect_error_for(400, Some("message"));
                let account = FormData::new().text("username", bytes).text("password", "long enough");
                eve.post("/join/username", account.encoded(encoding)).expect_error_for(400, Some("username"));
            }
        }
    });
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn a_form_sent_byte_by_byte_is_parsed() {
    let eve = shared_service().new_user("eve");
    // Text that resembles the boundary in every way short of matching it.
    let text = "\r\n--b\r\n--bo\r--boundary\n--boundary\r\n-\r\n--\r\n--boundar";
    let path = format!("/posts/{}", eve.share_tiny("before"));
    let body = Body::new(
        "multipart/form-data; boundary=boundary7",
        format!(
            "--boundary7\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\n{text}\r\n--boundary7--\r\n"
        ),
    );
    let head = RawConnection::request_head("PUT", &path, eve.token(), &body, body.bytes.len());
    let response = with_probe(shared_service(), || {
        let mut connection = RawConnection::connect(shared_service());
        for byte in format!("{head}\r\n").bytes().chain(body.bytes) {
            connection.send([byte]).unwrap();
        }
        connection.receive(false).expect("a response")
    });
    assert_eq!((response.status, response.json()["message"].as_str()), (200, Some(text)));
}

#[test]
fn an_aborted_upload_leaves_no_post_and_no_file() {
    let service = e2e::Service::start(&[]);
    let eve = service.new_user("eve");
    let body = FormData::photo(&picture::photograph(500, 500)).body();
    let head = RawConnection::request_head("POST", "/posts", eve.token(), &body, body.bytes.len());
    with_probe(&service, || {
        for tenths in 0..10 {
            let mut connection = RawConnection::connect(&service);
            connection.send(format!("{head}\r\n")).unwrap();
            connection.send(&body.bytes[..body.bytes.len() * tenths / 10]).unwrap();
            connection.shutdown_write();
            let status = connection.receive(false).map_or(400, |response| response.status);
            assert!((400..500).contains(&status), "status {status} for a partial upload");
        }
    });
    assert_eq!(service.anonymous().get("/feed").expect(200).json()["data"], serde_json::json!([]));
    e2e::eventually("the temporary folder is empty", Duration::from_secs(10), || {
        let entries = std::fs::read_dir(service.data_dir().join("tmp")).map_or(0, std::iter::Iterator::count);
        (entries == 0).then_some(())
    });
}
