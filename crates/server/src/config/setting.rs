//! A row of the table of settings, and the names that follow from its key.

use std::thread;

/// More threads than any machine can use; a larger number is a typing error.
pub(super) const MAX_THREADS: u64 = 1024;

pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) group: Group,
    pub(super) default: Default,
    pub(super) help: &'static str,
    /// The name of the value in the help: `<SIZE>`.
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

pub(super) enum Default {
    Is(&'static str),
    /// One per core of this machine.
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
            Self::Observability => "Logs and metrics",
            Self::Limits => "Limits",
            Self::Rates => "Rate limits",
            Self::Tuning => "Tuning",
        }
    }
}

impl Default {
    /// As if an operator had written it. An optional setting or a list reads nothing as none.
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
    // A platform that cannot tell gets one thread, which always works.
    thread::available_parallelism().map_or(1, |cores| cores.get() as u64).min(MAX_THREADS)
}

impl Table {
    pub(super) fn iter(self) -> impl Iterator<Item = &'static Setting> {
        self.0.iter()
    }

    pub(super) fn find(self, key: &str) -> Option<&'static Setting> {
        self.iter().find(|setting| setting.key == key)
    }

    /// Every key that can be set, `…_file` of a secret included.
    pub(super) fn keys(self) -> impl Iterator<Item = String> {
        self.iter().flat_map(|setting| [Some(setting.key.to_owned()), setting.file_key()]).flatten()
    }
}

impl Setting {
    /// The key that names a file holding the value; only a secret has one.
    pub(super) fn file_key(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.key))
    }
}

/// `max_upload` is set by `--max-upload` …
pub(super) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// … and by `PINHOLE_MAX_UPLOAD`.
pub(super) fn variable(key: &str) -> String {
    format!("PINHOLE_{}", key.to_ascii_uppercase())
}
