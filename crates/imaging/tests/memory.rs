//! The memory that `probe` returns is an upper bound for `ingest`, and that of `render_memory` for AVIF. In a
//! test binary of its own, because the allocator counts the whole process.

#[path = "imaging/forged_webp.rs"]
mod forged_webp;
#[path = "imaging/test_images.rs"]
mod test_images;

use forged_webp::{CodeTables, forged_webp};
use image::{DynamicImage, GrayImage};
use imaging::{FitMasters, OutputFormat, ingest, probe, render, render_memory};
use jpeg_encoder::SamplingFactor;
use model::Focus;
use moxcms::ColorProfile;
use peak_alloc::PeakAlloc;
use test_images::*;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A single test, so no other test allocates at the same time.
#[test]
fn ingest_stays_within_the_memory_estimated_by_probe() {
    for (what, file) in valid_images().into_iter().chain(bombs()) {
        let (peak, estimate) = measure(&file, true);
        assert!(peak <= estimate, "{what}: peak of {peak} bytes, estimate {estimate}");
        // A far too high estimate would delay uploads for no reason.
        let max_estimate = peak * 3 + (32 << 20);
        assert!(estimate < max_estimate, "{what}: peak of only {peak} bytes, estimate {estimate}");
    }
    let (peak, estimate) = measure(&forged_frame(), false);
    assert!(peak <= estimate, "a forged frame: peak of {peak} bytes, estimate {estimate}");
    encoding_avif_stays_within_its_estimate();
}

/// Noise takes the most blocks and bytes; alpha is encoded after the colours.
fn encoding_avif_stays_within_its_estimate() {
    let noise = noise(800, 800);
    let opaque = DynamicImage::from(noise.clone()).to_rgb8().into();
    for (what, file) in [("opaque", jpeg(&opaque)), ("with alpha", png(&noise.into()))] {
        let master = &ingest(&file, Focus::CENTRE, FitMasters::Initial, &LIMITS)
            .expect("a valid image")
            .masters
            .squares[0];
        for side in [201, 800] {
            let before = ALLOCATOR.current_usage();
            ALLOCATOR.reset_peak_usage();
            render(&master.bytes, (side, side), OutputFormat::Avif).expect("a valid master");
            let peak = (ALLOCATOR.peak_usage() - before) as u64;
            let estimate = render_memory((master.side, master.side), (side, side), OutputFormat::Avif);
            assert!(peak <= estimate, "{what} at {side}: peak of {peak} bytes, estimate {estimate}");
            assert!(estimate < peak * 3 + (16 << 20), "{what} at {side}: peak of only {peak} bytes");
        }
    }
}

/// The measured peak and the estimate, in bytes.
fn measure(file: &[u8], is_valid: bool) -> (u64, u64) {
    let estimate = probe(file, &LIMITS).expect("a valid header").memory;
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    assert_eq!(ingest(file, Focus::CENTRE, FitMasters::All, &LIMITS).is_ok(), is_valid);
    ((ALLOCATOR.peak_usage() - before) as u64, estimate)
}

