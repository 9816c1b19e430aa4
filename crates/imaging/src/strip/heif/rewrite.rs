//! A new index without the items that go, as long as the old one.

use std::collections::BTreeMap;

use super::atom::{Atom, Reader};
use super::entries::{self, Locations};
use super::index::Why;
use super::{Metadata, Removed, says_something};
use crate::Error;

/// Where in a handler its name begins. Encoders sign there.
pub(super) const HANDLER_NAME: usize = 24;

/// The content of the index.
pub(super) fn index(
    file: &[u8],
    meta: &Atom,
    gone: &BTreeMap<u32, Why>,
    removed: &mut Removed,
) -> Result<Vec<u8>, Error> {
    let old = meta.content(file);
    let mut new = Vec::with_capacity(old.len());
    new.extend_from_slice(old.get(..4).unwrap_or_default());
    for atom in meta.children(file, 4) {
        let atom = atom?;
        match &atom.kind {
            b"iinf" => push(&mut new, &atom, &items(file, &atom, gone)?),
            b"iloc" => push(&mut new, &atom, &locations(atom.content(file), gone).ok_or_else(broken)?),
            b"iref" => {
                let references = references(file, &atom, gone)?;
                if references.len() > 4 {
                    push(&mut new, &atom, &references);
                }
            }
            b"iprp" => push(&mut new, &atom, &properties(file, &atom, gone, removed)?),
            b"hdlr" => push(&mut new, &atom, &without_name(atom.content(file), HANDLER_NAME)),
            b"idat" => {
                // Its bytes are numbered from its beginning or from the file's: it stays where it is.
                fill(&mut new, atom.start - meta.body.start)?;
                new.extend_from_slice(atom.whole(file));
            }
            b"pitm" | b"dinf" | b"grpl" | b"ipro" => new.extend_from_slice(atom.whole(file)),
            b"free" | b"skip" if !says_something(atom.content(file)) => {}
            _ => removed.add(Metadata::Other),
        }
    }
    match old.len().checked_sub(new.len()).ok_or_else(broken)? {
        // It ended like that before.
        0..8 => new.resize(old.len(), 0),
        _ => fill(&mut new, old.len())?,
    }
    Ok(new)
}

fn broken() -> Error {
    Error::damaged("a HEIF index that cannot be rewritten")
}

fn push(new: &mut Vec<u8>, atom: &Atom, content: &[u8]) {
    // Contents come out of atoms, and only ever get shorter. One of more than 4 GB is beyond every limit.
    new.extend((content.len() as u32 + 8).to_be_bytes());
    new.extend(atom.kind);
    new.extend_from_slice(content);
}

/// Makes up for what was left out.
fn fill(new: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    match length.checked_sub(new.len()).ok_or_else(broken)? {
        0 => {}
        // Too short for an atom. No item has so little to say of it.
        1..8 => return Err(broken()),
        gap => {
            new.extend((gap as u32).to_be_bytes());
            new.extend_from_slice(b"free");
            new.resize(length, 0);
        }
    }
    Ok(())
}

fn items(file: &[u8], iinf: &Atom, gone: &BTreeMap<u32, Why>) -> Result<Vec<u8>, Error> {
    let version = entries::version(file, iinf);
    let header = entries::before_items(version);
    let (mut count, mut kept) = (0, Vec::new());
    for atom in iinf.children(file, header) {
        let atom = atom?;
        let content = atom.content(file);
        let (id, _) = entries::item(content).ok_or_else(broken)?;
        if !gone.contains_key(&id) {
            let name = entries::name_of_item(entries::version(file, &atom));
            push(&mut kept, &atom, &without_name(content, name));
            count += 1;
        }
    }
    Ok(table(iinf.content(file), 4, version > 0, count, &kept))
}

fn locations(iloc: &[u8], gone: &BTreeMap<u32, Why>) -> Option<Vec<u8>> {
    let old = Locations::open(iloc)?;
    let long = old.has_long_count();
    let (mut count, mut kept) = (0, Vec::new());
    for location in old {
        let location = location?;
        if !gone.contains_key(&location.id) {
            kept.extend_from_slice(location.entry);
            count += 1;
        }
    }
    Some(table(iloc, Locations::HEADER, long, count, &kept))
}

