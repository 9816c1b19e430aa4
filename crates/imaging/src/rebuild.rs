//! Rebuild: encodes lost masters again, from the stored original or from another master.

use crate::error::Error;
use crate::formats;
use crate::ingest::{Master, catch_codec_panic, encode_master, encode_masters};
use crate::limits::Limits;
use crate::orient::Orientation;
use crate::render::decode_master;

/// Encodes all masters of a stored original, largest first: the same bytes as [`ingest`](crate::ingest).
/// `orientation` is the EXIF orientation of the upload, which its stripped copy lacks. Needs at most the
/// memory [`probe`](crate::probe) returns.
pub fn masters_of_original(original: &[u8], orientation: u8, limits: &Limits) -> Result<Vec<Master>, Error> {
    catch_codec_panic(|| {
        let mut header = formats::header(original, limits)?;
        if let Some(orientation) = Orientation::from_exif(orientation.into()) {
            header.orientation = orientation;
        }
        Ok(encode_masters(original, &header)?.0)
    })
}

/// Encodes a master from another one of the same photo. Needs at most the memory
/// [`render_memory`](crate::render_memory) returns.
pub fn master_of_master(master: &[u8], side: u32) -> Result<Master, Error> {
    catch_codec_panic(|| encode_master(&decode_master(master, side)?))
}
