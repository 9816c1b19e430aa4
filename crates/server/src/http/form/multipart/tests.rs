use std::time::Duration;

use axum::body::Body;
use futures_util::stream;

use super::super::body_reader::BodyLimits;
use super::super::fuzzing::{Part, read_parts};
use super::*;

/// A parser whose body arrives in chunks of the given length.
fn parser(form: &[u8], chunk_size: usize) -> Multipart {
    let chunks: Vec<_> =
        form.chunks(chunk_size).map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c))).collect();
    let timeout = Duration::from_secs(5);
    let limits = BodyLimits { max_bytes: 1 << 20, idle_timeout: timeout, total_timeout: timeout };
    Multipart::new(BodyReader::new(Body::from_stream(stream::iter(chunks)), limits), "XX")
}

async fn parts(form: &[u8], chunk_size: usize) -> Result<Vec<Part>, FormError> {
    read_parts(parser(form, chunk_size)).await
}

const FORM: &[u8] = b"preamble\r\n--XX\r\nContent-Disposition: form-data; name=\"message\"\r\n\r\nhello\r\n\
    --XX  \r\ncontent-type: image/png\r\nCONTENT-DISPOSITION: form-data; filename=\"a;name=x\\\"y.png\"; name=photo\r\n\r\n\
    \r\n--X\r\n--not the boundary\r\n-\r\n\r\n--XX\r\nContent-Disposition: form-data; name=\"\"\r\n\r\n\r\n--XX--\r\nepilogue";

#[tokio::test]
async fn the_chunk_size_does_not_change_the_parts() {
    for chunk_size in 1..=FORM.len() {
        let parts = parts(FORM, chunk_size).await.unwrap();
        let expected: [(&str, &[u8]); 3] =
            [("message", b"hello"), ("photo", b"\r\n--X\r\n--not the boundary\r\n-\r\n"), ("", b"")];
        assert_eq!(parts.len(), 3, "in chunks of {chunk_size} bytes");
        for ((name, content), (expected_name, expected_content)) in parts.iter().zip(expected) {
            assert_eq!(
                (name.as_str(), content.as_slice()),
                (expected_name, expected_content),
                "in chunks of {chunk_size} bytes"
            );
        }
    }
}

#[tokio::test]
async fn next_part_skips_unread_content() {
    let mut multipart = parser(FORM, 3);
    let mut names = Vec::new();
    while let Some(name) = multipart.next_part().await.unwrap() {
        names.push(name);
    }
    assert_eq!(names, ["message", "photo", ""]);
}

#[tokio::test]
async fn malformed_and_oversized_forms_are_rejected() {
    let many = "--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n\r\n".repeat(65) + "--XX--";
    let long = format!("--XX\r\nX: {}\r\n\r\n", "y".repeat(MAX_HEADER_BYTES));
    let preamble = "z".repeat(MAX_HEADER_BYTES * 2);
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
        for chunk_size in [1, 7, 1 << 20] {
            let outcome = parts(case, chunk_size).await;
            assert!(
                matches!(outcome, Err(FormError::Malformed(_))),
                "{:?}",
                String::from_utf8_lossy(&case[..case.len().min(60)])
            );
        }
    }
}

#[test]
fn names_and_boundaries_are_parsed_as_browsers_write_them() {
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
        assert_eq!(part_name(header).as_deref(), name, "{header}");
    }
    assert_eq!(boundary("multipart/form-data; charset=utf-8; boundary=\"a b\"").as_deref(), Some("a b"));
    assert_eq!(boundary("multipart/form-data; boundary=----x").as_deref(), Some("----x"));
    assert_eq!(boundary("multipart/form-data"), None);
    assert_eq!(boundary("multipart/form-data; boundary="), None);
}
