//! Form parameters, in either encoding, on any operation.

mod error;
mod multipart;
mod source;

use axum::body::Body;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};

pub(crate) use error::FormError;
use multipart::Multipart;
pub(crate) use source::BodyLimits;
use source::Source;

/// The longest text parameter we look at; longer than any rule allows.
const MAX_TEXT: usize = 64 * 1024;

/// The parameters an operation knows; all others are ignored.
pub(crate) struct Form {
    fields: Vec<(&'static str, Vec<u8>)>,
}

impl Form {
    /// Reads the `known` parameters; a file among them goes to `file` as it arrives.
    pub(crate) async fn read(
        headers: &HeaderMap,
        body: Body,
        limits: BodyLimits,
        known: &[&'static str],
        file: &mut impl FileSink,
    ) -> Result<Self, FormError> {
        let mut source = Source::new(body, limits);
        let mut form = Self { fields: Vec::new() };
        match Encoding::of(headers)? {
            Encoding::Url => form.read_urlencoded(&source.collect().await?, known, file).await?,
            Encoding::Multipart(boundary) => {
                form.read_multipart(Multipart::new(source, &boundary), known, file).await?;
            }
            // Without a body there is nothing whose type could be wrong.
            Encoding::Other if source.next().await?.is_some() => return Err(FormError::UnsupportedMediaType),
            Encoding::Other => {}
        }
        Ok(form)
    }

    /// The first value given for a parameter.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, FormError> {
        let Some(at) = self.fields.iter().position(|(field, _)| *field == name) else { return Ok(None) };
        let (_, value) = self.fields.swap_remove(at);
        if value.len() > MAX_TEXT {
            return Err(FormError::InvalidParameter(
                name,
                format!("{name} is too long: it has more than 64 KiB"),
            ));
        }
        match String::from_utf8(value) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(FormError::InvalidParameter(name, format!("{name} is not UTF-8 text"))),
        }
    }

    pub(crate) fn required(&mut self, name: &'static str) -> Result<String, FormError> {
        self.text(name)?
            .ok_or_else(|| FormError::InvalidParameter(name, format!("the parameter {name} is missing")))
    }

    async fn read_urlencoded(
        &mut self,
        body: &[u8],
        known: &[&'static str],
        file: &mut impl FileSink,
    ) -> Result<(), FormError> {
        for pair in body.split(|b| *b == b'&') {
            let (name, value) = match memchr::memchr(b'=', pair) {
                Some(at) => (&pair[..at], &pair[at + 1..]),
                None => (pair, &[][..]),
            };
            let (name, value) = (decoded(name), decoded(value));
            if name == file.name().as_bytes() {
                if file.begin() {
                    file.write(&value).await?;
                }
            } else if let Some(name) = self.wanted(&name, known) {
                self.fields.push((name, value));
            }
        }
        Ok(())
    }

    async fn read_multipart(
        &mut self,
        mut parts: Multipart,
        known: &[&'static str],
        file: &mut impl FileSink,
    ) -> Result<(), FormError> {
        while let Some(name) = parts.next_part().await? {
            if name == file.name() {
                if file.begin() {
                    while let Some(chunk) = parts.chunk().await? {
                        file.write(&chunk).await?;
                    }
                }
            } else if let Some(name) = self.wanted(name.as_bytes(), known) {
                let mut value = Vec::new();
                while let Some(chunk) = parts.chunk().await? {
                    // One byte more than allowed is enough to know.
                    let room = (MAX_TEXT + 1).saturating_sub(value.len());
                    value.extend_from_slice(&chunk[..chunk.len().min(room)]);
                }
                self.fields.push((name, value));
            }
        }
        Ok(())
    }

    /// A known parameter that has not been given yet: of a repeated one, the first counts.
    fn wanted(&self, name: &[u8], known: &[&'static str]) -> Option<&'static str> {
        let name = known.iter().copied().find(|known| known.as_bytes() == name)?;
        self.fields.iter().all(|(field, _)| *field != name).then_some(name)
    }
}

/// Where the file of a form goes.
pub(crate) trait FileSink {
    /// The parameter that is a file.
    fn name(&self) -> &'static str;
    /// The file begins; `false` if it has been here before.
    fn begin(&mut self) -> bool;
    async fn write(&mut self, chunk: &[u8]) -> Result<(), FormError>;
}

/// For forms without one.
pub(crate) struct NoFile;

impl FileSink for NoFile {
    fn name(&self) -> &'static str {
        // Whoever sends a parameter of this name does not get it read.
        "\0"
    }

    fn begin(&mut self) -> bool {
        false
    }

    async fn write(&mut self, _: &[u8]) -> Result<(), FormError> {
        Ok(())
    }
}

pub(crate) fn is_multipart(headers: &HeaderMap) -> bool {
    matches!(Encoding::of(headers), Ok(Encoding::Multipart(_)))
}

enum Encoding {
    Url,
    Multipart(String),
    Other,
}

impl Encoding {
    fn of(headers: &HeaderMap) -> Result<Self, FormError> {
        let content_type =
            headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let empty = headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0");
        let media_type = content_type.split(';').next().unwrap_or_default().trim();
        if empty {
            Ok(Self::Other)
        } else if media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            Ok(Self::Url)
        } else if media_type.eq_ignore_ascii_case("multipart/form-data") {
            let missing = || FormError::Malformed("the Content-Type names no boundary".into());
            Ok(Self::Multipart(multipart::boundary(content_type).ok_or_else(missing)?))
        } else {
            Ok(Self::Other)
        }
    }
}

/// Undoes percent-encoding and `+` for a blank, byte by byte: a file need not be text.
fn decoded(raw: &[u8]) -> Vec<u8> {
    let blanks: Vec<u8> = raw.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_encoding::percent_decode(&blanks).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn percent_decoding_is_lenient_and_byte_exact() {
        for (raw, decoded) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"a+b%20c", b"a b c"),
            (b"%FF%00%e4", b"\xff\x00\xe4"),
            (b"100%", b"100%"),
            (b"%zz%2", b"%zz%2"),
        ] {
            assert_eq!(super::decoded(raw), decoded);
        }
    }
}
