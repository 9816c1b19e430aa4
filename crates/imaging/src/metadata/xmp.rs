//! XMP: what a packet is, found without reading its XML.

use super::{Metadata, Removed};

/// The first bytes of the `uuid` box in which Adobe puts a packet into ISO media files.
const UUID: &[u8] = b"\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC";

pub(crate) fn note(packet: &[u8], removed: &mut Removed) {
    removed.add(Metadata::Xmp);
    let gps = b"exif:GPS";
    if packet.windows(gps.len()).any(|window| window == gps) {
        removed.add(Metadata::Gps);
    }
}

/// Notes the packet in the content of a `uuid` box. False if it holds something else.
pub(crate) fn note_uuid(content: &[u8], removed: &mut Removed) -> bool {
    let packet = content.strip_prefix(UUID);
    packet.inspect(|packet| note(packet, removed)).is_some()
}
