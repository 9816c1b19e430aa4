//! Ingest: turns an upload into a stripped original, its masters and a placeholder.

use std::fmt;
use std::panic::catch_unwind;

use model::{Focus, Size, fit_dimensions, fit_master_sides, initial_fit_master_sides, master_sides};

use crate::colour::ColourTransform;
use crate::decoded_image::{DecodedImage, Header, Raster};
use crate::encode::{self, OutputFormat};
use crate::error::{Error, panic_message};
use crate::formats;
use crate::input_format::InputFormat;
use crate::limits::Limits;
use crate::metadata::RemovedMetadata;
use crate::orient::Orientation;
use crate::pixels::Channels;
use crate::probe;
use crate::region::Output;
use crate::upright_image::{ResizeSource, UprightImage, framed};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingested {
    /// Size of the whole image after applying its orientation, not of the square.
    pub width: u32,
    pub height: u32,
    /// A thumbhash of the square.
    pub placeholder: Vec<u8>,
    /// A difference hash of the square: similar photos differ in few bits.
    pub perceptual_hash: u64,
    pub masters: Masters,
    pub original: Original,
    /// The kinds of metadata found in the upload; neither the masters nor the original contain them.
    pub removed: RemovedMetadata,
}

/// The upload without metadata, stored for future sizes and formats. Its pixels are not rotated.
#[derive(Clone, PartialEq, Eq)]
pub struct Original {
    pub format: InputFormat,
    /// The EXIF orientation of the upload, 1 to 8.
    pub orientation: u8,
    pub bytes: Vec<u8>,
}

/// The masters of a photo, largest first, with the sides of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masters {
    /// The square around the focus.
    pub squares: Vec<Master>,
    /// The whole photo, by its longest side; none of a square photo.
    pub fits: Vec<Master>,
}

/// Which masters of the whole photo to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FitMasters {
    All,
    /// Without those that are made when they are first requested.
    Initial,
}

/// A stored image, encoded as a file that [`render`](crate::render) reads.
#[derive(Clone, PartialEq, Eq)]
pub struct Master {
    /// The longest side.
    pub side: u32,
    pub bytes: Vec<u8>,
}

impl Original {
    /// A master in place of an upload that is not kept.
    pub fn of_master(master: Master) -> Self {
        let is_webp = master.bytes.starts_with(b"RIFF");
        let format = if is_webp { InputFormat::WebP } else { InputFormat::Jpeg };
        Self { format, orientation: Orientation::NoTransforms.to_exif(), bytes: master.bytes }
    }
}

/// Debug output shows the length instead of the file's bytes.
impl fmt::Debug for Master {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Master").field("side", &self.side).field("bytes", &self.bytes.len()).finish()
    }
}

impl fmt::Debug for Original {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { format, orientation, bytes } = self;
        let mut original = f.debug_struct("Original");
        original
            .field("format", format)
            .field("orientation", orientation)
            .field("bytes", &bytes.len())
            .finish()
    }
}

/// Strips and decodes the upload and encodes its masters. Needs at most the memory [`probe`](crate::probe)
/// returns.
pub fn ingest(file: &[u8], focus: Focus, fits: FitMasters, limits: &Limits) -> Result<Ingested, Error> {
    catch_codec_panic(|| ingest_inner(file, focus, fits, limits))
}

/// Renders one size directly from an upload, without encoding masters. A large JPEG is decoded at reduced
/// scale.
pub fn thumbnail(file: &[u8], limits: &Limits, size: Size, format: OutputFormat) -> Result<Vec<u8>, Error> {
    catch_codec_panic(|| {
        let header = formats::header(file, limits)?;
        let square = Output::Square { side: size.side(), focus: Focus::CENTRE };
        encode::output(upright_image(file, &header, size.side(), square)?, format)
    })
}

/// Renders a square PNG. A maskable one has a margin, so that no mask of a system cuts the image.
pub fn icon(file: &[u8], limits: &Limits, size: Size, is_maskable: bool) -> Result<Vec<u8>, Error> {
    catch_codec_panic(|| {
        let header = formats::header(file, limits)?;
        // The diagonal of two thirds is shorter than the diameter of a round mask.
        let side = if is_maskable { (size.side() * 2 / 3).max(1) } else { size.side() };
        let square = Output::Square { side, focus: Focus::CENTRE };
        let pixels = upright_image(file, &header, side, square)?.into_srgb_pixels()?;
        encode::png(&if is_maskable { framed(pixels, size.side()) } else { pixels })
    })
}

