//! Image quality by SSIMULACRA2: 100 is identical, 90 visually lossless, 70 good.

use ssimulacra2::{ColorPrimaries, Rgb, TransferCharacteristic, compute_frame_ssimulacra2};

use crate::error::Error;

/// A square in RGB, three bytes a pixel.
#[derive(Debug, Clone)]
pub(crate) struct Pixels {
    pub(crate) side: usize,
    pub(crate) rgb: Vec<u8>,
}

impl Pixels {
    pub(crate) fn new(rgb: Vec<u8>) -> Result<Self, Error> {
        let side = (rgb.len() / 3).isqrt();
        match side * side * 3 == rgb.len() {
            true => Ok(Self { side, rgb }),
            false => Err(Error::measure(format!("{} bytes are not a square in RGB", rgb.len()))),
        }
    }
}

pub(crate) fn score(reference: &Pixels, made: &Pixels) -> Result<f64, Error> {
    compute_frame_ssimulacra2(floats(reference)?, floats(made)?).map_err(Error::measure)
}

fn floats(pixels: &Pixels) -> Result<Rgb, Error> {
    let (triples, _) = pixels.rgb.as_chunks::<3>();
    let floats = triples.iter().map(|rgb| rgb.map(|byte| f32::from(byte) / 255.0)).collect();
    let (transfer, primaries) = (TransferCharacteristic::SRGB, ColorPrimaries::BT709);
    Rgb::new(floats, pixels.side, pixels.side, transfer, primaries).map_err(Error::measure)
}

/// The quality a JPEG was encoded with, estimated from its first quantisation table. The engine does not
/// expose it, and the peers use the same.
pub(crate) fn jpeg_quality(file: &[u8]) -> Result<u8, Error> {
    let table = first_table(file).ok_or_else(|| Error::measure("a JPEG has no quantisation table"))?;
    let coarse: u32 = table.iter().map(|step| u32::from(*step)).sum();
    let nearest = (1..=100).min_by_key(|quality| coarseness(*quality).abs_diff(coarse));
    nearest.ok_or_else(|| Error::measure("no quality is near"))
}

/// The luminance quantisation table from the JPEG standard, which all encoders scale the same way.
const BRIGHTNESS: [u32; 64] = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17,
    22, 29, 51, 87, 80, 62, 18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78,
    87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
];

fn coarseness(quality: u8) -> u32 {
    let quality = u32::from(quality);
    let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
    BRIGHTNESS.iter().map(|step| ((step * scale + 50) / 100).clamp(1, 255)).sum()
}

/// Segments follow each other, each with its length, until the pixels begin.
fn first_table(file: &[u8]) -> Option<&[u8; 64]> {
    let mut rest = file.get(2..)?;
    loop {
        let [0xFF, marker, high, low, ..] = *rest else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        match marker {
            // One byte says which table it is and that its steps have eight bits.
            0xDB => return rest.get(5..)?.first_chunk(),
            0xDA => return None,
            _ => rest = rest.get(2 + length..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    #[test]
    fn tells_the_quality_of_a_jpeg() {
        let square = [127; 3 * 16 * 16];
        for quality in [30, 75, 80, 82, 88, 92, 95] {
            assert_eq!(jpeg_quality(&engine::jpeg(&square, 16, quality).unwrap()).unwrap(), quality);
        }
        assert!(jpeg_quality(b"no picture").is_err());
    }

    #[test]
    fn a_worse_picture_has_a_lower_score() {
        let rgb = (0..64 * 64).flat_map(|i: u32| [(i % 64 * 4) as u8, (i / 64 * 4) as u8, (i * 7) as u8]);
        let original = Pixels::new(rgb.collect()).unwrap();
        let at = |quality| {
            let file = engine::jpeg(&original.rgb, 64, quality).unwrap();
            score(&original, &Pixels::new(engine::plain_decode(&file).unwrap()).unwrap()).unwrap()
        };
        assert!(score(&original, &original).unwrap() > 99.9);
        assert!(at(90) > at(40));
        assert!(Pixels::new(vec![0; 10]).is_err());
    }
}
