//! Where a move leads: what is wrong there, and how the service is told of it, in the words of `migrate`.

use app::OpenError;
use ops::{InstanceLocation, StorageLocation};

/// The settings that errors speak of, and what names the same for a move.
const NAMES: [(&str, &str); 7] = [
    ("--data-dir or PINHOLE_DATA_DIR", "--to-database or --to-blobs"),
    ("--data-dir, --database-url or their variables", "--to-database"),
    ("--blobs-url or PINHOLE_BLOBS_URL", "--to-blobs"),
    ("--database-url", "--to-database"),
    ("--data-dir", "--to-database"),
    ("PINHOLE_DATABASE_URL", "--to-database"),
    ("PINHOLE_BLOBS_URL", "--to-blobs"),
];

/// What happened stays as it is; what to do about it names the flags that were given.
pub(super) fn words(error: &OpenError) -> String {
    if let OpenError::Missing(cause) = error {
        return format!(
            "{cause} yet\nRun this without --verify, or with --finish when the service is stopped."
        );
    }
    let words = error.to_string();
    let Some((what, advice)) = words.split_once('\n') else { return words };
    let advice = NAMES.iter().fold(advice.to_owned(), |advice, (from, to)| advice.replace(from, to));
    format!("{what}\n{advice}")
}

/// What the service has to be told to run there. An address of a database may hold a password, so it is not repeated.
pub(super) fn settings(places: &InstanceLocation) -> Vec<String> {
    let data_dir = |path: &std::path::Path| format!("PINHOLE_DATA_DIR={}", path.display());
    let mut settings = Vec::new();
    match &places.database {
        StorageLocation::Folder(path) => settings.push(data_dir(path)),
        StorageLocation::Url(url) => {
            settings.push(format!("PINHOLE_DATABASE_URL=…   the address that leads to {url}"));
        }
    }
    match (&places.blobs, &places.database) {
        (StorageLocation::Url(url), _) => settings.push(format!("PINHOLE_BLOBS_URL={url}")),
        (StorageLocation::Folder(path), StorageLocation::Url(_)) => settings.push(data_dir(path)),
        (StorageLocation::Folder(photos), StorageLocation::Folder(rows)) if photos != rows => {
            settings.push(format!(
                "once {} has been moved to {}",
                photos.join("photos").display(),
                rows.join("photos").display()
            ))
        }
        (StorageLocation::Folder(_), StorageLocation::Folder(_)) => {}
    }
    settings
}

#[cfg(test)]
mod tests {
    use app::Account;

    use super::*;

    fn places(database: &str, blobs: &str) -> InstanceLocation {
        let (database, blobs) = (database.parse().unwrap(), blobs.parse().unwrap());
        InstanceLocation { database, blobs, account: Account::default() }
    }

    #[test]
    fn the_service_is_told_of_every_pair_of_places() {
        let db = "postgres://ada:s3cret@db/pinhole";
        let told = "PINHOLE_DATABASE_URL=…   the address that leads to pinhole on db:5432";
        for (database, blobs, expected) in [
            (db, "s3://bucket", vec![told, "PINHOLE_BLOBS_URL=s3://bucket"]),
            (db, "/new", vec![told, "PINHOLE_DATA_DIR=/new"]),
            ("/new", "s3://bucket", vec!["PINHOLE_DATA_DIR=/new", "PINHOLE_BLOBS_URL=s3://bucket"]),
            ("/new", "/new", vec!["PINHOLE_DATA_DIR=/new"]),
            ("/new", "/old", vec!["PINHOLE_DATA_DIR=/new", "once /old/photos has been moved to /new/photos"]),
        ] {
            assert_eq!(settings(&places(database, blobs)), expected, "{database} {blobs}");
        }
    }

    #[test]
    fn advice_names_the_flags_of_a_move() {
        let locked = OpenError::Locked { path: "--data-dir".into() };
        let words = words(&locked);
        let (what, advice) = words.split_once('\n').unwrap();
        assert!(what.ends_with("--data-dir"), "a folder of any name: {what}");
        assert!(advice.contains("--to-database or --to-blobs") && !advice.contains("--data-dir"), "{advice}");
    }
}
