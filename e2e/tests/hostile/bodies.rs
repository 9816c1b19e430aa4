//! Bodies that are too large, too many, broken, or not text.

use std::io::Write;
use std::time::{Duration, Instant};

use e2e::shape::assert_error_object;
use e2e::{Body, Encoding, Form, Wire, picture};

use crate::bystander::beside;
use crate::house;

const FLOOD: usize = 200 << 20;

#[test]
fn a_flood_is_cut_off_with_an_answer() {
    let eve = house().newcomer("eve");
    let kind = Body::new("multipart/form-data; boundary=flood", "");
    let start = "--flood\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"x\"\r\n\r\n";
    let declared = Wire::head_for("POST", "/posts", eve.token(), &kind, FLOOD);
    let chunked = declared.replace(&format!("Content-Length: {FLOOD}"), "Transfer-Encoding: chunked");
    let login = declared.replace("/posts", "/login/username");
    for (what, head, in_chunks) in
        [("declared", declared, false), ("chunked", chunked, true), ("to a small form", login, false)]
    {
        let began = Instant::now();
        let reply = beside(house(), || {
            let mut wire = Wire::connect(house());
            wire.send(format!("{head}\r\n")).unwrap();
            let mut hand = wire.writer();
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let block = vec![b'x'; 64 * 1024];
                    let mut pour = |bytes: &[u8]| {
                        if in_chunks {
                            write!(hand, "{:x}\r\n", bytes.len())?;
                        }
                        hand.write_all(bytes)?;
                        if in_chunks { hand.write_all(b"\r\n") } else { Ok(()) }
                    };
                    // Until the service has had enough, which is the point.
                    let mut more = pour(start.as_bytes()).is_ok();
                    for _ in 0..FLOOD / block.len() {
                        more = more && pour(&block).is_ok();
                    }
                });
                let reply = wire.receive(false).unwrap_or_else(|| panic!("{what}: closed without an answer"));
                wire.hang_up();
                reply
            })
        });
        assert!([400, 413].contains(&reply.status), "{what}: {reply:?}");
        assert_error_object(&reply.json());
        if reply.status == 400 {
            assert_eq!(reply.json()["error"]["field"], "photo", "{what}");
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", began.elapsed());
    }
}

#[test]
fn forms_without_measure_are_refused() {
    let eve = house().newcomer("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let parts = |count: usize| {
        (0..count).fold(Form::new(), |form, _| form.text("p", "")).encoded(Encoding::Multipart)
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
    beside(house(), || {
        for (what, method, path, body) in cases {
            let answer = eve.request(method, path).body(body).send();
            assert_eq!(answer.status, 400, "{what}: {answer}");
            answer.refused(400);
        }
    });
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn what_is_not_text_is_no_message() {
    let eve = house().newcomer("eve");
    let path = format!("/posts/{}", eve.share_tiny("unchanged"));
    let tiny = picture::tiny();
    beside(house(), || {
        for bytes in [
            &b"a\0b"[..],
            b"\0",
            b"\xff\xfe",
            b"cut \xf0\x9f\x98",
            b"surrogate \xed\xa0\x80",
            b"overlong \xc0\xaf",
            b"beyond \xf5\x80\x80\x80",
        ] {
            eve.post("/posts", Form::photo(&tiny).text("message", bytes)).refused_for(400, Some("message"));
            for encoding in Encoding::BOTH {
                let form = Form::new().text("message", bytes).encoded(encoding);
                eve.put(&path, form).refused_for(400, Some("message"));
                let account = Form::new().text("username", bytes).text("password", "long enough");
                eve.post("/join/username", account.encoded(encoding)).refused_for(400, Some("username"));
            }
        }
    });
    assert_eq!(eve.get(&path).expect(200).json()["message"], "unchanged");
}

#[test]
fn a_form_that_comes_byte_by_byte_is_understood() {
    let eve = house().newcomer("eve");
    // Everything a hasty search for the boundary might take for one.
    let text = "\r\n--b\r\n--bo\r--boundary\n--boundary\r\n-\r\n--\r\n--boundar";
    let path = format!("/posts/{}", eve.share_tiny("before"));
    let body = Body::new(
        "multipart/form-data; boundary=boundary7",
        format!(
            "--boundary7\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\n{text}\r\n--boundary7--\r\n"
        ),
    );
    let head = Wire::head_for("PUT", &path, eve.token(), &body, body.bytes.len());
    let reply = beside(house(), || {
        let mut wire = Wire::connect(house());
        for byte in format!("{head}\r\n").bytes().chain(body.bytes) {
            wire.send([byte]).unwrap();
        }
        wire.receive(false).expect("an answer")
    });
    assert_eq!((reply.status, reply.json()["message"].as_str()), (200, Some(text)));
}

#[test]
fn who_hangs_up_in_the_middle_of_an_upload_leaves_nothing_behind() {
    let service = e2e::Service::start(&[]);
    let eve = service.newcomer("eve");
    let body = Form::photo(&picture::photograph(500, 500)).body();
    let head = Wire::head_for("POST", "/posts", eve.token(), &body, body.bytes.len());
    beside(&service, || {
        for tenths in 0..10 {
            let mut wire = Wire::connect(&service);
            wire.send(format!("{head}\r\n")).unwrap();
            wire.send(&body.bytes[..body.bytes.len() * tenths / 10]).unwrap();
            wire.stop_sending();
            let status = wire.receive(false).map_or(400, |reply| reply.status);
            assert!((400..500).contains(&status), "half an upload answered {status}");
        }
    });
    assert_eq!(service.anyone().get("/feed").expect(200).json()["data"], serde_json::json!([]));
    e2e::eventually("no file is left over", Duration::from_secs(10), || {
        let entries = std::fs::read_dir(service.data_dir().join("tmp")).map_or(0, std::iter::Iterator::count);
        (entries == 0).then_some(())
    });
}
