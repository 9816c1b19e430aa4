//! Applies an EXIF orientation: a transposition and two flips cover all eight.

/// The transform from stored to displayed pixels. The discriminants are the EXIF values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orientation {
    NoTransforms = 1,
    FlipHorizontal = 2,
    Rotate180 = 3,
    FlipVertical = 4,
    /// Rotated clockwise by 90 degrees, then flipped.
    Rotate90FlipH = 5,
    Rotate90 = 6,
    Rotate270FlipH = 7,
    Rotate270 = 8,
}

impl Orientation {
    const ALL: [Self; 8] = [
        Self::NoTransforms,
        Self::FlipHorizontal,
        Self::Rotate180,
        Self::FlipVertical,
        Self::Rotate90FlipH,
        Self::Rotate90,
        Self::Rotate270FlipH,
        Self::Rotate270,
    ];

    pub(crate) fn from_exif(number: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|orientation| u16::from(orientation.to_exif()) == number)
    }

    pub(crate) fn to_exif(self) -> u8 {
        self as u8
    }

    /// Whether the axes are swapped: rows become columns.
    pub(crate) fn transposes(self) -> bool {
        self.steps().0
    }

    /// The steps from a displayed to a stored coordinate: transpose, flip x, flip y.
    pub(crate) fn steps(self) -> (bool, bool, bool) {
        match self {
            Self::NoTransforms => (false, false, false),
            Self::FlipHorizontal => (false, true, false),
            Self::Rotate180 => (false, true, true),
            Self::FlipVertical => (false, false, true),
            Self::Rotate90FlipH => (true, false, false),
            Self::Rotate90 => (true, false, true),
            Self::Rotate270FlipH => (true, true, true),
            Self::Rotate270 => (true, true, false),
        }
    }

    /// The displayed width and height of an image with these stored ones.
    pub(crate) fn apply_to_size(self, (width, height): (u32, u32)) -> (u32, u32) {
        if self.transposes() { (height, width) } else { (width, height) }
    }
}

/// Pixels are copied in tiles of this side, so the columns being read stay in the CPU cache.
const TILE: usize = 32;

/// Orients an image of `N` bytes per pixel. `width` is the stored one.
pub(crate) fn orient<const N: usize>(bytes: Vec<u8>, width: u32, orientation: Orientation) -> Vec<u8> {
    if orientation == Orientation::NoTransforms {
        return bytes;
    }
    let (transpose, flip_x, flip_y) = orientation.steps();
    let flipped = |flip: bool, index: usize, length: usize| if flip { length - 1 - index } else { index };

    let (stored, _) = bytes.as_chunks::<N>();
    let width = width as usize;
    let height = stored.len() / width.max(1);
    let (out_width, out_height) = if transpose { (height, width) } else { (width, height) };
    let mut oriented = vec![[0; N]; stored.len()];
    for top in (0..out_height).step_by(TILE) {
        for left in (0..out_width).step_by(TILE) {
            for y in top..out_height.min(top + TILE) {
                for x in left..out_width.min(left + TILE) {
                    let (column, row) = if transpose { (y, x) } else { (x, y) };
                    let (column, row) = (flipped(flip_x, column, width), flipped(flip_y, row, height));
                    oriented[y * out_width + x] = stored[row * width + column];
                }
            }
        }
    }
    oriented.into_flattened()
}
