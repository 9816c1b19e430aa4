use imaging::InputFormat::{Avif, Heic};
use imaging::{Error, strip};

use super::{exif, has, kept};

fn atom(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

/// An item's number, its kind and name, and where its bytes are in the data.
type Item = (u8, &'static [u8], std::ops::Range<u32>);

const PICTURE: Item = (1, b"av01Color\0", 0..6);

/// A file as encoders write it. Item 1 is the picture, and all have the same property.
fn file(items: &[Item], references: &[(&[u8; 4], u8, u8)], property: &[u8], data: &[u8]) -> Vec<u8> {
    let count = items.len() as u8;
    let front = |mdat: u32| {
        let mut infos = vec![0, 0, 0, 0, 0, count];
        let mut places = vec![0, 0, 0, 0, 0x44, 0, 0, count];
        let mut links = vec![0; 4];
        let mut uses = vec![0, 0, 0, 0, 0, 0, 0, count];
        for (id, kind, span) in items {
            infos.extend(atom(b"infe", &[&[2, 0, 0, 0, 0, *id, 0, 0], *kind].concat()));
            places.extend([0, *id, 0, 0, 0, 1]);
            places.extend((mdat + span.start).to_be_bytes());
            places.extend((span.end - span.start).to_be_bytes());
            uses.extend([0, *id, 1, 1]);
        }
        for (kind, from, to) in references {
            links.extend(atom(kind, &[0, *from, 0, 1, 0, *to]));
        }
        let index = [
            vec![0; 4],
            atom(b"pitm", &[0, 0, 0, 0, 0, 1]),
            atom(b"iloc", &places),
            atom(b"iinf", &infos),
            atom(b"iref", &links),
            atom(b"iprp", &[atom(b"ipco", property), atom(b"ipma", &uses)].concat()),
        ];
        [atom(b"ftyp", b"avif\0\0\0\0mif1"), atom(b"meta", &index.concat())].concat()
    };
    let place = front(0).len() as u32 + 8;
    [front(place), atom(b"mdat", data)].concat()
}

#[test]
fn takes_everything_from_what_encoders_write() {
    let still = include_bytes!("files/still.avif");
    let sequence = include_bytes!("files/sequence.avif");
    let thumbnail = include_bytes!("files/thumbnail.heic");
    // A sequence says when it was made.
    for (file, source, removed) in [
        (&still[..], Avif, "gps, exif, xmp, maker-notes"),
        (sequence, Avif, "gps, exif, xmp, maker-notes, other"),
        (thumbnail, Heic, "gps, exif, xmp, thumbnail, maker-notes"),
    ] {
        let kept = kept(file, source, removed);
        assert_eq!(kept.len(), file.len(), "nothing moves");
        for word in [&b"Exif"[..], b"mime", b"cdsc", b"thmb"] {
            assert!(!has(&kept, word), "{}", word.escape_ascii());
        }
    }
}

#[test]
fn items_that_are_no_picture_go() {
    let xmp: Item = (2, b"mime\0application/rdf+xml\0", 6..12);
    let (faces, thumbnail): (Item, Item) = ((2, b"rgan\0", 6..12), (2, b"av01\0", 6..12));
    let describes: &[(&[u8; 4], u8, u8)] = &[(b"cdsc", 2, 1)];
    for (item, references, removed) in [
        ((2, &b"Exif\0"[..], 6..12), describes, "exif"),
        (xmp, describes, "xmp"),
        ((2, b"mime\0text/plain\0", 6..12), &[], "other"),
        ((2, b"uri \0urn:SECRET\0", 6..12), &[], "other"),
        (faces, describes, "other"),
        (thumbnail, &[(b"thmb", 2, 1)], "thumbnail"),
    ] {
        let file = file(&[PICTURE, item], references, &[], b"PIXELSSECRET");
        let kept = kept(&file, Avif, removed);
        assert_eq!(kept.len(), file.len());
        assert!(kept.ends_with(b"mdatPIXELS\0\0\0\0\0\0"));
        assert_eq!(kept.windows(4).filter(|window| *window == b"infe").count(), 1);
        assert!(!has(&kept, b"Color"), "names tell who wrote it");
    }
}

#[test]
fn the_tiles_and_the_transparency_of_a_thumbnail_go_with_it() {
    let items = [
        PICTURE,
        (2, b"grid\0", 6..8),
        (3, b"av01\0", 8..10),
        (4, b"av01\0", 10..12),
        (5, b"av01\0", 12..14),
    ];
    let references = [(b"thmb", 2, 1), (b"dimg", 2, 3), (b"auxl", 4, 2), (b"auxl", 5, 1)];
    let kept = kept(&file(&items, &references, &[], b"PIXELSSECRET+A"), Avif, "thumbnail");
    assert!(kept.ends_with(b"mdatPIXELS\0\0\0\0\0\0+A"), "the picture's own transparency stays");
}

#[test]
fn what_the_picture_needs_stays() {
    // Metadata that claims the picture's own bytes.
    let shared = file(&[PICTURE, (2, b"Exif\0", 3..9)], &[], &[], b"PIXELSabc");
    assert!(kept(&shared, Avif, "exif").ends_with(b"mdatPIXELS\0\0\0"));
    // A thumbnail that the picture is made from.
    let items = [(1, &b"grid\0"[..], 0..3), (2, b"av01\0", 3..6)];
    let made = file(&items, &[(b"thmb", 2, 1), (b"dimg", 1, 2)], &[], b"PIXELS");
    assert!(kept(&made, Avif, "").ends_with(b"mdatPIXELS"));
}

#[test]
fn bytes_of_no_item_and_notes_about_one_go() {
    let hidden = file(&[PICTURE], &[], &[], b"PIXELSSECRET");
    assert!(kept(&hidden, Avif, "other").ends_with(b"mdatPIXELS\0\0\0\0\0\0"));
    let described = file(&[PICTURE], &[], &atom(b"udes", b"SECRET"), b"PIXELS");
    let empty = [&b"ipco\0\0\0\x0Efree"[..], &[0; 6]].concat();
    assert!(has(&kept(&described, Avif, "other"), &empty), "properties are counted");
}

#[test]
fn other_atoms_become_empty_or_are_cut_off() {
    let plain = kept(&file(&[PICTURE], &[], &[], b"PIXELS"), Avif, "");
    let xmp = b"\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xACSECRET exif:GPS";
    let video = atom(b"mpvd", b"SECRET");
    let at_the_end = [&plain[..], &video, &atom(b"free", b"SECRET")].concat();
    assert_eq!(kept(&at_the_end, Avif, "other"), plain);
    assert_eq!(kept(&[&plain[..], &atom(b"uuid", xmp)].concat(), Avif, "gps, xmp"), plain);
    assert_eq!(kept(&[&plain[..], b"SECRET without an atom"].concat(), Avif, "other"), plain);
    let before_more = [&plain[..], &video, &atom(b"mdat", &[])].concat();
    let emptied = [&plain[..], &atom(b"free", &[0; 6]), &atom(b"mdat", &[])].concat();
    assert_eq!(kept(&before_more, Avif, "other"), emptied);
}

#[test]
fn a_sequence_loses_notes_times_and_tracks_without_pictures() {
    let handler = |kind: &[u8]| atom(b"hdlr", &[&[0; 8], kind, &[0; 12], b"SECRET\0"].concat());
    let track = |kind: &[u8], more: &[u8]| atom(b"trak", &[&atom(b"mdia", &handler(kind)), more].concat());
    let header = |time: u8| atom(b"mvhd", &[0, 0, 0, 0, 0, 0, 0, time, 0, 0, 0, time, 0, 0, 3, 0xE8]);
    let file = |tracks: [Vec<u8>; 4]| {
        [atom(b"ftyp", b"avis\0\0\0\0"), atom(b"moov", &tracks.concat()), atom(b"mdat", b"PIXELS")].concat()
    };
    let notes = atom(b"udta", b"SECRET");
    let full = file([header(9), track(b"pict", &notes), track(b"text", b""), notes.clone()]);
    let kept = kept(&full, Avif, "other");
    let named = atom(b"hdlr", &[&[0; 8], &b"pict"[..], &[0; 19]].concat());
    let picture = atom(b"trak", &[atom(b"mdia", &named), atom(b"free", &[0; 6])].concat());
    let text = vec![0; track(b"text", b"").len() - 8];
    assert_eq!(kept, file([header(0), picture, atom(b"free", &text), atom(b"free", &[0; 6])]));
}

#[test]
fn the_short_form_is_taken_only_without_metadata() {
    let short = |flags| [atom(b"ftyp", b"mif3\0\0\0\0avif"), atom(b"mini", &[0, flags, 1, 2, 3])].concat();
    assert_eq!(kept(&short(0x80), Avif, ""), short(0x80));
    for flags in [0x40, 0x20] {
        assert!(matches!(strip(&short(flags), Avif), Err(Error::Unsupported(_))));
    }
}

#[test]
fn finds_the_place_in_an_exif_item() {
    let block = [&[0, 0, 0, 6], &b"Exif\0\0"[..], &exif(true)].concat();
    let length = block.len() as u32 + 6;
    let file = file(&[PICTURE, (2, b"Exif\0", 6..length)], &[], &[], &[b"PIXELS", &block[..]].concat());
    kept(&file, Heic, "gps, exif, thumbnail, maker-notes");
}
