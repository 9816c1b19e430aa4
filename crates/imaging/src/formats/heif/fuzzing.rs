//! The properties of the ISO-BMFF reader, checked by the fuzz target `isobmff` and by a test on its corpus.

use super::Heif;
use super::image_item::ImageItem;
use crate::error::Error;
use crate::formats::strip;
use crate::icc;
use crate::input_format::InputFormat;
use crate::isobmff;
use crate::limits::Limits;
use crate::metadata::RemovedMetadata;
use crate::probe::probe;

const LIMITS: Limits = Limits { max_pixels: 64_000_000 };

/// Panics if a file breaks a property of `probe` or `strip`. Decodes no pixels.
pub fn check_isobmff(file: &[u8]) {
    // Other formats have no boxes.
    if isobmff::brands(file).is_none() {
        return;
    }
    let probed = probe(file, &LIMITS);
    if let Err(Error::Internal(cause)) = &probed {
        panic!("{cause}");
    }
    // The formats share one function.
    let Ok((stripped, _)) = strip(file, InputFormat::Heic) else { return };
    assert!(stripped.len() <= file.len(), "stripping added bytes");
    let (again, removed) = strip(&stripped, InputFormat::Heic).expect("a stripped file can be stripped");
    assert!(removed.is_empty(), "a stripped file contains {removed}");
    assert!(again == stripped, "stripping a stripped file changes it");

    let Ok(probed) = probed else { return };
    assert!(u64::from(probed.width) * u64::from(probed.height) <= LIMITS.max_pixels);
    let probed_again = probe(&stripped, &LIMITS).expect("a stripped file can be probed");
    let size = |probe: &crate::Probe| (probe.format, probe.width, probe.height);
    assert_eq!(size(&probed), size(&probed_again), "stripping changed the image");
    assert!(probed_again.memory <= probed.memory, "a stripped file takes more memory");
    assert_same_image(file, &stripped);
}

/// Stripping keeps the coded pixels and all that determines how they are shown.
fn assert_same_image(file: &[u8], stripped: &[u8]) {
    let before = Heif::read(file).expect("a probed file");
    let after = Heif::read(stripped).expect("a probed file");
    assert_eq!((&before.overlay, before.transform), (&after.overlay, after.transform));
    assert_eq!(before.max_light_level, after.max_light_level);
    let profile = before.icc.and_then(|icc| icc::rewritten_in_place(icc, &mut RemovedMetadata::default()));
    assert!(profile.is_none() || profile.as_deref() == after.icc, "stripping changed the colours");
    assert_eq!(before.layers.len(), after.layers.len(), "a layer is missing");
    for (layer, layer_after) in before.layers.iter().zip(&after.layers) {
        assert_eq!(layer.premultiplied, layer_after.premultiplied);
        assert_eq!((layer.transform, layer.nclx), (layer_after.transform, layer_after.nclx));
        assert_same_tiles((&before, &layer.colour), (&after, &layer_after.colour));
        assert_eq!(layer.alpha.is_some(), layer_after.alpha.is_some(), "the alpha image is missing");
        if let (Some(alpha), Some(alpha_after)) = (&layer.alpha, &layer_after.alpha) {
            assert_same_tiles((&before, alpha), (&after, alpha_after));
        }
    }
}

fn assert_same_tiles((before, item): (&Heif, &ImageItem), (after, item_after): (&Heif, &ImageItem)) {
    assert_eq!((item.kind, item.config), (item_after.kind, item_after.config));
    assert_eq!(item.layers, item_after.layers);
    assert_eq!(item.tiles.len(), item_after.tiles.len());
    for (tile, tile_after) in before.tiles(item).zip(after.tiles(item_after)) {
        // `probe` does not read every tile, so one may be out of range, or empty, which no decoder accepts.
        let Ok((data, x, y)) = tile else { continue };
        if data.is_empty() {
            continue;
        }
        let (data_after, x_after, y_after) = tile_after.expect("the data of a tile");
        assert!(data == data_after, "stripping changed a tile");
        assert_eq!((x, y), (x_after, y_after));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn the_fuzz_corpus_breaks_no_property() {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/isobmff");
        let (mut files, mut failed) = (0, Vec::new());
        for entry in fs::read_dir(&corpus).expect("the corpus") {
            let path = entry.expect("a file").path();
            let input = fs::read(&path).expect("its bytes");
            let checked = std::panic::catch_unwind(|| super::check_isobmff(&input));
            files += 1;
            failed.extend(checked.is_err().then(|| path.display().to_string()));
        }
        assert!(failed.is_empty(), "these inputs break a property:\n{}", failed.join("\n"));
        assert!(files > 20, "the corpus has only {files} files");
    }
}
