//! From luma and chroma, as video codecs leave them, to bytes of red, green and blue.

use crate::error::Error;

/// Colours by their numbers in ITU-T H.273.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nclx {
    pub(crate) primaries: u16,
    pub(crate) transfer: u16,
    pub(crate) matrix: u16,
    pub(crate) full_range: bool,
}

/// A decoded tile. Rows of chroma are as many as its planes hold.
pub(crate) struct Tile<'a> {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Bits of a sample.
    pub(crate) depth: u32,
    pub(crate) luma: Plane<'a>,
    /// Blue and red, unless the tile is grey.
    pub(crate) chroma: Option<[Plane<'a>; 2]>,
    /// Whether there is one sample of chroma for two columns and two rows.
    pub(crate) halved: (bool, bool),
}

pub(crate) struct Plane<'a> {
    pub(crate) samples: Samples<'a>,
    /// Samples from one row to the next.
    pub(crate) stride: usize,
}

pub(crate) enum Samples<'a> {
    Bytes(&'a [u8]),
    /// Two bytes each, as this machine orders them.
    Pairs(&'a [u8]),
    Ints(&'a [i32]),
}

/// The picture that the tiles are painted on.
pub(crate) struct Canvas<'a> {
    pub(crate) bytes: &'a mut [u8],
    pub(crate) width: usize,
    /// Bytes of a pixel: three, or four with opacity.
    pub(crate) channels: usize,
}

impl Canvas<'_> {
    /// Writes the colours of a tile whose corner belongs to the place `x`, `y`.
    pub(crate) fn paint(&mut self, tile: &Tile, (x, y): (i64, i64), colours: &Nclx) -> Result<(), Error> {
        let matrix = Matrix::new(colours, tile.depth, tile.chroma.is_none());
        let mut rows = [const { Vec::new() }; 3];
        let mut halves = [const { Vec::new() }; 2];
        self.rows(tile, (x, y), |row, from, pixels, channels| {
            let [luma, blue, red] = &mut rows;
            tile.luma.row(row, tile.width, luma)?;
            for (plane, full) in tile.chroma.iter().flatten().zip([&mut *blue, &mut *red]) {
                tile.chroma_row(plane, row, &mut halves, full)?;
            }
            if tile.chroma.is_none() {
                blue.resize(tile.width, 0.0);
                red.resize(tile.width, 0.0);
            }
            let rows = [&luma[from..], &blue[from..], &red[from..]];
            match channels {
                4 => matrix.row::<4>(rows, pixels),
                _ => matrix.row::<3>(rows, pixels),
            }
            Ok(())
        })
    }

    /// Writes the luma of a tile as opacity.
    pub(crate) fn veil(&mut self, tile: &Tile, place: (i64, i64), full_range: bool) -> Result<(), Error> {
        let (constant, scale) = luma_scale(tile.depth, full_range);
        let mut luma = Vec::new();
        self.rows(tile, place, |row, from, pixels, channels| {
            tile.luma.row(row, tile.width, &mut luma)?;
            for (pixel, luma) in pixels.chunks_exact_mut(channels).zip(luma.iter().skip(from)) {
                if let [_, _, _, opacity] = pixel {
                    *opacity = (constant + scale * luma) as u8;
                }
            }
            Ok(())
        })
    }

    /// Undoes the multiplication of the colours by the opacity.
    pub(crate) fn unmultiply(&mut self) {
        for pixel in self.bytes.as_chunks_mut::<4>().0 {
            let [colours @ .., opacity] = pixel;
            let opacity = u16::from(*opacity);
            for colour in colours {
                let straight = (u16::from(*colour) * 255 + opacity / 2).checked_div(opacity).unwrap_or(0);
                *colour = straight.min(255) as u8;
            }
        }
    }

    /// Calls `write` with every row of the tile that is on the canvas, the first column of it that is, and
    /// the pixels it belongs to.
    fn rows(
        &mut self,
        tile: &Tile,
        (x, y): (i64, i64),
        mut write: impl FnMut(usize, usize, &mut [u8], usize) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let line = self.width * self.channels;
        let hidden = |place: i64| usize::try_from(-place).unwrap_or(0);
        let (from, above) = (hidden(x), hidden(y));
        let (left, top) = (usize::try_from(x).unwrap_or(0), usize::try_from(y).unwrap_or(0));
        let columns = tile.width.saturating_sub(from).min(self.width.saturating_sub(left));
        if columns == 0 {
            return Ok(());
        }
        let lines = self.bytes.chunks_exact_mut(line).skip(top);
        for (row, line) in (above..tile.height).zip(lines) {
            let pixels = &mut line[left * self.channels..][..columns * self.channels];
            write(row, from, pixels, self.channels)?;
        }
        Ok(())
    }
}

