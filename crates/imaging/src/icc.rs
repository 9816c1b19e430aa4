//! ICC profiles of originals: rewritten with what changes colours. The rest names users, devices and
//! their serial numbers.

use std::ops::Range;

use crate::isobmff::Reader;
use crate::metadata::{Metadata, RemovedMetadata, has_data};

/// Profiles of cameras and displays have a few kB, of scanners some hundred kB, of printers up to 2 MB.
/// Those of this size and larger are ignored.
pub(crate) const MAX_BYTES: usize = 4 << 20;

const HEADER: usize = 128;
/// Offset of the tag table, after the number of its entries.
const TABLE: usize = HEADER + 4;
const ENTRY: usize = 12;

/// What identifies the maker of a profile, and its size, which is rewritten: CMM; date and time; platform,
/// flags, manufacturer, model and attributes of the device; creator, ID and reserved bytes.
const CLEARED: [Range<usize>; 4] = [0..8, 24..36, 40..64, 80..HEADER];

const DESCRIPTION: [u8; 4] = *b"desc";
const COPYRIGHT: [u8; 4] = *b"cprt";

/// The text "-" of a version 2 profile, before zeros: no text in Unicode or for Macintosh.
const DESCRIPTION_V2: &[u8] = b"desc\0\0\0\0\0\0\0\x02-";
const DESCRIPTION_V2_LENGTH: usize = 92;
const COPYRIGHT_V2: &[u8] = b"text\0\0\0\0-\0";
/// The text "-" for `enUS`.
const TEXT_V4: &[u8] = b"mluc\0\0\0\0\0\0\0\x01\0\0\0\x0CenUS\0\0\0\x02\0\0\0\x1C\0-";

/// By how many bytes a profile may grow at most: texts that it has not, and padding of its tags.
pub(crate) const MAX_GROWTH: usize = 512;

/// Rewrites a profile. None if it is malformed: decoders ignore it.
pub(crate) fn rewritten(profile: &[u8], removed: &mut RemovedMetadata) -> Option<Vec<u8>> {
    recorded(profile, write(profile, MAX_BYTES - 1), removed)
}

/// Rewrites a profile in its own length, the rest filled with zeros.
pub(crate) fn rewritten_in_place(profile: &[u8], removed: &mut RemovedMetadata) -> Option<Vec<u8>> {
    let mut written = recorded(profile, write(profile, profile.len()), removed)?;
    written.resize(profile.len(), 0);
    Some(written)
}

fn recorded(profile: &[u8], written: Option<Vec<u8>>, removed: &mut RemovedMetadata) -> Option<Vec<u8>> {
    match &written {
        Some(written) if profile.strip_prefix(&written[..]).is_none_or(has_data) => {
            removed.add(Metadata::IccTexts);
        }
        None if has_data(profile) => removed.add(Metadata::Other),
        _ => {}
    }
    written
}

/// The texts are required by the format, not by decoders, so they are left out where they do not fit.
fn write(profile: &[u8], room: usize) -> Option<Vec<u8>> {
    let header: &[u8; HEADER] = profile.first_chunk().filter(|_| profile.len() < MAX_BYTES)?;
    let tags = colour_tags(profile).filter(|tags| !tags.is_empty() && header[36..40] == *b"acsp")?;
    let write_with = |has_texts| {
        let mut writer = Writer::new(tags.len() + if has_texts { 2 } else { 0 });
        if has_texts {
            writer.push_texts(header[8]);
        }
        writer.push_tags(profile, &tags);
        Some(writer.finish(*header)).filter(|written| written.len() <= room)
    };
    write_with(true).or_else(|| write_with(false))
}

struct Tag {
    name: [u8; 4],
    /// The byte range of its data in the profile.
    data: Range<usize>,
}

