//! Photoshop image resources, which contain IPTC captions: records which kinds of metadata they contain.

use super::{Metadata, RemovedMetadata, exif, has_data, xmp};

pub(crate) fn record(mut resources: &[u8], removed: &mut RemovedMetadata) {
    while let Some((id, data, rest)) = resource(resources) {
        match id {
            0x0404 => removed.add(Metadata::Iptc),
            0x0409 | 0x040C => removed.add(Metadata::Thumbnail),
            0x0422 | 0x0423 => exif::record(data, removed),
            0x0424 => xmp::record(data, removed),
            _ => removed.add(Metadata::Other),
        }
        resources = rest;
    }
    if has_data(resources) {
        removed.add(Metadata::Other);
    }
}

/// ID and data of the first resource, possibly truncated, and the bytes after it.
fn resource(resources: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (id, rest) = resources.strip_prefix(b"8BIM")?.split_first_chunk()?;
    // A Pascal string, padded to an even length.
    let name_length = 1 + usize::from(*rest.first()?);
    let (length, rest) = rest.get(name_length.next_multiple_of(2)..)?.split_first_chunk()?;
    let length = u32::from_be_bytes(*length) as usize;
    let (data, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
    Some((u16::from_be_bytes(*id), data, rest.get(length % 2..).unwrap_or_default()))
}
