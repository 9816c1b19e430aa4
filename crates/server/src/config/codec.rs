//! Conversion between text and the type of a setting.

use toml::Value;

pub(super) trait Codec<T> {
    /// The name of the value in the help.
    const PLACEHOLDER: &'static str;
    const LIST: bool = false;
    const SECRET: bool = false;

    /// The error continues the sentence `found "…", `.
    fn parse(raw: &str) -> Result<T, String>;

    /// The value as TOML that parses back to it; `None` when it is unset or must not be printed.
    fn to_toml(value: &T) -> Option<String>;
}

/// A setting that may be unset. `--public-url ''` unsets what the file says.
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

/// `a, b`, or an array in TOML.
pub(super) struct List<C>(C);

impl<T, C: Codec<T>> Codec<Vec<T>> for List<C> {
    const PLACEHOLDER: &'static str = "LIST";
    const LIST: bool = true;

    fn parse(raw: &str) -> Result<Vec<T>, String> {
        let items = raw.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| C::parse(item).map_err(|reason| format!("in it {item:?}, {reason}"))).collect()
    }

    fn to_toml(values: &Vec<T>) -> Option<String> {
        let items: Vec<String> = values.iter().filter_map(C::to_toml).collect();
        if items.is_empty() { None } else { Some(format!("[{}]", items.join(", "))) }
    }
}

pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
