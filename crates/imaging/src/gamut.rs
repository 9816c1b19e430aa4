//! The colour spaces of masters and of rendered images.

/// Both have the transfer function of sRGB, so grey values are the same in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gamut {
    /// Not tagged: what browsers assume.
    Srgb,
    /// Of photos with a wider gamut than sRGB. JPEG and WebP are tagged with an ICC profile, AVIF by its code
    /// points.
    DisplayP3,
}

/// Made by `tests/corpus/icc.py`.
static DISPLAY_P3_PROFILE: &[u8] = include_bytes!("gamut/display-p3.icc");

impl Gamut {
    /// The ICC profile that tags a file.
    pub(crate) fn icc_profile(self) -> Option<&'static [u8]> {
        match self {
            Self::Srgb => None,
            Self::DisplayP3 => Some(DISPLAY_P3_PROFILE),
        }
    }
}
