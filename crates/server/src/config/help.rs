//! The table of settings in `pinhole --help`: one line each with flag, meaning, default and variable.

use clap::builder::styling::Style;

use super::setting::{Default, Group, Setting, flag, variable};
use super::settings::SETTINGS;

/// Widths of a line, and of its first two columns.
const TERMINAL: usize = 100;
const FLAG: usize = 27;
const MEANING: usize = 43;

/// The styles are clap's own, so that these lines look like those around them.
pub(crate) fn help(heading: Style, literal: Style) -> String {
    let mut text = String::from(
        "Every setting is a flag, a variable or a key of the settings file (max_upload = \"32MiB\"); the\n\
         first of these wins. Defaults are in brackets. Sizes: 512KiB, 32MiB, 1GiB. Times: 500ms, 10s, 90d.\n\n",
    );
    for group in Group::ALL {
        text += &format!("{heading}{}:{heading:#}\n", group.title());
        if group == Group::Service {
            text += &line("config", "FILE", "Settings file [pinhole.toml, if there]", literal);
        }
        for setting in SETTINGS.iter().filter(|setting| setting.group == group) {
            text += &line(setting.key, setting.placeholder, &meaning(setting), literal);
            if let Some(key) = setting.file_key() {
                text += &line(&key, "FILE", "The same, read from a file", literal);
            }
        }
        text += "\n";
    }
    text.truncate(text.trim_end().len());
    text
}

fn meaning(setting: &Setting) -> String {
    match setting.default {
        Default::Is(text) => format!("{} [{text}]", setting.help),
        Default::Cores => format!("{} [cores]", setting.help),
        Default::Unset { .. } => setting.help.to_owned(),
    }
}

fn line(key: &str, placeholder: &str, meaning: &str, literal: Style) -> String {
    let (flag, variable) = (flag(key), variable(key));
    let used = flag.len() + placeholder.len() + "   <>".len();
    let padding = FLAG.saturating_sub(used);
    // Names too long for their columns take the room from the meaning.
    let room = TERMINAL.saturating_sub(used.max(FLAG) + variable.len() + 4);
    let width = MEANING.min(room);
    format!("  {literal}{flag}{literal:#} <{placeholder}>{:padding$}  {meaning:width$}  {variable}\n", "")
}
