//! Golden tests: files of real encoders, compared with references of other decoders and LittleCMS.
//! `corpus/README.md` describes the files and how they were made; `--nocapture` prints the differences.

mod cases;
mod colour;
mod decoded_square;
mod measure;

use std::collections::BTreeSet;

use decoded_square::{DecodedSquare, LIMITS, file, files};
use imaging::{
    Error, FitMasters, Ingested, OutputFormat, ingest, master_of_master, masters_of_original, probe, render,
};
use measure::{Difference, ssim};
use model::{Focus, master_sides, smallest_sufficient};

use crate::cases::{ALL_CASES, Case};

#[test]
fn jpegs_match_their_references() {
    check(cases::JPEG);
}

#[test]
fn pngs_match_their_references() {
    check(cases::PNG);
}

#[test]
fn webps_match_their_references() {
    check(cases::WEBP);
}

#[test]
fn gifs_match_their_references() {
    check(cases::GIF);
}

#[test]
fn avifs_match_their_references() {
    check(cases::AVIF);
}

#[test]
fn heics_match_their_references() {
    check(cases::HEIC);
}

#[test]
fn every_orientation_is_applied() {
    check(cases::ORIENTATION);
}

#[test]
fn colour_profiles_are_applied() {
    check(cases::PROFILES);
}

#[test]
fn hdr_photos_are_tone_mapped() {
    check(cases::HDR);
}

#[test]
fn slightly_damaged_files_that_viewers_show_are_decoded() {
    check(cases::DAMAGED);
}

#[test]
fn optional_features_are_rejected_or_match_their_references() {
    let is_supported = |case: &&Case| match ingest(&file(case.file), Focus::CENTRE, FitMasters::All, &LIMITS)
    {
        Err(Error::Unsupported(kind)) => {
            println!("{:<40} rejected: {kind}", case.file);
            false
        }
        _ => true,
    };
    check(cases::OPTIONAL.iter().filter(is_supported));
}

