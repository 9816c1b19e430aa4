//! The table of settings in `pinhole --help`: a line for each, with flag, help, default and variable.

use clap::builder::styling::Style;

use super::setting::{DefaultValue, Group, Setting, flag, variable};
use super::settings::SETTINGS;

/// The width of a line, and of its columns for the flag and the help, in characters.
const LINE_WIDTH: usize = 100;
const FLAG_WIDTH: usize = 27;
const HELP_WIDTH: usize = 43;

/// The styles are those of clap, whose help surrounds the table.
pub(crate) fn help(heading: Style, literal: Style) -> String {
    let mut text = String::from(
        "A setting is a flag, an environment variable or a key of the configuration file (listen = \"…\"), in\n\
         this order of precedence. [Defaults]. Sizes: 512KiB, 32MiB, 1GiB. Durations: 500ms, 10s, 5m, 90d.\n\n",
    );
    for group in Group::ALL {
        text += &format!("{heading}{}:{heading:#}\n", group.title());
        if group == Group::Service {
            text += &line("config", "FILE", "Configuration file [pinhole.toml]", literal);
        }
        for setting in SETTINGS.iter().filter(|setting| setting.group == group) {
            text += &line(setting.key, setting.placeholder, &help_and_default(setting), literal);
            if let Some(key) = setting.file_key() {
                text += &line(&key, "FILE", "The same, read from a file", literal);
            }
        }
        text += "\n";
    }
    text.truncate(text.trim_end().len());
    text
}

fn help_and_default(setting: &Setting) -> String {
    match setting.default {
        DefaultValue::Is(text) => format!("{} [{text}]", setting.help),
        DefaultValue::Cores => format!("{} [cores]", setting.help),
        DefaultValue::Unset { .. } => setting.help.to_owned(),
    }
}

fn line(key: &str, placeholder: &str, help: &str, literal: Style) -> String {
    let (flag, variable) = (flag(key), variable(key));
    let used = flag.len() + placeholder.len() + "   <>".len();
    let padding = FLAG_WIDTH.saturating_sub(used);
    // A flag or variable that is too long for its column narrows the column of the help.
    let available = LINE_WIDTH.saturating_sub(used.max(FLAG_WIDTH) + variable.len() + 4);
    let width = HELP_WIDTH.min(available);
    format!("  {literal}{flag}{literal:#} <{placeholder}>{:padding$}  {help:width$}  {variable}\n", "")
}
