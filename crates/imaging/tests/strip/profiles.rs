//! Profiles are rewritten: with what changes colours, and without what names users and devices.

use std::fs;
use std::path::Path;

use imaging::{InputFormat, Limits, OutputFormat, sniff, strip, thumbnail};
use moxcms::ColorProfile;

use super::{gif, heif, jpeg, png, strip_and_check, webp};

type Tag = ([u8; 4], Vec<u8>);

const PRIMARIES: [u8; 12] = *b"\0\0\xF6\xD6\0\x01\0\0\0\0\xD3\x2D";

/// What stripping writes of every profile of these tests.
pub(super) fn clean_profile(version: u8) -> Vec<u8> {
    let v2 = [&b"desc\0\0\0\0\0\0\0\x02-"[..], &[0; 79]].concat();
    let v4 = b"mluc\0\0\0\0\0\0\0\x01\0\0\0\x0CenUS\0\0\0\x02\0\0\0\x1C\0-".to_vec();
    let texts = match version {
        2 => [(*b"desc", v2), (*b"cprt", b"text\0\0\0\0-\0".to_vec())],
        _ => [(*b"desc", v4.clone()), (*b"cprt", v4)],
    };
    profile(version, [0; 28], &[&texts[..], &colours()].concat())
}

/// The same colours as a camera or a display writes them.
pub(super) fn profile_with_texts(version: u8) -> Vec<u8> {
    let text = |text: &str| [b"text\0\0\0\0", text.as_bytes(), b"\0"].concat();
    let before = [(*b"desc", text("SECRET display of a user")), (*b"cprt", text("SECRET company"))];
    let kinds = [b"dmnd", b"dmdd", b"vued", b"mmod", b"meta", b"dscm", b"targ", b"vcgt", b"tech", b"ABCD"];
    let after = kinds.map(|kind| (*kind, text("SECRET serial number")));
    profile(version, *b"SECRET1SECRET2SECRET3SECRET4", &[&before[..], &colours(), &after].concat())
}

/// The curves share their data.
fn colours() -> [Tag; 7] {
    let xyz = |first: u8| [&b"XYZ \0\0\0\0"[..], &[0, 0, first, 0], &PRIMARIES[4..]].concat();
    let curve = || b"curv\0\0\0\0\0\0\0\x01\x02\x33".to_vec();
    [
        (*b"wtpt", [b"XYZ \0\0\0\0", &PRIMARIES[..]].concat()),
        (*b"rXYZ", xyz(1)),
        (*b"gXYZ", xyz(2)),
        (*b"bXYZ", xyz(3)),
        (*b"rTRC", curve()),
        (*b"gTRC", curve()),
        (*b"bTRC", curve()),
    ]
}

/// Equal tags share their data. What identifies a profile is in its header too.
fn profile(version: u8, identity: [u8; 28], tags: &[Tag]) -> Vec<u8> {
    let (mut table, mut data) = ((tags.len() as u32).to_be_bytes().to_vec(), Vec::<u8>::new());
    let mut written: Vec<(&Vec<u8>, usize)> = Vec::new();
    for (name, tag) in tags {
        let known = written.iter().find(|(other, _)| *other == tag).map(|(_, offset)| *offset);
        let offset = known.unwrap_or(132 + 12 * tags.len() + data.len());
        if known.is_none() {
            written.push((tag, offset));
            data.extend(tag);
            data.resize(data.len().next_multiple_of(4), 0);
        }
        table.extend(name);
        table.extend((offset as u32).to_be_bytes());
        table.extend((tag.len() as u32).to_be_bytes());
    }
    let size = 128 + table.len() + data.len();
    // Maker and software, the date, the platform, the device, the creator and the ID.
    let [cmm, date, device, id] = [&identity[..4], &identity[4..16], &identity[..24], &identity[8..28]];
    let header = [
        &(size as u32).to_be_bytes(),
        cmm,
        &[version, 0x40, 0, 0],
        b"mntrRGB XYZ ",
        date,
        b"acsp",
        device,
        &[0, 0, 0, 1],
        &PRIMARIES,
        id,
        &[0; 28],
    ];
    [&header.concat(), &table[..], &data].concat()
}

