//! Tone mapping: HDR (PQ and HLG) to sRGB, or to Display P3 if the primaries are wider.
//!
//! Reference white of 203 cd/m² (ITU-R BT.2408) becomes the white of sRGB and Display P3. Brighter light is
//! compressed by the curve of ITU-R BT.2390, which leaves the lower half as it is.

use crate::gamut::Gamut;

/// Code points of ITU-T H.273.
const PQ: u16 = 16;
const HLG: u16 = 18;
const BT_2020: u16 = 9;
const DISPLAY_P3: u16 = 12;

/// Reference white in cd/m².
const WHITE: f32 = 203.0;
/// The brightest pixel in cd/m², unless the file says otherwise. Phones and cameras write up to this.
const DEFAULT_PEAK: f32 = 1000.0;
/// The brightest pixel that PQ can represent.
const MAX_PEAK: f32 = 10_000.0;
/// The peak and the gamma of a reference display for HLG.
const HLG_PEAK: f32 = 1000.0;
const HLG_GAMMA: f32 = 1.2;

/// Entries of each lookup table: more than a sample of 12 bits has values.
const STEPS: usize = 4096;

pub(crate) fn is_hdr(transfer: u16) -> bool {
    matches!(transfer, PQ | HLG)
}

/// The transform from the non-linear values of an HDR image to those of its gamut.
pub(crate) struct ToneMap {
    /// Linear light of each sample value; reference white is 1. Scene light for HLG.
    linear: Vec<f32>,
    is_hlg: bool,
    /// The weights of the primaries in the luminance.
    luminance: [f32; 3],
    /// The factor for a pixel by the square root of its brightest component, from 0 to the peak.
    factors: Vec<f32>,
    peak: f32,
    gamut: Gamut,
    to_gamut: [[f32; 3]; 3],
    /// The encoded value of linear light from 0 to 1.
    encoded: Vec<u8>,
}

impl ToneMap {
    /// None unless the image is HDR. `max_light_level` is the brightest pixel in cd/m².
    pub(crate) fn new(primaries: u16, transfer: u16, max_light_level: Option<u16>) -> Option<Self> {
        if !is_hdr(transfer) {
            return None;
        }
        let is_hlg = transfer == HLG;
        let value = |step: usize| step as f32 / (STEPS - 1) as f32;
        let table = |function: &dyn Fn(f32) -> f32| (0..STEPS).map(|step| function(value(step))).collect();
        let peak = match max_light_level {
            _ if is_hlg => HLG_PEAK,
            Some(level) => f32::from(level).clamp(WHITE, MAX_PEAK),
            None => DEFAULT_PEAK,
        };
        Some(Self {
            linear: match is_hlg {
                true => table(&hlg_to_scene_light),
                false => table(&|value| pq_to_light(value) / WHITE),
            },
            is_hlg,
            luminance: luminance(primaries),
            factors: table(&|root| match root * root * peak {
                light if light > 0.0 => compressed(light, peak) / light,
                _ => 1.0,
            }),
            peak: peak / WHITE,
            gamut: gamut(primaries),
            to_gamut: to_gamut(primaries),
            encoded: (0..STEPS).map(|step| (255.0 * srgb_encoded(value(step)) + 0.5) as u8).collect(),
        })
    }

    /// The gamut of the mapped pixels.
    pub(crate) fn gamut(&self) -> Gamut {
        self.gamut
    }

    /// Maps a pixel whose components are from 0 to 1.
    pub(crate) fn apply(&self, pixel: [f32; 3]) -> [u8; 3] {
        let mut light = pixel.map(|value| lookup(&self.linear, value));
        if self.is_hlg {
            // The opto-optical transfer function of BT.2100, for the reference display.
            let luminance = dot(&self.luminance, &light);
            let factor = luminance.powf(HLG_GAMMA - 1.0) * HLG_PEAK / WHITE;
            light = light.map(|component| component * factor);
        }
        // Colours outside of the gamut are clipped, as by an ICC profile.
        let light = self.to_gamut.map(|row| dot(&row, &light).max(0.0));
        // The same factor for all components keeps the hue.
        let brightest = light.iter().copied().fold(0.0, f32::max);
        let factor = match brightest <= self.peak {
            true => lookup(&self.factors, (brightest / self.peak).sqrt()),
            false => 1.0 / brightest,
        };
        light.map(|component| lookup(&self.encoded, factor * component))
    }
}

