//! Credits of the demo photos. Their licences require attribution wherever the photos are distributed, and
//! the binary contains them.

use clap::builder::styling::Style;

const LICENSES: &str = include_str!("../../../../demo/LICENSES.md");

/// A row of the table in `demo/LICENSES.md`.
struct Credit {
    /// `photos/bee.jpg`
    file: &'static str,
    title: &'static str,
    author: &'static str,
    licence: &'static str,
    changes: &'static str,
}

/// The credits as a section of `pinhole demo --help`.
pub(crate) fn credits(heading: Style) -> String {
    let rows = rows().map(|row| {
        let Credit { file, title, author, licence, changes } = row;
        let changes = if changes == "none" { String::new() } else { format!(", {changes}") };
        format!("  {file:27}{title}, by {author}, {licence}{changes}\n")
    });
    let links = LICENSES.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    let links = links.map(|(licence, address)| format!("  {licence:27}{address}\n"));
    format!(
        "{heading}Photos of the demo{heading:#} (scaled down, re-encoded)\n{}\n{heading}Their licences{heading:#}\n{}",
        rows.collect::<String>(),
        links.collect::<String>().trim_end(),
    )
}

fn rows() -> impl Iterator<Item = Credit> {
    LICENSES.lines().filter_map(|line| {
        let cells: Vec<_> = line.strip_prefix("| `")?.split(" | ").collect();
        let [file, title, author, licence, _package, changes] = cells[..] else { return None };
        let licence = licence.trim_matches(['[', ']']);
        Some(Credit {
            file: file.trim_end_matches('`'),
            title,
            author,
            licence,
            changes: changes.trim_end_matches(" |"),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::photos;
    use super::*;

    #[test]
    fn every_photo_in_the_binary_has_its_author_and_a_licence_with_an_address() {
        for photo in photos::ALL {
            let file = format!("/{}.jpg", photo.name);
            let credit = rows().find(|row| row.file.ends_with(&file)).expect(photo.name);
            assert!(!credit.author.is_empty());
            let link = format!("\n[{}]: https://creativecommons.org/", credit.licence);
            assert!(LICENSES.contains(&link), "{}: {}", photo.name, credit.licence);
        }
        assert_eq!(rows().count(), photos::ALL.len());
    }
}
