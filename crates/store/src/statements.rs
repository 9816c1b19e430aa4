//! How statements are written down: as named constants that a test can enumerate.
//!
//! They stay in the subset of SQL that SQLite and PostgreSQL share: `$1` upward in order of first use,
//! `ON CONFLICT`, `RETURNING`, 64-bit integers for times; no `NOW()`, no `ILIKE`.

/// Declares statements as constants, and `ALL` with their names for the tests.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:expr;)*) => {
        $($(#[$doc])* const $name: &str = $sql;)*
        #[cfg(test)]
        pub(crate) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

pub(crate) use statements;

#[cfg(test)]
mod tests {
    use super::super::{export, feed, import, likes, photos, posts, profile, sessions, upkeep, users};
    use crate::sqlite::connection;

    /// Statements that walk a whole table, and why that is fine.
    const MAY_SCAN: &[&str] = &[
        "TOTALS",    // an operator's figure, asked at most once in a while
        "AT_OFFSET", // counts its way down the primary key and stops at the offset
        // What `pinhole doctor` and those who move an instance ask once, apart from everybody else.
        "CENSUS",
        "MISCOUNTED",
        "RECOUNT",
        "UNSHOWN",
    ];

    fn every_statement() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let nouns = [
            export::ALL,
            feed::ALL,
            import::ALL,
            likes::ALL,
            photos::ALL,
            posts::ALL,
            profile::ALL,
            sessions::ALL,
            upkeep::ALL,
            users::ALL,
        ];
        nouns.into_iter().flatten()
    }

    #[test]
    fn no_statement_scans_or_sorts() {
        let folder = tempfile::tempdir().unwrap();
        let conn = connection::open(&folder.path().join("plan.db")).unwrap();
        for (name, sql) in every_statement() {
            let mut plan =
                conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap_or_else(|e| panic!("{name}: {e}"));
            let count = plan.parameter_count();
            let nulls = vec![rusqlite::types::Null; count];
            let steps: Vec<String> = plan
                .query_map(rusqlite::params_from_iter(nulls), |row| row.get("detail"))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            let scans = |step: &String| step.starts_with("SCAN") && !step.ends_with("CONSTANT ROW");
            assert!(MAY_SCAN.contains(name) || !steps.iter().any(scans), "{name} walks a table: {steps:#?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{name} sorts: {steps:#?}");
        }
    }

    #[test]
    fn parameters_are_numbered_in_order_of_first_use() {
        for (name, sql) in every_statement() {
            let mut seen = 0;
            for piece in sql.split('$').skip(1) {
                let digits: String = piece.chars().take_while(char::is_ascii_digit).collect();
                let number: usize = digits.parse().unwrap_or_else(|_| panic!("{name}: ${digits}"));
                assert!(number <= seen + 1, "{name}: ${number} comes before ${}", seen + 1);
                seen = seen.max(number);
            }
            for foreign in ["NOW()", "ILIKE", "?", "datetime(", "strftime", "OR REPLACE", "OR IGNORE"] {
                assert!(!sql.contains(foreign), "{name} says {foreign}, which only one database speaks");
            }
        }
    }
}
