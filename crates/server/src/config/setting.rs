//! What a row of the table says, the names that follow from its key, and the macro that reads the rows.

use std::thread;

use super::settings::SETTINGS;

/// More threads than any machine has use for; a slip of the finger asks for more.
pub(super) const MAX_THREADS: u64 = 1024;

pub(super) struct Setting {
    pub(super) key: &'static str,
    pub(super) group: Group,
    pub(super) default: Default,
    pub(super) help: &'static str,
    /// What stands for the value in the help: `<SIZE>`.
    pub(super) placeholder: &'static str,
    pub(super) list: bool,
    pub(super) secret: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    Service,
    Watching,
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
        [Self::Service, Self::Watching, Self::Limits, Self::Rates, Self::Tuning];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Service => "Service",
            Self::Watching => "Logs and metrics",
            Self::Limits => "Limits",
            Self::Rates => "Rate limits",
            Self::Tuning => "Tuning",
        }
    }

    pub(super) fn settings(self) -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(move |setting| setting.group == self)
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
    // A platform that cannot tell how many it has gets one thread, which always works.
    thread::available_parallelism().map_or(1, |cores| cores.get() as u64).min(MAX_THREADS)
}

impl Setting {
    /// The key that names a file holding the value; only a secret has one.
    pub(super) fn file_key(&self) -> Option<String> {
        self.secret.then(|| format!("{}_file", self.key))
    }
}

/// Every key by which something can be set, in the order of the table.
pub(crate) fn keys() -> impl Iterator<Item = String> {
    SETTINGS.iter().flat_map(|setting| [Some(setting.key.to_owned()), setting.file_key()]).flatten()
}

/// `max_upload` is set by `--max-upload` …
pub(crate) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// … and by `PINHOLE_MAX_UPLOAD`.
pub(super) fn variable(key: &str) -> String {
    format!("PINHOLE_{}", key.to_ascii_uppercase())
}

/// Makes `Config`, the list of its settings, and the two ways between `Config` and written values.
macro_rules! settings {
    ($( $group:ident { $(
        #[doc = $help:literal]
        $key:ident : $type:ty as $form:ty = $default:expr;
    )* } )*) => {
        /// Every setting, checked and typed. `Debug` shows no secret.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $($( #[doc = $help] pub $key: $type, )*)*
        }

        pub(super) static SETTINGS: &[super::setting::Setting] = &[$($(
            super::setting::Setting {
                key: stringify!($key),
                group: super::setting::Group::$group,
                default: $default,
                help: $help.trim_ascii(),
                placeholder: <$form as super::form::Form<$type>>::PLACEHOLDER,
                list: <$form as super::form::Form<$type>>::LIST,
                secret: <$form as super::form::Form<$type>>::SECRET,
            },
        )*)*];

        impl Config {
            /// `None` when any value is bad. All are read before that is said, so that an operator hears of
            /// every mistake at once.
            pub(super) fn read(layers: &mut super::layers::Layers) -> Option<Self> {
                $($( let $key = layers.read::<$type, $form>(stringify!($key)); )*)*
                Some(Self { $($( $key: $key?, )*)* })
            }

            /// Each value as TOML, in the order of the table; `None` where nothing is set.
            pub(super) fn written(&self) -> Vec<Option<String>> {
                vec![$($( <$form as super::form::Form<$type>>::write(&self.$key), )*)*]
            }
        }
    };
}
pub(super) use settings;