/// The entry for a value from 0 to 1.
fn lookup<T: Copy + Default>(table: &[T], value: f32) -> T {
    // The cast saturates at 0.
    let index = (value * (STEPS - 1) as f32 + 0.5) as usize;
    table.get(index.min(STEPS - 1)).copied().unwrap_or_default()
}

fn dot(one: &[f32; 3], other: &[f32; 3]) -> f32 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

/// The curve of BT.2390 for light in cd/m², from a peak to reference white.
fn compressed(light: f32, peak: f32) -> f32 {
    let scale = light_to_pq(peak);
    let (value, max) = (light_to_pq(light) / scale, light_to_pq(WHITE) / scale);
    let knee = 1.5 * max - 0.5;
    if value <= knee {
        return light;
    }
    // A Hermite spline from the knee to the maximum.
    let t = (value - knee) / (1.0 - knee);
    let (t2, t3) = (t * t, t * t * t);
    let mapped =
        (2.0 * t3 - 3.0 * t2 + 1.0) * knee + (t3 - 2.0 * t2 + t) * (1.0 - knee) + (3.0 * t2 - 2.0 * t3) * max;
    pq_to_light(mapped * scale)
}

const PQ_M1: f32 = 0.159_301_76;
const PQ_M2: f32 = 78.843_75;
const PQ_C1: f32 = 0.835_937_5;
const PQ_C2: f32 = 18.851_563;
const PQ_C3: f32 = 18.6875;

/// The transfer function of SMPTE ST 2084, in cd/m².
fn pq_to_light(value: f32) -> f32 {
    let root = value.max(0.0).powf(1.0 / PQ_M2);
    MAX_PEAK * ((root - PQ_C1).max(0.0) / (PQ_C2 - PQ_C3 * root)).powf(1.0 / PQ_M1)
}

fn light_to_pq(light: f32) -> f32 {
    let power = (light.max(0.0) / MAX_PEAK).powf(PQ_M1);
    ((PQ_C1 + PQ_C2 * power) / (1.0 + PQ_C3 * power)).powf(PQ_M2)
}

/// The inverse of the HLG transfer function of BT.2100.
fn hlg_to_scene_light(value: f32) -> f32 {
    const A: f32 = 0.178_832_77;
    const B: f32 = 0.284_668_92;
    const C: f32 = 0.559_910_7;
    match value <= 0.5 {
        true => value * value / 3.0,
        false => (((value - C) / A).exp() + B) / 12.0,
    }
}

fn srgb_encoded(light: f32) -> f32 {
    match light <= 0.003_130_8 {
        true => 12.92 * light,
        false => 1.055 * light.powf(1.0 / 2.4) - 0.055,
    }
}

fn luminance(primaries: u16) -> [f32; 3] {
    match primaries {
        BT_2020 => [0.2627, 0.6780, 0.0593],
        DISPLAY_P3 => [0.2290, 0.6917, 0.0793],
        _ => [0.2126, 0.7152, 0.0722],
    }
}

/// The gamut to which light with these primaries is mapped.
pub(crate) fn gamut(primaries: u16) -> Gamut {
    match primaries {
        BT_2020 | DISPLAY_P3 => Gamut::DisplayP3,
        _ => Gamut::Srgb,
    }
}

/// From linear light with these primaries to those of their gamut.
fn to_gamut(primaries: u16) -> [[f32; 3]; 3] {
    match primaries {
        BT_2020 => [[1.3436, -0.2822, -0.0614], [-0.0653, 1.0758, -0.0105], [0.0028, -0.0196, 1.0168]],
        _ => [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    }
}
