//! `multipart/form-data`, read as it arrives.
//!
//! Nothing is held but the piece at hand: a part's headers are capped, its content is handed on in
//! chunks, and the number of parts is counted. (The usual crate buffers whatever has arrived and leaves
//! a part's headers unbounded.)

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use super::error::FormError;
use super::source::Source;

/// The longest block of headers a part may have, and the longest preamble before the first part.
const MAX_HEADERS: usize = 16 * 1024;
const MAX_PARTS: usize = 64;

pub(crate) struct Multipart {
    source: Source,
    buffer: BytesMut,
    /// `\r\n--boundary`
    delimiter: Vec<u8>,
    place: Place,
    parts: usize,
}

enum Place {
    /// Before the first delimiter.
    Preamble,
    /// Right behind a delimiter.
    Delimiter,
    /// Inside a part.
    Content,
    End,
}

impl Multipart {
    pub(crate) fn new(source: Source, boundary: &str) -> Self {
        // The first delimiter has no line before it; with one lent to it, it looks like all others.
        let buffer = BytesMut::from(&b"\r\n"[..]);
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Self { source, buffer, delimiter, place: Place::Preamble, parts: 0 }
    }

    /// Goes to the next part and returns its name; whatever was left of the one before is skipped.
    pub(crate) async fn next_part(&mut self) -> Result<Option<String>, FormError> {
        while let Place::Content = self.place {
            self.chunk().await?;
        }
        if let Place::Preamble = self.place {
            let found = self.find(&self.delimiter.clone(), MAX_HEADERS).await?;
            self.skip(found + self.delimiter.len());
            self.place = Place::Delimiter;
        }
        if let Place::End = self.place {
            return Ok(None);
        }
        self.fill(2).await?;
        if self.buffer.starts_with(b"--") {
            self.place = Place::End;
            // What follows is nobody's, but it counts towards the limit like everything else.
            while self.source.next().await?.is_some() {}
            return Ok(None);
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(FormError::Malformed(format!("the form has more than {MAX_PARTS} parts")));
        }
        let name = self.headers().await?;
        self.place = Place::Content;
        Ok(Some(name))
    }

    /// The next piece of the current part; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, FormError> {
        if !matches!(self.place, Place::Content) {
            return Ok(None);
        }
        loop {
            match memmem::find(&self.buffer, &self.delimiter) {
                Some(0) => {
                    self.skip(self.delimiter.len());
                    self.place = Place::Delimiter;
                    return Ok(None);
                }
                Some(length) => return Ok(Some(self.buffer.split_to(length).freeze())),
                None => {
                    // The tail may be the beginning of a delimiter; everything before it is content.
                    let certain = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
                    if certain > 0 {
                        return Ok(Some(self.buffer.split_to(certain).freeze()));
                    }
                    self.more().await?;
                }
            }
        }
    }

    /// Reads the current part's headers and returns its name.
    async fn headers(&mut self) -> Result<String, FormError> {
        // The rest of the delimiter's line may be padded with blanks.
        let line_end = self.find(b"\r\n", MAX_HEADERS).await?;
        if !self.buffer[..line_end].iter().all(|b| matches!(b, b' ' | b'\t')) {
            return Err(FormError::Malformed("a boundary is followed by other text".into()));
        }
        // The line's own end counts, so that a part without headers is found as well.
        self.skip(line_end);
        let end = self.find(b"\r\n\r\n", MAX_HEADERS).await? + 4;
        let block = self.buffer.split_to(end);
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let parsed = httparse::parse_headers(&block[2..], &mut headers);
        let Ok(httparse::Status::Complete((_, headers))) = parsed else {
            return Err(FormError::Malformed("a part's headers are not readable".into()));
        };
        let disposition = headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-disposition"));
        disposition
            // A file's name may be in any encoding; ours are plain.
            .and_then(|header| name_of(&String::from_utf8_lossy(header.value)))
            .ok_or_else(|| FormError::Malformed("a part has no name".into()))
    }

    /// Where `pattern` begins, reading on until it is there, within `max` bytes.
    async fn find(&mut self, pattern: &[u8], max: usize) -> Result<usize, FormError> {
        loop {
            match memmem::find(&self.buffer, pattern) {
                Some(found) if found <= max => return Ok(found),
                None if self.buffer.len() <= max => self.more().await?,
                _ => {
                    return Err(FormError::Malformed(format!(
                        "a part's headers are longer than {max} bytes"
                    )));
                }
            }
        }
    }

    async fn fill(&mut self, length: usize) -> Result<(), FormError> {
        while self.buffer.len() < length {
            self.more().await?;
        }
        Ok(())
    }

    async fn more(&mut self) -> Result<(), FormError> {
        let piece = self.source.next().await?;
        let piece =
            piece.ok_or_else(|| FormError::Malformed("the form ends before its last boundary".into()))?;
        self.buffer.extend_from_slice(&piece);
        Ok(())
    }

    fn skip(&mut self, length: usize) {
        drop(self.buffer.split_to(length));
    }
}

/// The boundary that a `Content-Type` of `multipart/form-data` names.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    parameter(content_type, "boundary").filter(|boundary| (1..=200).contains(&boundary.len()))
}

/// The `name` of a `Content-Disposition: form-data`, with the escapes browsers use undone.
fn name_of(disposition: &str) -> Option<String> {
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

/// Reads to the closing quote; returns the text and what follows the next semicolon.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((text, quoted[at + 1..].trim_start().strip_prefix(';').unwrap_or(""))),
            // Browsers do not escape backslashes in file names, so only an escaped quote is one.
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
