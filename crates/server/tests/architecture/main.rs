//! Architecture tests: dependencies between crates, import cycles inside each, width of comments, vocabulary.

#![allow(clippy::unwrap_used, reason = "a failed expectation must end the test")]

mod cycles;
mod vocabulary;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Dependencies point one way: `model ← {imaging, blobs, store} ← app ← ops ← server`.
const LAYERS: [(&str, &[&str]); 9] = [
    ("pinhole-model", &[]),
    ("imaging", &["pinhole-model"]),
    ("blobs", &["pinhole-model"]),
    ("store", &["pinhole-model"]),
    ("app", &["pinhole-model", "imaging", "blobs", "store"]),
    ("ops", &["pinhole-model", "blobs", "store", "app"]),
    ("server", &["pinhole-model", "app", "ops"]),
    ("e2e", &[]),
    ("bench", &["pinhole-model", "imaging", "store"]),
];

/// Libraries that a crate must not depend on.
const FORBIDDEN: [(&str, &[&str]); 4] = [
    ("pinhole-model", &["tokio", "axum", "rusqlite", "tokio-postgres"]),
    ("imaging", &["tokio", "axum", "rusqlite", "tokio-postgres"]),
    ("app", &["axum", "rusqlite", "tokio-postgres"]),
    ("ops", &["axum", "rusqlite", "tokio-postgres"]),
];

#[test]
fn dependencies_point_one_way() {
    let metadata = metadata();
    let members: BTreeMap<&str, &Value> = packages(&metadata)
        .filter(|package| package["source"].is_null())
        .map(|package| (package["name"].as_str().unwrap(), package))
        .collect();
    let known: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        members.keys().copied().collect::<BTreeSet<_>>(),
        known,
        "a new crate needs an entry in LAYERS"
    );

    for (name, allowed) in LAYERS {
        let dependencies = members[name]["dependencies"].as_array().unwrap();
        for dependency in dependencies.iter().filter(|d| d["kind"].is_null()) {
            let required = dependency["name"].as_str().unwrap();
            assert!(
                !known.contains(required) || allowed.contains(&required),
                "{name} must not depend on {required}"
            );
            for (krate, libraries) in FORBIDDEN {
                assert!(
                    krate != name || !libraries.contains(&required),
                    "{name} must not depend on {required}"
                );
            }
        }
    }
}

/// The root file of every crate.
const ROOTS: [&str; 9] = [
    "crates/model/src/lib.rs",
    "crates/imaging/src/lib.rs",
    "crates/blobs/src/lib.rs",
    "crates/store/src/lib.rs",
    "crates/app/src/lib.rs",
    "crates/ops/src/lib.rs",
    "crates/server/src/lib.rs",
    "e2e/src/lib.rs",
    "bench/src/main.rs",
];

#[test]
fn files_of_a_crate_form_no_import_cycle() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for root in ROOTS {
        let found = cycles::cycles(&workspace.join(root));
        assert!(found.is_empty(), "import cycles below {root}:\n{}", found.concat().join("\n"));
    }
}

/// `max_width` of `rustfmt.toml`: rustfmt wraps code at it, but not comments.
const COMMENT_WIDTH: usize = 110;

#[test]
fn comments_are_no_wider_than_code() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["bench", "crates", "e2e", "fuzz"] {
        rust_files(&workspace.join(folder), &mut files);
    }
    assert!(files.len() > 100, "found only {} files", files.len());
    let mut wide = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim_start().starts_with("//") && line.chars().count() > COMMENT_WIDTH {
                wide.push(format!("{}:{number}", file.display()));
            }
        }
    }
    assert!(wide.is_empty(), "comments wider than {COMMENT_WIDTH} columns:\n{}", wide.join("\n"));
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        // A fuzz target has its own `target` folder.
        if entry.file_type().unwrap().is_dir() && entry.file_name() != "target" {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().unwrap().iter()
}
