//! Rewrites the tables of a `meta` box without the removed items, in the same number of bytes.

use std::borrow::Cow;
use std::ops::Range;

use super::selection::ItemsToStrip;
use crate::error::Error;
use crate::icc;
use crate::isobmff::{BmffBox, Meta};
use crate::metadata::{Metadata, RemovedMetadata, has_data};

/// Offset of the name in a `hdlr` box, where encoders write their own name.
pub(super) const HANDLER_NAME_OFFSET: usize = 24;

/// The new content of the `meta` box.
pub(super) fn meta_content(
    file: &[u8],
    meta: &Meta,
    items_to_strip: &ItemsToStrip,
    removed: &mut RemovedMetadata,
) -> Result<Vec<u8>, Error> {
    let old = meta.meta.content(file);
    let mut new = Vec::with_capacity(old.len());
    new.extend_from_slice(old.get(..4).unwrap_or_default());
    for child in &meta.children {
        match &child.kind {
            b"iinf" => push_box(&mut new, child, &items(file, child, meta, items_to_strip)),
            b"iloc" => push_box(&mut new, child, &locations(file, child, meta, items_to_strip)),
            b"iref" => {
                let references = references(file, child, meta, items_to_strip);
                if references.len() > 4 {
                    push_box(&mut new, child, &references);
                }
            }
            b"iprp" => push_box(&mut new, child, &properties(file, child, meta, items_to_strip, removed)?),
            b"hdlr" => push_box(&mut new, child, &without_name(child.content(file), HANDLER_NAME_OFFSET)),
            b"idat" => {
                // Offsets into `idat` are relative to it or to the file, so it keeps its position.
                pad_with_free_box(&mut new, child.start - meta.meta.body.start)?;
                new.extend_from_slice(child.with_header(file));
            }
            b"pitm" | b"dinf" | b"grpl" | b"ipro" => new.extend_from_slice(child.with_header(file)),
            b"free" | b"skip" if !has_data(child.content(file)) => {}
            _ => removed.add(Metadata::Other),
        }
    }
    match old.len().checked_sub(new.len()).ok_or_else(not_rewritable)? {
        // Fewer bytes than a box header are padding.
        0..8 => new.resize(old.len(), 0),
        _ => pad_with_free_box(&mut new, old.len())?,
    }
    Ok(new)
}

fn not_rewritable() -> Error {
    Error::damaged("HEIF tables cannot be rewritten in place")
}

fn push_box(new: &mut Vec<u8>, old: &BmffBox, content: &[u8]) {
    // The content never grows, and no upload has 4 GB.
    new.extend((content.len() as u32 + 8).to_be_bytes());
    new.extend(old.kind);
    new.extend_from_slice(content);
}

/// Fills the gap up to this length with a `free` box.
fn pad_with_free_box(new: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    match length.checked_sub(new.len()).ok_or_else(not_rewritable)? {
        0 => {}
        // Too short for a box header. A removed item frees more bytes than that.
        1..8 => return Err(not_rewritable()),
        gap => {
            new.extend((gap as u32).to_be_bytes());
            new.extend_from_slice(b"free");
            new.resize(length, 0);
        }
    }
    Ok(())
}

fn items(file: &[u8], iinf: &BmffBox, meta: &Meta, items_to_strip: &ItemsToStrip) -> Vec<u8> {
    let mut items: Vec<_> = meta.items.iter().filter(|(id, _)| !items_to_strip.contains_key(id)).collect();
    items.sort_unstable_by_key(|(_, item)| item.info.start);
    let mut entries = Vec::new();
    for (_, item) in &items {
        push_box(&mut entries, &item.info, &without_name(item.info.content(file), item.name_offset));
    }
    table(iinf.content(file), 4, iinf.version(file) > 0, items.len(), &entries)
}

fn locations(file: &[u8], iloc: &BmffBox, meta: &Meta, items_to_strip: &ItemsToStrip) -> Vec<u8> {
    let remaining = meta.locations.iter().filter(|(id, _)| !items_to_strip.contains_key(id));
    let (count, entries) = concat_entries(file, remaining.map(|(_, location)| &location.entry));
    // The field sizes precede the entry count.
    table(iloc.content(file), 6, iloc.version(file) > 1, count, &entries)
}

/// The number of entries and their bytes, in file order.
fn concat_entries<'meta>(
    file: &[u8],
    entries: impl Iterator<Item = &'meta Range<usize>>,
) -> (usize, Vec<u8>) {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by_key(|entry| entry.start);
    let bytes = entries.iter().flat_map(|entry| file.get((*entry).clone()).unwrap_or_default());
    (entries.len(), bytes.copied().collect())
}