/// A file of each format with a profile.
fn files(profile: &[u8]) -> [(InputFormat, Vec<u8>); 6] {
    let heif = || heif::with_profile(profile);
    [
        (InputFormat::Jpeg, jpeg::with_profile(profile)),
        (InputFormat::Png, png::with_profile(profile)),
        (InputFormat::WebP, webp::with_profile(profile)),
        (InputFormat::Gif, gif::with_profile(profile)),
        (InputFormat::Avif, heif()),
        (InputFormat::Heic, heif()),
    ]
}

#[test]
fn profiles_are_rewritten_in_every_format() {
    for version in [2, 4] {
        let profile = profile_with_texts(version);
        let clean = clean_profile(version);
        // The tables of a HEIF keep their places.
        let mut padded = clean.clone();
        padded.resize(profile.len(), 0);
        let expected = files(&clean).into_iter().zip(files(&padded));
        for ((format, file), ((_, clean), (_, padded))) in files(&profile).into_iter().zip(expected) {
            let stripped = strip_and_check(&file, format, "icc-texts");
            let is_heif = matches!(format, InputFormat::Avif | InputFormat::Heic);
            let expected = strip_and_check(if is_heif { &padded } else { &clean }, format, "");
            assert!(stripped == expected, "{format:?}");
            assert!(is_heif || clean == expected, "{format:?}");
        }
    }
}

#[test]
fn malformed_profiles_are_removed_in_every_format() {
    let whole = profile_with_texts(4);
    let changed = |at: usize, bytes: &[u8]| {
        let mut profile = whole.clone();
        profile[at..at + bytes.len()].copy_from_slice(bytes);
        profile
    };
    let white = 132 + 2 * 12;
    for (profile, what) in [
        (b"SECRET".to_vec(), "no header"),
        (whole[..200].to_vec(), "a truncated table"),
        (whole[..400].to_vec(), "truncated tags"),
        (changed(36, b"ACSP"), "another signature"),
        (changed(128, &[0xFF; 4]), "too many tags"),
        (changed(128, &[0; 4]), "no tags"),
        (changed(white + 4, &[0xFF; 8]), "a tag behind the end"),
        (changed(white + 4, &[0, 0, 0, 0]), "a tag in the header"),
        (changed(white + 8, &[0, 0, 0, 0]), "an empty tag"),
        (vec![b'S'; 4 << 20], "too long a profile"),
    ] {
        for (format, file) in files(&profile) {
            let stripped = strip_and_check(&file, format, "other");
            assert!(!super::contains(&stripped, b"acsp"), "{what} in {format:?}");
        }
    }
}

/// Old software writes tags at odd offsets, and tags that share a part of their data.
#[test]
fn tags_at_odd_offsets_and_with_common_parts_keep_their_data() {
    let mut odd = profile(4, [0; 28], &[(*b"rTRC", b"abcdefgh".to_vec()), (*b"A2B0", b"12345678".to_vec())]);
    let data = 132 + 2 * 12;
    odd.splice(data..data, [0; 3]);
    for (entry, offset) in [(132, data + 3), (144, data + 3 + 4)] {
        odd[entry + 4..entry + 8].copy_from_slice(&(offset as u32).to_be_bytes());
    }
    let stripped = strip_and_check(&webp::with_profile(&odd), InputFormat::WebP, "icc-texts");
    let start = stripped.windows(4).position(|window| window == b"acsp").unwrap() - 36;
    let written = &stripped[start..];
    let tag = |number: usize| {
        let field = |at: usize| u32::from_be_bytes(written[at..at + 4].try_into().unwrap()) as usize;
        let entry = 132 + 12 * number;
        &written[field(entry + 4)..][..field(entry + 8)]
    };
    assert_eq!((tag(2), tag(3)), (&b"abcdefgh"[..], &b"efgh1234"[..]));
}

