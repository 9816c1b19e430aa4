//! The tables of an image sequence: what is not about its pictures and their timing becomes empty.

use super::atom::Atom;
use super::index::Index;
use super::rewrite::HANDLER_NAME;
use super::spans::zero;
use super::{MOST_ATOMS, Metadata, Removed, is_xmp};
use crate::Error;

/// Empties what is metadata, and hands back the indices that were among it: the bytes of their items are
/// elsewhere in the file.
pub(super) fn clean(
    file: &[u8],
    kept: &mut [u8],
    moov: &Atom,
    removed: &mut Removed,
) -> Result<Vec<Index>, Error> {
    let mut indices = Vec::new();
    let mut open = vec![moov.clone()];
    let mut atoms = 0;
    while let Some(outer) = open.pop() {
        for atom in outer.children(file, 0) {
            let atom = atom?;
            atoms += 1;
            if atoms > MOST_ATOMS {
                return Err(Error::damaged("a HEIF of too many tracks"));
            }
            match &atom.kind {
                b"trak" if !shows_pictures(file, &atom) => empty(file, kept, &atom, removed),
                b"trak" | b"mdia" | b"minf" | b"stbl" => open.push(atom),
                b"mvhd" | b"tkhd" | b"mdhd" => forget_times(file, kept, &atom, removed),
                b"hdlr" => {
                    zero(kept, atom.body.start + HANDLER_NAME..atom.body.end);
                }
                b"meta" => {
                    // QuickTime has others of that name, which have no items.
                    indices.extend(Index::read(file, &atom));
                    empty(file, kept, &atom, removed);
                }
                b"udta" | b"uuid" | b"free" | b"skip" => empty(file, kept, &atom, removed),
                _ => {}
            }
        }
    }
    Ok(indices)
}

fn empty(file: &[u8], kept: &mut [u8], atom: &Atom, removed: &mut Removed) {
    atom.rename(kept, b"free");
    if zero(kept, atom.body.clone()) && !is_xmp(atom, file, removed) {
        removed.add(Metadata::Other);
    }
}

/// Whether a track has pictures or their transparency, rather than sound, text or places.
fn shows_pictures(file: &[u8], trak: &Atom) -> bool {
    let child = |atom: &Atom, kind| atom.children(file, 0).flatten().find(|child| child.kind == kind);
    let handler = child(trak, *b"mdia").and_then(|mdia| child(&mdia, *b"hdlr"));
    let kind = handler.and_then(|handler| handler.content(file).get(8..12));
    matches!(kind, Some(b"pict" | b"vide" | b"auxv"))
}

/// When it was made and changed.
fn forget_times(file: &[u8], kept: &mut [u8], header: &Atom, removed: &mut Removed) {
    let times = match header.content(file) {
        [0, ..] => 8,
        _ => 16,
    };
    let start = header.body.start + 4;
    if zero(kept, start..(start + times).min(header.body.end)) {
        removed.add(Metadata::Other);
    }
}
