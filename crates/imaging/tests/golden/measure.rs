//! Image differences: per channel, alpha, CIEDE2000 and SSIM.

use std::fmt;

use crate::colour::{ciede2000, lab};
use crate::decoded_square::DecodedSquare;

pub(crate) struct Difference {
    /// The mean over all channels of all pixels.
    mean: f64,
    /// The largest difference of a channel.
    max: u8,
}

impl Difference {
    #[track_caller]
    pub(crate) fn between(one: &DecodedSquare, other: &DecodedSquare) -> Self {
        assert_eq!(one.side, other.side, "squares of different sizes");
        let pairs = one.colours.as_flattened().iter().zip(other.colours.as_flattened());
        let differences: Vec<u8> = pairs.map(|(one, other)| one.abs_diff(*other)).collect();
        let sum: f64 = differences.iter().copied().map(f64::from).sum();
        Self { mean: sum / differences.len() as f64, max: differences.into_iter().max().unwrap_or_default() }
    }

    pub(crate) fn within(&self, (mean, max): (f64, u8)) -> bool {
        self.mean <= mean && self.max <= max
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:5.2} {:>3}", self.mean, self.max)
    }
}

/// A chart has four by four flat patches; their edges are excluded.
const PATCHES: u32 = 4;
const EDGE: u32 = 4;

impl DecodedSquare {
    /// The largest difference of alpha.
    pub(crate) fn alpha_difference(&self, other: &Self) -> u8 {
        let pairs = self.alpha.iter().zip(&other.alpha);
        pairs.map(|(one, other)| one.abs_diff(*other)).max().unwrap_or_default()
    }

    /// The mean CIEDE2000 of the patches of a chart.
    pub(crate) fn delta_e(&self, other: &Self) -> f64 {
        let patches = (0..PATCHES).flat_map(|y| (0..PATCHES).map(move |x| (x, y)));
        let differences = patches.map(|(x, y)| ciede2000(lab(self.patch(x, y)), lab(other.patch(x, y))));
        differences.sum::<f64>() / f64::from(PATCHES * PATCHES)
    }

    fn patch(&self, column: u32, row: u32) -> [f64; 3] {
        let side = self.side / PATCHES;
        let inner = |index: u32| index * side + EDGE..(index + 1) * side - EDGE;
        let pixels: Vec<_> = inner(row).flat_map(|y| inner(column).map(move |x| self.pixel(x, y))).collect();
        [0, 1, 2].map(|band| {
            let sum: f64 = pixels.iter().map(|pixel| f64::from(pixel[band])).sum();
            sum / pixels.len() as f64
        })
    }

    fn luma(&self) -> Vec<f64> {
        let weighted =
            |[r, g, b]: [u8; 3]| 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
        self.colours.iter().copied().map(weighted).collect()
    }
}

const WINDOW: usize = 8;
const C1: f64 = (0.01 * 255.0) * (0.01 * 255.0);
const C2: f64 = (0.03 * 255.0) * (0.03 * 255.0);

/// The structural similarity (SSIM) of luma, as the mean over all windows. 1 is identical.
#[track_caller]
pub(crate) fn ssim(one: &DecodedSquare, other: &DecodedSquare) -> f64 {
    assert_eq!(one.side, other.side, "squares of different sizes");
    let side = one.side as usize;
    let (one, other) = (one.luma(), other.luma());
    let steps = 0..=side - WINDOW;
    let windows = steps.clone().flat_map(|top| steps.clone().map(move |left| (left, top)));
    let similarities = windows.map(|(left, top)| {
        let indices = (top..top + WINDOW).flat_map(|y| (left..left + WINDOW).map(move |x| y * side + x));
        let [mut a, mut b, mut aa, mut bb, mut ab] = [0.0; 5];
        for index in indices {
            let (x, y) = (one[index], other[index]);
            (a, b, aa, bb, ab) = (a + x, b + y, aa + x * x, bb + y * y, ab + x * y);
        }
        let [a, b, aa, bb, ab] = [a, b, aa, bb, ab].map(|sum| sum / (WINDOW * WINDOW) as f64);
        let (variances, covariance) = (aa - a * a + bb - b * b, ab - a * b);
        (2.0 * a * b + C1) * (2.0 * covariance + C2) / ((a * a + b * b + C1) * (variances + C2))
    });
    similarities.sum::<f64>() / ((side - WINDOW + 1) as f64).powi(2)
}
