//! How a value is written: the two directions between text and a typed setting.

use toml::Value;

pub(super) trait Form<T> {
    /// What stands for the value in the help.
    const PLACEHOLDER: &'static str;
    const LIST: bool = false;
    const SECRET: bool = false;

    /// The error continues the sentence `found "…", `.
    fn read(raw: &str) -> Result<T, String>;

    /// The value as TOML that reads back to it; `None` when there is nothing to write.
    fn write(value: &T) -> Option<String>;
}

/// A setting that may be left out. Nothing at all is how `--public-url ''` takes back what the file says.
pub(super) struct Maybe<F>(F);

impl<T, F: Form<T>> Form<Option<T>> for Maybe<F> {
    const PLACEHOLDER: &'static str = F::PLACEHOLDER;
    const SECRET: bool = F::SECRET;

    fn read(raw: &str) -> Result<Option<T>, String> {
        if raw.is_empty() { Ok(None) } else { F::read(raw).map(Some) }
    }

    fn write(value: &Option<T>) -> Option<String> {
        value.as_ref().and_then(F::write)
    }
}

/// `a, b`, or an array in TOML.
pub(super) struct List<F>(F);

impl<T, F: Form<T>> Form<Vec<T>> for List<F> {
    const PLACEHOLDER: &'static str = "LIST";
    const LIST: bool = true;

    fn read(raw: &str) -> Result<Vec<T>, String> {
        let items = raw.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| F::read(item).map_err(|reason| format!("in it {item:?}, {reason}"))).collect()
    }

    fn write(values: &Vec<T>) -> Option<String> {
        let items: Vec<String> = values.iter().filter_map(F::write).collect();
        if items.is_empty() { None } else { Some(format!("[{}]", items.join(", "))) }
    }
}

pub(super) fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
