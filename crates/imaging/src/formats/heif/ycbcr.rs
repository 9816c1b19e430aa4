//! Converts decoded YCbCr tiles of any bit depth and chroma subsampling to 8-bit RGB.

use crate::error::Error;
use crate::tone_map::{self, ToneMap};

/// Code points of ITU-T H.273, as in the `nclx` colour box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nclx {
    pub(crate) primaries: u16,
    pub(crate) transfer: u16,
    pub(crate) matrix: u16,
    pub(crate) full_range: bool,
}

impl Nclx {
    pub(crate) fn is_hdr(&self) -> bool {
        tone_map::is_hdr(self.transfer)
    }
}

/// A decoded tile. Planes may have fewer rows than the tile needs: reading a missing row is an error.
pub(crate) struct Tile<'a> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Bits per sample.
    pub(crate) bit_depth: u32,
    pub(crate) luma: PlaneView<'a>,
    /// Cb and Cr, unless the tile is monochrome.
    pub(crate) chroma: Option<[PlaneView<'a>; 2]>,
    /// Whether chroma is subsampled horizontally and vertically.
    pub(crate) subsampled: (bool, bool),
}

pub(crate) struct PlaneView<'a> {
    pub(crate) samples: Samples<'a>,
    /// Samples from one row to the next.
    pub(crate) stride: usize,
}

pub(crate) enum Samples<'a> {
    U8(&'a [u8]),
    /// Two bytes per sample in native byte order.
    U16Bytes(&'a [u8]),
    I32(&'a [i32]),
}

/// The output image, assembled from tiles.
pub(crate) struct Canvas<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) width: usize,
    /// Bytes per pixel: 1 for grey, 3 for RGB, and one more for alpha.
    pub(crate) channels: usize,
}

impl Canvas<'_> {
    /// Converts a tile to RGB, or to grey, and writes it with its top left corner at `x`, `y`.
    pub(crate) fn write_colours(
        &mut self,
        tile: &Tile,
        (x, y): (i64, i64),
        nclx: &Nclx,
        tone_map: Option<&ToneMap>,
    ) -> Result<(), Error> {
        let matrix = Matrix::new(nclx, tile.bit_depth, tile.chroma.is_none());
        let mut rows = [const { Vec::new() }; 3];
        let mut scratch = [const { Vec::new() }; 2];
        self.for_each_row(tile, (x, y), |row, first_column, pixels, channels| {
            let [luma, cb, cr] = &mut rows;
            tile.luma.row(row, tile.width, luma)?;
            for (plane, full) in tile.chroma.iter().flatten().zip([&mut *cb, &mut *cr]) {
                tile.chroma_row(plane, row, &mut scratch, full)?;
            }
            if tile.chroma.is_none() {
                cb.resize(tile.width, 0.0);
                cr.resize(tile.width, 0.0);
            }
            let rows = [&luma[first_column..], &cb[first_column..], &cr[first_column..]];
            match (channels, tone_map) {
                (4, None) => matrix.row::<4>(rows, pixels),
                (3, None) => matrix.row::<3>(rows, pixels),
                (3 | 4, Some(tone_map)) => matrix.tone_mapped_row(rows, tone_map, pixels, channels),
                _ => matrix.grey_row(rows[0], pixels, channels),
            }
            Ok(())
        })
    }

    /// Writes the luma of a tile to the alpha channel.
    pub(crate) fn write_alpha(
        &mut self,
        tile: &Tile,
        origin: (i64, i64),
        full_range: bool,
    ) -> Result<(), Error> {
        let (offset, scale) = luma_scale(tile.bit_depth, full_range);
        let mut luma = Vec::new();
        self.for_each_row(tile, origin, |row, first_column, pixels, channels| {
            tile.luma.row(row, tile.width, &mut luma)?;
            for (pixel, luma) in pixels.chunks_exact_mut(channels).zip(luma.iter().skip(first_column)) {
                if let [_, .., alpha] = pixel {
                    *alpha = (offset + scale * luma) as u8;
                }
            }
            Ok(())
        })
    }

    /// Divides the colours by alpha.
    pub(crate) fn unpremultiply(&mut self) {
        for pixel in self.bytes.chunks_exact_mut(self.channels) {
            let [colours @ .., alpha] = pixel else { return };
            let alpha = u16::from(*alpha);
            for colour in colours {
                let straight = (u16::from(*colour) * 255 + alpha / 2).checked_div(alpha).unwrap_or(0);
                *colour = straight.min(255) as u8;
            }
        }
    }

    /// Calls `write` for each row of the tile that intersects the canvas, with the first visible column and
    /// the destination pixels.
    fn for_each_row(
        &mut self,
        tile: &Tile,
        (x, y): (i64, i64),
        mut write: impl FnMut(usize, usize, &mut [u8], usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let row_bytes = self.width * self.channels;
        let hidden = |origin: i64| usize::try_from(-origin).unwrap_or(0);
        let (first_column, first_row) = (hidden(x), hidden(y));
        let (left, top) = (usize::try_from(x).unwrap_or(0), usize::try_from(y).unwrap_or(0));
        let columns = tile.width.saturating_sub(first_column).min(self.width.saturating_sub(left));
        if columns == 0 {
            return Ok(());
        }
        let lines = self.bytes.chunks_exact_mut(row_bytes).skip(top);
        for (row, line) in (first_row..tile.height).zip(lines) {
            let pixels = &mut line[left * self.channels..][..columns * self.channels];
            write(row, first_column, pixels, self.channels)?;
        }
        Ok(())
    }
}

