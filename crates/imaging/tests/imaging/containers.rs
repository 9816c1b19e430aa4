//! AVIF files whose boxes can be read in two ways: decoding and stripping both refuse them.

use imaging::{Error, InputFormat, ingest, probe, strip};

use crate::pictures::*;

/// An AVIF of one picture: `ftyp`, `meta` and `mdat`, with item 1.
const PLAIN: &[u8] = include_bytes!("../corpus/avif/420.avif");

/// The kind and content of each box in the `meta` box.
type Tables = Vec<([u8; 4], Vec<u8>)>;

fn bmff_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

fn boxes(mut rest: &[u8]) -> Tables {
    let mut boxes = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        boxes.push((*after.first_chunk().expect("a kind"), after[4..length - 4].to_vec()));
        rest = &rest[length..];
    }
    boxes
}

/// A file with other tables. `iloc` gets the offset and the length of the coded pictures.
fn rebuilt(file: &[u8], change: impl Fn(&mut Tables), iloc: impl Fn(u32, u32) -> Vec<u8>) -> Vec<u8> {
    let file = boxes(file);
    let [(_, ftyp), (_, meta), (_, mdat)] = &file[..] else { panic!("other boxes: {file:?}") };
    let front = |offset| {
        let mut tables = boxes(&meta[4..]);
        change(&mut tables);
        let mut content = vec![0; 4];
        for (kind, table) in tables {
            let table = if kind == *b"iloc" { iloc(offset, mdat.len() as u32) } else { table };
            content.extend(bmff_box(&kind, &table));
        }
        [bmff_box(b"ftyp", ftyp), bmff_box(b"meta", &content)].concat()
    };
    let offset = front(0).len() as u32 + 8;
    [front(offset), bmff_box(b"mdat", mdat)].concat()
}

fn with(change: impl Fn(&mut Tables)) -> Vec<u8> {
    rebuilt(PLAIN, change, |offset, length| locations(&[entry(1, offset, length)]))
}

fn locations(entries: &[Vec<u8>]) -> Vec<u8> {
    [&[0, 0, 0, 0, 0x44, 0, 0, entries.len() as u8][..], &entries.concat()].concat()
}

fn entry(item: u8, offset: u32, length: u32) -> Vec<u8> {
    [&[0, item, 0, 0, 0, 1][..], &offset.to_be_bytes(), &length.to_be_bytes()].concat()
}

fn table<'a>(tables: &'a mut Tables, name: &[u8; 4]) -> &'a mut Vec<u8> {
    &mut tables.iter_mut().find(|(kind, _)| kind == name).expect("a table").1
}

/// The `infe` of one more item.
fn info(item: u8, kind: &[u8; 4]) -> Vec<u8> {
    bmff_box(b"infe", &[&[2, 0, 0, 0, 0, item, 0, 0], &kind[..], &[0]].concat())
}

#[track_caller]
fn accepted(what: &str, file: &[u8]) {
    ingested(file);
    assert!(strip(file, InputFormat::Avif).is_ok(), "{what}");
}

#[track_caller]
fn refused(what: &str, file: &[u8]) {
    let decoding = probe(file, &LIMITS);
    assert!(matches!(decoding, Err(Error::Damaged(_))), "decoding {what}: {decoding:?}");
    let stripping = strip(file, InputFormat::Avif);
    assert!(matches!(stripping, Err(Error::Damaged(_))), "stripping {what}: {stripping:?}");
}

#[test]
fn tables_in_another_order_are_read() {
    accepted("the file as it was", &with(|_| {}));
    accepted("reversed tables", &with(|tables| tables.reverse()));
    accepted("an unknown table", &with(|tables| tables.push((*b"what", vec![1, 2, 3]))));
    accepted("one more item", &with(|tables| table(tables, b"iinf").extend(info(2, b"Exif"))));
}

#[test]
fn a_second_table_of_a_kind_is_refused() {
    for kind in [b"pitm", b"iinf", b"iloc", b"iprp"] {
        let twice = |tables: &mut Tables| {
            let content = table(tables, kind).clone();
            tables.push((*kind, content));
        };
        refused(&format!("two {}", kind.escape_ascii()), &with(twice));
    }
    for kind in [b"idat", b"iref", b"grpl"] {
        let twice = |tables: &mut Tables| tables.extend([(*kind, vec![0; 4]), (*kind, vec![0; 4])]);
        refused(&format!("two {}", kind.escape_ascii()), &with(twice));
    }
    let properties = |tables: &mut Tables| table(tables, b"iprp").extend(bmff_box(b"ipco", &[]));
    refused("two ipco", &with(properties));
}

