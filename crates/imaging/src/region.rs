//! The part of an image that an output shows.

use model::Focus;

use crate::orient::Orientation;

/// A rectangle of pixels inside an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) left: u32,
    pub(crate) top: u32,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

impl Region {
    pub(crate) fn whole(width: u32, height: u32) -> Self {
        Self { left: 0, top: 0, width, height }
    }

    /// The largest square of an image, as near to the focus as the image allows.
    pub(crate) fn square(width: u32, height: u32, focus: Focus) -> Self {
        let side = width.min(height);
        let (left, top) = focus.square_offset(width, height);
        Self { left, top, width: side, height: side }
    }

    pub(crate) fn size(self) -> (u32, u32) {
        (self.width, self.height)
    }
}

/// A region, and the width and height that it is resized to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) region: Region,
    pub(crate) size: (u32, u32),
}

/// What to make of an image, in the coordinates of the upright photo.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Output {
    Square {
        side: u32,
        focus: Focus,
    },
    /// The whole image, at this width and height.
    Fit((u32, u32)),
}

impl Output {
    /// In the coordinates of stored pixels with this width and height.
    pub(crate) fn view(self, (width, height): (u32, u32), orientation: Orientation) -> View {
        match self {
            Self::Square { side, focus } => View {
                region: Region::square(width, height, stored_focus(focus, orientation)),
                size: (side, side),
            },
            Self::Fit(size) => {
                View { region: Region::whole(width, height), size: orientation.apply_to_size(size) }
            }
        }
    }
}

/// The focus of an upright image, in the coordinates of its stored pixels.
fn stored_focus(focus: Focus, orientation: Orientation) -> Focus {
    let (transpose, flip_x, flip_y) = orientation.steps();
    let Focus { x, y } = focus;
    let (x, y) = if transpose { (y, x) } else { (x, y) };
    let flipped = |flip: bool, at: u16| if flip { Focus::SCALE - at } else { at };
    Focus { x: flipped(flip_x, x), y: flipped(flip_y, y) }
}