impl Tile<'_> {
    /// Upsamples a row of chroma to luma resolution by linear interpolation. Chroma samples are centred
    /// between the pixels they cover.
    fn chroma_row(
        &self,
        plane: &PlaneView,
        row: usize,
        [near, far]: &mut [Vec<f32>; 2],
        full: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let (subsampled_x, subsampled_y) = self.subsampled;
        let width = if subsampled_x { self.width.div_ceil(2) } else { self.width };
        if subsampled_y {
            let last = self.height.div_ceil(2) - 1;
            let neighbour =
                if row.is_multiple_of(2) { (row / 2).saturating_sub(1) } else { (row / 2 + 1).min(last) };
            plane.row(row / 2, width, near)?;
            plane.row(neighbour, width, far)?;
            for (near, far) in near.iter_mut().zip(far.iter()) {
                *near = 0.75 * *near + 0.25 * far;
            }
        } else {
            plane.row(row, width, near)?;
        }
        if !subsampled_x {
            std::mem::swap(near, full);
            return Ok(());
        }
        full.clear();
        for (index, sample) in near.iter().enumerate() {
            let before = near.get(index.wrapping_sub(1)).unwrap_or(sample);
            let after = near.get(index + 1).unwrap_or(sample);
            full.extend([0.75 * sample + 0.25 * before, 0.75 * sample + 0.25 * after]);
        }
        full.truncate(self.width);
        Ok(())
    }
}

impl PlaneView<'_> {
    fn row(&self, row: usize, width: usize, output: &mut Vec<f32>) -> Result<(), Error> {
        let start = row * self.stride;
        output.clear();
        match self.samples {
            Samples::U8(all) => output.extend(subslice(all, start, width)?.iter().map(|s| f32::from(*s))),
            Samples::U16Bytes(all) => {
                let (pairs, _) = subslice(all, 2 * start, 2 * width)?.as_chunks();
                output.extend(pairs.iter().map(|pair| f32::from(u16::from_ne_bytes(*pair))));
            }
            Samples::I32(all) => output.extend(subslice(all, start, width)?.iter().map(|s| *s as f32)),
        }
        Ok(())
    }
}

fn subslice<T>(all: &[T], start: usize, length: usize) -> Result<&[T], Error> {
    all.get(start..)
        .and_then(|rest| rest.get(..length))
        .ok_or_else(|| Error::damaged("a row of a decoded plane is missing"))
}

/// Rows for red, green and blue: a constant, then the factors of luma, Cb and Cr, from raw samples to 0 to
/// 255. The constants include 0.5, so truncation rounds.
struct Matrix([[f32; 4]; 3]);

impl Matrix {
    fn row<const N: usize>(&self, [luma, cb, cr]: [&[f32]; 3], pixels: &mut [u8]) {
        let [for_red, for_green, for_blue] = &self.0;
        let samples = luma.iter().zip(cb).zip(cr);
        for (pixel, ((luma, cb), cr)) in pixels.as_chunks_mut::<N>().0.iter_mut().zip(samples) {
            // The cast saturates at 0 and 255.
            let byte = |row: &[f32; 4]| (row[0] + row[1] * luma + row[2] * cb + row[3] * cr) as u8;
            pixel[0] = byte(for_red);
            pixel[1] = byte(for_green);
            pixel[2] = byte(for_blue);
        }
    }

