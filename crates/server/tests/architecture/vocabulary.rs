//! The words of the code base: retired words occur nowhere, vague names are not identifiers.
//!
//! CONTRIBUTING.md says how to choose a name; docs/glossary.md defines the terms that are our own.

use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 6] = ["bench", "crates", "docs", "e2e", "fuzz", "web"];
const EXTENSIONS: [&str; 9] = ["rs", "js", "css", "html", "md", "json", "toml", "sql", "py"];

const PAGES: [&str; 5] = ["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"];

/// Not ours, or generated.
const SKIPPED: [&str; 3] = ["target", "node_modules", "package-lock.json"];

/// Metaphors and indefinite people. Matched as whole words, also as parts of an identifier.
const RETIRED: [&str; 51] = [
    "afterglow",
    "anew",
    "anybody",
    "attended",
    "attention",
    "belief",
    "beliefs",
    "bystander",
    "census",
    "chance",
    "complain",
    "complaint",
    "complaints",
    "contender",
    "crew",
    "crowd",
    "crowds",
    "deed",
    "entrance",
    "errand",
    "errands",
    "everybody",
    "fate",
    "haze",
    "house",
    "lane",
    "lanes",
    "ledger",
    "leftover",
    "leftovers",
    "nobody",
    "nobodys",
    "oneself",
    "papers",
    "patience",
    "scribe",
    "shelf",
    "shelves",
    "somebody",
    "speaker",
    "stories",
    "story",
    "straggler",
    "stragglers",
    "thrift",
    "tidy",
    "trio",
    "trouble",
    "victim",
    "whoever",
    "whomever",
];

/// Names that are not ours: the system user `nobody`, types of libraries, a parameter of Chromium.
const EXEMPT: [(&str, &str); 7] = [
    ("bench/README.md", "nobody"),
    ("bench/src/service/postgres_server.rs", "nobody"),
    ("e2e/src/cluster/host.rs", "nobody"),
    ("crates/server/tests/architecture/cycles.rs", "Visit"),
    ("e2e/browser/tests/resumable-uploads.test.js", "chance"),
    ("e2e/browser/tests/unreachable.test.js", "chance"),
    ("e2e/tests/contract/forms.rs", "Form"),
];

/// Fine as English words, but they say nothing as the name of a type.
const VAGUE: [&str; 38] = [
    "Access", "Aside", "Bounds", "Crew", "Crowd", "Deed", "Ended", "Ends", "Face", "Fact", "Facts", "Form",
    "Found", "Gone", "Held", "Inside", "Kept", "Look", "Memory", "Others", "Place", "Problem", "Room",
    "Said", "Shelf", "Shown", "Taken", "Talk", "Terms", "Told", "Trouble", "Visit", "Waiting", "Whole",
    "Whose", "Why", "Works", "Written",
];

#[test]
fn retired_words_do_not_occur() {
    let mut found = Vec::new();
    for (name, text) in files(&EXTENSIONS) {
        for (number, line) in (1..).zip(text.lines()) {
            for word in words(line).iter().filter(|word| RETIRED.contains(&word.as_str())) {
                if !EXEMPT.contains(&(name.as_str(), word.as_str())) {
                    found.push(format!("{name}:{number}: {word}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "retired words; CONTRIBUTING.md says how to choose:\n{}", found.join("\n"));
}

#[test]
fn vague_names_are_not_identifiers() {
    let mut found = Vec::new();
    for (name, text) in files(&["rs"]) {
        for (number, line) in (1..).zip(text.lines()) {
            for identifier in identifiers(line).filter(|identifier| VAGUE.contains(identifier)) {
                if !EXEMPT.contains(&(name.as_str(), identifier)) {
                    found.push(format!("{name}:{number}: {identifier}"));
                }
            }
        }
    }
    assert!(found.is_empty(), "names that do not say what the thing is:\n{}", found.join("\n"));
}

#[test]
fn words_are_split_out_of_identifiers() {
    assert_eq!(
        words("fn keep_house(TempHouse: IPv4Addr)"),
        ["fn", "keep", "house", "temp", "house", "ipv", "addr"]
    );
    let code = r#"let found: Found = "Kept"; // Place"#;
    assert_eq!(identifiers(code).collect::<Vec<_>>(), ["let", "found", "Found"]);
}

/// Lower-case words of a line. An underscore, a digit and an upper-case letter after a lower-case one
/// separate words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut after_lower = false;
    for letter in line.chars() {
        if !letter.is_alphabetic() || (letter.is_uppercase() && after_lower) {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        after_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The identifiers of a line of Rust, without comments and string literals. A string over several lines is
/// taken for code, which can only report too much.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    let outside = code.split('"').step_by(2);
    outside
        .flat_map(|piece| piece.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
        .filter(|word| !word.is_empty())
}

/// Path relative to the workspace, and text, of every file with one of these extensions.
fn files(extensions: &[&str]) -> Vec<(String, String)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut paths = Vec::new();
    for folder in FOLDERS {
        collect(&workspace.join(folder), extensions, &mut paths);
    }
    if extensions.contains(&"md") {
        paths.extend(PAGES.map(|page| workspace.join(page)));
    }
    // This file has the list.
    paths.retain(|path| !path.ends_with("architecture/vocabulary.rs"));
    assert!(paths.len() > 100, "found only {} files", paths.len());
    let named = paths.into_iter().map(|path| {
        let name = path.strip_prefix(&workspace).unwrap().display().to_string();
        (name, fs::read_to_string(&path).unwrap())
    });
    named.collect()
}

fn collect(folder: &Path, extensions: &[&str], paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = entry.path();
        if SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(&path, extensions, paths);
        } else if path.extension().is_some_and(|e| extensions.iter().any(|extension| e == *extension)) {
            paths.push(path);
        }
    }
}
