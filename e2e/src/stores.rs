//! Where a service under test keeps what it is given: with itself, or with the servers that the test script
//! started.
//!
//! `PINHOLE_E2E_STORES` names those it is to use, `postgres`, `s3` or `postgres+s3`; `PINHOLE_E2E_NODES` says
//! how many nodes make one service, behind a balancer that sends each request to another one. So every story
//! can be told of every kind of service.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Client;
use crate::cluster::{database_in, promised, psql};

/// Shared by the nodes of one service, and by those that come back to its folder.
pub(crate) struct Stores {
    schema: Option<String>,
    prefix: Option<String>,
}

impl Stores {
    /// Those of the service in this folder.
    pub(crate) fn of(data_dir: &Path) -> Self {
        let chosen = std::env::var("PINHOLE_E2E_STORES").unwrap_or_default();
        let (mut schema, mut prefix) = (None, None);
        for store in chosen.split('+').filter(|store| !store.is_empty()) {
            match store {
                "postgres" => schema = Some(name(data_dir)),
                "s3" => prefix = Some(name(data_dir)),
                _ => panic!("PINHOLE_E2E_STORES: there is no {store:?}, only postgres and s3"),
            }
        }
        Self { schema, prefix }
    }

    /// What it keeps is nobody else's.
    pub(crate) fn none() -> Self {
        Self { schema: None, prefix: None }
    }

    /// So many nodes are one service.
    pub(crate) fn nodes() -> usize {
        std::env::var("PINHOLE_E2E_NODES").map_or(1, |nodes| nodes.parse().expect("a number of nodes"))
    }

    /// What tells a node of them.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(schema) = &self.schema {
            flags.extend(["--database-url".to_owned(), database_in(schema)]);
        }
        if let Some(prefix) = &self.prefix {
            let bucket = promised("PINHOLE_TEST_S3_URL");
            flags.extend(["--blobs-url".to_owned(), format!("{}/{prefix}", bucket.trim_end_matches('/'))]);
        }
        flags
    }

    /// Everything that lies with the servers: a name, as it would be below the data folder, and its bytes.
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let mut contents = Vec::new();
        if let Some(schema) = &self.schema {
            contents.push(("pinhole.sql".to_owned(), dump(schema)));
        }
        if let Some(prefix) = &self.prefix {
            contents.extend(objects(prefix));
        }
        contents
    }
}

/// How long an image may outlive its photo: not at all on one node, for some seconds on others.
pub fn afterglow() -> Duration {
    Duration::from_secs(if Stores::nodes() > 1 { 5 } else { 0 })
}

/// The same for a folder whenever it is asked for, and for no other.
fn name(data_dir: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    data_dir.hash(&mut hasher);
    format!("e2e_{:016x}", hasher.finish())
}

/// All rows, as the server itself keeps their values.
fn dump(schema: &str) -> Vec<u8> {
    let tables = psql(&format!("SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"));
    let tables = String::from_utf8(tables).unwrap();
    tables
        .lines()
        .flat_map(|table| psql(&format!("COPY {schema}.{table} TO STDOUT (FORMAT binary)")))
        .collect()
}

/// Asked of the store itself, past the interface that the service uses.
fn objects(prefix: &str) -> Vec<(String, Vec<u8>)> {
    let store = Client::anonymous(&promised("PINHOLE_TEST_S3_FILES"));
    let (root, mut folders, mut found) = (format!("/{prefix}/"), vec![format!("/{prefix}/")], Vec::new());
    while let Some(folder) = folders.pop() {
        let answer = store
            .request("GET", &format!("{folder}?limit=10000"))
            .header("Accept", "application/json")
            .send();
        // Nothing was ever written there.
        if answer.status == 404 {
            continue;
        }
        let listing = answer.expect(200).json();
        for entry in listing["Entries"].as_array().into_iter().flatten() {
            let path = entry["FullPath"].as_str().unwrap();
            let path = format!("{folder}{}", path.rsplit('/').next().unwrap());
            if is_folder(entry) {
                folders.push(format!("{path}/"));
            } else {
                let bytes = store.get(&path).expect(200).bytes;
                found.push((path.strip_prefix(&root).unwrap().to_owned(), bytes));
            }
        }
    }
    found
}

fn is_folder(entry: &Value) -> bool {
    /// As Go writes it.
    const FOLDER: u64 = 1 << 31;
    entry["Mode"].as_u64().is_some_and(|mode| mode & FOLDER != 0)
}
