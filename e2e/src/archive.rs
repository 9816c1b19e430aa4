//! Archives of accounts: export, import, and what is in a zip.

use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::time::Duration;

use serde_json::Value;
use zip::ZipArchive;

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