#[test]
fn unreadable_files_are_rejected_as_errors_of_the_upload() {
    let failures: Vec<String> =
        files("unreadable").iter().filter_map(|name| check_rejected(name).err()).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check_rejected(name: &str) -> Result<(), String> {
    let bytes = file(name);
    if let Err(Error::Internal(cause)) = probe(&bytes, &LIMITS) {
        return Err(format!("{name}: {cause}"));
    }
    let Err(error) = ingest(&bytes, Focus::CENTRE, FitMasters::All, &LIMITS) else {
        return Err(format!("{name} was decoded, expected an error"));
    };
    println!("{name:<40} {error:?}");
    let kind = name.trim_start_matches("unreadable/").split('-').next();
    let is_expected = match (kind, &error) {
        // A codec panic is caught, but a malformed file must be rejected without one.
        (_, Error::Damaged(cause)) if cause.contains("panicked") => false,
        (Some("jpeg" | "png" | "webp" | "gif"), error) => matches!(error, Error::Damaged(_)),
        (Some("avif" | "heic"), error) => matches!(error, Error::Damaged(_) | Error::Unsupported(_)),
        (_, error) => matches!(error, Error::Unsupported(_)),
    };
    if is_expected { Ok(()) } else { Err(format!("{name}: {error:?}")) }
}

#[test]
fn resized_images_match_those_of_libvips() {
    let Ingested { masters, .. } =
        ingest(&file("resize/detail.png"), Focus::CENTRE, FitMasters::All, &LIMITS).unwrap();
    let masters = masters.squares;
    let largest = masters[0].side;
    // Most of the difference is compression: at quality 98 these are 0.998, 0.994 and 0.993.
    for (side, min_ssim) in [(200, 0.99), (100, 0.985), (37, 0.94)] {
        let expected = DecodedSquare::read(&file(&format!("resize/detail-{side}.png")));
        // Directly from the largest master, which tests the filter, and from the master used in production.
        for from in [largest, smallest_sufficient(master_sides(largest), side)] {
            let master = masters.iter().find(|master| master.side == from).unwrap();
            for format in [OutputFormat::WebP, OutputFormat::Jpeg] {
                let rendered = DecodedSquare::read(&render(&master.bytes, (side, side), format).unwrap());
                let similarity = ssim(&rendered, &expected);
                println!("{side:>4} from {from} as {:<4}  SSIM {similarity:.4}", format.name());
                assert!(similarity >= min_ssim, "{side} from {from} as {format:?}: SSIM {similarity:.4}");
            }
        }
    }
}

#[test]
fn masters_are_rebuilt_from_the_original_byte_for_byte_and_from_another_master() {
    for case in ALL_CASES.iter().copied().flatten() {
        let Ok(Ingested { masters, original, .. }) =
            ingest(&file(case.file), Focus::CENTRE, FitMasters::All, &LIMITS)
        else {
            continue;
        };
        let rebuilt =
            masters_of_original(&original.bytes, original.orientation, Focus::CENTRE, &LIMITS).unwrap();
        assert_eq!(rebuilt, masters, "{}", case.file);
        let [largest, .., smallest] = &masters.squares[..] else { continue };
        let rebuilt = master_of_master(&largest.bytes, (smallest.side, smallest.side)).unwrap();
        let difference =
            Difference::between(&DecodedSquare::read(&rebuilt.bytes), &DecodedSquare::read(&smallest.bytes));
        assert!(difference.within(case.render_tolerance), "{}: {difference}", case.file);
    }
}

#[test]
fn every_corpus_file_has_a_case() {
    let folders = ["jpeg", "png", "webp", "gif", "avif", "heic", "orientation", "profiles", "hdr", "damaged"];
    let on_disk: BTreeSet<String> = folders.into_iter().flat_map(files).collect();
    let listed: BTreeSet<String> = ALL_CASES.iter().copied().flatten().map(|case| case.file.into()).collect();
    assert_eq!(listed, on_disk, "cases and corpus files differ");
}

/// Measures every case before it fails.
#[track_caller]
fn check<'a>(cases: impl IntoIterator<Item = &'a Case>) {
    let failures: Vec<String> = cases.into_iter().filter_map(|case| compare(case).err()).collect();
    assert!(
        failures.is_empty(),
        "{} files differ from their references:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Compares the largest master and its renders with the reference.
fn compare(case: &Case) -> Result<(), String> {
    let expected = DecodedSquare::read(&file(&format!("expected/{}.png", case.reference)));
    let bytes = file(case.file);
    let fail = |error: Error| format!("{}: {error:?}", case.file);
    let probed = probe(&bytes, &LIMITS).map_err(fail)?;
    let Ingested { width, height, masters, .. } =
        ingest(&bytes, Focus::CENTRE, FitMasters::All, &LIMITS).map_err(fail)?;

    let largest = &masters.squares[0];
    let size = (largest.side, largest.side);
    let master = DecodedSquare::read(&largest.bytes);
    let rendered =
        |format| render(&largest.bytes, size, format).map(|file| DecodedSquare::read(&file)).map_err(fail);
    let (webp, jpeg) = (rendered(OutputFormat::WebP)?, rendered(OutputFormat::Jpeg)?);

    let [master_difference, webp_difference, jpeg_difference] =
        [&master, &webp, &jpeg].map(|image| Difference::between(image, &expected));
    let alpha_difference = master.alpha_difference(&expected).max(webp.alpha_difference(&expected));
    // On flat patches only, where lossy compression preserves colours.
    let delta_e = |image: &DecodedSquare| image.delta_e(&expected);
    let delta_es = case.is_chart().then(|| (delta_e(&master), delta_e(&webp).max(delta_e(&jpeg))));
    print!("{:<40} master {master_difference}  WebP {webp_difference}  JPEG {jpeg_difference}", case.file);
    println!(
        "{}",
        delta_es.map_or(String::new(), |(master, rendered)| format!("  ΔE {master:.2} {rendered:.2}"))
    );

    let checks = [
        ((probed.width, probed.height) != case.size, "probed size"),
        ((width, height) != case.size, "ingested size"),
        (!master_difference.within(case.master_tolerance), "master"),
        (!webp_difference.within(case.render_tolerance), "rendered WebP"),
        (!jpeg_difference.within(case.render_tolerance), "rendered JPEG"),
        (alpha_difference > MAX_ALPHA_DIFFERENCE, "alpha"),
        (
            delta_es.is_some_and(|(master, rendered)| {
                master > MAX_MASTER_DELTA_E || rendered > MAX_RENDER_DELTA_E
            }),
            "colour",
        ),
    ];
    let failures: Vec<_> = checks.iter().filter(|(failed, _)| *failed).map(|(_, name)| *name).collect();
    match failures[..] {
        [] => Ok(()),
        _ => Err(format!("{}: {}", case.file, failures.join(", "))),
    }
}

/// Masters store alpha losslessly; decoders may round it.
const MAX_ALPHA_DIFFERENCE: u8 = 2;
/// Limits of the mean CIEDE2000 of a chart. From about 2 on a difference is visible.
const MAX_MASTER_DELTA_E: f64 = 1.0;
const MAX_RENDER_DELTA_E: f64 = 2.0;
