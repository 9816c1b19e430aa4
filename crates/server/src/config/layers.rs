//! The four layers laid over one another: for each setting the raw value that counts, and where it came from.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::error::Problem;
use super::form::Form;
use super::origin::{Layer, Origin};
use super::setting::Setting;
use super::settings::SETTINGS;
use super::{Flags, file, variables};

/// Raw values by key, all of them keys that exist.
pub(super) type Values = BTreeMap<String, String>;
pub(super) type ReadFile<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

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
        flags: &Flags,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: ReadFile<'_>,
    ) -> Self {
        let mut problems = Vec::new();
        let environment = variables::read(environment, &mut problems);
        let named = flags.config.clone().or(environment.config);
        let file = file::read(named, read_file, &mut problems);

        // The first layer that has a setting decides it.
        let mut layers = vec![(Layer::Flag, flags.values.clone()), (Layer::Environment, environment.values)];
        let mut path = None;
        if let Some(file) = file {
            path = Some(file.path.clone());
            layers.push((Layer::File(file.path), file.values));
        }

        let mut this = Self { given: Vec::new(), file: path, problems };
        for setting in SETTINGS {
            match pick(setting, &layers, read_file) {
                Ok((raw, origin)) => this.given.push(Given { setting, raw, origin }),
                Err(problem) => this.problems.push(problem),
            }
        }
        this
    }

    /// `None` when there is a problem, which is then among the problems.
    pub(super) fn read<T, F: Form<T>>(&mut self, key: &str) -> Option<T> {
        let Given { setting, raw, origin } = self.given.iter().find(|given| given.setting.key == key)?;
        // Nobody means the line break at the end of a secret's file, or a space around a value.
        match F::read(raw.trim()) {
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
