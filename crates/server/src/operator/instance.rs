//! `pinhole instance`: what owners can set for the instance.

use app::{Actor, App};
use clap::Subcommand;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{nearest, parse_size};

#[derive(Debug, Clone, PartialEq, Eq, Subcommand, Serialize, Deserialize)]
pub(crate) enum InstanceCommand {
    /// Show the settings of the instance
    Show,
    /// Change settings, on all nodes at once; an empty value unsets one
    Set {
        /// Such as registration=approval; the keys are those that `show` prints
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = split)]
        values: Vec<(String, String)>,
    },
}

impl InstanceCommand {
    pub(super) async fn run(self, app: &App, operator: &Actor) -> Result<Value, app::Error> {
        if let Self::Set { values } = self {
            let values = values.into_iter().map(known).collect::<Result<_, _>>()?;
            app.edit_instance(operator, values).await?;
        }
        let settings = app.instance_settings().await?;
        let line = |(key, value): (&str, Option<String>)| (key.to_owned(), value.unwrap_or_default().into());
        Ok(Value::Object(settings.into_iter().map(line).collect()))
    }
}

fn split(raw: &str) -> Result<(String, String), String> {
    let (key, value) = raw.split_once('=').ok_or("expected KEY=VALUE, such as registration=approval")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// A setting with the value that the API takes: a size may have a unit.
fn known((key, value): (String, String)) -> Result<(&'static str, String), app::Error> {
    let found = App::instance_keys().find(|known| *known == key).ok_or_else(|| {
        let advice = match nearest(App::instance_keys(), &key) {
            Some(nearest) => format!("did you mean {nearest}?"),
            None => format!("there are {}", App::instance_keys().collect::<Vec<_>>().join(", ")),
        };
        app::Error::invalid("key", format!("unknown setting {key}; {advice}"))
    })?;
    let bytes = parse_size(&value).ok().filter(|_| found.ends_with("_bytes"));
    Ok((found, bytes.map_or(value, |bytes| bytes.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_by_their_keys() {
        let parse = |raw: &str| known(split(raw)?).map_err(|error| error.to_string());
        assert_eq!(parse("registration=approval"), Ok(("registration", "approval".into())));
        assert_eq!(parse("name=A = B"), Ok(("name", "A = B".into())));
        assert_eq!(parse("member_bytes=10 GB"), Ok(("member_bytes", "10000000000".into())));
        assert_eq!(parse("member_bytes="), Ok(("member_bytes", String::new())));
        for (raw, message) in [
            ("registraton=closed", "did you mean registration?"),
            ("registration-=closed", "did you mean registration?"),
            ("zzz=1", "there are name, description, "),
            ("closed", "expected KEY=VALUE"),
        ] {
            let error = parse(raw).unwrap_err();
            assert!(error.contains(message), "{raw}: {error}");
        }
    }
}
