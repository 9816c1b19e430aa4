//! Codecs: conversion between the text of a setting and its type.

use toml::Value;

pub(super) trait Codec<T> {
    /// The placeholder of the value in the help, such as `SIZE`.
    const PLACEHOLDER: &'static str;
    const LIST: bool = false;
    const SECRET: bool = false;

    /// The error is the reason after `invalid value "…": `.
    fn parse(raw: &str) -> Result<T, String>;

    /// The value in TOML, which parses back to it; `None` if it is unset or secret.
    fn to_toml(value: &T) -> Option<String>;
}

/// A setting that may be unset. An empty value unsets a value of the file: `--public-url ''`.
pub(super) struct Optional<C>(C);

impl<T, C: Codec<T>> Codec<Option<T>> for Optional<C> {
    const PLACEHOLDER: &'static str = C::PLACEHOLDER;
    const SECRET: bool = C::SECRET;

    fn parse(raw: &str) -> Result<Option<T>, String> {
        if raw.is_empty() { Ok(None) } else { C::parse(raw).map(Some) }
    }

    fn to_toml(value: &Option<T>) -> Option<String> {
        value.as_ref().and_then(C::to_toml)
    }
}

/// A list: `a, b` in a flag or a variable, an array in TOML.
pub(super) struct List<C>(C);

impl<T, C: Codec<T>> Codec<Vec<T>> for List<C> {
    const PLACEHOLDER: &'static str = "LIST";
    const LIST: bool = true;

    fn parse(raw: &str) -> Result<Vec<T>, String> {
        let items = raw.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| C::parse(item).map_err(|reason| format!("item {item:?}: {reason}"))).collect()
    }

    fn to_toml(values: &Vec<T>) -> Option<String> {
        let items: Vec<String> = values.iter().filter_map(C::to_toml).collect();
        if items.is_empty() { None } else { Some(format!("[{}]", items.join(", "))) }
    }
}

pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
