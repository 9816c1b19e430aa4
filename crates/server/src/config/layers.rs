//! Merges the layers (flags, environment, file, defaults) to one raw value with its origin for each setting.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::codec::Codec;
use super::error::SettingError;
use super::origin::{Layer, Origin, ReadFile, Values};
use super::setting::{Setting, Table};
use super::{file, variables};

pub(super) struct Layers {
    /// In the order of the table.
    raw_settings: Vec<RawSetting>,
    file: Option<PathBuf>,
    pub(super) errors: Vec<SettingError>,
}

struct RawSetting {
    setting: &'static Setting,
    raw: String,
    origin: Origin,
}

impl Layers {
    pub(super) fn gather(
        table: Table,
        named: Option<PathBuf>,
        flags: Values,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: ReadFile<'_>,
    ) -> Self {
        let mut errors = Vec::new();
        let environment = variables::read(table, environment, &mut errors);
        let file = file::read(table, named.or(environment.config), read_file, &mut errors);

        // In order of precedence.
        let mut layers = vec![(Layer::Flag, flags), (Layer::Environment, environment.values)];
        let mut path = None;
        if let Some(file) = file {
            path = Some(file.path.clone());
            layers.push((Layer::File(file.path), file.values));
        }

        let mut this = Self { raw_settings: Vec::new(), file: path, errors };
        for setting in table.iter() {
            match pick(setting, &layers, read_file) {
                Ok((raw, origin)) => this.raw_settings.push(RawSetting { setting, raw, origin }),
                Err(error) => this.errors.push(error),
            }
        }
        this
    }

    /// `None` if the value is invalid; `errors` has the reason then.
    pub(super) fn read<T, C: Codec<T>>(&mut self, key: &str) -> Option<T> {
        let RawSetting { setting, raw, origin } =
            self.raw_settings.iter().find(|raw_setting| raw_setting.setting.key == key)?;
        // Trimmed, because editors end the file of a secret with a line break.
        match C::parse(raw.trim()) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.errors.push(SettingError::InvalidValue {
                    key: setting.key,
                    origin: origin.to_string(),
                    found: if setting.secret { "(hidden)".into() } else { format!("{raw:?}") },
                    reason,
                    example: setting.default.example(),
                });
                None
            }
        }
    }

    pub(super) fn into_origins(self) -> (Option<PathBuf>, Vec<Origin>) {
        (self.file, self.raw_settings.into_iter().map(|raw_setting| raw_setting.origin).collect())
    }
}

fn pick(
    setting: &Setting,
    layers: &[(Layer, Values)],
    read_file: ReadFile<'_>,
) -> Result<(String, Origin), SettingError> {
    for (layer, values) in layers {
        let origin = |key: &str| Origin { layer: layer.clone(), key: key.to_owned() };
        let direct = values.get(setting.key).map(|raw| (raw, origin(setting.key)));
        let file_key = setting.file_key();
        let by_file = file_key.and_then(|key| values.get(&key).map(|path| (Path::new(path), origin(&key))));

        let (raw, origin) = match (direct, by_file) {
            (None, None) => continue,
            (Some((raw, origin)), None) => (raw.clone(), origin),
            (None, Some((path, origin))) => (read_secret(path, &origin, read_file)?, origin),
            // Within one layer neither has precedence.
            (Some((_, direct)), Some((_, by_file))) => {
                return Err(SettingError::ConflictingSecret {
                    direct: direct.to_string(),
                    by_file: by_file.to_string(),
                });
            }
        };
        // `PINHOLE_ADMIN_TOKEN=$MISSPELT` must not silently mean "no token".
        if setting.secret && raw.trim().is_empty() {
            return Err(SettingError::EmptySecret { origin: origin.to_string() });
        }
        return Ok((raw, origin));
    }
    let origin = Origin { layer: Layer::Default, key: setting.key.to_owned() };
    Ok((setting.default.raw(), origin))
}

fn read_secret(path: &Path, origin: &Origin, read_file: ReadFile<'_>) -> Result<String, SettingError> {
    read_file(path).map_err(|cause| SettingError::SecretFile {
        origin: origin.to_string(),
        path: path.to_owned(),
        cause,
    })
}
