//! The database and blob store of a service under test: SQLite and a folder, or the servers that the test
//! script has started.
//!
//! `PINHOLE_E2E_STORES` is `postgres`, `s3` or `postgres+s3`; `PINHOLE_E2E_NODES` is the number of nodes
//! behind a round-robin balancer. So every test can run against every kind of service.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::Path;

use serde_json::Value;

use crate::Client;
use crate::cluster::{database_in, psql, required_env};

/// Shared by the nodes of one service, and the same again after a restart on the same data folder.
pub(crate) struct Stores {
    schema: Option<String>,
    prefix: Option<String>,
}

impl Stores {
    /// The stores of the service with this data folder.
    pub(crate) fn of(data_dir: &Path) -> Self {
        let chosen = std::env::var("PINHOLE_E2E_STORES").unwrap_or_default();
        let (mut schema, mut prefix) = (None, None);
        for store in chosen.split('+').filter(|store| !store.is_empty()) {
            match store {
                "postgres" => schema = Some(namespace(data_dir)),
                "s3" => prefix = Some(namespace(data_dir)),
                _ => panic!("PINHOLE_E2E_STORES: unknown store {store:?}; use postgres, s3 or postgres+s3"),
            }
        }
        Self { schema, prefix }
    }

    /// SQLite and a folder.
    pub(crate) fn embedded() -> Self {
        Self { schema: None, prefix: None }
    }

    /// The number of nodes of a service.
    pub(crate) fn node_count() -> usize {
        std::env::var("PINHOLE_E2E_NODES").map_or(1, |nodes| nodes.parse().expect("a number of nodes"))
    }

    /// The flags of a node that uses these stores.
    pub(crate) fn flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        if let Some(schema) = &self.schema {
            flags.extend(["--database-url".to_owned(), database_in(schema)]);
        }
        if let Some(prefix) = &self.prefix {
            let bucket = required_env("PINHOLE_TEST_S3_URL");
            flags.extend(["--blobs-url".to_owned(), format!("{}/{prefix}", bucket.trim_end_matches('/'))]);
        }
        flags
    }

    /// Everything stored on the servers: its path, as it would be below the data folder, and its bytes.
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

/// The schema and prefix of a data folder: the same on every call, and different for every folder.
fn namespace(data_dir: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    data_dir.hash(&mut hasher);
    format!("e2e_{:016x}", hasher.finish())
}

/// All rows of all tables, in PostgreSQL's binary format.
fn dump(schema: &str) -> Vec<u8> {
    let tables = psql(&format!("SELECT tablename FROM pg_tables WHERE schemaname = '{schema}'"));
    let tables = String::from_utf8(tables).unwrap();
    tables
        .lines()
        .flat_map(|table| psql(&format!("COPY {schema}.{table} TO STDOUT (FORMAT binary)")))
        .collect()
}

/// All objects, read from SeaweedFS's filer instead of through S3.
fn objects(prefix: &str) -> Vec<(String, Vec<u8>)> {
    let store = Client::anonymous(&required_env("PINHOLE_TEST_S3_FILES"));
    let (root, mut folders, mut found) = (format!("/{prefix}/"), vec![format!("/{prefix}/")], Vec::new());
    while let Some(folder) = folders.pop() {
        let response = store
            .request("GET", &format!("{folder}?limit=10000"))
            .header("Accept", "application/json")
            .send();
        // No object was ever written below this prefix.
        if response.status == 404 {
            continue;
        }
        let listing = response.expect(200).json();
        for entry in listing["Entries"].as_array().into_iter().flatten() {
            let path = entry["FullPath"].as_str().unwrap();
            let path = format!("{folder}{}", path.rsplit('/').next().unwrap());
            if is_folder(entry) {
                folders.push(format!("{path}/"));
            } else {
                let object = store.get(&path);
                // Deleted since it was listed.
                if object.status != 404 {
                    found.push((path.strip_prefix(&root).unwrap().to_owned(), object.expect(200).bytes));
                }
            }
        }
    }
    found
}

fn is_folder(entry: &Value) -> bool {
    /// Go's `os.ModeDir`.
    const MODE_DIR: u64 = 1 << 31;
    entry["Mode"].as_u64().is_some_and(|mode| mode & MODE_DIR != 0)
}
