//! Image placeholders: a photo's thumbhash decoded to a tiny PNG data URL in the page.
//!
//! The thumbhash crate always decodes to 32x32 pixels, sixteen times what a placeholder needs, which would be
//! nearly all of a page's rendering time. This decoder evaluates the same cosine transform at 8x8.

use std::array::from_fn;
use std::f32::consts::PI;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Pixels per side. Browsers interpolate when they scale it up, so more pixels would only be more bytes.
const SIDE: usize = 8;

/// The most DCT frequencies per direction that a hash can hold.
const MAX_FREQUENCIES: usize = 7;

/// A PNG data URL; empty when the hash is malformed.
pub(super) fn data_url(thumbhash: &[u8]) -> String {
    let file = decode(thumbhash).and_then(|rgba| png(&rgba));
    file.map(|png| format!("data:image/png;base64,{}", STANDARD.encode(png))).unwrap_or_default()
}

/// The DCT coefficients of one channel: the mean (DC), and per frequency pair the amplitude (AC).
struct Channel {
    mean: f32,
    amplitudes: Vec<(usize, usize, f32)>,
}

impl Channel {
    /// Reads the AC coefficients of `nx` by `ny` frequencies, of which only those above the anti-diagonal are
    /// stored.
    fn read(nibbles: &mut impl Iterator<Item = u8>, nx: usize, ny: usize, mean: f32, scale: f32) -> Self {
        let mut amplitudes = Vec::with_capacity(MAX_FREQUENCIES * MAX_FREQUENCIES / 2);
        for y in 0..ny {
            for x in usize::from(y == 0)..nx {
                if x * ny >= nx * (ny - y) {
                    break;
                }
                let coefficient = nibbles.next().map_or(0.0, |nibble| f32::from(nibble) / 7.5 - 1.0);
                amplitudes.push((x, y, 2.0 * coefficient * scale));
            }
        }
        Self { mean, amplitudes }
    }

    /// The channel's value at a pixel, given the cosines of its column and of its row.
    fn at(&self, column: &[f32; MAX_FREQUENCIES], row: &[f32; MAX_FREQUENCIES]) -> f32 {
        let terms = self.amplitudes.iter().map(|(x, y, amplitude)| amplitude * column[*x] * row[*y]);
        terms.fold(self.mean, |sum, term| sum + term)
    }
}

/// Decodes a thumbhash to `SIDE` by `SIDE` RGBA pixels. The variables are named as in the format's reference
/// implementation: luminance `l`, yellow-blue `p`, red-green `q`, alpha `a`.
fn decode(hash: &[u8]) -> Option<Vec<u8>> {
    let [a, b, c, d, e, rest @ ..] = hash else { return None };
    let header24 = u32::from_le_bytes([*a, *b, *c, 0]);
    let header16 = u32::from(u16::from_le_bytes([*d, *e]));
    let bits = |header: u32, offset: u32, count: u32| ((header >> offset) & ((1 << count) - 1)) as f32;
    let (has_alpha, is_landscape) = (header24 >> 23 == 1, header16 >> 15 == 1);
    let long = if has_alpha { 5 } else { MAX_FREQUENCIES };
    let short = (header16 as usize & 7).clamp(3, MAX_FREQUENCIES);
    let (lx, ly) = if is_landscape { (long, short) } else { (short, long) };
    let (alpha, rest) =
        if has_alpha { rest.split_first().map(|(first, rest)| (*first, rest))? } else { (0, rest) };

    let mut nibbles = rest.iter().flat_map(|byte| [byte & 15, byte >> 4]);
    let nibbles = &mut nibbles;
    let l = Channel::read(nibbles, lx, ly, bits(header24, 0, 6) / 63.0, bits(header24, 18, 5) / 31.0);
    let p_mean = bits(header24, 6, 6) / 31.5 - 1.0;
    let p = Channel::read(nibbles, 3, 3, p_mean, 1.25 * bits(header16, 3, 6) / 63.0);
    let q_mean = bits(header24, 12, 6) / 31.5 - 1.0;
    let q = Channel::read(nibbles, 3, 3, q_mean, 1.25 * bits(header16, 9, 6) / 63.0);
    let alpha = if has_alpha {
        Channel::read(nibbles, 5, 5, f32::from(alpha & 15) / 15.0, f32::from(alpha >> 4) / 15.0)
    } else {
        Channel { mean: 1.0, amplitudes: Vec::new() }
    };

    let cosines: [[f32; MAX_FREQUENCIES]; SIDE] = from_fn(|pixel| {
        from_fn(|frequency| (PI / SIDE as f32 * (pixel as f32 + 0.5) * frequency as f32).cos())
    });
    let mut rgba = Vec::with_capacity(SIDE * SIDE * 4);
    for row in &cosines {
        for column in &cosines {
            let (l, p, q) = (l.at(column, row), p.at(column, row), q.at(column, row));
            let blue = l - 2.0 / 3.0 * p;
            let red = (3.0 * l - blue + q) / 2.0;
            let pixel = [red, red - q, blue, alpha.at(column, row)];
            // The cast saturates: values outside of 0 to 255 are clamped.
            rgba.extend(pixel.map(|value| (value * 255.0).round() as u8));
        }
    }
    Some(rgba)
}