/// Third-party codecs may panic on malformed input. The upload is then rejected instead of the process
/// aborted.
pub(crate) fn catch_codec_panic<T>(
    work: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe,
) -> Result<T, Error> {
    catch_unwind(work).unwrap_or_else(|panic| Err(Error::damaged(panic_message(&*panic))))
}

fn ingest_inner(file: &[u8], focus: Focus, fits: FitMasters, limits: &Limits) -> Result<Ingested, Error> {
    let header = formats::header(file, limits)?;
    let (width, height) = probe::oriented_size(&header);
    // The stripped copy is decoded: no decoder sees metadata, and the stored original is known to be
    // decodable.
    let (bytes, removed) = formats::strip(file, header.format)?;
    let (masters, smallest) = encode_masters(&bytes, &header, focus, fits)?;
    let (placeholder, perceptual_hash) = encode_placeholder(smallest)?;
    let original = Original { format: header.format, orientation: header.orientation.to_exif(), bytes };
    Ok(Ingested { width, height, placeholder, perceptual_hash, masters, original, removed })
}

/// Encodes all masters of an image. Also returns the image of the smallest square.
pub(crate) fn encode_masters(
    file: &[u8],
    header: &Header,
    focus: Focus,
    fits: FitMasters,
) -> Result<(Masters, UprightImage), Error> {
    let (width, height) = probe::oriented_size(header);
    let short_side = width.min(height);
    let side = short_side.min(Size::MAX.into());
    let fit_size = |side| fit_dimensions(width, height, side);
    let initial: Vec<(u32, u32)> = initial_fit_master_sides(width, height).map(fit_size).collect();
    let largest = fit_master_sides(width, height).next().map(fit_size);
    let largest = largest.filter(|size| fits == FitMasters::All && !initial.contains(size));
    let mut outputs = vec![Output::Square { side, focus }];
    // Both from the decoded image, so that a master has the same bytes whenever it is made.
    outputs.extend(largest.iter().chain(initial.first()).copied().map(Output::Fit));
    // The square needs the most pixels, so it determines the scale of the decode.
    let mut images = upright(file, header, side, &outputs)?.into_iter();
    let square = images.next().ok_or_else(|| Error::internal("no square"))?;
    let mut fits = Vec::new();
    if let Some((image, size)) = largest.and_then(|size| Some((images.next()?, size))) {
        fits = encode_pyramid(image, [size].into_iter())?.0;
    }
    if let Some(image) = images.next() {
        fits.extend(encode_pyramid(image, initial.into_iter())?.0);
    }
    let (squares, smallest) = encode_pyramid(square, master_sides(short_side).map(|side| (side, side)))?;
    Ok((Masters { squares, fits }, smallest))
}

/// Encodes an image at each size, largest first, and returns it at the smallest.
fn encode_pyramid(
    mut image: UprightImage,
    sizes: impl Iterator<Item = (u32, u32)>,
) -> Result<(Vec<Master>, UprightImage), Error> {
    let mut masters = Vec::new();
    for size in sizes {
        image = image.resized(size)?;
        masters.push(encode_master(&image)?);
    }
    Ok((masters, image))
}

/// Decodes an image, but not below `side` pixels of its short side, and resizes it to each output. Colour
/// transform and orientation run after the resize, because their cost is per pixel.
pub(crate) fn upright(
    file: &[u8],
    header: &Header,
    side: u32,
    outputs: &[Output],
) -> Result<Vec<UprightImage>, Error> {
    let DecodedImage { raster, colour_space } = formats::decode(file, header, side)?;
    let orientation = header.orientation;
    let images: Vec<UprightImage> = match raster {
        Raster::Planes(planes) => {
            let channels = if planes.is_grey() { Channels::Grey } else { Channels::Rgb };
            let ColourTransform { gamut, conversion } = ColourTransform::new(&colour_space, channels);
            let images = outputs.iter().map(|output| {
                let view = output.view((planes.width, planes.height), orientation);
                match &conversion {
                    Some(conversion) => {
                        let pixels = planes.resized_pixels(view.region, view.size)?;
                        Ok(UprightImage::from_pixels(conversion.apply(pixels), gamut))
                    }
                    None => UprightImage::from_planes(&planes, view, gamut),
                }
            });
            images.collect::<Result<_, Error>>()?
        }
        Raster::Pixels(pixels) => {
            let ColourTransform { gamut, conversion } = ColourTransform::new(&colour_space, pixels.channels);
            let mut source = ResizeSource::new(pixels);
            let images = outputs.iter().map(|output| {
                let pixels = source.resized(output.view(source.size(), orientation))?;
                let pixels = match &conversion {
                    Some(conversion) => conversion.apply(pixels),
                    None => pixels.into_rgb(),
                };
                Ok(UprightImage::from_pixels(pixels, gamut))
            });
            images.collect::<Result<_, Error>>()?
        }
    };
    Ok(images.into_iter().map(|image| image.oriented(orientation)).collect())
}

