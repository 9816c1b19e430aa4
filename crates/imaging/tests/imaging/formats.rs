//! Every supported input format is decoded, and other files are rejected.

use image::{DynamicImage, ImageBuffer, Luma, LumaA, Rgb, Rgba};
use imaging::{Error, FitMasters, InputFormat, ingest, probe};
use jpeg_encoder::SamplingFactor;
use model::Focus;

use crate::test_images::*;

#[test]
fn the_format_is_recognized_by_its_signature() {
    let image = quarters(70, 50);
    for (format, file) in [
        (InputFormat::Jpeg, jpeg(&image)),
        (InputFormat::Png, png(&image)),
        (InputFormat::WebP, webp(&image)),
        (InputFormat::WebP, lossy_webp(&image)),
        (InputFormat::Gif, gif(70, 50, &[(0, 0, &image)])),
    ] {
        let probe = probe(&file, &LIMITS).unwrap();
        assert_eq!((probe.format, probe.width, probe.height), (format, 70, 50));
        let master = decode_largest_master(&file);
        assert_colour(&master, 3, 3, RED, &format!("{format:?}"));
        assert_colour(&master, 46, 46, YELLOW, &format!("{format:?}"));
    }
}

#[test]
fn unsupported_files_are_rejected_with_the_list_of_formats() {
    let video = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom";
    for file in [&b""[..], b"G", b"hello, world", b"<svg xmlns='x'/>", b"BM6\0\0\0\0\0", video] {
        for error in [
            probe(file, &LIMITS).unwrap_err(),
            ingest(file, Focus::CENTRE, FitMasters::All, &LIMITS).unwrap_err(),
        ] {
            assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
            assert!(error.to_string().contains(&InputFormat::list("or")), "{error}");
        }
    }
}

#[test]
fn sixteen_bit_images_are_reduced_to_eight() {
    let rgb = ImageBuffer::from_pixel(40, 40, Rgb([220 << 8, 30 << 8, 30 << 8]));
    assert_colour(&decode_largest_master(&png(&DynamicImage::ImageRgb16(rgb))), 20, 20, RED, "RGB");
    let rgba = ImageBuffer::from_pixel(40, 40, Rgba([220 << 8, 30 << 8, 30 << 8, 99 << 8]));
    let decoded = decode_largest_master(&png(&DynamicImage::ImageRgba16(rgba)));
    assert_colour(&decoded, 20, 20, RED, "RGBA");
    assert_eq!(decoded.get_pixel(20, 20).0[3], 99);
    let grey = ImageBuffer::from_pixel(40, 40, Luma([77 << 8]));
    assert_colour(&decode_largest_master(&png(&DynamicImage::ImageLuma16(grey))), 20, 20, [77; 3], "grey");
}

#[test]
fn grey_stays_grey() {
    let grey: DynamicImage = ImageBuffer::from_pixel(40, 40, Luma([77_u8])).into();
    assert_colour(&decode_largest_master(&png(&grey)), 20, 20, [77; 3], "PNG");
    assert_colour(&decode_largest_master(&jpeg(&grey)), 20, 20, [77; 3], "JPEG");
    let alpha = DynamicImage::ImageLumaA8(ImageBuffer::from_pixel(400, 300, LumaA([77, 99])));
    let decoded = decode_largest_master(&png(&alpha));
    assert_colour(&decoded, 20, 20, [77; 3], "PNG with alpha");
    assert_eq!(decoded.get_pixel(20, 20).0[3], 99);
}

#[test]
fn palettes_are_expanded() {
    // Two bits per pixel, a third of the row each: red, green and a fully transparent blue.
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 12, 12);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Two);
    encoder.set_palette([RED, GREEN, BLUE].concat());
    encoder.set_trns(&[255, 255, 0][..]);
    let row = [0b00_00_00_00, 0b01_01_01_01, 0b10_10_10_10];
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&row.repeat(12)).unwrap();
    drop(writer);

    let decoded = decode_largest_master(&file);
    assert_colour(&decoded, 1, 5, RED, "the left third");
    assert_colour(&decoded, 6, 5, GREEN, "the middle third");
    assert_eq!(decoded.get_pixel(10, 5).0[3], 0);
}

#[test]
fn only_the_first_frame_of_an_animation_is_decoded() {
    let plain = |colour| paint(60, 40, move |_, _| colour);
    let (first, second) = (plain(GREEN), plain(RED));
    let file = gif(60, 40, &[(0, 0, &first), (0, 0, &second)]);
    assert_colour(&decode_largest_master(&file), 20, 20, GREEN, "GIF");

    let file = animated_webp((60, 40), &[&first, &second]);
    assert_eq!(probe(&file, &LIMITS).unwrap().width, 60);
    assert_colour(&decode_largest_master(&file), 20, 20, GREEN, "WebP");
}

#[test]
fn a_gif_frame_is_placed_on_its_logical_screen() {
    // The second and the third frame extend beyond the screen, the last is outside of it.
    for (left, top, visible) in
        [(40, 20, (55, 35)), (60, 20, (75, 35)), (20, 70, (35, 75)), (80, 0, (99, 99))]
    {
        let file = gif(80, 80, &[(left, top, &paint(30, 30, |_, _| BLUE))]);
        let decoded = decode_largest_master(&file);
        assert_eq!(decoded.get_pixel(10, 10).0[3], 0);
        let (x, y) = visible;
        if x < 80 {
            assert_colour(&decoded, x, y, BLUE, "the frame");
        }
    }
}

#[test]
fn jpegs_of_every_subsampling_and_coding_are_decoded() {
    let image = quarters(203, 101);
    for sampling in [
        SamplingFactor::F_1_1,
        SamplingFactor::F_2_1,
        SamplingFactor::F_1_2,
        SamplingFactor::F_2_2,
        SamplingFactor::F_4_1,
        SamplingFactor::F_4_2,
    ] {
        for progressive in [false, true] {
            for optimised in [false, true] {
                let file = jpeg_with(&image, |encoder| {
                    encoder.set_sampling_factor(sampling);
                    encoder.set_progressive(progressive);
                    encoder.set_optimized_huffman_tables(optimised);
                });
                let what = format!("{sampling:?}, progressive {progressive}, optimised {optimised}");
                let master = decode_largest_master(&file);
                assert_colour(&master, 10, 10, RED, &what);
                assert_colour(&master, 90, 90, YELLOW, &what);
            }
        }
    }
}
