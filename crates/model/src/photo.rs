//! A photo as clients know it, and the squares kept of it.

use smallvec::SmallVec;

use crate::{Alt, PhotoId, Size};

/// A thumbhash: what to draw until the picture arrives. Short enough to lie where its photo does.
pub type Placeholder = SmallVec<[u8; 32]>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Photo {
    pub id: PhotoId,
    /// Of the upright picture as it was sent.
    pub width: u32,
    pub height: u32,
    pub placeholder: Placeholder,
    pub alt: Option<Alt>,
}

impl Photo {
    pub fn short_side(&self) -> u32 {
        self.width.min(self.height)
    }
}

/// The sides of the squares below the largest one.
const PYRAMID: [u32; 3] = [1024, 512, 256];

/// The squares kept of a picture, largest first: as large as the picture gives, up to the largest
/// size anyone may ask for, then ever smaller ones. No request has to start from more pixels than needed.
pub fn master_sides(short_side: u32) -> impl Iterator<Item = u32> {
    let top = short_side.min(Size::MAX.into());
    std::iter::once(top).chain(PYRAMID.into_iter().filter(move |side| *side < top))
}

/// The smallest kept square that is not smaller than the size asked, or the largest there is.
pub fn master_for(short_side: u32, size: Size) -> u32 {
    let fits = |side: &u32| *side >= size.side();
    master_sides(short_side).filter(fits).last().unwrap_or(short_side.min(Size::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_never_exceed_the_picture() {
        for (short, sides) in [
            (3024, vec![2048, 1024, 512, 256]),
            (2048, vec![2048, 1024, 512, 256]),
            (1024, vec![1024, 512, 256]),
            (700, vec![700, 512, 256]),
            (100, vec![100]),
            (1, vec![1]),
        ] {
            assert_eq!(master_sides(short).collect::<Vec<_>>(), sides, "short side {short}");
        }
    }

    #[test]
    fn a_size_is_made_from_the_next_larger_master() {
        for (short, size, master) in [
            (3024, 1, 256),
            (3024, 256, 256),
            (3024, 257, 512),
            (3024, 2048, 2048),
            (700, 600, 700),
            (700, 2000, 700),
            (100, 50, 100),
            (100, 512, 100),
        ] {
            assert_eq!(master_for(short, Size::new(size).unwrap()), master, "{size} of {short}");
        }
    }
}
