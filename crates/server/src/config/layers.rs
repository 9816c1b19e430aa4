//! Merges the four layers: for each setting the raw value in force, and where it came from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::codec::Codec;
use super::error::Problem;
use super::origin::{Layer, Origin, ReadFile, Values};
use super::setting::{Setting, Table};
use super::{file, variables};

pub(super) struct Layers {
    /// In the order of the table.
    given: Vec<Given>,
    file: Option<PathBuf>,
    pub(super) problems: Vec<Problem>,
}

struct Given {
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
        let mut problems = Vec::new();
        let environment = variables::read(table, environment, &mut problems);
        let file = file::read(table, named.or(environment.config), read_file, &mut problems);

        // The first layer that has a setting decides it.
        let mut layers = vec![(Layer::Flag, flags), (Layer::Environment, environment.values)];
        let mut path = None;
        if let Some(file) = file {
            path = Some(file.path.clone());
            layers.push((Layer::File(file.path), file.values));
        }

        let mut this = Self { given: Vec::new(), file: path, problems };
        for setting in table.iter() {
            match pick(setting, &layers, read_file) {
                Ok((raw, origin)) => this.given.push(Given { setting, raw, origin }),
                Err(problem) => this.problems.push(problem),
            }
        }
        this
    }

    /// `None` when there is a problem, which is then among the problems.
    pub(super) fn read<T, C: Codec<T>>(&mut self, key: &str) -> Option<T> {
        let Given { setting, raw, origin } = self.given.iter().find(|given| given.setting.key == key)?;
        // Editors add a line break to the file of a secret, and people a space around a value.
        match C::parse(raw.trim()) {
            Ok(value) => Some(value),
            Err(reason) => {
                self.problems.push(Problem::Value {
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
        (self.file, self.given.into_iter().map(|given| given.origin).collect())
    }
}

fn pick(
    setting: &Setting,
    layers: &[(Layer, Values)],
    read_file: ReadFile<'_>,
) -> Result<(String, Origin), Problem> {
    for (layer, values) in layers {
        let origin = |key: &str| Origin { layer: layer.clone(), key: key.to_owned() };
        let direct = values.get(setting.key).map(|raw| (raw, origin(setting.key)));
        let file_key = setting.file_key();
        let by_file = file_key.and_then(|key| values.get(&key).map(|path| (Path::new(path), origin(&key))));

        let (raw, origin) = match (direct, by_file) {
            (None, None) => continue,
            (Some((raw, origin)), None) => (raw.clone(), origin),
            (None, Some((path, origin))) => (read_secret(path, &origin, read_file)?, origin),
            // Within one layer nothing says which of the two is meant.
            (Some((_, direct)), Some((_, by_file))) => {
                return Err(Problem::SecretTwice {
                    direct: direct.to_string(),
                    by_file: by_file.to_string(),
                });
            }
        };
        // `PINHOLE_ADMIN_TOKEN=$MISSPELT` must not quietly mean "no token".
        if setting.secret && raw.trim().is_empty() {
            return Err(Problem::EmptySecret { origin: origin.to_string() });
        }
        return Ok((raw, origin));
    }
    let origin = Origin { layer: Layer::Default, key: setting.key.to_owned() };
    Ok((setting.default.raw(), origin))
}

fn read_secret(path: &Path, origin: &Origin, read_file: ReadFile<'_>) -> Result<String, Problem> {
    read_file(path).map_err(|cause| Problem::SecretFile {
        origin: origin.to_string(),
        path: path.to_owned(),
        cause,
    })
}
