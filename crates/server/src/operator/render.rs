//! The text form of a command's result: a table for a list, a line for each member of an object.

use serde_json::{Map, Value};

pub(crate) fn render(value: &Value) -> String {
    match value {
        Value::Array(rows) => table(rows),
        Value::Object(members) => object(members),
        other => format!("{}\n", cell(other)),
    }
}

/// The order of columns and lines; others follow.
const ORDER: [&str; 12] = [
    "id",
    "actor",
    "action",
    "username",
    "created_at",
    "age",
    "network",
    "users",
    "role",
    "status",
    "posts",
    "likes",
];

fn sorted_keys(members: &Map<String, Value>) -> Vec<&String> {
    let mut keys: Vec<&String> = members.keys().collect();
    keys.sort_by_key(|key| ORDER.iter().position(|known| known == key).unwrap_or(ORDER.len()));
    keys
}

fn object(members: &Map<String, Value>) -> String {
    let shown: Vec<_> = sorted_keys(members).into_iter().filter(|key| !members[*key].is_null()).collect();
    let width = shown.iter().map(|key| key.len()).max().unwrap_or(0);
    let line = |key: &&String| format!("{key:width$}  {}", cell(&members[*key])).trim_end().to_owned() + "\n";
    shown.iter().map(line).collect()
}

/// The columns are those of the first row, without the ones that are empty in all rows.
fn table(rows: &[Value]) -> String {
    let Some(first) = rows.first().and_then(Value::as_object) else { return "(none)\n".to_owned() };
    let mut columns: Vec<Vec<String>> = Vec::new();
    for key in sorted_keys(first) {
        let cells: Vec<String> = rows.iter().map(|row| cell(&row[key])).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            columns.push([key.to_uppercase()].into_iter().chain(cells).collect());
        }
    }
    let widths: Vec<usize> = columns
        .iter()
        .map(|cells| cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: usize| {
        let cells = columns.iter().zip(&widths).map(|(cells, width)| format!("{:width$}", cells[row]));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    (0..=rows.len()).map(line).collect()
}

/// One line without control characters, which a username or a reason must not send to a terminal.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_are_tables_and_objects_are_lines() {
        let rows = json!([{ "id": 1, "username": "ada", "reason": null }, { "id": 12, "username": "b\nob", "reason": null }]);
        assert_eq!(render(&rows), "ID  USERNAME\n1   ada\n12  b ob\n");
        assert_eq!(render(&json!([])), "(none)\n");
        assert_eq!(render(&json!({ "a": 0, "posts": 3, "reason": null })), "posts  3\na      0\n");
        assert_eq!(render(&json!({ "name": "", "role": "member" })), "role  member\nname\n");
    }
}
