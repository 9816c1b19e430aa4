//! `--keep-originals`: whether the uploaded file is stored beside the masters.

use std::path::PathBuf;

use e2e::{Client, Service, picture};
use image::ImageFormat;

use crate::metrics::{metric, with_metrics};
use crate::snapshot::without_checksum;

/// The stored files of a post's photo, with their names.
fn stored_files(service: &Service, client: &Client, id: i64) -> Vec<(String, PathBuf)> {
    let post = client.get(&format!("/posts/{id}")).expect(200).json();
    let photo = post["photo"]["id"].as_str().unwrap().to_owned();
    let files = service.files("photos").into_iter().filter(|path| path.to_str().unwrap().contains(&photo));
    let name = |path: &PathBuf| without_checksum(path).file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (name(&path), path)).collect()
}

#[test]
fn the_original_is_stored_without_metadata_and_deleted_with_its_post() {
    let (service, admin) = with_metrics(&[]);
    let ada = service.new_user("ada");
    let exif = Some(picture::exif(6, "camera description"));
    let sent = picture::with_metadata(&picture::corners(600, 400), ImageFormat::Jpeg, exif, None);
    let id = ada.share(&sent, "with metadata")["id"].as_i64().unwrap();

    let files = stored_files(&service, &ada, id);
    let (_, original) = files.iter().find(|(name, _)| name == "original").expect("the original is stored");
    let original = std::fs::read(original).unwrap();
    assert_ne!(original, sent, "the metadata is stripped");
    let (before, after) =
        (image::load_from_memory(&sent).unwrap(), image::load_from_memory(&original).unwrap());
    assert_eq!(before.to_rgb8(), after.to_rgb8(), "the pixels are unchanged and not rotated");

    // Masters of the whole photo, which can be made again, do not count.
    let counted = files.iter().filter(|(name, _)| !name.starts_with("fit"));
    let lengths = counted.map(|(_, path)| path.metadata().unwrap().len());
    assert_eq!(metric(&admin, "pinhole_stored_bytes"), lengths.sum::<u64>() as f64, "{files:?}");

    ada.delete(&format!("/posts/{id}")).expect(200);
    assert!(service.files("photos").is_empty(), "{:?}", service.files("photos"));
}

#[test]
fn without_keep_originals_only_the_masters_are_stored() {
    let service = Service::start(&["--keep-originals", "off"]);
    let ada = service.new_user("ada");
    let id = ada.share(&picture::jpeg(&picture::corners(300, 300)), "masters only")["id"].as_i64().unwrap();
    let mut names: Vec<String> = stored_files(&service, &ada, id).into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["256", "300"]);
}
