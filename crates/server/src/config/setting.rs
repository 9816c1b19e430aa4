//! A row of the table of settings, and the names that are derived from its key.

use std::thread;

/// The limit of thread counts; a larger number is a typing error.
pub(super) const MAX_THREADS: u64 = 1024;

pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) group: Group,
    pub(super) default: DefaultValue,
    pub(super) help: &'static str,
    /// The placeholder of the value in the help, such as `SIZE`.
    pub(super) placeholder: &'static str,
    pub(super) list: bool,
    pub(super) secret: bool,
}

/// All settings, in the order in which they are printed.
#[derive(Clone, Copy)]
pub(super) struct Table(pub(super) &'static [Setting]);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Service,
    Observability,
    Limits,
    Rates,
    Tuning,
}

pub(super) enum DefaultValue {
    Is(&'static str),
    /// The number of CPU cores.
    Cores,
    Unset {
        means: &'static str,
        example: &'static str,
    },
}

impl Group {
    pub(super) const ALL: [Self; 5] =
        [Self::Service, Self::Observability, Self::Limits, Self::Rates, Self::Tuning];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Observability => "Observability",
            Self::Limits => "Limits",
            Self::Rates => "Rate limits",
            Self::Tuning => "Tuning",
        }
    }
}

impl DefaultValue {
    /// The default as a raw value. The empty string leaves an optional setting or a list unset.
    pub(super) fn raw(&self) -> String {
        match self {
            Self::Is(text) => (*text).to_owned(),
            Self::Cores => cores().to_string(),
            Self::Unset { .. } => String::new(),
        }
    }

    pub(super) fn example(&self) -> &'static str {
        match self {
            Self::Is(text) => text,
            Self::Cores => "4",
            Self::Unset { example, .. } => example,
        }
    }
}

fn cores() -> u64 {
    // 1 if the number of cores is unknown.
    thread::available_parallelism().map_or(1, |cores| cores.get() as u64).min(MAX_THREADS)
}

impl Table {
    pub(super) fn iter(self) -> impl Iterator<Item = &'static Setting> {
        self.0.iter()
    }

    pub(super) fn find(self, key: &str) -> Option<&'static Setting> {
        self.iter().find(|setting| setting.key == key)
    }

    /// All keys, including the `…_file` keys of secrets.
    pub(super) fn keys(self) -> impl Iterator<Item = String> {
        self.iter().flat_map(|setting| [Some(setting.key.to_owned()), setting.file_key()]).flatten()
    }
}

impl Setting {
    /// The key whose value is the path of a file with the secret; `None` for other settings.
    pub(super) fn file_key(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.key))
    }
}

/// `--max-upload` for `max_upload`.
pub(super) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// `PINHOLE_MAX_UPLOAD` for `max_upload`.
pub(super) fn variable(key: &str) -> String {
    format!("PINHOLE_{}", key.to_ascii_uppercase())
}
