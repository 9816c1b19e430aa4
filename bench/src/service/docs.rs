//! Writes the results into docs/performance.md, between markers: one pair for PostgreSQL, one for the rest.

use std::path::Path;

use super::plot;
use crate::error::{Error, read};
use crate::report::{Report, Section};

const BEGIN: &str =
    "<!-- measured: begin; written by `cargo run --profile dist -p bench -- service --write-docs` -->";
const END: &str = "<!-- measured: end -->";

const POSTGRES_BEGIN: &str =
    "<!-- PostgreSQL: begin; written by `cargo run --profile dist -p bench -- service --write-docs` -->";
const POSTGRES_END: &str = "<!-- PostgreSQL: end -->";

/// The text between a pair of markers stays if the run has no section for it.
pub(super) fn write(report: &Report) -> Result<(), Error> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
    let page = docs.join("performance.md");
    let mut text = String::from_utf8(read(&page)?).map_err(Error::measure)?;
    let lost = || Error::measure("docs/performance.md has lost the markers around the results");
    let (on_postgres, others): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|section| section.on_postgres);
    if !on_postgres.is_empty() {
        crate::error::write(&docs.join("performance-postgres.svg"), plot::svg(on_postgres.iter().copied()))?;
        let measured =
            format!("{}\n{}\n{}", report.setting(), image("performance-postgres.svg"), below(&on_postgres));
        text = replaced(&text, [POSTGRES_BEGIN, POSTGRES_END], &measured).ok_or_else(lost)?;
    }
    if !others.is_empty() {
        text = replaced(&text, [BEGIN, END], &measured(report, &others)).ok_or_else(lost)?;
        crate::error::write(&docs.join("performance.svg"), plot::svg(others.iter().copied()))?;
    }
    crate::error::write(&page, text)?;
    println!("Written to docs/performance.md");
    Ok(())
}

fn measured(report: &Report, sections: &[&Section]) -> String {
    format!(
        "## Measured\n\n{}\n{}\n#{}\n{}",
        report.setting(),
        image("performance.svg"),
        report.summary(),
        below(sections)
    )
}

fn image(file: &str) -> String {
    format!("![Requests per second of every candidate in every section]({file})\n")
}

/// One level below the page's own headings.
fn below(sections: &[&Section]) -> String {
    sections.iter().map(|section| format!("#{}", section.markdown())).collect::<Vec<_>>().join("\n")
}

fn replaced(text: &str, [begin, end]: [&str; 2], measured: &str) -> Option<String> {
    let (before, rest) = text.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n{}\n{end}{after}", measured.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_is_between_the_marks() {
        let other = format!("{POSTGRES_BEGIN}\nmine\n{POSTGRES_END}");
        let page = format!("a\n{other}\n{BEGIN}\nold\n{END}\nz\n");
        let once = replaced(&page, [BEGIN, END], "new\n").unwrap();
        assert_eq!(once, format!("a\n{other}\n{BEGIN}\nnew\n{END}\nz\n"));
        assert_eq!(replaced(&once, [BEGIN, END], "new").unwrap(), once);
        assert_eq!(replaced("no marks", [BEGIN, END], "new"), None);
    }

    #[test]
    fn the_page_has_both_pairs_of_marks() {
        let page = include_str!("../../../docs/performance.md");
        for marks in [[BEGIN, END], [POSTGRES_BEGIN, POSTGRES_END]] {
            assert!(replaced(page, marks, "new").is_some(), "{marks:?}");
        }
    }
}
