//! The tables of a `meta` box without the removed items, in as many bytes as before.

use std::ops::Range;

use super::selection::Removals;
use crate::error::Error;
use crate::isobmff::{BmffBox, Meta};
use crate::metadata::{Metadata, Removed, has_data};

/// Where in a handler its name begins. Encoders sign there.
pub(super) const HANDLER_NAME: usize = 24;

/// The new content of the `meta` box.
pub(super) fn tables(
    file: &[u8],
    meta: &Meta,
    removals: &Removals,
    removed: &mut Removed,
) -> Result<Vec<u8>, Error> {
    let old = meta.meta.content(file);
    let mut new = Vec::with_capacity(old.len());
    new.extend_from_slice(old.get(..4).unwrap_or_default());
    for child in &meta.children {
        match &child.kind {
            b"iinf" => push(&mut new, child, &items(file, child, meta, removals)),
            b"iloc" => push(&mut new, child, &locations(file, child, meta, removals)),
            b"iref" => {
                let references = references(file, child, meta, removals);
                if references.len() > 4 {
                    push(&mut new, child, &references);
                }
            }
            b"iprp" => push(&mut new, child, &properties(file, child, meta, removals, removed)?),
            b"hdlr" => push(&mut new, child, &without_name(child.content(file), HANDLER_NAME)),
            b"idat" => {
                // Offsets into it count from its beginning or from the file's: it stays where it is.
                fill(&mut new, child.start - meta.meta.body.start)?;
                new.extend_from_slice(child.whole(file));
            }
            b"pitm" | b"dinf" | b"grpl" | b"ipro" => new.extend_from_slice(child.whole(file)),
            b"free" | b"skip" if !has_data(child.content(file)) => {}
            _ => removed.add(Metadata::Other),
        }
    }
    match old.len().checked_sub(new.len()).ok_or_else(broken)? {
        // As few bytes as the old content had after its last box.
        0..8 => new.resize(old.len(), 0),
        _ => fill(&mut new, old.len())?,
    }
    Ok(new)
}

fn broken() -> Error {
    Error::damaged("HEIF tables that cannot be rewritten")
}

fn push(new: &mut Vec<u8>, old: &BmffBox, content: &[u8]) {
    // A content never gets longer, and no upload has 4 GB.
    new.extend((content.len() as u32 + 8).to_be_bytes());
    new.extend(old.kind);
    new.extend_from_slice(content);
}

/// Fills the gap up to this length with an empty box.
fn fill(new: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    match length.checked_sub(new.len()).ok_or_else(broken)? {
        0 => {}
        // Too short for a box header. No item has so few bytes of tables.
        1..8 => return Err(broken()),
        gap => {
            new.extend((gap as u32).to_be_bytes());
            new.extend_from_slice(b"free");
            new.resize(length, 0);
        }
    }
    Ok(())
}

fn items(file: &[u8], iinf: &BmffBox, meta: &Meta, removals: &Removals) -> Vec<u8> {
    let mut items: Vec<_> = meta.items.iter().filter(|(id, _)| !removals.contains_key(id)).collect();
    items.sort_unstable_by_key(|(_, item)| item.info.start);
    let mut entries = Vec::new();
    for (_, item) in &items {
        push(&mut entries, &item.info, &without_name(item.info.content(file), item.name));
    }
    table(iinf.content(file), 4, iinf.version(file) > 0, items.len(), &entries)
}

fn locations(file: &[u8], iloc: &BmffBox, meta: &Meta, removals: &Removals) -> Vec<u8> {
    let kept = meta.locations.iter().filter(|(id, _)| !removals.contains_key(id));
    let (count, entries) = concat(file, kept.map(|(_, location)| &location.entry));
    // The sizes of numbers stand in front of the number of entries.
    table(iloc.content(file), 6, iloc.version(file) > 1, count, &entries)
}

/// The number of entries and their bytes, in the order of the file.
fn concat<'meta>(file: &[u8], entries: impl Iterator<Item = &'meta Range<usize>>) -> (usize, Vec<u8>) {
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by_key(|entry| entry.start);
    let bytes = entries.iter().flat_map(|entry| file.get((*entry).clone()).unwrap_or_default());
    (entries.len(), bytes.copied().collect())
}

/// A table of so many entries with the first bytes of the old one.
fn table(old: &[u8], header: usize, wide: bool, count: usize, entries: &[u8]) -> Vec<u8> {
    let mut new = old.get(..header).unwrap_or_default().to_vec();
    push_u16_or_u32(&mut new, count as u32, wide);
    new.extend_from_slice(entries);
    new
}

fn references(file: &[u8], iref: &BmffBox, meta: &Meta, removals: &Removals) -> Vec<u8> {
    let wide = iref.version(file) > 0;
    let mut new = iref.content(file).get(..4).unwrap_or_default().to_vec();
    for reference in meta.references.iter().filter(|found| !removals.contains_key(&found.from)) {
        let to = reference.to.iter().filter(|id| !removals.contains_key(id));
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

/// As wide as the number was read.
fn push_u16_or_u32(new: &mut Vec<u8>, number: u32, wide: bool) {
    match wide {
        true => new.extend(number.to_be_bytes()),
        false => new.extend((number as u16).to_be_bytes()),
    }
}

/// Associations count properties, so a removed property leaves an empty box.
fn properties(
    file: &[u8],
    iprp: &BmffBox,
    meta: &Meta,
    removals: &Removals,
    removed: &mut Removed,
) -> Result<Vec<u8>, Error> {
    let mut new = Vec::new();
    for child in iprp.children(file, 0) {
        let child = child?;
        match &child.kind {
            b"ipco" => {
                let mut content = Vec::new();
                for property in child.children(file, 0) {
                    let property = property?;
                    if is_personal(&property.kind) {
                        removed.add(Metadata::Other);
                        let empty = vec![0; property.body.len()];
                        push(&mut content, &BmffBox { kind: *b"free", ..property }, &empty);
                    } else {
                        content.extend_from_slice(property.whole(file));
                    }
                }
                push(&mut new, &child, &content);
            }
            b"ipma" => push(&mut new, &child, &associations(file, &child, meta, removals)),
            _ => {}
        }
    }
    Ok(new)
}

/// Descriptions written by a person, the times of taking and changing the picture, the camera's parameters.
fn is_personal(property: &[u8; 4]) -> bool {
    matches!(property, b"udes" | b"altt" | b"crtt" | b"mdft" | b"cmin" | b"cmex" | b"uuid")
}

fn associations(file: &[u8], ipma: &BmffBox, meta: &Meta, removals: &Removals) -> Vec<u8> {
    let kept = meta.associations.iter().filter(|(id, _)| !removals.contains_key(id));
    let entries = kept.map(|(_, association)| &association.entry);
    let (count, entries) = concat(file, entries.filter(|entry| ipma.body.contains(&entry.start)));
    table(ipma.content(file), 4, true, count, &entries)
}

fn without_name(content: &[u8], name: usize) -> Vec<u8> {
    let mut content = content.to_vec();
    content.iter_mut().skip(name).for_each(|byte| *byte = 0);
    content
}