#[test]
fn a_second_entry_of_an_item_is_refused() {
    let kinds = |tables: &mut Tables| table(tables, b"iinf").extend(info(1, b"Exif"));
    refused("two kinds of an item", &with(kinds));
    let places = |offset, length| locations(&[entry(1, 0, 8), entry(1, offset, length)]);
    refused("two locations of an item", &rebuilt(PLAIN, |_| {}, places));
    let associations = bmff_box(b"ipma", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1]);
    refused(
        "two lists of properties of an item",
        &with(|tables| table(tables, b"iprp").extend_from_slice(&associations)),
    );
    let tiles = [vec![0; 4], bmff_box(b"dimg", &[0, 1, 0, 1, 0, 2]), bmff_box(b"dimg", &[0, 1, 0, 1, 0, 3])];
    refused("two lists of tiles of an item", &with(|tables| tables.push((*b"iref", tiles.concat()))));
}

#[test]
fn a_box_that_reaches_beyond_its_parent_is_refused() {
    let long = [&[0, 0, 1, 0][..], b"free"].concat();
    let last = |tables: &mut Tables| tables.push((*b"grpl", long.clone()));
    refused("a group beyond its list", &with(last));
    refused("an item beyond its list", &with(|tables| table(tables, b"iinf").extend_from_slice(&long)));
    refused(
        "another box among the items",
        &with(|tables| {
            table(tables, b"iinf").extend(bmff_box(b"free", &[0; 16]));
        }),
    );
}

#[test]
fn locations_that_readers_resolve_differently_are_refused() {
    // Version 1 has a construction method and a data reference in each entry.
    let located = |method: u8, reference: u8, idat: &[u8]| {
        let change = |tables: &mut Tables| tables.insert(0, (*b"idat", idat.to_vec()));
        rebuilt(PLAIN, change, |offset, length| {
            let entry =
                [&[0, 1, 0, method, 0, reference, 0, 1][..], &offset.to_be_bytes(), &length.to_be_bytes()];
            [&[1, 0, 0, 0, 0x44, 0, 0, 1][..], &entry.concat()].concat()
        })
    };
    accepted("version 1", &located(0, 0, b""));
    refused("an unknown construction method", &located(3, 0, b""));

    let odd = |offset: u32, length: u32| {
        let entry = [&[0, 1, 0, 0, 0, 1][..], &offset.to_be_bytes()[1..], &length.to_be_bytes()[1..]];
        [&[0, 0, 0, 0, 0x33, 0, 0, 1][..], &entry.concat()].concat()
    };
    refused("numbers of three bytes", &rebuilt(PLAIN, |_| {}, odd));
    let tables = |offset: u32, length| locations(&[entry(1, offset, length), entry(2, 48, 16)]);
    refused("an item within the tables", &rebuilt(PLAIN, |_| {}, tables));
    let many = |offset: u32, length: u32| {
        let extents = (0..65_u32).map(|part| [(offset + part).to_be_bytes(), 1_u32.to_be_bytes()].concat());
        let scattered = [&[0, 2, 0, 0, 0, 65][..], &extents.collect::<Vec<_>>().concat()].concat();
        locations(&[entry(1, offset, length), scattered])
    };
    refused("an item of 65 extents", &rebuilt(PLAIN, |_| {}, many));
}

#[test]
fn a_picture_in_another_file_is_not_read_from_this_one() {
    let change = |tables: &mut Tables| {
        let mdat = boxes(PLAIN).swap_remove(2).1;
        tables.insert(0, (*b"idat", mdat));
    };
    let located = |reference: u8| {
        rebuilt(PLAIN, change, |_, length| {
            let entry = [&[0, 1, 0, 1, 0, reference, 0, 1, 0, 0, 0, 0][..], &length.to_be_bytes()];
            [&[1, 0, 0, 0, 0x44, 0, 0, 1][..], &entry.concat()].concat()
        })
    };
    accepted("a picture in idat", &located(0));
    assert!(matches!(probe(&located(1), &LIMITS), Err(Error::Damaged(_))));
}

#[test]
fn more_entries_than_the_limit_are_refused() {
    let items = |count: u16| {
        with(|tables| {
            let iinf = table(tables, b"iinf");
            for id in 2..=count {
                let id = id.to_be_bytes();
                let head = [2, 0, 0, 0, id[0], id[1], 0, 0];
                iinf.extend(bmff_box(b"infe", &[&head[..], b"Exif\0"].concat()));
            }
        })
    };
    accepted("4096 items", &items(4096));
    refused("4097 items", &items(4097));
}

/// An opacity that claims to be a thumbnail as well is stripped, and the rest must not pass for the picture.
#[test]
fn a_picture_that_loses_its_opacity_by_stripping_is_refused() {
    let alpha = include_bytes!("../corpus/avif/alpha.avif");
    let file = |references: &[u8]| {
        let change = |tables: &mut Tables| table(tables, b"iref").extend_from_slice(references);
        // The opacity's 204 bytes come first.
        rebuilt(alpha, change, |offset, length| {
            locations(&[entry(1, offset + 204, length - 204), entry(2, offset, 204)])
        })
    };
    accepted("a picture with opacity", &file(&[]));
    let thumbnail = file(&bmff_box(b"thmb", &[0, 2, 0, 1, 0, 1]));
    assert!(matches!(ingest(&thumbnail, &LIMITS), Err(Error::Damaged(_))));
}
