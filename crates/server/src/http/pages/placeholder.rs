//! What is seen of a photo before it arrives: its thumbhash as a tiny picture inside the page.
//!
//! The thumbhash crate always draws 32 pixels a side, sixteen times what is wanted here, and that would be
//! nearly all of a page's work. So the few waves of a hash are added up here, for eight.

use std::array::from_fn;
use std::f32::consts::PI;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Browsers smooth it when they enlarge it; more pixels would only be more bytes.
const SIDE: usize = 8;

/// A hash knows at most so many waves in each direction.
const WAVES: usize = 7;

/// A data URL; empty when the hash makes no sense.
pub(super) fn data_url(thumbhash: &[u8]) -> String {
    let file = draw(thumbhash).and_then(|rgba| png(&rgba));
    file.map(|png| format!("data:image/png;base64,{}", STANDARD.encode(png))).unwrap_or_default()
}

/// The mean of a channel, and how strong each of its waves is.
struct Channel {
    mean: f32,
    waves: Vec<(usize, usize, f32)>,
}

impl Channel {
    /// Takes the next strengths for `across` by `down` waves, those that fit below the diagonal.
    fn read(
        nibbles: &mut impl Iterator<Item = u8>,
        across: usize,
        down: usize,
        mean: f32,
        scale: f32,
    ) -> Self {
        let mut waves = Vec::with_capacity(WAVES * WAVES / 2);
        for y in 0..down {
            for x in usize::from(y == 0)..across {
                if x * down >= across * (down - y) {
                    break;
                }
                let strength = nibbles.next().map_or(0.0, |nibble| f32::from(nibble) / 7.5 - 1.0);
                waves.push((x, y, 2.0 * strength * scale));
            }
        }
        Self { mean, waves }
    }

    fn at(&self, across: &[f32; WAVES], down: &[f32; WAVES]) -> f32 {
        self.waves.iter().fold(self.mean, |sum, (x, y, strength)| sum + strength * across[*x] * down[*y])
    }
}

/// Red, green, blue and opacity of each pixel.
fn draw(hash: &[u8]) -> Option<Vec<u8>> {
    let [a, b, c, d, e, rest @ ..] = hash else { return None };
    let colour = u32::from_le_bytes([*a, *b, *c, 0]);
    let shape = u32::from(u16::from_le_bytes([*d, *e]));
    let part = |word: u32, at: u32, bits: u32| ((word >> at) & ((1 << bits) - 1)) as f32;
    let (clear, wide) = (colour >> 23 == 1, shape >> 15 == 1);
    let long = if clear { 5 } else { WAVES };
    let short = (shape as usize & 7).clamp(3, WAVES);
    let (across, down) = if wide { (long, short) } else { (short, long) };
    let (opacity, rest) =
        if clear { rest.split_first().map(|(first, rest)| (*first, rest))? } else { (0, rest) };

    let mut nibbles = rest.iter().flat_map(|byte| [byte & 15, byte >> 4]);
    let nibbles = &mut nibbles;
    let lightness =
        Channel::read(nibbles, across, down, part(colour, 0, 6) / 63.0, part(colour, 18, 5) / 31.0);
    let yellow = part(colour, 6, 6) / 31.5 - 1.0;
    let yellow = Channel::read(nibbles, 3, 3, yellow, 1.25 * part(shape, 3, 6) / 63.0);
    let red = part(colour, 12, 6) / 31.5 - 1.0;
    let red = Channel::read(nibbles, 3, 3, red, 1.25 * part(shape, 9, 6) / 63.0);
    let opacity = if clear {
        Channel::read(nibbles, 5, 5, f32::from(opacity & 15) / 15.0, f32::from(opacity >> 4) / 15.0)
    } else {
        Channel { mean: 1.0, waves: Vec::new() }
    };

    let cosines: [[f32; WAVES]; SIDE] =
        from_fn(|place| from_fn(|wave| (PI / SIDE as f32 * (place as f32 + 0.5) * wave as f32).cos()));
    let mut rgba = Vec::with_capacity(SIDE * SIDE * 4);
    for y in &cosines {
        for x in &cosines {
            let (l, p, q) = (lightness.at(x, y), yellow.at(x, y), red.at(x, y));
            let blue = l - 2.0 / 3.0 * p;
            let red = (3.0 * l - blue + q) / 2.0;
            // Numbers beyond a byte end at its limits.
            rgba.extend([red, red - q, blue, opacity.at(x, y)].map(|value| (value * 255.0).round() as u8));
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

    /// The mean of each of our fields in the picture that the crate draws of the same hash.
    fn reference(hash: &[u8]) -> Vec<f32> {
        let (width, height, rgba) = thumbhash::thumb_hash_to_rgba(hash).unwrap();
        let mut means = vec![0.0; SIDE * SIDE * 4];
        for (at, value) in rgba.iter().enumerate() {
            let (x, y) = (at / 4 % width * SIDE / width, at / 4 / width * SIDE / height);
            means[(y * SIDE + x) * 4 + at % 4] += f32::from(*value);
        }
        let each = (width * height / SIDE / SIDE) as f32;
        means.into_iter().map(|sum| sum / each).collect()
    }

    #[test]
    fn it_looks_like_what_the_crate_draws() {
        let pixels = |clear: bool| -> Vec<u8> {
            let one = |at: usize| {
                let (x, y) = (at % 32, at / 32);
                let opacity = if clear && x > 16 { 40 } else { 255 };
                [(x * 8) as u8, (y * 7) as u8, ((x + y) * 3) as u8, opacity]
            };
            (0..32 * 32).flat_map(one).collect()
        };
        for clear in [false, true] {
            let hash = thumbhash::rgba_to_thumb_hash(32, 32, &pixels(clear));
            let (ours, theirs) = (draw(&hash).unwrap(), reference(&hash));
            for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                assert!((f32::from(*ours) - theirs).abs() < 9.0, "value {at}: {ours} instead of {theirs}");
            }
        }
    }

    #[test]
    fn nonsense_draws_nothing_and_breaks_nothing() {
        for length in 0..40 {
            for byte in [0, 0x55, 0x80, 0xff] {
                data_url(&vec![byte; length]);
            }
        }
        assert_eq!(data_url(&[1, 2, 3]), "");
        assert!(data_url(&[0x55; 25]).starts_with("data:image/png;base64,iVBOR"));
    }
}
