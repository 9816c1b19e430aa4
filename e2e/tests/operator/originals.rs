//! What was uploaded is kept beside the squares, unless the operator would rather have the room.

use std::path::PathBuf;

use e2e::{Client, Service, picture};
use image::ImageFormat;

use crate::metrics::{figure, watched};

/// The files kept of a post's photo, by name.
fn kept(service: &Service, person: &Client, id: i64) -> Vec<(String, PathBuf)> {
    let post = person.get(&format!("/posts/{id}")).expect(200).json();
    let photo = post["photo"]["id"].as_str().unwrap().to_owned();
    let files = service.files("photos").into_iter().filter(|path| path.to_str().unwrap().contains(&photo));
    files.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

#[test]
fn the_original_stays_without_its_metadata_and_goes_with_its_post() {
    let (service, admin) = watched(&[]);
    let ada = service.newcomer("ada");
    let exif = Some(picture::exif(6, "what the camera knew"));
    let sent = picture::with_metadata(&picture::corners(600, 400), ImageFormat::Jpeg, exif, None);
    let id = ada.share(&sent, "kept")["id"].as_i64().unwrap();

    let files = kept(&service, &ada, id);
    let (_, original) = files.iter().find(|(name, _)| name == "original").expect("the original is there");
    let original = std::fs::read(original).unwrap();
    assert_ne!(original, sent, "not as it came");
    let (before, after) =
        (image::load_from_memory(&sent).unwrap(), image::load_from_memory(&original).unwrap());
    assert_eq!(before.to_rgb8(), after.to_rgb8(), "the same pixels, not turned");

    let lengths = files.iter().map(|(_, path)| path.metadata().unwrap().len());
    assert_eq!(figure(&admin, "pinhole_stored_bytes"), lengths.sum::<u64>() as f64, "{files:?}");

    ada.delete(&format!("/posts/{id}")).expect(200);
    assert!(service.files("photos").is_empty(), "{:?}", service.files("photos"));
}

#[test]
fn an_operator_may_have_squares_only() {
    let service = Service::start(&["--keep-originals", "off"]);
    let ada = service.newcomer("ada");
    let id = ada.share(&picture::jpeg(&picture::corners(300, 300)), "squares")["id"].as_i64().unwrap();
    let mut names: Vec<String> = kept(&service, &ada, id).into_iter().map(|(name, _)| name).collect();
    names.sort();
    assert_eq!(names, ["256", "300"]);
}
