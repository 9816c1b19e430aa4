//! Interleaved 8-bit pixels, rows without padding.

/// The channel layout of a pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channels {
    Grey,
    GreyAlpha,
    Rgb,
    Rgba,
    /// Ink amounts: 0 is no ink.
    Cmyk,
}

impl Channels {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Grey => 1,
            Self::GreyAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba | Self::Cmyk => 4,
        }
    }

    pub(crate) fn has_alpha(self) -> bool {
        matches!(self, Self::GreyAlpha | Self::Rgba)
    }

    pub(crate) fn is_grey(self) -> bool {
        matches!(self, Self::Grey | Self::GreyAlpha)
    }

    /// The byte length of an image of this size.
    pub(crate) fn byte_len(self, width: u32, height: u32) -> u64 {
        u64::from(width) * u64::from(height) * self.count() as u64
    }
}

#[derive(Debug)]
pub(crate) struct Pixels {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) channels: Channels,
    pub(crate) bytes: Vec<u8>,
}

impl Pixels {
    /// Converts to RGB or RGBA. CMYK is converted without a profile, by the simple formula.
    pub(crate) fn into_rgb(self) -> Self {
        let (channels, bytes) = match self.channels {
            Channels::Grey => (Channels::Rgb, self.bytes.iter().flat_map(|g| [*g; 3]).collect()),
            Channels::GreyAlpha => {
                let (pairs, _) = self.bytes.as_chunks();
                (Channels::Rgba, pairs.iter().flat_map(|[g, a]| [*g, *g, *g, *a]).collect())
            }
            Channels::Cmyk => {
                let (pixels, _) = self.bytes.as_chunks();
                (
                    Channels::Rgb,
                    pixels
                        .iter()
                        .flat_map(|[c, m, y, k]| [c, m, y].map(|ink| cmyk_to_rgb(*ink, *k)))
                        .collect(),
                )
            }
            Channels::Rgb | Channels::Rgba => (self.channels, self.bytes),
        };
        Self { channels, bytes, ..self }
    }
}

/// Light reflected through one ink and black, as an 8-bit channel value.
fn cmyk_to_rgb(ink: u8, black: u8) -> u8 {
    let light = u32::from(255 - ink) * u32::from(255 - black);
    // At most 255: a product of two bytes divided by 255.
    ((light + 127) / 255) as u8
}
