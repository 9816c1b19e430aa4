//! Selects the items of a HEIF file that stripping removes.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Error;
use crate::isobmff::{Item, Meta};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StripReason {
    Exif,
    Xmp,
    Thumbnail,
    Other,
}

/// By item ID.
pub(super) type ItemsToStrip = BTreeMap<u32, StripReason>;

/// The items whose type is metadata.
pub(super) fn metadata_items(file: &[u8], meta: &Meta) -> ItemsToStrip {
    let reason = |(id, item): (&u32, &Item)| {
        let reason = match &item.kind {
            b"Exif" => StripReason::Exif,
            b"mime" if item.info.content(file).windows(7).any(|window| window == b"rdf+xml") => {
                StripReason::Xmp
            }
            b"mime" | b"uri " => StripReason::Other,
            _ => return None,
        };
        Some((*id, reason))
    };
    meta.items.iter().filter_map(reason).collect()
}

/// The items that the primary image does not need.
///
/// In a sequence thumbnails stay: their data may be shared with samples.
pub(super) fn items_to_strip(file: &[u8], meta: &Meta, is_sequence: bool) -> Result<ItemsToStrip, Error> {
    let mut items_to_strip = metadata_items(file, meta);
    let is_image = |id: &u32| meta.items.contains_key(id) && !items_to_strip.contains_key(id);
    let primary = meta.primary.filter(is_image);
    let primary = primary.ok_or_else(|| Error::damaged("a HEIF file without a primary image"))?;
    if is_sequence {
        return Ok(items_to_strip);
    }

    let references =
        |kind: &'static [u8; 4]| meta.references.iter().filter(move |reference| reference.kind == *kind);
    let is_retained = |id: u32| id == primary || meta.grouped.contains(&id);
    let thumbnails: BTreeSet<u32> =
        references(b"thmb").map(|reference| reference.from).filter(|id| !is_retained(*id)).collect();
    // Inputs of derived images, and targets of unknown reference types.
    let used: BTreeSet<u32> = meta
        .references
        .iter()
        .filter(|reference| !matches!(&reference.kind, b"thmb" | b"cdsc" | b"auxl"))
        .filter(|reference| {
            !thumbnails.contains(&reference.from) && !items_to_strip.contains_key(&reference.from)
        })
        .flat_map(|reference| reference.to.iter().copied())
        .collect();
    let is_unused = |id: &u32| !is_retained(*id) && !used.contains(id);

    // Descriptions of an unknown type, such as regions with the names of people.
    for description in references(b"cdsc").filter(|reference| is_unused(&reference.from)) {
        items_to_strip.entry(description.from).or_insert(StripReason::Other);
    }
    items_to_strip
        .extend(thumbnails.iter().filter(|id| is_unused(id)).map(|id| (*id, StripReason::Thumbnail)));
    // The tiles and the alpha of a thumbnail are removed with it.
    for tiles in references(b"dimg").filter(|reference| thumbnails.contains(&reference.from)) {
        items_to_strip
            .extend(tiles.to.iter().filter(|id| is_unused(id)).map(|id| (*id, StripReason::Thumbnail)));
    }
    for auxiliary in references(b"auxl").filter(|reference| is_unused(&reference.from)) {
        if auxiliary.to.iter().all(|id| items_to_strip.contains_key(id)) {
            items_to_strip.insert(auxiliary.from, StripReason::Thumbnail);
        }
    }
    Ok(items_to_strip)
}