/// None if the table or a tag is out of range.
fn colour_tags(profile: &[u8]) -> Option<Vec<Tag>> {
    let mut table = Reader(profile.get(HEADER..)?);
    let count = table.u32()? as usize;
    let table = table.take(count.checked_mul(ENTRY)?)?;
    let table_end = TABLE + table.len();
    let mut tags: Vec<Tag> = Vec::new();
    for entry in table.as_chunks::<ENTRY>().0 {
        let mut entry = Reader(entry);
        let name = entry.array()?;
        // Of two tags with one name decoders use either.
        if !changes_colours(name) || tags.iter().any(|tag| tag.name == name) {
            continue;
        }
        let (start, length) = (entry.u32()? as usize, entry.u32()? as usize);
        let data = start..start.checked_add(length)?;
        if data.is_empty() || data.start < table_end || data.end > profile.len() {
            return None;
        }
        tags.push(Tag { name, data });
    }
    Some(tags)
}

/// White and black points, primaries, curves and tables.
fn changes_colours(tag: [u8; 4]) -> bool {
    matches!(
        &tag,
        b"wtpt"
            | b"bkpt"
            | b"chad"
            | b"cicp"
            | b"rXYZ"
            | b"gXYZ"
            | b"bXYZ"
            | b"rTRC"
            | b"gTRC"
            | b"bTRC"
            | b"kTRC"
            | [b'A', b'2', b'B', b'0'..=b'2']
            | [b'B', b'2', b'A', b'0'..=b'2']
            | [b'D', b'2', b'B', b'0'..=b'3']
            | [b'B', b'2', b'D', b'0'..=b'3']
    )
}

/// The ranges of the tags, in their order and without overlaps: tags may share their data, or parts of it.
fn blocks(tags: &[Tag]) -> Vec<Range<usize>> {
    let mut blocks: Vec<_> = tags.iter().map(|tag| tag.data.clone()).collect();
    blocks.sort_unstable_by_key(|block| block.start);
    blocks.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    blocks
}

struct Writer {
    table: Vec<u8>,
    data: Vec<u8>,
    /// Offset of the data in the profile.
    start: usize,
}

impl Writer {
    fn new(tags: usize) -> Self {
        Self { table: (tags as u32).to_be_bytes().to_vec(), data: Vec::new(), start: TABLE + ENTRY * tags }
    }

    /// Returns the offset of the bytes in the profile.
    fn push_data(&mut self, bytes: &[u8]) -> usize {
        let offset = self.start + self.data.len();
        self.data.extend_from_slice(bytes);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        offset
    }

    fn push_tag(&mut self, name: [u8; 4], offset: usize, length: usize) {
        self.table.extend(name);
        // Both are below 4 MB.
        self.table.extend((offset as u32).to_be_bytes());
        self.table.extend((length as u32).to_be_bytes());
    }

    fn push_texts(&mut self, version: u8) {
        let mut description = if version < 4 { DESCRIPTION_V2 } else { TEXT_V4 }.to_vec();
        if version < 4 {
            description.resize(DESCRIPTION_V2_LENGTH, 0);
        }
        let offset = self.push_data(&description);
        self.push_tag(DESCRIPTION, offset, description.len());
        // Both have the same type in version 4.
        let (copyright, offset) = match version {
            ..4 => (COPYRIGHT_V2, self.push_data(COPYRIGHT_V2)),
            _ => (TEXT_V4, offset),
        };
        self.push_tag(COPYRIGHT, offset, copyright.len());
    }

    fn push_tags(&mut self, profile: &[u8], tags: &[Tag]) {
        let mut moved = Vec::new();
        for block in blocks(tags) {
            let offset = self.push_data(profile.get(block.clone()).unwrap_or_default());
            moved.push((block, offset));
        }
        for Tag { name, data } in tags {
            let last = moved.partition_point(|(block, _)| block.start <= data.start).saturating_sub(1);
            if let Some((block, offset)) = moved.get(last) {
                self.push_tag(*name, offset + data.start - block.start, data.len());
            }
        }
    }

    fn finish(self, mut header: [u8; HEADER]) -> Vec<u8> {
        for identifying in CLEARED {
            header[identifying].fill(0);
        }
        let size = self.start + self.data.len();
        header[..4].copy_from_slice(&(size as u32).to_be_bytes());
        [&header[..], &self.table, &self.data].concat()
    }
}