/// A HEIF keeps its length, so a profile that has no texts gets none.
#[test]
fn a_profile_without_texts_fits_into_a_heif() {
    let bare = profile(4, [b'S'; 28], &colours());
    let clean = profile(4, [0; 28], &colours());
    let stripped = strip_and_check(&heif::with_profile(&bare), InputFormat::Avif, "icc-texts");
    assert_eq!(stripped, strip_and_check(&heif::with_profile(&clean), InputFormat::Avif, ""));
}

#[test]
fn a_long_profile_of_a_jpeg_is_joined_and_divided_again() {
    let table = [(*b"A2B0", b"mft2".repeat(40_000))];
    let long = profile(4, [0; 28], &[&profile_texts(), &colours()[..], &table].concat());
    let segments: Vec<&[u8]> = long.chunks(20_000).collect();
    let in_order: Vec<usize> = (0..segments.len()).collect();
    let expected = strip_and_check(&jpeg::with_segments(&segments, &in_order), InputFormat::Jpeg, "");
    let reversed: Vec<usize> = in_order.iter().rev().copied().collect();
    assert_eq!(strip_and_check(&jpeg::with_segments(&segments, &reversed), InputFormat::Jpeg, ""), expected);
    // Decoders ignore a profile with a missing segment.
    let without =
        strip_and_check(&jpeg::with_segments(&segments, &in_order[1..]), InputFormat::Jpeg, "other");
    assert!(!super::contains(&without, b"ICC_PROFILE"));
}

fn profile_texts() -> [Tag; 2] {
    let text = b"mluc\0\0\0\0\0\0\0\x01\0\0\0\x0CenUS\0\0\0\x02\0\0\0\x1C\0-".to_vec();
    [(*b"desc", text.clone()), (*b"cprt", text)]
}

#[test]
fn stripping_changes_no_colours() {
    let limits = Limits { max_pixels: 64_000_000 };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/profiles");
    let mut written = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = fs::read(&path).unwrap();
        let (stripped, removed) = strip(&file, sniff(&file).unwrap()).unwrap();
        written += usize::from(removed.to_string().contains("icc-texts"));
        // Its orientation is removed with its EXIF.
        if path.ends_with("p3-rotated.jpg") {
            continue;
        }
        let shown =
            |file: &[u8]| thumbnail(file, &limits, "64x64".parse().unwrap(), OutputFormat::WebP).unwrap();
        assert!(shown(&file) == shown(&stripped), "{}", path.display());
    }
    assert!(written > 20, "only {written} profiles were rewritten");
}

/// Independently of our decoder.
#[test]
fn a_rewritten_profile_has_the_same_colours() {
    for profile in [
        ColorProfile::new_display_p3(),
        ColorProfile::new_adobe_rgb(),
        ColorProfile::new_srgb(),
        ColorProfile::new_gray_with_gamma(1.8),
    ] {
        let stripped = strip(&webp::with_profile(&profile.encode().unwrap()), InputFormat::WebP).unwrap().0;
        let start = stripped.windows(4).position(|window| window == b"acsp").unwrap() - 36;
        let written = ColorProfile::new_from_slice(&stripped[start..]).unwrap();
        assert_eq!(written.colorant_matrix().v, decoded(&profile).colorant_matrix().v);
        let curves =
            |profile: ColorProfile| format!("{:?}", (profile.red_trc, profile.blue_trc, profile.gray_trc));
        assert_eq!(curves(written.clone()), curves(decoded(&profile)));
        assert_eq!(written.media_white_point, decoded(&profile).media_white_point);
        assert_eq!(written.chromatic_adaptation, decoded(&profile).chromatic_adaptation);
    }
}

fn decoded(profile: &ColorProfile) -> ColorProfile {
    ColorProfile::new_from_slice(&profile.encode().expect("a profile")).expect("the same profile")
}
