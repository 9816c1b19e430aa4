//! A streaming parser of `multipart/form-data` (RFC 7578).
//!
//! Its memory is bounded: it buffers one chunk, limits the headers of a part and the number of parts, and
//! returns the content of a part in chunks. The `multer` crate buffers all bytes that have arrived and does
//! not limit the headers of a part.

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use super::body_reader::BodyReader;
use super::error::FormError;

/// The longest header block of a part, and the longest preamble before the first part, in bytes.
const MAX_HEADER_BYTES: usize = 16 * 1024;
const MAX_PARTS: usize = 64;

pub(crate) struct Multipart {
    body: BodyReader,
    buffer: BytesMut,
    /// `\r\n--boundary`
    delimiter: Vec<u8>,
    state: ParserState,
    parts: usize,
}

enum ParserState {
    /// Before the first delimiter.
    Preamble,
    /// Directly after a delimiter.
    Delimiter,
    /// In the content of a part.
    Content,
    /// After the closing delimiter.
    End,
}

impl Multipart {
    pub(crate) fn new(body: BodyReader, boundary: &str) -> Self {
        // The first delimiter may have no line break before it; this one makes it match like all others.
        let buffer = BytesMut::from(&b"\r\n"[..]);
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Self { body, buffer, delimiter, state: ParserState::Preamble, parts: 0 }
    }

    /// Advances to the next part and returns its name; `None` at the end. Unread content of the current part
    /// is skipped.
    pub(crate) async fn next_part(&mut self) -> Result<Option<String>, FormError> {
        while let ParserState::Content = self.state {
            self.chunk().await?;
        }
        if let ParserState::Preamble = self.state {
            let start = self.find(&self.delimiter.clone()).await?;
            self.skip(start + self.delimiter.len());
            self.state = ParserState::Delimiter;
        }
        if let ParserState::End = self.state {
            return Ok(None);
        }
        self.read_at_least(2).await?;
        if self.buffer.starts_with(b"--") {
            self.state = ParserState::End;
            // The epilogue is ignored, but its bytes count towards the limits of the body.
            while self.body.next_chunk().await?.is_some() {}
            return Ok(None);
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(FormError::Malformed(format!("the form has more than {MAX_PARTS} parts")));
        }
        let name = self.part_headers().await?;
        self.state = ParserState::Content;
        Ok(Some(name))
    }

    /// The next chunk of the current part; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, FormError> {
        if !matches!(self.state, ParserState::Content) {
            return Ok(None);
        }
        loop {
            match memmem::find(&self.buffer, &self.delimiter) {
                Some(0) => {
                    self.skip(self.delimiter.len());
                    self.state = ParserState::Delimiter;
                    return Ok(None);
                }
                Some(length) => return Ok(Some(self.buffer.split_to(length).freeze())),
                None => {
                    // The tail may be the start of a delimiter; all bytes before it are content.
                    let content = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
                    if content > 0 {
                        return Ok(Some(self.buffer.split_to(content).freeze()));
                    }
                    self.read_more().await?;
                }
            }
        }
    }

    /// Parses the headers of the current part and returns its name.
    async fn part_headers(&mut self) -> Result<String, FormError> {
        // RFC 2046 allows spaces and tabs after a delimiter.
        let line_end = self.find(b"\r\n").await?;
        if !self.buffer[..line_end].iter().all(|b| matches!(b, b' ' | b'\t')) {
            return Err(FormError::Malformed("a boundary is followed by text on the same line".into()));
        }
        // The line break after the delimiter is kept, so that the search also matches an empty header block.
        self.skip(line_end);
        let end = self.find(b"\r\n\r\n").await? + 4;
        let block = self.buffer.split_to(end);
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let parsed = httparse::parse_headers(&block[2..], &mut headers);
        let Ok(httparse::Status::Complete((_, headers))) = parsed else {
            return Err(FormError::Malformed("the headers of a part are malformed".into()));
        };
        let disposition = headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-disposition"));
        disposition
            // A file name may be in any encoding; the names of parameters are ASCII.
            .and_then(|header| part_name(&String::from_utf8_lossy(header.value)))
            .ok_or_else(|| FormError::Malformed("a part has no name in its Content-Disposition".into()))
    }

    /// Reads until the buffer contains `pattern` and returns its offset, at most [`MAX_HEADER_BYTES`].
    async fn find(&mut self, pattern: &[u8]) -> Result<usize, FormError> {
        loop {
            match memmem::find(&self.buffer, pattern) {
                Some(offset) if offset <= MAX_HEADER_BYTES => return Ok(offset),
                // The pattern may have arrived in part, so its length counts in addition.
                None if self.buffer.len() < MAX_HEADER_BYTES + pattern.len() => self.read_more().await?,
                _ => {
                    return Err(FormError::Malformed(format!(
                        "the preamble or the headers of a part are longer than {MAX_HEADER_BYTES} bytes"
                    )));
                }
            }
        }
    }

    async fn read_at_least(&mut self, length: usize) -> Result<(), FormError> {
        while self.buffer.len() < length {
            self.read_more().await?;
        }
        Ok(())
    }

    async fn read_more(&mut self) -> Result<(), FormError> {
        let chunk = self.body.next_chunk().await?;
        let chunk =
            chunk.ok_or_else(|| FormError::Malformed("the form ends before its closing boundary".into()))?;
        self.buffer.extend_from_slice(&chunk);
        Ok(())
    }

    fn skip(&mut self, length: usize) {
        drop(self.buffer.split_to(length));
    }
}

/// The boundary parameter of a `multipart/form-data` Content-Type.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    parameter(content_type, "boundary").filter(|boundary| (1..=200).contains(&boundary.len()))
}

/// The `name` of a `Content-Disposition: form-data`, with the escapes of browsers decoded.
fn part_name(disposition: &str) -> Option<String> {
    let kind = disposition.split(';').next()?.trim();
    if !kind.eq_ignore_ascii_case("form-data") {
        return None;
    }
    let name = parameter(disposition, "name")?;
    Some(name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n"))
}

/// The value of `; wanted=value` or `; wanted="value"` in a header.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let mut rest = header.split_once(';')?.1;
    loop {
        let (key, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), next)
            }
        };
        if key.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = next;
    }
}

/// Splits a quoted string: the text up to the closing quote, and the rest after the next semicolon.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((text, quoted[at + 1..].trim_start().strip_prefix(';').unwrap_or(""))),
            // Browsers do not escape backslashes in file names, so a backslash escapes nothing but a quote.
            '\\' if quoted[at + 1..].starts_with('"') => {
                text.push('"');
                chars.next();
            }
            other => text.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;