impl Tile<'_> {
    /// A row of chroma as wide as the luma, between its samples by how near they are. They lie in the middle
    /// of the pixels they stand for.
    fn chroma_row(
        &self,
        plane: &Plane,
        row: usize,
        [near, far]: &mut [Vec<f32>; 2],
        full: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let (half_x, half_y) = self.halved;
        let width = if half_x { self.width.div_ceil(2) } else { self.width };
        if half_y {
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
        if !half_x {
            std::mem::swap(near, full);
            return Ok(());
        }
        full.clear();
        for (at, sample) in near.iter().enumerate() {
            let before = near.get(at.wrapping_sub(1)).unwrap_or(sample);
            let after = near.get(at + 1).unwrap_or(sample);
            full.extend([0.75 * sample + 0.25 * before, 0.75 * sample + 0.25 * after]);
        }
        full.truncate(self.width);
        Ok(())
    }
}

impl Plane<'_> {
    fn row(&self, row: usize, width: usize, into: &mut Vec<f32>) -> Result<(), Error> {
        let start = row * self.stride;
        into.clear();
        match self.samples {
            Samples::Bytes(all) => into.extend(part(all, start, width)?.iter().map(|s| f32::from(*s))),
            Samples::Pairs(all) => {
                let (pairs, _) = part(all, 2 * start, 2 * width)?.as_chunks();
                into.extend(pairs.iter().map(|pair| f32::from(u16::from_ne_bytes(*pair))));
            }
            Samples::Ints(all) => into.extend(part(all, start, width)?.iter().map(|s| *s as f32)),
        }
        Ok(())
    }
}

fn part<T>(all: &[T], start: usize, length: usize) -> Result<&[T], Error> {
    all.get(start..)
        .and_then(|rest| rest.get(..length))
        .ok_or_else(|| Error::damaged("a decoded row is missing"))
}

/// For red, green and blue: a constant, and the factors of luma and both chromas, for samples as they are
/// and results from 0 to 255. The constants hold the half that makes cutting off into rounding.
struct Matrix([[f32; 4]; 3]);

impl Matrix {
    fn row<const N: usize>(&self, [luma, blue, red]: [&[f32]; 3], pixels: &mut [u8]) {
        let [for_red, for_green, for_blue] = &self.0;
        let samples = luma.iter().zip(blue).zip(red);
        for (pixel, ((luma, blue), red)) in pixels.as_chunks_mut::<N>().0.iter_mut().zip(samples) {
            // A cast stops at 0 and 255.
            let byte = |by: &[f32; 4]| (by[0] + by[1] * luma + by[2] * blue + by[3] * red) as u8;
            pixel[0] = byte(for_red);
            pixel[1] = byte(for_green);
            pixel[2] = byte(for_blue);
        }
    }

    fn new(colours: &Nclx, depth: u32, grey: bool) -> Self {
        let (luma_zero, luma) = luma_scale(depth, colours.full_range);
        let steps = (1_u32 << (depth - 8)) as f32;
        let chroma = match colours.full_range {
            true => luma,
            false => 255.0 / (224.0 * steps),
        };
        let middle = 128.0 * steps;
        let by = |blue: f32, red: f32| {
            [luma_zero - (blue + red) * chroma * middle, luma, blue * chroma, red * chroma]
        };
        let (red, blue) = match colours.matrix {
            _ if grey => return Self([by(0.0, 0.0); 3]),
            // Green, blue and red themselves.
            0 => {
                let only = |at: usize| {
                    std::array::from_fn(|i| {
                        if i == 0 {
                            luma_zero
                        } else if i == at {
                            luma
                        } else {
                            0.0
                        }
                    })
                };
                return Self([only(3), only(1), only(2)]);
            }
            8 => return Self([by(-1.0, 1.0), by(1.0, 0.0), by(-1.0, -1.0)]),
            1 => (0.2126, 0.0722),
            4 => (0.30, 0.11),
            7 => (0.212, 0.087),
            9 | 10 => (0.2627, 0.0593),
            // BT.601, which is also what readers take where nothing is said.
            _ => (0.299, 0.114),
        };
        let green = 1.0 - red - blue;
        Self([
            by(0.0, 2.0 * (1.0 - red)),
            by(-2.0 * blue * (1.0 - blue) / green, -2.0 * red * (1.0 - red) / green),
            by(2.0 * (1.0 - blue), 0.0),
        ])
    }
}

/// Constant and factor that take luma to 0 to 255 and half a step.
fn luma_scale(depth: u32, full_range: bool) -> (f32, f32) {
    let steps = (1_u32 << (depth - 8)) as f32;
    match full_range {
        true => (0.5, 255.0 / ((1_u32 << depth) - 1) as f32),
        false => (0.5 - 16.0 * 255.0 / 219.0, 255.0 / (219.0 * steps)),
    }
}
