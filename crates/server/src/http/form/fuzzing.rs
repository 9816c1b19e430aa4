//! The properties of the form parsers, checked by the fuzz targets `multipart` and `forms`, and by tests on
//! their corpora.

use std::sync::LazyLock;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};
use tokio::runtime::{Builder, Runtime};

use super::body_reader::{BodyLimits, BodyReader};
use super::multipart::{self, Multipart};
use super::{FileSink, FormData, FormError, FormMemory};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// All text parameters of the API.
const KNOWN: [&str; 4] = ["message", "alt", "username", "password"];

/// A form as the handlers see it.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadForm {
    /// The values of `KNOWN`. An error is that of a single parameter.
    pub(crate) texts: Vec<Result<Option<String>, String>>,
    pub(crate) photo: Option<Vec<u8>>,
}

impl ReadForm {
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'static str, &Result<Option<String>, String>)> {
        KNOWN.into_iter().zip(&self.texts)
    }
}

/// Panics if a body breaks a property. The first line of the input is its Content-Type.
pub fn check_multipart(input: &[u8]) {
    let line_end = memchr::memchr(b'\n', input).unwrap_or(input.len());
    let (content_type, body) = (&input[..line_end], input.get(line_end + 1..).unwrap_or_default());
    let Ok(content_type) = HeaderValue::from_bytes(content_type) else { return };
    let form = read_in_any_chunks(&content_type, body);
    let boundary = content_type.to_str().ok().and_then(multipart::boundary);
    let is_multipart = super::is_multipart(&headers(&content_type));
    if let Some(boundary) = boundary.filter(|_| is_multipart) {
        let parts = RUNTIME.block_on(parts(&boundary, body));
        assert_eq!(parts.is_ok(), form.is_ok(), "the parts are not those of the form");
        if let Ok(parts) = parts {
            check_round_trip(parts);
        }
    }
}

/// Reads a body whole and in chunks of different lengths. The outcome must be the same, and a body above
/// the limit must be rejected.
pub(crate) fn read_in_any_chunks(content_type: &HeaderValue, body: &[u8]) -> Result<ReadForm, String> {
    let length = body.len() as u64;
    let form = read(content_type, vec![body], length);
    for chunks in [body.chunks(1).collect(), body.chunks(61).collect(), uneven_chunks(body)] {
        assert_eq!(form, read(content_type, chunks, length), "the lengths of chunks change the form");
    }
    if let Some(limit) = length.checked_sub(1) {
        for chunks in [vec![body], body.chunks(7).collect()] {
            assert!(read(content_type, chunks, limit).is_err(), "a body above the limit is accepted");
        }
    }
    form
}

/// The bytes themselves determine the lengths, so a fuzzer can choose them. Some chunks are empty.
fn uneven_chunks(body: &[u8]) -> Vec<&[u8]> {
    let (mut chunks, mut rest) = (Vec::new(), body);
    while let Some(first) = rest.first() {
        let (chunk, after) = rest.split_at(usize::from(first % 23).min(rest.len()));
        chunks.push(chunk);
        rest = after;
        if chunk.is_empty() {
            let (chunk, after) = rest.split_at(1);
            chunks.push(chunk);
            rest = after;
        }
    }
    chunks
}

fn read(content_type: &HeaderValue, chunks: Vec<&[u8]>, max_bytes: u64) -> Result<ReadForm, String> {
    let (headers, mut photo) = (headers(content_type), Photo(None));
    let form = FormData::read(
        &headers,
        body(chunks),
        limits(max_bytes),
        &KNOWN,
        &mut photo,
        FormMemory::uncounted(),
    );
    let mut form = RUNTIME.block_on(form).map_err(|error| format!("{error:?}"))?;
    let texts = KNOWN.map(|name| form.text(name).map_err(|error| format!("{error:?}")));
    Ok(ReadForm { texts: texts.into(), photo: photo.0 })
}

fn headers(content_type: &HeaderValue) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, content_type.clone())])
}

fn body(chunks: Vec<&[u8]>) -> Body {
    let chunks: Vec<_> =
        chunks.into_iter().map(|c| Ok::<_, std::io::Error>(Bytes::copy_from_slice(c))).collect();
    Body::from_stream(stream::iter(chunks))
}

fn limits(max_bytes: u64) -> BodyLimits {
    let timeout = Duration::from_secs(3600);
    BodyLimits { max_bytes, idle_timeout: timeout, total_timeout: timeout }
}

struct Photo(Option<Vec<u8>>);

impl FileSink for Photo {
    fn name(&self) -> &'static str {
        "photo"
    }

    fn begin(&mut self) -> bool {
        let is_first = self.0.is_none();
        self.0.get_or_insert_default();
        is_first
    }

    async fn write(&mut self, chunk: &[u8]) -> Result<(), FormError> {
        self.0.as_mut().expect("a photo that has begun").extend_from_slice(chunk);
        Ok(())
    }
}

/// The name and the content of a part.
pub(super) type Part = (String, Vec<u8>);

async fn parts(boundary: &str, form: &[u8]) -> Result<Vec<Part>, FormError> {
    let body = BodyReader::new(body(vec![form]), limits(form.len() as u64));
    read_parts(Multipart::new(body, boundary)).await
}

pub(super) async fn read_parts(mut multipart: Multipart) -> Result<Vec<Part>, FormError> {
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

/// The parts, encoded as a browser does, are parsed to the same parts.
fn check_round_trip(mut parts: Vec<Part>) {
    // Browsers escape no backslash, so one before the closing quote would escape that. A header has no
    // control characters, and escapes must not make it longer than its limit.
    let is_excluded = |c: char| c == '\\' || (c.is_control() && !"\r\n".contains(c));
    parts.retain(|(name, _)| name.len() <= 4096 && !name.contains(is_excluded));
    let contains = |boundary: &str| {
        let contains = |bytes: &[u8]| memchr::memmem::find(bytes, boundary.as_bytes()).is_some();
        parts.iter().any(|(name, content)| contains(name.as_bytes()) || contains(content))
    };
    let boundary = (0..u32::MAX).map(|number| format!("B{number}")).find(|boundary| !contains(boundary));
    let boundary = boundary.expect("a boundary that the content does not have");
    let mut form = Vec::new();
    for (name, content) in &parts {
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        form.extend(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n").bytes(),
        );
        form.extend(content);
        form.extend(b"\r\n");
    }
    form.extend(format!("--{boundary}--\r\n").bytes());
    let parsed = RUNTIME.block_on(self::parts(&boundary, &form)).expect("a valid form");
    assert_eq!(parsed, parts, "encoding and parsing changes the parts");
}
