//! The macro that generates `Config` and the table of settings from the rows of `settings.rs`.

/// Defines `Config`, the table of its settings, and the conversions between `Config` and text.
macro_rules! settings {
    ($( $group:ident { $(
        #[doc = $help:literal]
        $key:ident : $type:ty as $codec:ty = $default:expr;
    )* } )*) => {
        /// All settings, validated and typed. `Debug` does not print secrets.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Config {
            $($( #[doc = $help] pub $key: $type, )*)*
        }

        pub(super) static SETTINGS: super::setting::Table = super::setting::Table(&[$($(
            super::setting::Setting {
                key: stringify!($key),
                group: super::setting::Group::$group,
                default: $default,
                help: $help.trim_ascii(),
                placeholder: <$codec as super::codec::Codec<$type>>::PLACEHOLDER,
                list: <$codec as super::codec::Codec<$type>>::LIST,
                secret: <$codec as super::codec::Codec<$type>>::SECRET,
            },
        )*)*]);

        impl Config {
            /// `None` if any value is invalid. All values are read before it returns, so that all errors are
            /// reported at once.
            pub(super) fn read(layers: &mut super::layers::Layers) -> Option<Self> {
                $($( let $key = layers.read::<$type, $codec>(stringify!($key)); )*)*
                Some(Self { $($( $key: $key?, )*)* })
            }

            /// The keys of the settings whose values differ.
            pub(crate) fn differing(&self, other: &Self) -> Vec<&'static str> {
                let mut keys = Vec::new();
                $($( if self.$key != other.$key { keys.push(stringify!($key)); } )*)*
                keys
            }

            /// Each value in TOML, in the order of the table; `None` if it is unset or secret.
            pub(super) fn to_toml_values(&self) -> Vec<Option<String>> {
                vec![$($( <$codec as super::codec::Codec<$type>>::to_toml(&self.$key), )*)*]
            }
        }
    };
}
pub(super) use settings;
