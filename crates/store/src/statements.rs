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
    use tokio_postgres::SimpleQueryMessage;

    use super::super::{export, feed, import, likes, photos, posts, profile, sessions, upkeep, users};
    use crate::postgres::test_database;
    use crate::sqlite::connection;
    use crate::{Database, Store};

    /// Statements that walk a whole table, and why that is fine.
    const MAY_SCAN: &[&str] = &[
        "TOTALS",    // an operator's figure, asked at most once in a while
        "AT_OFFSET", // counts its way down the primary key and stops at the offset
        // What `pinhole doctor` and those who move an instance ask once, apart from everybody else.
        "CENSUS",
        "MISCOUNTED",
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

    /// PostgreSQL would rather walk a small table than look into an index, so it is talked out of it: what it still
    /// walks or sorts then, it has no other way to find.
    #[tokio::test]
    async fn no_statement_scans_or_sorts_on_postgres() {
        let url = test_database::create().await;
        let database = Database::Server { primary: url.clone(), replica: None };
        drop(Store::open(&database, 1, Box::new(|_| {})).await.unwrap());
        let mut tx = test_database::connect(&url).await;
        let client = tx.client();
        let terms =
            "SET enable_seqscan = off; SET enable_sort = off; SET plan_cache_mode = force_generic_plan";
        client.batch_execute(terms).await.unwrap();
        for (name, sql) in every_statement() {
            let count = client.prepare(sql).await.unwrap_or_else(|e| panic!("{name}: {e:?}")).params().len();
            let nulls = vec!["NULL"; count].join(", ");
            let nulls = if count > 0 { format!("({nulls})") } else { nulls };
            client.batch_execute(&format!("PREPARE planned AS {sql}")).await.unwrap();
            let plan = client.simple_query(&format!("EXPLAIN EXECUTE planned{nulls}")).await.unwrap();
            let steps: Vec<&str> = plan.iter().filter_map(first_column).collect();
            client.batch_execute("DEALLOCATE planned").await.unwrap();
            let scans = |step: &&str| step.contains("Seq Scan");
            assert!(MAY_SCAN.contains(name) || !steps.iter().any(scans), "{name} walks a table: {steps:#?}");
            assert!(!steps.iter().any(|step| step.contains("Sort")), "{name} sorts: {steps:#?}");
        }
    }

    fn first_column(message: &SimpleQueryMessage) -> Option<&str> {
        match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
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
