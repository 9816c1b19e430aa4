//! JPEG's colours, BT.601 over the whole range of a byte: converted by the vector code of the JPEG codec.

use libjpeg_turbo_rs::simd::{detect, detect_encoder};

/// Rows of RGB pixels as a plane of luma and two of chroma, which have the mean of each block of four pixels.
/// The side is even.
pub(crate) fn from_rgb(rgb: &[u8], side: usize) -> [Vec<u8>; 3] {
    let codec = detect_encoder();
    let mut luma = vec![0; side * side];
    let mut chroma = [const { Vec::new() }; 2];
    // Two rows of each.
    let mut rows = [vec![0; 2 * side], vec![0; 2 * side]];
    for (rgb, luma) in rgb.chunks_exact(6 * side).zip(luma.chunks_exact_mut(2 * side)) {
        let [blue, red] = &mut rows;
        // Rows follow each other without a gap, so two are converted as one.
        codec.rgb_to_ycbcr_row(rgb, luma, blue, red, 2 * side);
        for (plane, rows) in chroma.iter_mut().zip(&rows) {
            let (upper, lower) = rows.split_at(side);
            let blocks = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
            plane.extend(blocks.map(|([a, b], [c, d])| mean([*a, *b, *c, *d])));
        }
    }
    let [blue, red] = chroma;
    [luma, blue, red]
}

fn mean(samples: [u8; 4]) -> u8 {
    // Never above 255: a mean of bytes.
    ((samples.into_iter().map(u16::from).sum::<u16>() + 2) / 4) as u8
}

/// Planes of the same size as RGB pixels.
pub(crate) fn to_rgb([luma, blue, red]: [&[u8]; 3]) -> Vec<u8> {
    let mut rgb = vec![0; 3 * luma.len()];
    detect().ycbcr_to_rgb_row(luma, blue, red, &mut rgb, luma.len());
    rgb
}

/// Planes with one sample of chroma for each block of four pixels as RGB pixels. The side is even.
pub(crate) fn to_rgb_from_halves([luma, blue, red]: [&[u8]; 3], side: usize) -> Vec<u8> {
    let codec = detect();
    let mut rgb = vec![0; 3 * luma.len()];
    let mut wide = [vec![0; side], vec![0; side]];
    let halves = blue.chunks_exact(side / 2).zip(red.chunks_exact(side / 2));
    let pairs = luma.chunks_exact(2 * side).zip(rgb.chunks_exact_mut(6 * side));
    for ((luma, rgb), (blue, red)) in pairs.zip(halves) {
        for (wide, half) in wide.iter_mut().zip([blue, red]) {
            for (pair, sample) in wide.as_chunks_mut().0.iter_mut().zip(half) {
                *pair = [*sample; 2];
            }
        }
        let [blue, red] = &wide;
        for (luma, rgb) in luma.chunks_exact(side).zip(rgb.chunks_exact_mut(3 * side)) {
            codec.ycbcr_to_rgb_row(luma, blue, red, rgb, side);
        }
    }
    rgb
}
