//! Which items of a HEIF file are removed, and why.

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

/// By the id of the item.
pub(super) type Removals = BTreeMap<u32, StripReason>;

/// The items that are metadata by their own kind.
pub(super) fn metadata(file: &[u8], meta: &Meta) -> Removals {
    let reason = |(id, item): (&u32, &Item)| {
        let reason = match &item.kind {
            b"Exif" => StripReason::Exif,
            b"mime" if item.info.content(file).windows(7).any(|word| word == b"rdf+xml") => StripReason::Xmp,
            b"mime" | b"uri " => StripReason::Other,
            _ => return None,
        };
        Some((*id, reason))
    };
    meta.items.iter().filter_map(reason).collect()
}

/// The items that the primary picture does not need.
///
/// In a sequence thumbnails stay: they may share their bytes with samples.
pub(super) fn removals(file: &[u8], meta: &Meta, is_sequence: bool) -> Result<Removals, Error> {
    let mut removals = metadata(file, meta);
    let is_picture = |id: &u32| meta.items.contains_key(id) && !removals.contains_key(id);
    let primary = meta.primary.filter(is_picture);
    let primary = primary.ok_or_else(|| Error::damaged("a HEIF file without a picture"))?;
    if is_sequence {
        return Ok(removals);
    }

    let of = |kind: &'static [u8; 4]| meta.references.iter().filter(move |found| found.kind == *kind);
    let is_kept = |id: u32| id == primary || meta.grouped.contains(&id);
    let thumbnails: BTreeSet<u32> = of(b"thmb").map(|found| found.from).filter(|id| !is_kept(*id)).collect();
    // Items that a picture is derived from, or refers to by a kind of reference unknown here.
    let used: BTreeSet<u32> = meta
        .references
        .iter()
        .filter(|found| !matches!(&found.kind, b"thmb" | b"cdsc" | b"auxl"))
        .filter(|found| !thumbnails.contains(&found.from) && !removals.contains_key(&found.from))
        .flat_map(|found| found.to.iter().copied())
        .collect();
    let is_unused = |id: &u32| !is_kept(*id) && !used.contains(id);

    // Descriptions of an unknown kind, such as regions with the names of people.
    for found in of(b"cdsc").filter(|found| is_unused(&found.from)) {
        removals.entry(found.from).or_insert(StripReason::Other);
    }
    removals.extend(thumbnails.iter().filter(|id| is_unused(id)).map(|id| (*id, StripReason::Thumbnail)));
    // The tiles and the opacity of a thumbnail go with it.
    for tiles in of(b"dimg").filter(|found| thumbnails.contains(&found.from)) {
        removals.extend(tiles.to.iter().filter(|id| is_unused(id)).map(|id| (*id, StripReason::Thumbnail)));
    }
    for opacity in of(b"auxl").filter(|found| is_unused(&found.from)) {
        if opacity.to.iter().all(|id| removals.contains_key(id)) {
            removals.insert(opacity.from, StripReason::Thumbnail);
        }
    }
    Ok(removals)
}