fn png(rgba: &[u8]) -> Option<Vec<u8>> {
    let opaque = rgba.chunks_exact(4).all(|pixel| pixel[3] == u8::MAX);
    let mut file = Vec::with_capacity(320);
    let mut encoder = png::Encoder::new(&mut file, SIDE as u32, SIDE as u32);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().ok()?;
    let pixels: Vec<u8> = if opaque {
        rgba.chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect()
    } else {
        rgba.to_vec()
    };
    writer.write_image_data(&pixels).ok()?;
    writer.finish().ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thumbhash crate's decoding, averaged down to `SIDE` by `SIDE` pixels.
    fn reference(hash: &[u8]) -> Vec<f32> {
        let (width, height, rgba) = thumbhash::thumb_hash_to_rgba(hash).unwrap();
        let mut means = vec![0.0; SIDE * SIDE * 4];
        for (index, value) in rgba.iter().enumerate() {
            let (x, y) = (index / 4 % width * SIDE / width, index / 4 / width * SIDE / height);
            means[(y * SIDE + x) * 4 + index % 4] += f32::from(*value);
        }
        let pixels_per_mean = (width * height / SIDE / SIDE) as f32;
        means.into_iter().map(|sum| sum / pixels_per_mean).collect()
    }

    #[test]
    fn decoding_agrees_with_the_thumbhash_crate() {
        let gradient = |has_alpha: bool| -> Vec<u8> {
            let pixel = |index: usize| {
                let (x, y) = (index % 32, index / 32);
                let alpha = if has_alpha && x > 16 { 40 } else { 255 };
                [(x * 8) as u8, (y * 7) as u8, ((x + y) * 3) as u8, alpha]
            };
            (0..32 * 32).flat_map(pixel).collect()
        };
        for has_alpha in [false, true] {
            let hash = thumbhash::rgba_to_thumb_hash(32, 32, &gradient(has_alpha));
            let (decoded, expected) = (decode(&hash).unwrap(), reference(&hash));
            for (index, (decoded, expected)) in decoded.iter().zip(&expected).enumerate() {
                let difference = (f32::from(*decoded) - expected).abs();
                assert!(difference < 9.0, "value {index}: expected {expected}, got {decoded}");
            }
        }
    }

    #[test]
    fn malformed_hashes_do_not_panic() {
        for length in 0..40 {
            for byte in [0, 0x55, 0x80, 0xff] {
                data_url(&vec![byte; length]);
            }
        }
        assert_eq!(data_url(&[1, 2, 3]), "");
        assert!(data_url(&[0x55; 25]).starts_with("data:image/png;base64,iVBOR"));
    }
}
