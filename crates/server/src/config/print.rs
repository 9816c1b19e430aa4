//! `pinhole config`: the effective settings as a `pinhole.toml`, each with its origin.

use super::origin::{Layer, Origin};
use super::setting::{DefaultValue, Group, Setting};
use super::settings::{Config, SETTINGS};

/// Longer lines, such as a long list, are ignored in the alignment of the remarks.
const MAX_ALIGNED: usize = 48;

pub(super) fn to_toml(config: &Config, origins: &[Origin]) -> String {
    let values = config.to_toml_values();
    let settings = SETTINGS.iter().zip(values).zip(origins);
    let lines: Vec<Line> = settings.map(|((setting, value), origin)| line(setting, value, origin)).collect();
    let widths = lines.iter().map(|line| line.left.chars().count());
    let column = widths.filter(|width| *width <= MAX_ALIGNED).max().unwrap_or(MAX_ALIGNED);

    let mut text = String::from(
        "# The effective settings. Save this as pinhole.toml to keep them; secrets are not included.\n",
    );
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
        None => Line { group, left: format!("# {key} ="), remark: unset_remark(setting, origin) },
    }
}

/// The remark of a line without a value: the setting is unset or secret.
fn unset_remark(setting: &Setting, origin: &Origin) -> String {
    let given = !matches!(origin.layer, Layer::Default);
    match setting.default {
        _ if setting.secret && given => format!("(hidden: set by {})", origin.short()),
        DefaultValue::Unset { means, .. } if given => format!("(unset by {}: {means})", origin.short()),
        DefaultValue::Unset { means, .. } => format!("(not set: {means})"),
        DefaultValue::Is(_) | DefaultValue::Cores => "(not set)".into(),
    }
}
