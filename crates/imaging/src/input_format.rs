//! The formats an upload may have: their names, from which messages, pages and the API document derive the
//! list of them. Their decoders are in the table of `formats.rs`.

/// The format of an upload, recognized by its first bytes.
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
    /// In records and logs.
    name: &'static str,
    /// In text for people.
    label: &'static str,
    /// File name extensions that `accept` names because operating systems may not know them as `image/*`.
    extensions: &'static [&'static str],
}

impl InputFormat {
    /// In the order of every list.
    pub const ALL: [Self; 6] = [Self::Jpeg, Self::Png, Self::WebP, Self::Gif, Self::Avif, Self::Heic];

    const fn names(self) -> Names {
        let (name, label, extensions): (_, _, &[_]) = match self {
            Self::Jpeg => ("jpeg", "JPEG", &[]),
            Self::Png => ("png", "PNG", &[]),
            Self::WebP => ("webp", "WebP", &[]),
            Self::Gif => ("gif", "GIF", &[]),
            Self::Avif => ("avif", "AVIF", &[".avif"]),
            Self::Heic => ("heic", "HEIC", &[".heic", ".heif"]),
        };
        Names { name, label, extensions }
    }

    /// As in records and logs.
    pub const fn name(self) -> &'static str {
        self.names().name
    }

    /// All formats as a list in a sentence: `list("or")` is "JPEG, PNG or GIF".
    pub fn list(conjunction: &str) -> String {
        let [first, middle @ .., last] = Self::ALL.map(|format| format.names().label);
        let middle: String = middle.iter().flat_map(|label| [", ", label]).collect();
        format!("{first}{middle} {conjunction} {last}")
    }

    /// The `accept` attribute of a file input.
    pub fn accept() -> String {
        let extensions = Self::ALL.iter().flat_map(|format| format.names().extensions);
        extensions.fold("image/*".to_owned(), |accept, extension| accept + "," + extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_every_format_in_a_sentence_and_for_a_file_input() {
        assert_eq!(InputFormat::list("or"), "JPEG, PNG, WebP, GIF, AVIF or HEIC");
        assert_eq!(InputFormat::accept(), "image/*,.avif,.heic,.heif");
    }
}
