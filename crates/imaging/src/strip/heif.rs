//! AVIF and HEIC: items that are metadata or thumbnails leave the index, and their bytes become zeros.
//!
//! The index gives places in the file, and so do the sample tables of an image sequence. So nothing
//! moves: what goes is overwritten, and only what stands behind everything else is cut off.

mod atom;
mod entries;
mod index;
mod movie;
mod rewrite;
mod spans;

use std::collections::BTreeMap;

use atom::Atom;
use index::{Index, Why};
use spans::Claims;

use super::{Metadata, Removed, exif, note_xmp, says_something};
use crate::Error;

/// A picture has three or four. Without a limit, a file of nothing but empty ones would cost many times
/// its length in memory.
const MOST_ATOMS: usize = 4096;

/// How Adobe's `uuid` atom begins.
const XMP: &[u8] = b"\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xAC";

pub(super) fn strip(file: &[u8], removed: &mut Removed) -> Result<Vec<u8>, Error> {
    let atoms = top_level(file, removed)?;
    let meta = only(&atoms, b"meta")?;
    let movie = only(&atoms, b"moov")?;
    let mini = only(&atoms, b"mini")?;
    if let Some(mini) = mini {
        check_mini(mini.content(file))?;
    } else if meta.is_none() && movie.is_none() {
        return Err(Error::damaged("a HEIF without an index"));
    }

    let mut kept = file.to_vec();
    let mut claims = Claims::default();
    let mut look = Look { file, left: file.len() };
    let mut picture = None;
    if let Some(meta) = meta {
        let index = Index::read(file, meta)?;
        let gone = index.gone(movie.is_some())?;
        for place in &index.places {
            let stays = index.items.contains_key(&place.item) && !gone.contains_key(&place.item);
            if stays { &mut claims.needed } else { &mut claims.dropped }.add(place.span.clone());
        }
        look.at(&index, &gone, removed);
        picture = Some((meta, index, gone));
    }
    if let Some(movie) = movie {
        for index in movie::clean(file, &mut kept, movie, removed)? {
            index.places.iter().for_each(|place| claims.dropped.add(place.span.clone()));
            look.at(&index, &index.metadata(), removed);
        }
    }
    claims.settle();

    let mut unclaimed = false;
    let mut end = 0;
    for atom in &atoms {
        match &atom.kind {
            b"ftyp" | b"meta" | b"moov" | b"moof" | b"mini" => end = atom.body.end,
            b"mdat" => {
                // The samples of a sequence are in no index, so what nobody claims may be theirs.
                unclaimed |= claims.clear(&mut kept, &atom.body, movie.is_none());
                end = atom.body.end;
            }
            _ => {
                atom.rename(&mut kept, b"free");
                let found = claims.clear(&mut kept, &atom.body, true);
                unclaimed |= found && !is_xmp(atom, file, removed);
                if claims.needed.touch(&atom.body) {
                    end = atom.body.end;
                }
            }
        }
    }
    if let Some((meta, index, gone)) = picture {
        if let Some(idat) = &index.idat {
            unclaimed |= claims.clear(&mut kept, idat, true);
        }
        let index = rewrite::index(&kept, meta, &gone, removed)?;
        if let Some(place) = kept.get_mut(meta.body.clone()) {
            place.copy_from_slice(&index);
        }
    }
    if unclaimed {
        removed.add(Metadata::Other);
    }
    kept.truncate(end);
    Ok(kept)
}

/// The atoms of the file. A last one that is not wholly there does not count, unless it is the one with
/// the pixels: then the picture was cut short.
fn top_level(file: &[u8], removed: &mut Removed) -> Result<Vec<Atom>, Error> {
    let mut atoms = Vec::new();
    let mut at = 0;
    while let Some(mut atom) = Atom::read(file, at..file.len()) {
        if atom.body.end > file.len() {
            if atom.kind != *b"mdat" {
                break;
            }
            atom.body.end = file.len();
        }
        if atoms.len() == MOST_ATOMS || (at == 0 && atom.kind != *b"ftyp") {
            return Err(Error::damaged("not a HEIF"));
        }
        at = atom.body.end;
        atoms.push(atom);
    }
    if says_something(file.get(at..).unwrap_or_default()) {
        removed.add(Metadata::Other);
    }
    Ok(atoms)
}

/// The one atom of a kind. Of two, one decoder would read the first and another the last.
fn only<'atoms>(atoms: &'atoms [Atom], kind: &[u8; 4]) -> Result<Option<&'atoms Atom>, Error> {
    let mut found = atoms.iter().filter(|atom| atom.kind == *kind);
    match (found.next(), found.next()) {
        (found, None) => Ok(found),
        _ => Err(Error::damaged("a HEIF with more than one index")),
    }
}

/// Notes an atom of one's own making that is Adobe's.
fn is_xmp(atom: &Atom, file: &[u8], removed: &mut Removed) -> bool {
    let packet = atom.content(file).strip_prefix(XMP).filter(|_| atom.kind == *b"uuid");
    packet.inspect(|packet| note_xmp(packet, removed)).is_some()
}

/// The short form of the index has no room for places: it is the picture with bits in front. Hardly
/// anybody writes it, so one with metadata in it is not taken apart but refused.
fn check_mini(content: &[u8]) -> Result<(), Error> {
    const VERSION: u8 = 0xC0;
    const EXIF_AND_XMP: u8 = 0x60;
    match content {
        [first, second, ..] if first & VERSION == 0 && second & EXIF_AND_XMP == 0 => Ok(()),
        _ => Err(Error::Unsupported("an AVIF in the short form with metadata")),
    }
}

/// Reads metadata for the list of what was removed. Items may share their bytes, a thousand times over,
/// so there is an end to it.
struct Look<'file> {
    file: &'file [u8],
    left: usize,
}

impl Look<'_> {
    fn at(&mut self, index: &Index, gone: &BTreeMap<u32, Why>, removed: &mut Removed) {
        for (id, why) in gone {
            let span = index.items.get(id).and_then(|item| item.data.clone());
            let data = span.and_then(|span| self.file.get(span)).unwrap_or_default();
            let data = data.get(..self.left).unwrap_or(data);
            self.left -= data.len();
            match why {
                Why::Exif => exif::note(after_offset(data), removed),
                Why::Xmp => note_xmp(data, removed),
                Why::Thumbnail => removed.add(Metadata::Thumbnail),
                Why::Other => removed.add(Metadata::Other),
            }
        }
    }
}

/// An EXIF item begins with how many bytes there are before the TIFF header.
fn after_offset(item: &[u8]) -> &[u8] {
    let block = item.split_first_chunk().and_then(|(offset, rest)| {
        let offset = u32::from_be_bytes(*offset) as usize;
        rest.get(offset..)
    });
    block.unwrap_or(item)
}