fn valid_images() -> Vec<(&'static str, Vec<u8>)> {
    let noise = noise(1000, 900);
    let opaque: DynamicImage = DynamicImage::from(noise.clone()).to_rgb8().into();
    let grey: DynamicImage = DynamicImage::from(noise.clone()).to_luma8().into();
    let sixteen_bit: DynamicImage = DynamicImage::from(noise.clone()).to_rgba16().into();
    let noise: DynamicImage = noise.into();
    let wide: DynamicImage = GrayImage::new(60_000, 16).into();
    let profile = jpeg_profile(&ColorProfile::new_display_p3().encode().expect("a profile"));
    let sampled = |sampling, progressive, optimised| {
        jpeg_with(&opaque, |encoder| {
            encoder.set_sampling_factor(sampling);
            encoder.set_progressive(progressive);
            encoder.set_optimized_huffman_tables(optimised);
        })
    };
    vec![
        ("JPEG 4:4:4", jpeg(&opaque)),
        ("larger JPEG", jpeg(&quarters(4000, 3000))),
        ("JPEG with a profile", with_segment(&jpeg(&opaque), 0xE2, &profile)),
        ("JPEG with an orientation", with_segment(&jpeg(&opaque), 0xE1, &jpeg_exif(6, ""))),
        ("JPEG 4:2:0", sampled(SamplingFactor::F_2_2, false, false)),
        ("JPEG 4:1:1", sampled(SamplingFactor::F_4_1, false, false)),
        ("progressive 4:4:4", large_progressive()),
        ("progressive 4:2:0", sampled(SamplingFactor::F_2_2, true, false)),
        ("separate scans", sampled(SamplingFactor::F_2_1, false, true)),
        ("grey JPEG", jpeg(&grey)),
        ("wide JPEG", jpeg(&wide.to_rgb8().into())),
        ("small JPEG", jpeg(&quarters(20, 20))),
        ("PNG", png(&opaque)),
        ("PNG with alpha", png(&noise)),
        ("larger PNG with alpha", png(&self::noise(2048, 2048).into())),
        ("16-bit PNG", png(&sixteen_bit)),
        ("grey PNG", png(&grey)),
        ("wide PNG", png(&wide)),
        ("lossless WebP", webp(&opaque)),
        ("lossless WebP with alpha", webp(&noise)),
        ("larger lossless WebP", webp(&quarters(4000, 3000))),
        ("lossless WebP with many prefix codes", many_prefix_codes()),
        ("WebP with forged tables", forged_webp(100, CodeTables::Largest)),
        ("WebP with forged groups", forged_webp(4000, CodeTables::Empty)),
        ("lossy WebP", lossy_webp(&opaque)),
        ("lossy WebP with alpha", lossy_webp(&noise)),
        ("animated WebP", animated_webp((1000, 900), &[&noise])),
        ("GIF", gif(1000, 900, &[(0, 0, &opaque)])),
        ("GIF of a smaller frame", gif(1100, 1000, &[(50, 50, &opaque)])),
    ]
}

/// Large enough for its coefficients to dominate the peak.
fn large_progressive() -> Vec<u8> {
    jpeg_with(&quarters(4000, 3000), |encoder| {
        encoder.set_sampling_factor(SamplingFactor::F_1_1);
        encoder.set_progressive(true);
    })
}

/// libwebp assigns different prefix codes to different regions of an image.
fn many_prefix_codes() -> Vec<u8> {
    let mut rng = Rng(7);
    let image = paint(1000, 900, |x, y| {
        let (noise_range, slope) = (1 << (x / 100 % 8), (x * y / 997) as u8);
        [rng.below(noise_range) as u8, slope, slope ^ rng.below(noise_range) as u8]
    });
    let encoder = webpx::Encoder::new_rgb(image.as_bytes(), 1000, 900).lossless(true);
    encoder.encode(webpx::Unstoppable).expect("a WebP")
}

/// Small files whose chunks decompress to 100 MB, or declare gigabytes that are not present.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let zeros = zlib_compressed(&vec![0; 100_000_000]);
    let png = png(&quarters(64, 64));
    let canvas = (64, 64);
    let webp = extended_webp(&webp(&quarters(64, 64)), canvas, 0x20, &[]);
    let forged_chunk = [b"ICCP", &u32::MAX.to_le_bytes()[..]].concat();
    let mut big_text = with_chunk(&png, b"tEXt", &vec![b'a'; 30_000_000]);
    for _ in 0..20 {
        big_text = with_chunk(&big_text, b"tEXt", b"Comment\0small");
    }
    vec![
        ("zTXt bomb", with_chunk(&png, b"zTXt", &[b"Comment\0\0", &zeros[..]].concat())),
        ("iTXt bomb", with_chunk(&png, b"iTXt", &[b"Comment\0\x01\0\0\0", &zeros[..]].concat())),
        ("iCCP bomb", with_chunk(&png, b"iCCP", &[b"icc\0\0", &zeros[..]].concat())),
        ("PNG of text", big_text),
        ("WebP with a forged chunk length", [webp, forged_chunk].concat()),
    ]
}

/// A GIF whose frame declares 65535 × 65535 pixels on a logical screen of 8 × 8.
fn forged_frame() -> Vec<u8> {
    let mut file = gif(8, 8, &[(0, 0, &quarters(8, 8))]);
    let frame = file.iter().position(|byte| *byte == 0x2C).expect("a frame");
    file[frame + 5..frame + 9].copy_from_slice(&[0xFF; 4]);
    file
}
