//! Tables for the terminal and for Markdown, which are the same.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Text(String),
    /// With one digit after the point.
    Number(f64),
    Integer(u64),
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [Cell; N]>) -> Self {
        Self { head: head.map(String::from).to_vec(), rows: rows.into_iter().map(Vec::from).collect() }
    }

    pub(crate) fn markdown(&self) -> String {
        let rows: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.chain(self.head.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).enumerate();
            let padded = cells.map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
        };
        let rule = widths.iter().enumerate().map(|(column, width)| match column {
            0 => "-".repeat(width + 2),
            _ => "-".repeat(width + 1) + ":",
        });
        let rule = format!("|{}|\n", rule.collect::<Vec<_>>().join("|"));
        let rows: String = rows.iter().map(|row| line(row)).collect();
        line(&self.head) + &rule + &rows
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Self::Text(words) => words.clone(),
            Self::Number(value) => format!("{value:.1}"),
            Self::Integer(value) => thousands(*value),
        }
    }
}

/// With thousands separators: 12,345.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let commas = |index: usize| index > 0 && (digits.len() - index).is_multiple_of(3);
    let pieces =
        digits.char_indices().flat_map(|(at, digit)| commas(at).then_some(',').into_iter().chain([digit]));
    pieces.collect()
}

impl From<&str> for Cell {
    fn from(words: &str) -> Self {
        Self::Text(words.into())
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn a_table_lines_up() {
        let table =
            Table::new(["name", "bytes"], [["axum".into(), Cell::Integer(5)], ["é".into(), 1.25.into()]]);
        assert_eq!(
            table.markdown(),
            "| name | bytes |\n|------|------:|\n| axum |     5 |\n| é    |   1.2 |\n"
        );
    }
}
