//! Applies an EXIF orientation to a square: a transposition and two flips cover all eight.

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
}

/// Pixels are copied in tiles of this side, so the columns being read stay in the CPU cache.
const TILE: usize = 32;

/// Orients a square of `side` × `side` pixels of `N` bytes each.
pub(crate) fn orient<const N: usize>(bytes: Vec<u8>, side: usize, orientation: Orientation) -> Vec<u8> {
    let (transpose, flip_x, flip_y) = match orientation {
        Orientation::NoTransforms => return bytes,
        Orientation::FlipHorizontal => (false, true, false),
        Orientation::Rotate180 => (false, true, true),
        Orientation::FlipVertical => (false, false, true),
        Orientation::Rotate90FlipH => (true, false, false),
        Orientation::Rotate90 => (true, false, true),
        Orientation::Rotate270FlipH => (true, true, true),
        Orientation::Rotate270 => (true, true, false),
    };
    let flipped = |flip: bool, index: usize| if flip { side - 1 - index } else { index };

    let (stored, _) = bytes.as_chunks::<N>();
    let mut oriented = vec![[0; N]; stored.len()];
    for top in (0..side).step_by(TILE) {
        for left in (0..side).step_by(TILE) {
            for y in top..side.min(top + TILE) {
                for x in left..side.min(left + TILE) {
                    let (column, row) = if transpose { (y, x) } else { (x, y) };
                    oriented[y * side + x] = stored[flipped(flip_y, row) * side + flipped(flip_x, column)];
                }
            }
        }
    }
    oriented.into_flattened()
}
