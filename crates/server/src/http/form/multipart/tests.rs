use std::time::Duration;

use axum::body::Body;
use futures_util::stream;

use super::super::source::BodyLimits;
use super::*;

/// A form that arrives in pieces of the given length.
fn arriving(form: &[u8], piece: usize) -> Multipart {
    let pieces: Vec<_> =
        form.chunks(piece).map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c))).collect();
    let bounds =
        BodyLimits { max_bytes: 1 << 20, pause: Duration::from_secs(5), total: Duration::from_secs(5) };
    Multipart::new(Source::new(Body::from_stream(stream::iter(pieces)), bounds), "XX")
}

async fn parts(form: &[u8], piece: usize) -> Result<Vec<(String, Vec<u8>)>, FormError> {
    let mut multipart = arriving(form, piece);
    let mut parts = Vec::new();
    while let Some(name) = multipart.next_part().await? {
        let mut content = Vec::new();
        while let Some(chunk) = multipart.chunk().await? {
            content.extend_from_slice(&chunk);
        }
        parts.push((name, content));
    }
    Ok(parts)
}

const FORM: &[u8] = b"preamble\r\n--XX\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nhello\r\n\
    --XX  \r\ncontent-type: image/png\r\nCONTENT-DISPOSITION: form-data; filename=\"a;name=x\\\"y.png\"; name=photo\r\n\r\n\
    \r\n--X\r\n--not the boundary\r\n-\r\n\r\n--XX\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--XX--\r\nepilogue";

#[tokio::test]
async fn reads_the_same_however_the_bytes_are_cut() {
    for piece in 1..=FORM.len() {
        let parts = parts(FORM, piece).await.unwrap();
        let expected: [(&str, &[u8]); 3] =
            [("message", b"hello"), ("photo", b"\r\n--X\r\n--not the boundary\r\n-\r\n"), ("", b"")];
        assert_eq!(parts.len(), 3, "in pieces of {piece}");
        for ((name, content), (expected_name, expected_content)) in parts.iter().zip(expected) {
            assert_eq!(
                (name.as_str(), content.as_slice()),
                (expected_name, expected_content),
                "in pieces of {piece}"
            );
        }
    }
}

#[tokio::test]
async fn skips_what_nobody_reads() {
    let mut multipart = arriving(FORM, 3);
    let mut names = Vec::new();
    while let Some(name) = multipart.next_part().await.unwrap() {
        names.push(name);
    }
    assert_eq!(names, ["message", "photo", ""]);
}

#[tokio::test]
async fn refuses_what_is_broken_or_too_much() {
    let many = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(65) + "--XX--";
    let long = format!("--XX\r\nX: {}\r\n\r\n", "y".repeat(MAX_HEADERS));
    let preamble = "z".repeat(MAX_HEADERS * 2);
    let cases: [&[u8]; 10] = [
        b"",
        b"--XX",
        b"--XX\r\n",
        b"--XX garbage\r\n\r\n\r\n--XX--",
        b"--XX\r\nContent-Disposition: form-data\r\n\r\n\r\n--XX--",
        b"--XX\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\n\r\n--XX--",
        b"--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nno end",
        many.as_bytes(),
        long.as_bytes(),
        preamble.as_bytes(),
    ];
    for case in cases {
        for piece in [1, 7, 1 << 20] {
            let outcome = parts(case, piece).await;
            assert!(
                matches!(outcome, Err(FormError::Malformed(_))),
                "{:?}",
                String::from_utf8_lossy(&case[..case.len().min(60)])
            );
        }
    }
}

#[test]
fn reads_names_and_boundaries_as_clients_write_them() {
    for (header, name) in [
        ("form-data; name=\"photo\"", Some("photo")),
        ("form-data; name=photo; filename=x", Some("photo")),
        ("Form-Data;NAME=\"a\\\"b\"", Some("a\"b")),
        ("form-data; name=\"a%22b\"", Some("a\"b")),
        ("form-data; filename=\"name=evil; x\"; name=\"ok\"", Some("ok")),
        ("form-data; filename=\"C:\\dir\\f.jpg\"; name=\"ok\"", Some("ok")),
        ("form-data", None),
        ("form-data; name=\"open", None),
        ("attachment; name=\"a\"", None),
    ] {
        assert_eq!(name_of(header).as_deref(), name, "{header}");
    }
    assert_eq!(boundary("multipart/form-data; charset=utf-8; boundary=\"a b\"").as_deref(), Some("a b"));
    assert_eq!(boundary("multipart/form-data; boundary=----x").as_deref(), Some("----x"));
    assert_eq!(boundary("multipart/form-data"), None);
    assert_eq!(boundary("multipart/form-data; boundary="), None);
}
