//! The TOML file: a flat table of known keys.

use std::io;
use std::path::PathBuf;

use toml::Value;

use super::error::SettingError;
use super::origin::{Layer, Origin, ReadFile, Values};
use super::setting::{Setting, Table};
use super::suggest::nearest_key;

/// The file that is read, if it exists, when no other is named.
const DEFAULT_PATH: &str = "pinhole.toml";

pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) values: Values,
}

/// `None` if there is no file, or it cannot be used; `errors` has the reason then.
pub(super) fn read(
    table: Table,
    named: Option<PathBuf>,
    read_file: ReadFile<'_>,
    errors: &mut Vec<SettingError>,
) -> Option<File> {
    let optional = named.is_none();
    let path = named.unwrap_or_else(|| DEFAULT_PATH.into());
    let text = match read_file(&path) {
        Ok(text) => text,
        Err(cause) if optional && cause.kind() == io::ErrorKind::NotFound => return None,
        Err(cause) => {
            errors.push(SettingError::FileUnreadable { path, cause });
            return None;
        }
    };
    let document: toml::Table = match toml::from_str(&text) {
        Ok(document) => document,
        Err(error) => {
            errors.push(syntax(table, path, &text, &error));
            return None;
        }
    };

    let mut values = Values::new();
    for (key, value) in document {
        if !table.keys().any(|known| known == key) {
            let nearest = nearest_in(table, &key, &value);
            errors.push(SettingError::UnknownKey { path: path.clone(), key, nearest });
            continue;
        }
        // `None` for the `…_file` key of a secret, which is in no row of the table.
        let setting = table.find(&key);
        match to_raw(&value, setting.is_some_and(|setting| setting.list)) {
            Some(raw) => {
                values.insert(key, raw);
            }
            None => errors.push(wrong_type(Layer::File(path.clone()), key, &value, setting)),
        }
    }
    Some(File { path, values })
}

/// Without the source line that the TOML parser would quote: it may hold a secret. An error in the value of a
/// known setting, such as a missing quote, is described in terms of the setting, not of the parser.
fn syntax(table: Table, path: PathBuf, text: &str, error: &toml::de::Error) -> SettingError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let line_before = before.rsplit('\n').next().unwrap_or_default();
    let setting = line_before.split_once('=').and_then(|(key, _)| table.find(key.trim()));
    let message = match setting {
        Some(Setting { key, default, .. }) => {
            let example = default.example();
            format!("{key}: the value is not valid TOML; write it in quotes, for example {key} = {example:?}")
        }
        None => format!("invalid TOML: {}", error.message()),
    };
    SettingError::Syntax { path, line, message }
}

/// For a section such as `[limits]`, the nearest key to the first key in it: settings have no sections.
fn nearest_in(table: Table, key: &str, value: &Value) -> Option<String> {
    match value {
        Value::Table(section) => {
            let inside = section.keys().next().and_then(|key| nearest_key(table, key));
            inside.map(|key| format!("{key}, outside of any [section]"))
        }
        _ => nearest_key(table, key),
    }
}

/// The value as an environment variable would have it; `None` if none could.
fn to_raw(value: &Value, list: bool) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(on) => Some(on.to_string()),
        Value::Array(items) if list => {
            let items: Option<Vec<String>> = items.iter().map(|item| to_raw(item, false)).collect();
            Some(items?.join(","))
        }
        Value::Array(_) | Value::Table(_) | Value::Datetime(_) => None,
    }
}

fn wrong_type(layer: Layer, key: String, value: &Value, setting: Option<&Setting>) -> SettingError {
    let list = setting.is_some_and(|setting| setting.list);
    SettingError::WrongType {
        origin: Origin { layer, key: key.clone() }.to_string(),
        key,
        found: match value {
            Value::Array(_) if list => "(a nested list)",
            Value::Array(_) => "(a list)",
            Value::Table(_) => "(a table)",
            _ => "(a date)",
        },
        expected: if list { "a list of strings" } else { "one string, number or boolean" },
        example: setting.map_or("/run/secrets/pinhole", |setting| setting.default.example()),
    }
}