/// A table with the header of the old one and a new entry count.
fn table(old: &[u8], header: usize, wide: bool, count: usize, entries: &[u8]) -> Vec<u8> {
    let mut new = old.get(..header).unwrap_or_default().to_vec();
    push_u16_or_u32(&mut new, count as u32, wide);
    new.extend_from_slice(entries);
    new
}

fn references(file: &[u8], iref: &BmffBox, meta: &Meta, items_to_strip: &ItemsToStrip) -> Vec<u8> {
    let wide = iref.version(file) > 0;
    let mut new = iref.content(file).get(..4).unwrap_or_default().to_vec();
    for reference in meta.references.iter().filter(|reference| !items_to_strip.contains_key(&reference.from))
    {
        let to = reference.to.iter().filter(|id| !items_to_strip.contains_key(id));
        let to: Vec<u32> = to.copied().collect();
        if to.is_empty() {
            continue;
        }
        let mut content = Vec::new();
        push_u16_or_u32(&mut content, reference.from, wide);
        push_u16_or_u32(&mut content, to.len() as u32, false);
        for id in to {
            push_u16_or_u32(&mut content, id, wide);
        }
        new.extend((content.len() as u32 + 8).to_be_bytes());
        new.extend(reference.kind);
        new.extend(content);
    }
    new
}

/// Writes a number in the width it was read.
fn push_u16_or_u32(new: &mut Vec<u8>, number: u32, wide: bool) {
    match wide {
        true => new.extend(number.to_be_bytes()),
        false => new.extend((number as u16).to_be_bytes()),
    }
}

/// Associations refer to properties by index, so a removed property becomes a `free` box.
fn properties(
    file: &[u8],
    iprp: &BmffBox,
    meta: &Meta,
    items_to_strip: &ItemsToStrip,
    removed: &mut RemovedMetadata,
) -> Result<Vec<u8>, Error> {
    let mut new = Vec::new();
    for child in iprp.children(file, 0) {
        let child = child?;
        match &child.kind {
            b"ipco" => {
                let mut content = Vec::new();
                for property in child.children(file, 0) {
                    let property = property?;
                    match property_content(file, &property, removed) {
                        Some(new) => {
                            // Not a new header, which may be shorter.
                            let header = property.start..property.body.start;
                            content.extend_from_slice(file.get(header).unwrap_or_default());
                            content.extend_from_slice(&new);
                        }
                        None => {
                            let empty = vec![0; property.body.len()];
                            push_box(&mut content, &BmffBox { kind: *b"free", ..property }, &empty);
                        }
                    }
                }
                push_box(&mut new, &child, &content);
            }
            b"ipma" => push_box(&mut new, &child, &associations(file, &child, meta, items_to_strip)),
            _ => {}
        }
    }
    Ok(new)
}

/// The content of a property that is kept.
fn property_content<'file>(
    file: &'file [u8],
    property: &BmffBox,
    removed: &mut RemovedMetadata,
) -> Option<Cow<'file, [u8]>> {
    match &property.kind {
        b"colr" => colour_content(property.content(file), removed),
        kind if is_personal(kind) => {
            removed.add(Metadata::Other);
            None
        }
        _ => Some(Cow::Borrowed(property.content(file))),
    }
}

/// The content of a `colr` box, with its profile rewritten in the same length. None if decoders ignore the
/// profile.
pub(super) fn colour_content<'file>(
    content: &'file [u8],
    removed: &mut RemovedMetadata,
) -> Option<Cow<'file, [u8]>> {
    match content.split_first_chunk() {
        Some((kind @ (b"prof" | b"rICC"), profile)) => {
            let profile = icc::rewritten_in_place(profile, removed)?;
            Some(Cow::Owned([&kind[..], &profile].concat()))
        }
        _ => Some(Cow::Borrowed(content)),
    }
}

/// User descriptions, creation and modification times, camera parameters.
fn is_personal(property: &[u8; 4]) -> bool {
    matches!(property, b"udes" | b"altt" | b"crtt" | b"mdft" | b"cmin" | b"cmex" | b"uuid")
}

fn associations(file: &[u8], ipma: &BmffBox, meta: &Meta, items_to_strip: &ItemsToStrip) -> Vec<u8> {
    let remaining = meta.associations.iter().filter(|(id, _)| !items_to_strip.contains_key(id));
    let entries = remaining.map(|(_, association)| &association.entry);
    let (count, entries) = concat_entries(file, entries.filter(|entry| ipma.body.contains(&entry.start)));
    table(ipma.content(file), 4, true, count, &entries)
}

fn without_name(content: &[u8], name_offset: usize) -> Vec<u8> {
    let mut content = content.to_vec();
    content.iter_mut().skip(name_offset).for_each(|byte| *byte = 0);
    content
}