/// The same for one output.
pub(crate) fn upright_image(
    file: &[u8],
    header: &Header,
    side: u32,
    output: Output,
) -> Result<UprightImage, Error> {
    upright(file, header, side, &[output])?.pop().ok_or_else(|| Error::internal("no image"))
}

pub(crate) fn encode_master(image: &UprightImage) -> Result<Master, Error> {
    let (width, height) = image.size();
    Ok(Master { side: width.max(height), bytes: encode::master(image)? })
}

/// A thumbhash has at most seven DCT components per axis, so more pixels than this do not change it.
const PLACEHOLDER_SIDE: u32 = 32;

/// The thumbhash and the difference hash of a square.
fn encode_placeholder(square: UprightImage) -> Result<(Vec<u8>, u64), Error> {
    let side = square.size().0.min(PLACEHOLDER_SIDE);
    let pixels = square.resized((side, side))?.into_srgb_pixels()?;
    let rgba = match pixels.channels {
        Channels::Rgba => pixels.bytes,
        _ => {
            let (rgb, _) = pixels.bytes.as_chunks();
            rgb.iter().flat_map(|[r, g, b]| [*r, *g, *b, 255]).collect()
        }
    };
    let thumbhash = thumbhash::rgba_to_thumb_hash(side as usize, side as usize, &rgba);
    Ok((thumbhash, difference_hash(&rgba, side as usize)))
}

/// The dHash of an RGBA square: reduced to nine columns and eight rows of brightness, each bit says whether a
/// cell is brighter than the one to its right.
fn difference_hash(rgba: &[u8], side: usize) -> u64 {
    let brightness = |x: usize, y: usize| {
        let [r, g, b, _] = rgba[(y * side + x) * 4..][..4] else { return 0 };
        299 * u64::from(r) + 587 * u64::from(g) + 114 * u64::from(b)
    };
    // At least one pixel, for photos that are smaller than the grid.
    let range = |cell: usize, cells: usize| {
        let start = cell * side / cells;
        start..((cell + 1) * side / cells).max(start + 1)
    };
    let cell = |column: usize, row: usize| {
        let (columns, rows) = (range(column, 9), range(row, 8));
        let pixels = (columns.len() * rows.len()) as u64;
        rows.flat_map(|y| columns.clone().map(move |x| (x, y))).map(|(x, y)| brightness(x, y)).sum::<u64>()
            / pixels
    };
    let bits = (0..8).flat_map(|row| (0..8).map(move |column| (column, row)));
    bits.fold(0, |hash, (column, row)| hash << 1 | u64::from(cell(column, row) > cell(column + 1, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_hash_is_that_of_the_brightness() {
        let falling: Vec<u8> = (0..32 * 32).flat_map(|at| [255 - (at % 32) as u8 * 8; 4]).collect();
        assert_eq!(difference_hash(&falling, 32), u64::MAX);
        let brighter: Vec<u8> = falling.iter().map(|value| value / 2 + 60).collect();
        assert_eq!(difference_hash(&brighter, 32), u64::MAX, "the same after a change of brightness");
        let rising: Vec<u8> = falling.iter().map(|value| 255 - value).collect();
        assert_eq!(difference_hash(&rising, 32), 0);
        for side in 1..9 {
            difference_hash(&vec![7; side * side * 4], side);
        }
    }

    #[test]
    fn a_codec_panic_is_reported_as_a_damaged_upload() {
        let result = catch_codec_panic::<()>(|| panic!("index out of bounds"));
        assert!(matches!(&result, Err(Error::Damaged(cause)) if cause.contains("index out of bounds")));
    }
}
