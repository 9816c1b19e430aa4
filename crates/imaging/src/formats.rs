//! The codec table: how each input format is sniffed, probed, decoded and stripped.

mod avif;
mod gif;
#[cfg(feature = "heic")]
mod heic;
mod heif;
mod jpeg;
mod png;
mod webp;

#[cfg(any(test, fuzzing))]
pub use self::heif::fuzzing::check_isobmff;
pub(crate) use self::jpeg::strip::add_profile as add_jpeg_profile;
use crate::decoded_image::{DecodedImage, Header};
use crate::edit::Edit;
use crate::error::Error;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::{RemovedMetadata, exif};

/// Of the start of a file, its length, and an EXIF block.
type AddExif = fn(&[u8], u64, &[u8]) -> Option<Vec<Edit>>;

struct Codec {
    /// Whether the file starts with the signature of this format.
    sniff: fn(&[u8]) -> bool,
    header: fn(&[u8], &Limits) -> Result<Header, Error>,
    /// The last argument is the side below which the image must not be scaled down while decoding.
    decode: fn(&[u8], &Header, u32) -> Result<DecodedImage, Error>,
    strip: fn(&[u8], &mut RemovedMetadata) -> Result<Vec<u8>, Error>,
    /// The edits that add an EXIF block to a stripped file, in order; `None` if the format stores its
    /// orientation elsewhere, where stripping keeps it.
    add_exif: Option<AddExif>,
}

fn codec(format: InputFormat) -> Codec {
    match format {
        InputFormat::Jpeg => Codec {
            sniff: |file| file.starts_with(b"\xFF\xD8\xFF"),
            header: jpeg::header,
            decode: jpeg::decode,
            strip: jpeg::strip::strip,
            add_exif: Some(|head, _, exif| jpeg::strip::add_exif(head, exif)),
        },
        InputFormat::Png => Codec {
            sniff: |file| file.starts_with(b"\x89PNG\r\n\x1A\n"),
            header: png::header,
            decode: |file, header, _| png::decode(file, header),
            strip: png::strip::strip,
            add_exif: Some(|head, _, exif| png::strip::add_exif(head, exif)),
        },
        InputFormat::WebP => Codec {
            sniff: |file| matches!(file, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..]),
            header: webp::header,
            decode: |file, header, _| webp::decode(file, header),
            strip: webp::strip::strip,
            add_exif: Some(webp::add_exif),
        },
        InputFormat::Gif => Codec {
            sniff: |file| file.starts_with(b"GIF87a") || file.starts_with(b"GIF89a"),
            header: gif::header,
            decode: |file, header, _| gif::decode(file, header),
            strip: gif::strip::strip,
            add_exif: None,
        },
        InputFormat::Avif => Codec {
            sniff: |file| heif::coding(file) == Some(heif::Coding::Av1),
            header: heif::decode::header::<avif::Av1>,
            decode: |file, header, _| heif::decode::decode::<avif::Av1>(file, header),
            strip: heif::strip::strip,
            add_exif: None,
        },
        InputFormat::Heic => Codec {
            sniff: |file| heif::coding(file) == Some(heif::Coding::Hevc),
            #[cfg(feature = "heic")]
            header: heif::decode::header::<heic::Hevc>,
            #[cfg(feature = "heic")]
            decode: |file, header, _| heif::decode::decode::<heic::Hevc>(file, header),
            #[cfg(not(feature = "heic"))]
            header: |_, _| Err(Error::Unsupported(InputFormat::Heic.label())),
            #[cfg(not(feature = "heic"))]
            decode: |_, _, _| Err(Error::Unsupported(InputFormat::Heic.label())),
            strip: heif::strip::strip,
            add_exif: None,
        },
    }
}

/// The largest memory of one decode, independent of the configured limits: more would exceed the memory limit
/// of the whole service. Only large progressive 4:4:4 JPEGs, lossless WebPs and GIFs reach it.
const MAX_DECODE_MEMORY: u64 = 400 << 20;

pub(crate) fn header(file: &[u8], limits: &Limits) -> Result<Header, Error> {
    let header = (codec(sniff(file)?).header)(file, limits)?;
    let Header { width, height, decode_memory, .. } = header;
    if decode_memory > MAX_DECODE_MEMORY {
        let megapixels = u64::from(width) * u64::from(height) / 1_000_000 * MAX_DECODE_MEMORY / decode_memory;
        return Err(Error::TooLarge { width, height, max_pixels: megapixels * 1_000_000 });
    }
    Ok(header)
}

/// The format of a file by its signature, also if this build does not decode it.
pub fn sniff(file: &[u8]) -> Result<InputFormat, Error> {
    let format = InputFormat::ALL.into_iter().find(|format| (codec(*format).sniff)(file));
    format.ok_or(Error::Unsupported("this kind of file"))
}

/// Decodes a file whose header was checked against the limits. A decoder that finds another size than the
/// header reader is an error, because the limits were then checked on the wrong size.
///
/// A JPEG may be decoded at a smaller scale than the header says (shrink-on-load), but not below `side`
/// pixels in width and height.
pub(crate) fn decode(file: &[u8], header: &Header, side: u32) -> Result<DecodedImage, Error> {
    (codec(header.format).decode)(file, header, side)
}

/// Removes metadata and keeps the coded pixels byte for byte. Returns the new file and the kinds of metadata
/// removed.
///
/// No pixel is decoded. Each format has an allow list of what it copies, so unknown metadata is removed too.
/// The EXIF orientation is also removed: read it before. A truncated file is properly terminated.
pub fn strip(file: &[u8], format: InputFormat) -> Result<(Vec<u8>, RemovedMetadata), Error> {
    let mut removed = RemovedMetadata::default();
    let stripped = (codec(format).strip)(file, &mut removed)?;
    Ok((stripped, removed))
}

/// The edits that add the orientation to an original that was stored without it, so that viewers show it
/// upright. Empty if it needs none, or its format cannot have one. They are in order, and each is within the
/// first 64 bytes of the file, which `head` has, or at its end.
pub fn orientation_edits(format: InputFormat, head: &[u8], length: u64, orientation: u8) -> Vec<Edit> {
    let add_exif = codec(format).add_exif.filter(|_| (2..=8).contains(&orientation));
    let edits = add_exif.and_then(|add| add(head, length, &exif::orientation_block(orientation)));
    edits.unwrap_or_default()
}

#[cfg(all(test, not(feature = "heic")))]
mod tests {
    use super::*;

    const HEIC: &[u8] = include_bytes!("../tests/corpus/heic/orientation-6.heic");

    #[test]
    fn a_build_without_heic_names_it_and_the_formats_that_are_accepted() {
        let refused = header(HEIC, &Limits { max_pixels: 64_000_000 }).unwrap_err().to_string();
        assert_eq!(refused, "HEIC cannot be read: send the photo as JPEG, PNG, WebP, GIF or AVIF");
    }

    /// Of an instance that had the feature.
    #[test]
    fn a_build_without_heic_returns_originals_in_heic() {
        assert_eq!(sniff(HEIC), Ok(InputFormat::Heic));
        assert_eq!(orientation_edits(InputFormat::Heic, HEIC, HEIC.len() as u64, 6), []);
    }
}
