//! `pinhole config`: the settings in force as a `pinhole.toml`, each with where it came from.

use super::origin::{Layer, Origin};
use super::setting::{Default, Group, Setting};
use super::settings::{Config, SETTINGS};

/// A value that reaches further, such as a long list, does not push the remarks of all others to the right.
const WIDEST: usize = 48;

pub(super) fn to_toml(config: &Config, origins: &[Origin]) -> String {
    let values = config.to_toml_values();
    let settings = SETTINGS.iter().zip(values).zip(origins);
    let lines: Vec<Line> = settings.map(|((setting, value), origin)| line(setting, value, origin)).collect();
    let widths = lines.iter().map(|line| line.left.chars().count());
    let column = widths.filter(|width| *width <= WIDEST).max().unwrap_or(WIDEST);

    let mut text =
        String::from("# The settings in force. Saved as pinhole.toml, this sets them so, but for secrets.\n");
    for group in Group::ALL {
        text += &format!("\n# {}\n", group.title());
        for Line { left, remark, .. } in lines.iter().filter(|line| line.group == group) {
            text += &format!("{left:column$}  {remark}\n");
        }
    }
    text
}

struct Line {
    group: Group,
    left: String,
    remark: String,
}

fn line(setting: &Setting, value: Option<String>, origin: &Origin) -> Line {
    let (key, group) = (setting.key, setting.group);
    match value {
        Some(value) => {
            Line { group, left: format!("{key} = {value}"), remark: format!("# {}", origin.short()) }
        }
        None => Line { group, left: format!("# {key} ="), remark: absence(setting, origin) },
    }
}

/// Why a line has no value. A secret never has one here.
fn absence(setting: &Setting, origin: &Origin) -> String {
    let given = !matches!(origin.layer, Layer::Default);
    match setting.default {
        _ if setting.secret && given => format!("(hidden: set by {})", origin.short()),
        Default::Unset { means, .. } if given => format!("(set to nothing by {}: {means})", origin.short()),
        Default::Unset { means, .. } => format!("(not set: {means})"),
        Default::Is(_) | Default::Cores => "(not set)".into(),
    }
}
