//! Puts what was measured into docs/performance.md, between two marks.

use std::path::Path;

use super::plot;
use crate::error::{Error, read};
use crate::report::Report;

const BEGIN: &str =
    "<!-- measured: begin; written by `cargo run --release -p bench -- service --write-docs` -->";
const END: &str = "<!-- measured: end -->";

pub(super) fn write(report: &Report) -> Result<(), Error> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
    let page = docs.join("performance.md");
    let text = String::from_utf8(read(&page)?).map_err(Error::measure)?;
    let text = replaced(&text, &measured(report))
        .ok_or_else(|| Error::measure("docs/performance.md has lost the marks around what was measured"))?;
    crate::error::write(&page, text)?;
    crate::error::write(&docs.join("performance.svg"), plot::svg(report))?;
    println!("Written to docs/performance.md and performance.svg");
    Ok(())
}

/// One level below the page's own headings.
fn measured(report: &Report) -> String {
    let sections: Vec<String> =
        report.sections.iter().map(|section| format!("#{}", section.markdown())).collect();
    format!(
        "## Measured\n\n{}\n![Requests a second of everybody in every race](performance.svg)\n\n#{}\n{}",
        report.setting(),
        report.summary(),
        sections.join("\n")
    )
}

fn replaced(text: &str, measured: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{END}{after}", measured.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_is_between_the_marks() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nz\n");
        let once = replaced(&page, "new\n").unwrap();
        assert_eq!(once, format!("a\n{BEGIN}\nnew\n{END}\nz\n"));
        assert_eq!(replaced(&once, "new").unwrap(), once);
        assert_eq!(replaced("no marks", "new"), None);
    }
}
