//! What is seen of a photo before it arrives: its thumbhash as a tiny picture inside the page.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Browsers smooth it when they enlarge it; more pixels would only be more bytes.
const SIDE: usize = 8;

/// A data URL; empty when the hash makes no sense.
pub(super) fn data_url(thumbhash: &[u8]) -> String {
    let picture = thumbhash::thumb_hash_to_rgba(thumbhash)
        .ok()
        .map(|(width, height, rgba)| shrink(width, height, &rgba));
    picture
        .and_then(|rgba| png(&rgba))
        .map(|png| format!("data:image/png;base64,{}", STANDARD.encode(png)))
        .unwrap_or_default()
}

/// The mean of each of 8 × 8 fields.
fn shrink(width: usize, height: usize, rgba: &[u8]) -> Vec<u8> {
    let mut small = Vec::with_capacity(SIDE * SIDE * 4);
    for place in 0..SIDE * SIDE {
        let (left, top) = (place % SIDE * width / SIDE, place / SIDE * height / SIDE);
        let (right, bottom) = ((place % SIDE + 1) * width / SIDE, (place / SIDE + 1) * height / SIDE);
        let field = (top..bottom.max(top + 1))
            .flat_map(|y| (left..right.max(left + 1)).map(move |x| (y * width + x) * 4));
        let mut sums = [0_u32; 4];
        let mut count = 0;
        for pixel in field.filter_map(|at| rgba.get(at..at + 4)) {
            sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u32::from(*value));
            count += 1;
        }
        small.extend(sums.map(|sum| u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)));
    }
    small
}

fn png(rgba: &[u8]) -> Option<Vec<u8>> {
    let opaque = rgba.chunks_exact(4).all(|pixel| pixel[3] == u8::MAX);
    let mut file = Vec::new();
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