/// A table of so many entries, beginning as the old one did.
fn table(old: &[u8], header: usize, long: bool, count: u32, entries: &[u8]) -> Vec<u8> {
    let mut new = old.get(..header).unwrap_or_default().to_vec();
    push_short_or_long(&mut new, count, long);
    new.extend_from_slice(entries);
    new
}

fn references(file: &[u8], iref: &Atom, gone: &BTreeMap<u32, Why>) -> Result<Vec<u8>, Error> {
    let long = entries::version(file, iref) > 0;
    let mut new = iref.content(file).get(..4).unwrap_or_default().to_vec();
    for atom in iref.children(file, 4) {
        let atom = atom?;
        let (from, mut to) = entries::reference(atom.content(file), long).ok_or_else(broken)?;
        to.retain(|id| !gone.contains_key(id));
        if gone.contains_key(&from) || to.is_empty() {
            continue;
        }
        let mut content = Vec::new();
        push_short_or_long(&mut content, from, long);
        push_short_or_long(&mut content, to.len() as u32, false);
        to.into_iter().for_each(|id| push_short_or_long(&mut content, id, long));
        push(&mut new, &atom, &content);
    }
    Ok(new)
}

/// As wide as it was read.
fn push_short_or_long(new: &mut Vec<u8>, number: u32, long: bool) {
    match long {
        true => new.extend(number.to_be_bytes()),
        false => new.extend((number as u16).to_be_bytes()),
    }
}

/// Properties are counted, so one that goes leaves an empty one behind.
fn properties(
    file: &[u8],
    iprp: &Atom,
    gone: &BTreeMap<u32, Why>,
    removed: &mut Removed,
) -> Result<Vec<u8>, Error> {
    let mut new = Vec::new();
    for atom in iprp.children(file, 0) {
        let atom = atom?;
        match &atom.kind {
            b"ipco" => {
                let mut content = Vec::new();
                for property in atom.children(file, 0) {
                    let property = property?;
                    if tells_of_people(&property.kind) {
                        removed.add(Metadata::Other);
                        let empty = vec![0; property.body.len()];
                        push(&mut content, &Atom { kind: *b"free", ..property }, &empty);
                    } else {
                        content.extend_from_slice(property.whole(file));
                    }
                }
                push(&mut new, &atom, &content);
            }
            b"ipma" => {
                let content = associations(atom.content(file), gone).ok_or_else(broken)?;
                push(&mut new, &atom, &content);
            }
            _ => {}
        }
    }
    Ok(new)
}

/// What a person wrote about the picture, when it was taken and changed, and how the camera was built.
fn tells_of_people(property: &[u8; 4]) -> bool {
    matches!(property, b"udes" | b"altt" | b"crtt" | b"mdft" | b"cmin" | b"cmex" | b"uuid")
}

/// Which properties belong to which item.
fn associations(ipma: &[u8], gone: &BTreeMap<u32, Why>) -> Option<Vec<u8>> {
    let (header, rest) = ipma.split_first_chunk::<4>()?;
    let [version, _, _, flags] = *header;
    let width = if flags & 1 == 1 { 2 } else { 1 };
    let mut rest = Reader(rest);
    let (mut count, mut kept) = (0, Vec::new());
    for _ in 0..rest.u32()? {
        let start = rest.0;
        let id = rest.short_or_long(version > 0)?;
        let [properties] = rest.array()?;
        rest.take(usize::from(properties) * width)?;
        if !gone.contains_key(&id) {
            kept.extend_from_slice(start.get(..start.len() - rest.0.len())?);
            count += 1;
        }
    }
    Some(table(ipma, 4, true, count, &kept))
}

fn without_name(content: &[u8], at: usize) -> Vec<u8> {
    let mut content = content.to_vec();
    content.iter_mut().skip(at).for_each(|byte| *byte = 0);
    content
}
