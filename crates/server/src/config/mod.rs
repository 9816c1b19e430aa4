//! Configuration: one table of settings, with values from flags, environment, TOML file and defaults.
//!
//! `settings.rs` is the table. The flag, the environment variable, the TOML key, the help line, the line of
//! `pinhole config` and the field of [`Config`] are all derived from one row of it.

mod codec;
mod define;
mod error;
mod file;
mod flags;
mod help;
mod layers;
mod load;
mod numbers;
mod origin;
mod print;
mod public_url;
mod secret;
mod setting;
mod settings;
mod suggest;
mod text;
mod variables;

#[cfg(test)]
mod tests;

pub use error::ConfigError;
pub use flags::Flags;
pub use load::LoadedConfig;
pub use public_url::PublicUrl;
pub use secret::Secret;
pub use settings::Config;
pub use text::LogFormat;

pub(crate) use help::help;
pub(crate) use numbers::{parse_duration, parse_size};
pub(crate) use suggest::nearest;
