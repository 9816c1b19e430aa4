//! Ambiguous AVIF containers: decoding and stripping both reject them.

use imaging::{Error, FitMasters, InputFormat, ingest, probe, strip};
use model::Focus;

use crate::test_images::*;

/// An AVIF with one image: `ftyp`, `meta` and `mdat`, with item 1.
const PLAIN: &[u8] = include_bytes!("../corpus/avif/420.avif");

/// Type and content of each box in the `meta` box.
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

/// Rebuilds a file with modified tables. `iloc` receives the offset and the length of the `mdat` data.
fn rebuilt(file: &[u8], change: impl Fn(&mut Tables), iloc: impl Fn(u32, u32) -> Vec<u8>) -> Vec<u8> {
    let file = boxes(file);
    let [(_, ftyp), (_, meta), (_, mdat)] = &file[..] else { panic!("unexpected boxes: {file:?}") };
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

fn with_tables(change: impl Fn(&mut Tables)) -> Vec<u8> {
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

/// An `infe` box for an additional item.
fn info(item: u8, kind: &[u8; 4]) -> Vec<u8> {
    bmff_box(b"infe", &[&[2, 0, 0, 0, 0, item, 0, 0], &kind[..], &[0]].concat())
}

#[track_caller]
fn assert_accepted(what: &str, file: &[u8]) {
    ingested(file);
    assert!(strip(file, InputFormat::Avif).is_ok(), "{what}");
}

#[track_caller]
fn assert_rejected(what: &str, file: &[u8]) {
    let decoding = probe(file, &LIMITS);
    assert!(matches!(decoding, Err(Error::Damaged(_))), "decoding {what}: {decoding:?}");
    let stripping = strip(file, InputFormat::Avif);
    assert!(matches!(stripping, Err(Error::Damaged(_))), "stripping {what}: {stripping:?}");
}

#[test]
fn tables_in_any_order_are_accepted() {
    assert_accepted("the unchanged file", &with_tables(|_| {}));
    assert_accepted("reversed tables", &with_tables(|tables| tables.reverse()));
    assert_accepted("an unknown table", &with_tables(|tables| tables.push((*b"what", vec![1, 2, 3]))));
    assert_accepted("one more item", &with_tables(|tables| table(tables, b"iinf").extend(info(2, b"Exif"))));
}

#[test]
fn duplicate_boxes_are_rejected() {
    for kind in [b"pitm", b"iinf", b"iloc", b"iprp"] {
        let twice = |tables: &mut Tables| {
            let content = table(tables, kind).clone();
            tables.push((*kind, content));
        };
        assert_rejected(&format!("two {}", kind.escape_ascii()), &with_tables(twice));
    }
    for kind in [b"idat", b"iref", b"grpl"] {
        let twice = |tables: &mut Tables| tables.extend([(*kind, vec![0; 4]), (*kind, vec![0; 4])]);
        assert_rejected(&format!("two {}", kind.escape_ascii()), &with_tables(twice));
    }
    let properties = |tables: &mut Tables| table(tables, b"iprp").extend(bmff_box(b"ipco", &[]));
    assert_rejected("two ipco", &with_tables(properties));
}

#[test]
fn duplicate_entries_of_an_item_are_rejected() {
    let kinds = |tables: &mut Tables| table(tables, b"iinf").extend(info(1, b"Exif"));
    assert_rejected("two infe boxes of an item", &with_tables(kinds));
    let duplicate = |offset, length| locations(&[entry(1, 0, 8), entry(1, offset, length)]);
    assert_rejected("two locations of an item", &rebuilt(PLAIN, |_| {}, duplicate));
    let associations = bmff_box(b"ipma", &[0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 1]);
    assert_rejected(
        "two property associations of an item",
        &with_tables(|tables| table(tables, b"iprp").extend_from_slice(&associations)),
    );
    let tiles = [vec![0; 4], bmff_box(b"dimg", &[0, 1, 0, 1, 0, 2]), bmff_box(b"dimg", &[0, 1, 0, 1, 0, 3])];
    assert_rejected(
        "two tile lists of an item",
        &with_tables(|tables| tables.push((*b"iref", tiles.concat()))),
    );
}

#[test]
fn a_box_that_extends_beyond_its_parent_is_rejected() {
    let long = [&[0, 0, 1, 0][..], b"free"].concat();
    let last = |tables: &mut Tables| tables.push((*b"grpl", long.clone()));
    assert_rejected("a group beyond its list", &with_tables(last));
    assert_rejected(
        "an item beyond its list",
        &with_tables(|tables| table(tables, b"iinf").extend_from_slice(&long)),
    );
    assert_rejected(
        "another box among the items",
        &with_tables(|tables| {
            table(tables, b"iinf").extend(bmff_box(b"free", &[0; 16]));
        }),
    );
}

#[test]
fn ambiguous_item_locations_are_rejected() {
    // Version 1 has a construction method and a data reference in each entry.
    let located = |method: u8, reference: u8, idat: &[u8]| {
        let change = |tables: &mut Tables| tables.insert(0, (*b"idat", idat.to_vec()));
        rebuilt(PLAIN, change, |offset, length| {
            let entry =
                [&[0, 1, 0, method, 0, reference, 0, 1][..], &offset.to_be_bytes(), &length.to_be_bytes()];
            [&[1, 0, 0, 0, 0x44, 0, 0, 1][..], &entry.concat()].concat()
        })
    };
    assert_accepted("version 1", &located(0, 0, b""));
    assert_rejected("an unknown construction method", &located(3, 0, b""));

    let odd = |offset: u32, length: u32| {
        let entry = [&[0, 1, 0, 0, 0, 1][..], &offset.to_be_bytes()[1..], &length.to_be_bytes()[1..]];
        [&[0, 0, 0, 0, 0x33, 0, 0, 1][..], &entry.concat()].concat()
    };
    assert_rejected("numbers of three bytes", &rebuilt(PLAIN, |_| {}, odd));
    let tables = |offset: u32, length| locations(&[entry(1, offset, length), entry(2, 48, 16)]);
    assert_rejected("an item within the tables", &rebuilt(PLAIN, |_| {}, tables));
    let many = |offset: u32, length: u32| {
        let extents = (0..65_u32).map(|part| [(offset + part).to_be_bytes(), 1_u32.to_be_bytes()].concat());
        let scattered = [&[0, 2, 0, 0, 0, 65][..], &extents.collect::<Vec<_>>().concat()].concat();
        locations(&[entry(1, offset, length), scattered])
    };
    assert_rejected("an item of 65 extents", &rebuilt(PLAIN, |_| {}, many));
}

#[test]
fn an_image_with_an_external_data_reference_is_rejected() {
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
    assert_accepted("an image in idat", &located(0));
    assert!(matches!(probe(&located(1), &LIMITS), Err(Error::Damaged(_))));
}

#[test]
fn more_items_than_the_limit_are_rejected() {
    let items = |count: u16| {
        with_tables(|tables| {
            let iinf = table(tables, b"iinf");
            for id in 2..=count {
                let id = id.to_be_bytes();
                let head = [2, 0, 0, 0, id[0], id[1], 0, 0];
                iinf.extend(bmff_box(b"infe", &[&head[..], b"Exif\0"].concat()));
            }
        })
    };
    assert_accepted("4096 items", &items(4096));
    assert_rejected("4097 items", &items(4097));
}

/// Stripping removes an alpha item that is also marked as a thumbnail; the image without it must not be
/// accepted.
#[test]
fn an_image_that_loses_its_alpha_by_stripping_is_rejected() {
    let alpha = include_bytes!("../corpus/avif/alpha.avif");
    let file = |references: &[u8]| {
        let change = |tables: &mut Tables| table(tables, b"iref").extend_from_slice(references);
        // The 204 bytes of the alpha item come first.
        rebuilt(alpha, change, |offset, length| {
            locations(&[entry(1, offset + 204, length - 204), entry(2, offset, 204)])
        })
    };
    assert_accepted("an image with alpha", &file(&[]));
    let thumbnail = file(&bmff_box(b"thmb", &[0, 2, 0, 1, 0, 1]));
    assert!(matches!(ingest(&thumbnail, Focus::CENTRE, FitMasters::All, &LIMITS), Err(Error::Damaged(_))));
}
