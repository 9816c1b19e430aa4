use imaging::InputFormat::{Avif, Heic};
use imaging::{Error, strip};

use super::profiles::{clean_profile, profile_with_texts};
use super::{contains, exif, strip_and_check};

fn bmff_box(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32 + 8).to_be_bytes()[..], kind, content].concat()
}

/// Item ID, item type and name, and the byte range of the item in `mdat`.
type Item = (u8, &'static [u8], std::ops::Range<u32>);

const IMAGE: Item = (1, b"av01Color\0", 0..6);

/// A file as encoders write it. Item 1 is the primary image, and all items have the same property.
fn file(items: &[Item], references: &[(&[u8; 4], u8, u8)], property: &[u8], data: &[u8]) -> Vec<u8> {
    let count = items.len() as u8;
    let front = |mdat: u32| {
        let mut infos = vec![0, 0, 0, 0, 0, count];
        let mut locations = vec![0, 0, 0, 0, 0x44, 0, 0, count];
        let mut item_references = vec![0; 4];
        let mut associations = vec![0, 0, 0, 0, 0, 0, 0, count];
        for (id, kind, range) in items {
            infos.extend(bmff_box(b"infe", &[&[2, 0, 0, 0, 0, *id, 0, 0], *kind].concat()));
            locations.extend([0, *id, 0, 0, 0, 1]);
            locations.extend((mdat + range.start).to_be_bytes());
            locations.extend((range.end - range.start).to_be_bytes());
            associations.extend([0, *id, 1, 1]);
        }
        for (kind, from, to) in references {
            item_references.extend(bmff_box(kind, &[0, *from, 0, 1, 0, *to]));
        }
        let tables = [
            vec![0; 4],
            bmff_box(b"pitm", &[0, 0, 0, 0, 0, 1]),
            bmff_box(b"iloc", &locations),
            bmff_box(b"iinf", &infos),
            bmff_box(b"iref", &item_references),
            bmff_box(b"iprp", &[bmff_box(b"ipco", property), bmff_box(b"ipma", &associations)].concat()),
        ];
        [bmff_box(b"ftyp", b"avif\0\0\0\0mif1"), bmff_box(b"meta", &tables.concat())].concat()
    };
    let mdat = front(0).len() as u32 + 8;
    [front(mdat), bmff_box(b"mdat", data)].concat()
}

pub(super) fn with_profile(profile: &[u8]) -> Vec<u8> {
    file(&[IMAGE], &[], &bmff_box(b"colr", &[b"prof", profile].concat()), b"PIXELS")
}

#[test]
fn all_metadata_of_real_encoders_is_removed() {
    let still = include_bytes!("files/still.avif");
    let sequence = include_bytes!("files/sequence.avif");
    let thumbnail = include_bytes!("files/thumbnail.heic");
    // A sequence contains its creation time.
    for (file, format, removed) in [
        (&still[..], Avif, "gps, exif, xmp, maker-notes"),
        (sequence, Avif, "gps, exif, xmp, maker-notes, other"),
        (thumbnail, Heic, "gps, exif, xmp, thumbnail, maker-notes"),
    ] {
        let stripped = strip_and_check(file, format, removed);
        assert_eq!(stripped.len(), file.len(), "the length must not change");
        for box_type in [&b"Exif"[..], b"mime", b"cdsc", b"thmb"] {
            assert!(!contains(&stripped, box_type), "{}", box_type.escape_ascii());
        }
    }
}

#[test]
fn items_that_are_not_images_are_removed() {
    let xmp: Item = (2, b"mime\0application/rdf+xml\0", 6..12);
    let (regions, thumbnail): (Item, Item) = ((2, b"rgan\0", 6..12), (2, b"av01\0", 6..12));
    let describes: &[(&[u8; 4], u8, u8)] = &[(b"cdsc", 2, 1)];
    for (item, references, removed) in [
        ((2, &b"Exif\0"[..], 6..12), describes, "exif"),
        (xmp, describes, "xmp"),
        ((2, b"mime\0text/plain\0", 6..12), &[], "other"),
        ((2, b"uri \0urn:SECRET\0", 6..12), &[], "other"),
        (regions, describes, "other"),
        (thumbnail, &[(b"thmb", 2, 1)], "thumbnail"),
    ] {
        let file = file(&[IMAGE, item], references, &[], b"PIXELSSECRET");
        let stripped = strip_and_check(&file, Avif, removed);
        assert_eq!(stripped.len(), file.len());
        assert!(stripped.ends_with(b"mdatPIXELS\0\0\0\0\0\0"));
        assert_eq!(stripped.windows(4).filter(|window| *window == b"infe").count(), 1);
        assert!(!contains(&stripped, b"Color"), "item names must be removed");
    }
}

#[test]
fn the_tiles_and_the_alpha_of_a_thumbnail_are_removed_with_it() {
    let items =
        [IMAGE, (2, b"grid\0", 6..8), (3, b"av01\0", 8..10), (4, b"av01\0", 10..12), (5, b"av01\0", 12..14)];
    let references = [(b"thmb", 2, 1), (b"dimg", 2, 3), (b"auxl", 4, 2), (b"auxl", 5, 1)];
    let stripped = strip_and_check(&file(&items, &references, &[], b"PIXELSSECRET+A"), Avif, "thumbnail");
    assert!(stripped.ends_with(b"mdatPIXELS\0\0\0\0\0\0+A"), "the image's own alpha must be kept");
}

#[test]
fn data_that_the_image_shares_is_kept() {
    // A metadata item that shares bytes with the image.
    let shared = file(&[IMAGE, (2, b"Exif\0", 3..9)], &[], &[], b"PIXELSabc");
    assert!(strip_and_check(&shared, Avif, "exif").ends_with(b"mdatPIXELS\0\0\0"));
    // A thumbnail that is also an input of the image.
    let items = [(1, &b"grid\0"[..], 0..3), (2, b"av01\0", 3..6)];
    let derived = file(&items, &[(b"thmb", 2, 1), (b"dimg", 1, 2)], &[], b"PIXELS");
    assert!(strip_and_check(&derived, Avif, "").ends_with(b"mdatPIXELS"));
}

#[test]
fn data_of_no_item_and_descriptive_properties_are_removed() {
    let hidden = file(&[IMAGE], &[], &[], b"PIXELSSECRET");
    assert!(strip_and_check(&hidden, Avif, "other").ends_with(b"mdatPIXELS\0\0\0\0\0\0"));
    let described = file(&[IMAGE], &[], &bmff_box(b"udes", b"SECRET"), b"PIXELS");
    let empty = [&b"ipco\0\0\0\x0Efree"[..], &[0; 6]].concat();
    assert!(
        contains(&strip_and_check(&described, Avif, "other"), &empty),
        "property indices must not change"
    );
}

#[test]
fn other_boxes_become_free_boxes_or_are_truncated() {
    let plain = strip_and_check(&file(&[IMAGE], &[], &[], b"PIXELS"), Avif, "");
    let xmp = b"\xBE\x7A\xCF\xCB\x97\xA9\x42\xE8\x9C\x71\x99\x94\x91\xE3\xAF\xACSECRET exif:GPS";
    let video = bmff_box(b"mpvd", b"SECRET");
    let trailing_boxes = [&plain[..], &video, &bmff_box(b"free", b"SECRET")].concat();
    assert_eq!(strip_and_check(&trailing_boxes, Avif, "other"), plain);
    assert_eq!(strip_and_check(&[&plain[..], &bmff_box(b"uuid", xmp)].concat(), Avif, "gps, xmp"), plain);
    assert_eq!(strip_and_check(&[&plain[..], b"SECRET outside a box"].concat(), Avif, "other"), plain);
    let followed_by_mdat = [&plain[..], &video, &bmff_box(b"mdat", &[])].concat();
    let expected = [&plain[..], &bmff_box(b"free", &[0; 6]), &bmff_box(b"mdat", &[])].concat();
    assert_eq!(strip_and_check(&followed_by_mdat, Avif, "other"), expected);
}

#[test]
fn an_appended_video_without_an_ftyp_box_is_removed() {
    let plain = strip_and_check(&file(&[IMAGE], &[], &[], b"PIXELS"), Avif, "");
    let (samples, movie) = (bmff_box(b"mdat", b"SECRET"), bmff_box(b"moov", b"SECRET"));
    let zeros = bmff_box(b"mdat", &[0; 6]);
    let stripped = strip_and_check(&[&plain[..], &samples, &movie].concat(), Avif, "other");
    assert_eq!(stripped, [&plain[..], &zeros].concat());
    let stripped = strip_and_check(&[&plain[..], &movie, &samples].concat(), Avif, "other");
    assert_eq!(stripped, [&plain[..], &bmff_box(b"free", &[0; 6]), &zeros].concat());
}

#[test]
fn user_data_times_and_other_tracks_are_removed_from_a_sequence() {
    let handler = |kind: &[u8]| bmff_box(b"hdlr", &[&[0; 8], kind, &[0; 12], b"SECRET\0"].concat());
    let track =
        |kind: &[u8], more: &[u8]| bmff_box(b"trak", &[&bmff_box(b"mdia", &handler(kind)), more].concat());
    let header = |time: u8| bmff_box(b"mvhd", &[0, 0, 0, 0, 0, 0, 0, time, 0, 0, 0, time, 0, 0, 3, 0xE8]);
    let file = |tracks: [Vec<u8>; 4]| {
        [
            bmff_box(b"ftyp", b"avis\0\0\0\0"),
            bmff_box(b"moov", &tracks.concat()),
            bmff_box(b"mdat", b"PIXELS"),
        ]
        .concat()
    };
    let user_data = bmff_box(b"udta", b"SECRET");
    let sequence = file([header(9), track(b"pict", &user_data), track(b"text", b""), user_data.clone()]);
    let stripped = strip_and_check(&sequence, Avif, "other");
    let nameless_handler = bmff_box(b"hdlr", &[&[0; 8], &b"pict"[..], &[0; 19]].concat());
    let image_track =
        bmff_box(b"trak", &[bmff_box(b"mdia", &nameless_handler), bmff_box(b"free", &[0; 6])].concat());
    let text = vec![0; track(b"text", b"").len() - 8];
    assert_eq!(
        stripped,
        file([header(0), image_track, bmff_box(b"free", &text), bmff_box(b"free", &[0; 6])])
    );
}

#[test]
fn the_profile_of_a_sequence_is_rewritten() {
    let sequence = |profile: &[u8]| {
        let colour = bmff_box(b"colr", &[b"prof", profile].concat());
        let samples = bmff_box(b"av01", &[&[0; 78], &colour[..]].concat());
        let table =
            bmff_box(b"stbl", &bmff_box(b"stsd", &[&[0, 0, 0, 0, 0, 0, 0, 1], &samples[..]].concat()));
        let handler = bmff_box(b"hdlr", &[&[0; 8], &b"pict"[..], &[0; 13]].concat());
        let media = bmff_box(b"mdia", &[handler, bmff_box(b"minf", &table)].concat());
        let movie = bmff_box(b"moov", &bmff_box(b"trak", &media));
        [bmff_box(b"ftyp", b"avis\0\0\0\0"), movie, bmff_box(b"mdat", b"PIXELS")].concat()
    };
    let profile = profile_with_texts(4);
    let mut clean = clean_profile(4);
    clean.resize(profile.len(), 0);
    assert_eq!(strip_and_check(&sequence(&profile), Avif, "icc-texts"), sequence(&clean));
    let malformed = strip_and_check(&sequence(b"SECRET"), Avif, "other");
    assert!(contains(&malformed, b"\x12free\0\0"), "a malformed profile must be removed");
}

#[test]
fn a_mini_box_is_accepted_only_without_metadata() {
    let mini =
        |flags| [bmff_box(b"ftyp", b"mif3\0\0\0\0avif"), bmff_box(b"mini", &[0, flags, 1, 2, 3])].concat();
    assert_eq!(strip_and_check(&mini(0x80), Avif, ""), mini(0x80));
    for flags in [0x40, 0x20] {
        assert!(matches!(strip(&mini(flags), Avif), Err(Error::Unsupported(_))));
    }
}

#[test]
fn gps_is_found_in_an_exif_item() {
    let block = [&[0, 0, 0, 6], &b"Exif\0\0"[..], &exif(true)].concat();
    let length = block.len() as u32 + 6;
    let file = file(&[IMAGE, (2, b"Exif\0", 6..length)], &[], &[], &[b"PIXELS", &block[..]].concat());
    strip_and_check(&file, Heic, "gps, exif, thumbnail, maker-notes");
}
