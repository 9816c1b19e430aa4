//! Photoshop's image resources, which is where IPTC captions live: what they tell, for the list of what
//! was removed.

use super::{Metadata, Removed, exif, has_data, xmp};

pub(crate) fn note(mut resources: &[u8], removed: &mut Removed) {
    while let Some((id, data, rest)) = resource(resources) {
        match id {
            0x0404 => removed.add(Metadata::Iptc),
            0x0409 | 0x040C => removed.add(Metadata::Thumbnail),
            0x0422 | 0x0423 => exif::note(data, removed),
            0x0424 => xmp::note(data, removed),
            _ => removed.add(Metadata::Other),
        }
        resources = rest;
    }
    if has_data(resources) {
        removed.add(Metadata::Other);
    }
}

/// The first resource's number and data, as far as they are there, and what follows it.
fn resource(resources: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (id, rest) = resources.strip_prefix(b"8BIM")?.split_first_chunk()?;
    // A name with its length in front, together an even number of bytes.
    let name = 1 + usize::from(*rest.first()?);
    let (length, rest) = rest.get(name.next_multiple_of(2)..)?.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let (data, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    Some((u16::from_be_bytes(*id), data, rest.get(length % 2..).unwrap_or_default()))
}
