//! JPEG colour conversion (BT.601, full range), by the SIMD routines of the JPEG codec.

use libjpeg_turbo_rs::simd::{detect, detect_encoder};

/// Converts RGB rows of an even width, and an even number of them, to Y, Cb and Cr in 4:2:0. A chroma sample
/// is the mean of 2 × 2 pixels.
pub(crate) fn rgb_to_ycbcr_420(rgb: &[u8], width: usize) -> [Vec<u8>; 3] {
    let codec = detect_encoder();
    let mut luma = vec![0; rgb.len() / 3];
    let mut chroma = [const { Vec::new() }; 2];
    // Two rows of Cb and two of Cr.
    let mut rows = [vec![0; 2 * width], vec![0; 2 * width]];
    for (rgb, luma) in rgb.chunks_exact(6 * width).zip(luma.chunks_exact_mut(2 * width)) {
        let [cb, cr] = &mut rows;
        // The rows are contiguous, so two are converted in one call.
        codec.rgb_to_ycbcr_row(rgb, luma, cb, cr, 2 * width);
        for (plane, rows) in chroma.iter_mut().zip(&rows) {
            let (upper, lower) = rows.split_at(width);
            let blocks = upper.as_chunks().0.iter().zip(lower.as_chunks().0);
            plane.extend(blocks.map(|([a, b], [c, d])| mean([*a, *b, *c, *d])));
        }
    }
    let [cb, cr] = chroma;
    [luma, cb, cr]
}

/// Converts RGB pixels to three planes of equal size.
pub(crate) fn rgb_to_ycbcr_444(rgb: &[u8]) -> [Vec<u8>; 3] {
    let pixels = rgb.len() / 3;
    let mut planes = std::array::from_fn(|_| vec![0; pixels]);
    let [luma, cb, cr] = &mut planes;
    detect_encoder().rgb_to_ycbcr_row(rgb, luma, cb, cr, pixels);
    planes
}

fn mean(samples: [u8; 4]) -> u8 {
    // At most 255: a mean of bytes.
    ((samples.into_iter().map(u16::from).sum::<u16>() + 2) / 4) as u8
}

/// Converts three planes of equal size to RGB pixels.
pub(crate) fn ycbcr_444_to_rgb([luma, cb, cr]: [&[u8]; 3]) -> Vec<u8> {
    let mut rgb = vec![0; 3 * luma.len()];
    detect().ycbcr_to_rgb_row(luma, cb, cr, &mut rgb, luma.len());
    rgb
}

/// Converts 4:2:0 planes to RGB pixels, replicating each chroma sample over 2 × 2 pixels. The last sample of
/// an odd row or column covers half of that.
pub(crate) fn ycbcr_420_to_rgb([luma, cb, cr]: [&[u8]; 3], width: usize) -> Vec<u8> {
    let codec = detect();
    let mut rgb = vec![0; 3 * luma.len()];
    let half = width.div_ceil(2);
    let mut upsampled = [vec![0; 2 * half], vec![0; 2 * half]];
    let chroma_rows = cb.chunks_exact(half).zip(cr.chunks_exact(half));
    let row_pairs = luma.chunks(2 * width).zip(rgb.chunks_mut(6 * width));
    for ((luma, rgb), (cb, cr)) in row_pairs.zip(chroma_rows) {
        for (upsampled, row) in upsampled.iter_mut().zip([cb, cr]) {
            for (pair, sample) in upsampled.as_chunks_mut().0.iter_mut().zip(row) {
                *pair = [*sample; 2];
            }
        }
        let [cb, cr] = upsampled.each_ref().map(|row| &row[..width]);
        for (luma, rgb) in luma.chunks_exact(width).zip(rgb.chunks_exact_mut(3 * width)) {
            codec.ycbcr_to_rgb_row(luma, cb, cr, rgb, width);
        }
    }
    rgb
}
