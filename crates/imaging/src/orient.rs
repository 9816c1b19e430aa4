//! Turning a square upright: all eight orientations as a transposition and two flips.

/// What has to be done to a picture as stored to turn it upright, by its number in EXIF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Orientation {
    NoTransforms = 1,
    FlipHorizontal = 2,
    Rotate180 = 3,
    FlipVertical = 4,
    /// Clockwise by 90 degrees, then flipped.
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

/// Pixels are moved in tiles of this side, so that the columns being read stay in the cache.
const TILE: usize = 32;

/// Turns the square of `side` pixels of `N` bytes each.
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
    let flipped = |flip: bool, at: usize| if flip { side - 1 - at } else { at };

    let (from, _) = bytes.as_chunks::<N>();
    let mut turned = vec![[0; N]; from.len()];
    for top in (0..side).step_by(TILE) {
        for left in (0..side).step_by(TILE) {
            for y in top..side.min(top + TILE) {
                for x in left..side.min(left + TILE) {
                    let (column, row) = if transpose { (y, x) } else { (x, y) };
                    turned[y * side + x] = from[flipped(flip_y, row) * side + flipped(flip_x, column)];
                }
            }
        }
    }
    turned.into_flattened()
}
