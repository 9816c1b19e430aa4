//! The TOML file: flat keys, each a known one.

use std::io;
use std::path::PathBuf;

use toml::Value;

use super::error::Problem;
use super::origin::{Layer, Origin, ReadFile, Values};
use super::setting::{Setting, Table};
use super::suggest::nearest_key;

/// Read if it exists, unless another file is named.
const DEFAULT_PATH: &str = "pinhole.toml";

pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) values: Values,
}

/// `None` when there is no file, or none that can be used; the problems say which.
pub(super) fn read(
    table: Table,
    named: Option<PathBuf>,
    read_file: ReadFile<'_>,
    problems: &mut Vec<Problem>,
) -> Option<File> {
    let optional = named.is_none();
    let path = named.unwrap_or_else(|| DEFAULT_PATH.into());
    let text = match read_file(&path) {
        Ok(text) => text,
        Err(cause) if optional && cause.kind() == io::ErrorKind::NotFound => return None,
        Err(cause) => {
            problems.push(Problem::Unreadable { path, cause });
            return None;
        }
    };
    let document: toml::Table = match toml::from_str(&text) {
        Ok(document) => document,
        Err(error) => {
            problems.push(syntax(path, &text, &error));
            return None;
        }
    };

    let mut values = Values::new();
    for (key, value) in document {
        if !table.keys().any(|known| known == key) {
            let nearest = nearest_in(table, &key, &value);
            problems.push(Problem::UnknownKey { path: path.clone(), key, nearest });
            continue;
        }
        // The `…_file` of a secret is none of the settings, and takes one path.
        let setting = table.find(&key);
        match raw(&value, setting.is_some_and(|setting| setting.list)) {
            Some(raw) => {
                values.insert(key, raw);
            }
            None => problems.push(misshapen(Layer::File(path.clone()), key, &value, setting)),
        }
    }
    Some(File { path, values })
}

/// The line and what is wrong, but not the line itself as the parser would show it: it may hold a secret.
fn syntax(path: PathBuf, text: &str, error: &toml::de::Error) -> Problem {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    Problem::Syntax { path, line, message: error.message().to_owned() }
}

/// A section such as `[limits]` is most likely a way to group settings that are known without it.
fn nearest_in(table: Table, key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Table(section) => {
            let inside = section.keys().next().and_then(|key| nearest_key(table, key));
            inside.map(|key| format!("{key}, outside of any [section]"))
        }
        _ => nearest_key(table, key),
    }
}

/// As it would be written in a variable; `None` for what no variable could say.
fn raw(value: &Value, list: bool) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(on) => Some(on.to_string()),
        Value::Array(items) if list => {
            let items: Option<Vec<String>> = items.iter().map(|item| raw(item, false)).collect();
            Some(items?.join(","))
        }
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => None,
    }
}

fn misshapen(layer: Layer, key: String, value: &Value, setting: Option<&Setting>) -> Problem {
    let list = setting.is_some_and(|setting| setting.list);
    Problem::Shape {
        origin: Origin { layer, key }.to_string(),
        found: match value {
            Value::Array(_) if list => "a list of more than plain values",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
            _ => "a date",
        },
        expected: if list { "a list of strings" } else { "one value" },
        example: setting.map_or("/run/secrets/pinhole", |setting| setting.default.example()),
    }
}
