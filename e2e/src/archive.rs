//! Archives of accounts: export, import, and what is in a zip.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::time::Duration;

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::{Body, Client, FormData, eventually};

impl Client {
    /// The zip of the user's account.
    #[track_caller]
    pub fn export_account(&self) -> Vec<u8> {
        self.post("/me/export", Body::none()).expect(201);
        self.get("/me/export").expect(200).bytes
    }

    /// Imports a zip, and returns the status of the finished import.
    #[track_caller]
    pub fn import_account(&self, archive: &[u8]) -> Value {
        self.post("/me/import", FormData::new().file("archive", archive)).expect(202);
        eventually("the import is finished", Duration::from_secs(60), || {
            let status = self.get("/me/import").expect(200).json();
            (status["status"] != "running").then_some(status)
        })
    }
}

/// The files in a zip, by their paths.
pub fn unzip(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(Cursor::new(archive)).expect("a zip");
    let mut files = BTreeMap::new();
    for at in 0..zip.len() {
        let mut file = zip.by_index(at).expect("a file in the zip");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("the content of a file in the zip");
        let name = file.name().expect("a name in UTF-8").into_owned();
        assert!(files.insert(name, bytes).is_none(), "a path is in the zip twice");
    }
    files
}

/// A zip of these files.
pub fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    // An archive whose photos are larger than itself would be a bomb.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in files {
        zip.start_file(*name, options).expect("a file in the zip");
        zip.write_all(content).expect("the content of a file in the zip");
    }
    zip.finish().expect("a zip").into_inner()
}

/// The archive of an account of another instance, with so many posts of the same photo.
pub fn archive_of(posts: u16, photo: &[u8]) -> Vec<u8> {
    let profile = json!({ "username": "elsewhere", "created_at": "" });
    let instance = json!({ "name": "Elsewhere", "url": "https://elsewhere.example" });
    let account = json!({ "format": "pinhole-account", "version": 1, "exported_at": "", "posts": posts, "likes": 0,
        "instance": instance, "profile": profile });
    let post = |number: u16| {
        json!({ "id": format!("0199b1c4-7e2a-7d10-9a55-{number:012}"), "url": "", "message": "",
            "created_at": "2019-05-17T08:00:00+0000", "photo": { "file": photo_path(number), "is_original": true } })
    };
    let list: Value = (1..=posts).map(post).collect();
    let (account, list) = (account.to_string(), list.to_string());
    let paths: Vec<String> = (1..=posts).map(photo_path).collect();
    let mut files = vec![("account.json", account.as_bytes()), ("posts.json", list.as_bytes())];
    files.extend(paths.iter().map(|path| (path.as_str(), photo)));
    zip(&files)
}

fn photo_path(number: u16) -> String {
    format!("photos/{number}.png")
}
