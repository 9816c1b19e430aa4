//! XMP: detects GPS data in a packet without parsing its XML.

use super::{Metadata, RemovedMetadata};

/// The UUID of the `uuid` box in which Adobe embeds an XMP packet in ISO media files.
const UUID: &[u8] = b"\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC";

pub(crate) fn record(packet: &[u8], removed: &mut RemovedMetadata) {
    removed.add(Metadata::Xmp);
    let gps = b"exif:GPS";
    if packet.windows(gps.len()).any(|window| window == gps) {
        removed.add(Metadata::Gps);
    }
}

/// Records the XMP packet of a `uuid` box. Returns false if the box contains something else.
pub(crate) fn record_uuid_box(content: &[u8], removed: &mut RemovedMetadata) -> bool {
    let packet = content.strip_prefix(UUID);
    packet.inspect(|packet| record(packet, removed)).is_some()
}
