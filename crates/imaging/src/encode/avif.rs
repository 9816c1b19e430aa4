//! Encodes AVIF with rav1e: one AV1 key frame, and a second one for alpha, in a HEIF container.

use avif_serialize::Aviffy;
use avif_serialize::constants as container;
use rav1e::prelude::*;

use crate::error::Error;
use crate::gamut::Gamut;
use crate::pixels::{Channels, Pixels};
use crate::planes::Planes;
use crate::upright_image::{Samples, is_even};
use crate::ycbcr;

/// 10 bits save 2 % at equal quality and cost no more time than 8.
const BIT_DEPTH: u8 = 10;

/// A preset of rav1e, changed by [`speed_settings`]. Preset 4 saves 4 % more and takes four times as long;
/// preset 8 is a quarter faster and saves 2 % less.
const SPEED: u8 = 6;

/// Alpha has hard edges and takes few bytes.
const ALPHA_QUANTIZER: u8 = 40;

/// The planes of a picture, full range.
struct Picture<'a> {
    width: u32,
    height: u32,
    sampling: ChromaSampling,
    planes: Vec<&'a [u8]>,
}

pub(super) fn encode(samples: &Samples, gamut: Gamut) -> Result<Vec<u8>, Error> {
    match samples {
        Samples::Planes(planes) => encode_planes(planes, None, gamut),
        Samples::Pixels(pixels) => match pixels.channels {
            Channels::Rgba => {
                let (rgb, alpha) = split_alpha(pixels);
                encode_rgb(&rgb, Some(&alpha), gamut)
            }
            _ => encode_rgb(pixels, None, gamut),
        },
    }
}

/// In 4:2:0, as JPEG and WebP. An odd width or height is in 4:4:4.
fn encode_rgb(pixels: &Pixels, alpha: Option<&[u8]>, gamut: Gamut) -> Result<Vec<u8>, Error> {
    if is_even(pixels.width) && is_even(pixels.height) {
        return encode_planes(&Planes::from_pixels(pixels), alpha, gamut);
    }
    let planes = ycbcr::rgb_to_ycbcr_444(&pixels.bytes);
    let planes = planes.iter().map(Vec::as_slice).collect();
    let Pixels { width, height, .. } = *pixels;
    write(&Picture { width, height, sampling: ChromaSampling::Cs444, planes }, alpha, gamut)
}

fn encode_planes(planes: &Planes, alpha: Option<&[u8]>, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let sampling = if planes.is_grey() { ChromaSampling::Cs400 } else { ChromaSampling::Cs420 };
    let Planes { width, height, .. } = *planes;
    write(&Picture { width, height, sampling, planes: planes.samples().collect() }, alpha, gamut)
}

fn split_alpha(pixels: &Pixels) -> (Pixels, Vec<u8>) {
    let (rgba, _) = pixels.bytes.as_chunks::<4>();
    let bytes = rgba.iter().flat_map(|[rgb @ .., _]| *rgb).collect();
    let alpha = rgba.iter().map(|[.., alpha]| *alpha).collect();
    (Pixels { channels: Channels::Rgb, bytes, ..*pixels }, alpha)
}

fn write(picture: &Picture, alpha: Option<&[u8]>, gamut: Gamut) -> Result<Vec<u8>, Error> {
    let Picture { width, height, sampling, .. } = *picture;
    let (color_primaries, container_primaries) = match gamut {
        Gamut::Srgb => (ColorPrimaries::BT709, container::ColorPrimaries::Bt709),
        Gamut::DisplayP3 => (ColorPrimaries::SMPTE432, container::ColorPrimaries::DisplayP3),
    };
    let description = ColorDescription {
        color_primaries,
        transfer_characteristics: TransferCharacteristics::SRGB,
        matrix_coefficients: MatrixCoefficients::BT601,
    };
    let colour = key_frame(picture, quantizer(width, height), Some(description))?;
    let alpha = alpha.map(|alpha| {
        let picture = Picture { width, height, sampling: ChromaSampling::Cs400, planes: vec![alpha] };
        key_frame(&picture, ALPHA_QUANTIZER, None)
    });
    let is_subsampled = sampling != ChromaSampling::Cs444;
    let mut file = Vec::new();
    Aviffy::new()
        .set_color_primaries(container_primaries)
        .set_matrix_coefficients(container::MatrixCoefficients::Bt601)
        .set_full_color_range(true)
        .set_chroma_subsampling((is_subsampled, is_subsampled))
        .set_monochrome(sampling == ChromaSampling::Cs400)
        .write(&mut file, &colour, alpha.transpose()?.as_deref(), width, height, BIT_DEPTH)
        .map_err(Error::internal)?;
    Ok(file)
}

/// The quantizer at which AVIF matches our JPEG and WebP of the same size.
fn quantizer(width: u32, height: u32) -> u8 {
    // The side of a square with as many pixels.
    match (width * height).isqrt() {
        0..=256 => 112,
        _ => 105,
    }
}

/// One AV1 key frame, encoded on the calling thread.
fn key_frame(
    picture: &Picture,
    quantizer: u8,
    color_description: Option<ColorDescription>,
) -> Result<Vec<u8>, Error> {
    let config = EncoderConfig {
        width: picture.width as usize,
        height: picture.height as usize,
        bit_depth: BIT_DEPTH.into(),
        chroma_sampling: picture.sampling,
        pixel_range: PixelRange::Full,
        color_description,
        still_picture: true,
        quantizer: quantizer.into(),
        min_quantizer: quantizer,
        tiles: 1,
        speed_settings: speed_settings(),
        ..EncoderConfig::default()
    };
    let config = Config::new().with_encoder_config(config).with_threads(1);
    let mut encoder: Context<u16> = config.new_context().map_err(Error::internal)?;
    let mut frame = encoder.new_frame();
    let chroma_width = match picture.sampling {
        ChromaSampling::Cs444 => picture.width,
        _ => picture.width.div_ceil(2),
    };
    let widths = [picture.width, chroma_width, chroma_width];
    for ((plane, samples), width) in frame.planes.iter_mut().zip(&picture.planes).zip(widths) {
        for (row, samples) in plane.rows_iter_mut().zip(samples.chunks_exact(width as usize)) {
            for (to, from) in row.iter_mut().zip(samples) {
                *to = ten_bits(*from);
            }
        }
    }
    encoder.send_frame(frame).map_err(Error::internal)?;
    encoder.flush();
    loop {
        match encoder.receive_packet() {
            Ok(packet) => return Ok(packet.data),
            // The frame has been encoded, its packet follows.
            Err(EncoderStatus::Encoded) => {}
            Err(error) => return Err(Error::internal(error)),
        }
    }
}

/// The same brightness in 10 bits: 255 becomes 1023.
fn ten_bits(sample: u8) -> u16 {
    let sample = u16::from(sample);
    (sample << 2) | (sample >> 6)
}

/// The preset without what concerns other frames than the first, and with the changes that ravif makes for
/// still images: small blocks, and no filters that blur texture at this quality.
fn speed_settings() -> SpeedSettings {
    let mut settings = SpeedSettings::from_preset(SPEED);
    settings.multiref = false;
    settings.rdo_lookahead_frames = 1;
    settings.scene_detection_mode = SceneDetectionSpeed::None;
    settings.motion.use_satd_subpel = false;
    settings.partition.partition_range = PartitionRange::new(BlockSize::BLOCK_8X8, BlockSize::BLOCK_16X16);
    settings.prediction.prediction_modes = PredictionModesSetting::Simple;
    settings.transform.reduced_tx_set = false;
    settings.cdef = false;
    settings.lrf = false;
    settings
}
