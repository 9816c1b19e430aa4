//! Input formats and their names. Messages, pages and the API document derive their lists from here; the
//! decoders are in the codec table of `formats.rs`.

/// The format of an upload, recognized by its signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InputFormat {
    Jpeg,
    Png,
    WebP,
    Gif,
    Avif,
    Heic,
}

struct Names {
    /// The name in database rows and logs.
    name: &'static str,
    media_type: &'static str,
    /// The name in text for users.
    label: &'static str,
    /// File name extensions in the `accept` attribute, for operating systems that do not map them to
    /// `image/*`.
    extensions: &'static [&'static str],
}

impl InputFormat {
    /// In the order of every list. Stored originals may have any of them.
    pub const ALL: [Self; 6] = [Self::Jpeg, Self::Png, Self::WebP, Self::Gif, Self::Avif, Self::Heic];

    /// The formats that this build decodes: uploads may have them.
    pub const ACCEPTED: &'static [Self] = &[
        Self::Jpeg,
        Self::Png,
        Self::WebP,
        Self::Gif,
        Self::Avif,
        #[cfg(feature = "heic")]
        Self::Heic,
    ];

    const fn names(self) -> Names {
        let (name, media_type, label, extensions): (_, _, _, &[_]) = match self {
            Self::Jpeg => ("jpeg", "image/jpeg", "JPEG", &[]),
            Self::Png => ("png", "image/png", "PNG", &[]),
            Self::WebP => ("webp", "image/webp", "WebP", &[]),
            Self::Gif => ("gif", "image/gif", "GIF", &[]),
            Self::Avif => ("avif", "image/avif", "AVIF", &[".avif"]),
            Self::Heic => ("heic", "image/heic", "HEIC", &[".heic", ".heif"]),
        };
        Names { name, media_type, label, extensions }
    }

    /// The name in database rows and logs.
    pub const fn name(self) -> &'static str {
        self.names().name
    }

    /// The value of the `Content-Type` header.
    pub const fn media_type(self) -> &'static str {
        self.names().media_type
    }

    /// The usual extension of a file in this format.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            other => other.name(),
        }
    }

    /// The name in text for users.
    pub(crate) const fn label(self) -> &'static str {
        self.names().label
    }

    /// The accepted formats as a list in a sentence: `list("or")` is "JPEG, PNG or GIF".
    pub fn list(conjunction: &str) -> String {
        let labels: Vec<&str> = Self::ACCEPTED.iter().map(|format| format.label()).collect();
        match labels.split_last() {
            Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
            None => String::new(),
        }
    }

    /// The `accept` attribute of a file input.
    pub fn accept() -> String {
        let extensions = Self::ACCEPTED.iter().flat_map(|format| format.names().extensions);
        extensions.fold("image/*".to_owned(), |accept, extension| accept + "," + extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_every_accepted_format_in_a_sentence_and_for_a_file_input() {
        let (list, accept) = match cfg!(feature = "heic") {
            true => ("JPEG, PNG, WebP, GIF, AVIF or HEIC", "image/*,.avif,.heic,.heif"),
            false => ("JPEG, PNG, WebP, GIF or AVIF", "image/*,.avif"),
        };
        assert_eq!((InputFormat::list("or").as_str(), InputFormat::accept().as_str()), (list, accept));
    }
}