    fn tone_mapped_row(
        &self,
        [luma, cb, cr]: [&[f32]; 3],
        tone_map: &ToneMap,
        pixels: &mut [u8],
        channels: usize,
    ) {
        let samples = luma.iter().zip(cb).zip(cr);
        for (pixel, ((luma, cb), cr)) in pixels.chunks_exact_mut(channels).zip(samples) {
            // Without the 0.5 for rounding.
            let value = |row: &[f32; 4]| (row[0] - 0.5 + row[1] * luma + row[2] * cb + row[3] * cr) / 255.0;
            pixel[..3].copy_from_slice(&tone_map.apply(self.0.each_ref().map(value)));
        }
    }

    /// Of a monochrome image: all rows of the matrix are equal.
    fn grey_row(&self, luma: &[f32], pixels: &mut [u8], channels: usize) {
        let [offset, scale, ..] = self.0[0];
        for (pixel, luma) in pixels.chunks_exact_mut(channels).zip(luma) {
            pixel[0] = (offset + scale * luma) as u8;
        }
    }

    fn new(nclx: &Nclx, bit_depth: u32, monochrome: bool) -> Self {
        let (offset, luma) = luma_scale(bit_depth, nclx.full_range);
        let scale = (1_u32 << (bit_depth - 8)) as f32;
        let chroma = match nclx.full_range {
            true => luma,
            false => 255.0 / (224.0 * scale),
        };
        let middle = 128.0 * scale;
        let row = |cb: f32, cr: f32| [offset - (cb + cr) * chroma * middle, luma, cb * chroma, cr * chroma];
        let (kr, kb) = match nclx.matrix {
            _ if monochrome => return Self([row(0.0, 0.0); 3]),
            // Identity matrix: the planes are green, blue and red.
            0 => {
                let only = |column: usize| {
                    std::array::from_fn(|i| {
                        if i == 0 {
                            offset
                        } else if i == column {
                            luma
                        } else {
                            0.0
                        }
                    })
                };
                return Self([only(3), only(1), only(2)]);
            }
            8 => return Self([row(-1.0, 1.0), row(1.0, 0.0), row(-1.0, -1.0)]),
            // Reversible YCgCo: RGB has two bits less (YCgCo-Re) or one (YCgCo-Ro).
            16 | 17 if bit_depth > 9 => {
                let rgb_depth = bit_depth - if nclx.matrix == 16 { 2 } else { 1 };
                let scale = 255.0 / ((1_u32 << rgb_depth) - 1) as f32;
                let row =
                    |cg: f32, co: f32| [0.5 - (cg + co) * scale * middle, scale, cg * scale, co * scale];
                return Self([row(-0.5, 0.5), row(0.5, 0.0), row(-0.5, -0.5)]);
            }
            1 => (0.2126, 0.0722),
            4 => (0.30, 0.11),
            7 => (0.212, 0.087),
            9 | 10 => (0.2627, 0.0593),
            // Derived from the primaries.
            12 if nclx.primaries == 1 => (0.2126, 0.0722),
            12 if nclx.primaries == 9 => (0.2627, 0.0593),
            12 if nclx.primaries == 12 => (0.2290, 0.0793),
            // BT.601, also the default for unspecified coefficients.
            _ => (0.299, 0.114),
        };
        let kg = 1.0 - kr - kb;
        Self([
            row(0.0, 2.0 * (1.0 - kr)),
            row(-2.0 * kb * (1.0 - kb) / kg, -2.0 * kr * (1.0 - kr) / kg),
            row(2.0 * (1.0 - kb), 0.0),
        ])
    }
}

/// Offset and factor that scale luma to 0 to 255, plus 0.5 for rounding.
fn luma_scale(bit_depth: u32, full_range: bool) -> (f32, f32) {
    let scale = (1_u32 << (bit_depth - 8)) as f32;
    match full_range {
        true => (0.5, 255.0 / ((1_u32 << bit_depth) - 1) as f32),
        false => (0.5 - 16.0 * 255.0 / 219.0, 255.0 / (219.0 * scale)),
    }
}
