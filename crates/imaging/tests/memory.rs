//! What `probe` announces is what `ingest` takes at most. Alone in its program: the allocator counts
//! everything that runs beside it.

#[path = "imaging/forge.rs"]
mod forge;
#[path = "imaging/pictures.rs"]
mod pictures;

use forge::{Tables, forged_webp};
use image::{DynamicImage, GrayImage};
use imaging::{ingest, probe};
use jpeg_encoder::SamplingFactor;
use moxcms::ColorProfile;
use peak_alloc::PeakAlloc;
use pictures::*;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test, so that nothing runs beside it.
#[test]
fn no_picture_takes_more_memory_than_announced() {
    for (what, file) in plain().into_iter().chain(bombs()) {
        let (taken, announced) = cost(&file, true);
        assert!(taken <= announced, "{what}: {taken} of {announced} bytes");
        // An estimate that is far too high makes good pictures wait.
        let near = taken * 3 + (32 << 20);
        assert!(announced < near, "{what}: only {taken} of {announced} bytes");
    }
    let (taken, announced) = cost(&forged_frame(), false);
    assert!(taken <= announced, "a forged frame: {taken} of {announced} bytes");
}

/// The bytes taken and the bytes announced.
fn cost(file: &[u8], good: bool) -> (u64, u64) {
    let announced = probe(file, &LIMITS).expect("a good header").memory;
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    assert_eq!(ingest(file, &LIMITS).is_ok(), good);
    ((ALLOCATOR.peak_usage() - before) as u64, announced)
}

fn plain() -> Vec<(&'static str, Vec<u8>)> {
    let noise = noise(1000, 900);
    let opaque: DynamicImage = DynamicImage::from(noise.clone()).to_rgb8().into();
    let grey: DynamicImage = DynamicImage::from(noise.clone()).to_luma8().into();
    let deep: DynamicImage = DynamicImage::from(noise.clone()).to_rgba16().into();
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
        ("JPEG turned", with_segment(&jpeg(&opaque), 0xE1, &jpeg_exif(6, ""))),
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
        ("deep PNG", png(&deep)),
        ("grey PNG", png(&grey)),
        ("wide PNG", png(&wide)),
        ("lossless WebP", webp(&opaque)),
        ("lossless WebP with alpha", webp(&noise)),
        ("larger lossless WebP", webp(&quarters(4000, 3000))),
        ("lossless WebP in many codes", many_codes()),
        ("WebP of forged tables", forged_webp(100, Tables::Largest)),
        ("WebP of forged groups", forged_webp(4000, Tables::Empty)),
        ("lossy WebP", lossy_webp(&opaque)),
        ("lossy WebP with alpha", lossy_webp(&noise)),
        ("animated WebP", animated_webp((1000, 900), &[&noise])),
        ("GIF", gif(1000, 900, &[(0, 0, &opaque)])),
        ("GIF of a smaller frame", gif(1100, 1000, &[(50, 50, &opaque)])),
    ]
}

/// Large enough for its coefficients to outweigh all that comes after.
fn large_progressive() -> Vec<u8> {
    jpeg_with(&quarters(4000, 3000), |encoder| {
        encoder.set_sampling_factor(SamplingFactor::F_1_1);
        encoder.set_progressive(true);
    })
}

/// libwebp gives parts of a picture that differ their own code tables.
fn many_codes() -> Vec<u8> {
    let mut chance = Chance(7);
    let image = paint(1000, 900, |x, y| {
        let (busy, slope) = (1 << (x / 100 % 8), (x * y / 997) as u8);
        [chance.below(busy) as u8, slope, slope ^ chance.below(busy) as u8]
    });
    let encoder = webpx::Encoder::new_rgb(image.as_bytes(), 1000, 900).lossless(true);
    encoder.encode(webpx::Unstoppable).expect("a WebP")
}

/// Small files whose chunks unpack to 100 MB, or claim gigabytes that are not there.
fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let zeros = deflated(&vec![0; 100_000_000]);
    let png = png(&quarters(64, 64));
    let canvas = (64, 64);
    let webp = extended_webp(&webp(&quarters(64, 64)), canvas, 0x20, &[]);
    let claim = [b"ICCP", &u32::MAX.to_le_bytes()[..]].concat();
    let mut big_text = with_chunk(&png, b"tEXt", &vec![b'a'; 30_000_000]);
    for _ in 0..20 {
        big_text = with_chunk(&big_text, b"tEXt", b"Comment\0small");
    }
    vec![
        ("zTXt bomb", with_chunk(&png, b"zTXt", &[b"Comment\0\0", &zeros[..]].concat())),
        ("iTXt bomb", with_chunk(&png, b"iTXt", &[b"Comment\0\x01\0\0\0", &zeros[..]].concat())),
        ("iCCP bomb", with_chunk(&png, b"iCCP", &[b"icc\0\0", &zeros[..]].concat())),
        ("PNG of text", big_text),
        ("WebP with a claim", [webp, claim].concat()),
    ]
}

/// A GIF whose frame claims 65535 × 65535 pixels on a screen of 8 × 8.
fn forged_frame() -> Vec<u8> {
    let mut file = gif(8, 8, &[(0, 0, &quarters(8, 8))]);
    let frame = file.iter().position(|byte| *byte == 0x2C).expect("a frame");
    file[frame + 5..frame + 9].copy_from_slice(&[0xFF; 4]);
    file
}
