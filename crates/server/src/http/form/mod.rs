//! Form bodies: `application/x-www-form-urlencoded` and `multipart/form-data`, which every operation accepts.

mod body_reader;
mod error;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzzing;
pub(super) mod memory;
mod multipart;
pub(super) mod parameters;

use axum::body::Body;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};

pub(crate) use body_reader::{BodyLimits, BodyReader};
pub(crate) use error::FormError;
use memory::FormMemory;
use multipart::Multipart;

/// The longest text parameter that is read, in bytes; the validation of each parameter allows less.
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// The text parameters of a form, by name. Parameters that the operation does not know are not stored.
pub(crate) struct FormData {
    fields: Vec<(&'static str, Vec<u8>)>,
    memory: FormMemory,
}

impl FormData {
    /// Reads the `known` parameters; the content of the file parameter is streamed to `file`.
    pub(crate) async fn read(
        headers: &HeaderMap,
        body: Body,
        limits: BodyLimits,
        known: &[&'static str],
        file: &mut impl FileSink,
        memory: FormMemory,
    ) -> Result<Self, FormError> {
        let mut body = BodyReader::new(body, limits);
        let mut form = Self { fields: Vec::new(), memory };
        match Encoding::of(headers)? {
            Encoding::UrlEncoded => form.read_urlencoded(body, known, file).await?,
            Encoding::Multipart(boundary) => {
                form.read_multipart(Multipart::new(body, &boundary), known, file).await?;
            }
            // Any other Content-Type is accepted for an empty body, which is a form without parameters.
            Encoding::Other if body.next_chunk().await?.is_some() => {
                return Err(FormError::UnsupportedMediaType);
            }
            Encoding::Other => {}
        }
        Ok(form)
    }

    /// The memory that its values have reserved.
    pub(crate) fn into_memory(self) -> FormMemory {
        self.memory
    }

    /// Takes the value of a parameter out of the form; `None` when it was not sent.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, FormError> {
        let Some(index) = self.fields.iter().position(|(field, _)| *field == name) else { return Ok(None) };
        let (_, value) = self.fields.swap_remove(index);
        if value.len() > MAX_TEXT_BYTES {
            return Err(FormError::InvalidParameter(name, format!("{name} is longer than 64 KiB").into()));
        }
        match String::from_utf8(value) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(FormError::InvalidParameter(name, format!("{name} is not valid UTF-8").into())),
        }
    }

    async fn read_urlencoded(
        &mut self,
        mut reader: BodyReader,
        known: &[&'static str],
        file: &mut impl FileSink,
    ) -> Result<(), FormError> {
        // Counted, then allocated at once: growing buffers and rejected forms leave memory behind.
        let mut counted = reader.announced_bytes();
        self.reserve(counted)?;
        let mut body = Vec::with_capacity(counted);
        while let Some(chunk) = reader.next_chunk().await? {
            let length = body.len() + chunk.len();
            self.reserve(length.saturating_sub(counted))?;
            counted = counted.max(length);
            body.extend_from_slice(&chunk);
        }
        for pair in body.split(|b| *b == b'&') {
            let (name, value) = match memchr::memchr(b'=', pair) {
                Some(at) => (&pair[..at], &pair[at + 1..]),
                None => (pair, &[][..]),
            };
            let (name, value) = (percent_decode(name), percent_decode(value));
            if name == file.name().as_bytes() {
                if file.begin() {
                    file.write(&value).await?;
                }
            } else if let Some(name) = self.unset_parameter(&name, known) {
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
            } else if let Some(name) = self.unset_parameter(name.as_bytes(), known) {
                let mut value = Vec::new();
                while let Some(chunk) = parts.chunk().await? {
                    // One byte more than the limit is stored, so that `text` detects the excess.
                    let remaining = (MAX_TEXT_BYTES + 1).saturating_sub(value.len());
                    let kept = &chunk[..chunk.len().min(remaining)];
                    self.reserve(kept.len())?;
                    value.extend_from_slice(kept);
                }
                self.fields.push((name, value));
            }
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), FormError> {
        if self.memory.add(bytes) { Ok(()) } else { Err(FormError::Busy) }
    }

    /// The known parameter of this name, unless it is already set: the first value of a repeated one counts.
    fn unset_parameter(&self, name: &[u8], known: &[&'static str]) -> Option<&'static str> {
        let name = known.iter().copied().find(|known| known.as_bytes() == name)?;
        self.fields.iter().all(|(field, _)| *field != name).then_some(name)
    }
}

/// The destination of a form's file parameter.
pub(crate) trait FileSink {
    /// The name of the file parameter.
    fn name(&self) -> &'static str;
    /// Called at the start of each file; `false` skips its content, because an earlier one counts.
    fn begin(&mut self) -> bool;
    async fn write(&mut self, chunk: &[u8]) -> Result<(), FormError>;
}

/// The sink of forms without a file parameter.
pub(crate) struct NoFile;

impl FileSink for NoFile {
    fn name(&self) -> &'static str {
        // Matches no parameter of the API; one that a client names so is skipped.
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
    UrlEncoded,
    /// With its boundary.
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
            Ok(Self::UrlEncoded)
        } else if media_type.eq_ignore_ascii_case("multipart/form-data") {
            let missing = || FormError::Malformed("the Content-Type has no boundary parameter".into());
            Ok(Self::Multipart(multipart::boundary(content_type).ok_or_else(missing)?))
        } else {
            Ok(Self::Other)
        }
    }
}

/// Decodes percent-encoding, and `+` as a space. The result is bytes, since a file need not be text.
fn percent_decode(raw: &[u8]) -> Vec<u8> {
    let spaces: Vec<u8> = raw.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_encoding::percent_decode(&spaces).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn percent_decoding_keeps_invalid_escapes_and_non_utf8_bytes() {
        for (raw, decoded) in [
            (&b"plain"[..], &b"plain"[..]),
            (b"a+b%20c", b"a b c"),
            (b"%FF%00%e4", b"\xff\x00\xe4"),
            (b"100%", b"100%"),
            (b"%zz%2", b"%zz%2"),
        ] {
            assert_eq!(super::percent_decode(raw), decoded);
        }
    }
}
