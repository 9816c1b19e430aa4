//! The destination of a migration: its errors in terms of the flags of `migrate`, and the settings of a
//! service that runs on it.

use app::OpenError;
use ops::{InstanceLocation, StorageLocation};

/// Settings as `OpenError` names them, and the corresponding flags of `migrate`.
const FLAGS: [(&str, &str); 7] = [
    ("--data-dir or PINHOLE_DATA_DIR", "--to-database or --to-blobs"),
    ("--data-dir, --database-url or their variables", "--to-database"),
    ("--blobs-url or PINHOLE_BLOBS_URL", "--to-blobs"),
    ("--database-url", "--to-database"),
    ("--data-dir", "--to-database"),
    ("PINHOLE_DATABASE_URL", "--to-database"),
    ("PINHOLE_BLOBS_URL", "--to-blobs"),
];

/// The error message, with settings replaced by flags of `migrate` in the advice after the first line.
pub(super) fn message(error: &OpenError) -> String {
    if let OpenError::Missing(cause) = error {
        return format!(
            "{cause} yet\nRun this without --verify, or with --finish once the service is stopped."
        );
    }
    let message = error.to_string();
    let Some((what, advice)) = message.split_once('\n') else { return message };
    let advice = FLAGS.iter().fold(advice.to_owned(), |advice, (from, to)| advice.replace(from, to));
    format!("{what}\n{advice}")
}

/// The settings of a service that runs on the destination. The URL of a database may hold a password, so it
/// is not printed.
pub(super) fn settings(location: &InstanceLocation) -> Vec<String> {
    let data_dir = |path: &std::path::Path| format!("PINHOLE_DATA_DIR={}", path.display());
    let mut settings = Vec::new();
    match &location.database {
        StorageLocation::Folder(path) => settings.push(data_dir(path)),
        StorageLocation::Url(url) => {
            settings.push(format!("PINHOLE_DATABASE_URL=…   the URL of {url}"));
        }
    }
    match (&location.blobs, &location.database) {
        (StorageLocation::Url(url), _) => settings.push(format!("PINHOLE_BLOBS_URL={url}")),
        (StorageLocation::Folder(path), StorageLocation::Url(_)) => settings.push(data_dir(path)),
        (StorageLocation::Folder(photos), StorageLocation::Folder(rows)) if photos != rows => {
            settings.push(format!(
                "after moving {} to {}",
                photos.join("photos").display(),
                rows.join("photos").display()
            ));
        }
        (StorageLocation::Folder(_), StorageLocation::Folder(_)) => {}
    }
    settings
}

#[cfg(test)]
mod tests {
    use app::S3Config;

    use super::*;

    fn location(database: &str, blobs: &str) -> InstanceLocation {
        let (database, blobs) = (database.parse().unwrap(), blobs.parse().unwrap());
        InstanceLocation { database, blobs, s3_config: S3Config::default() }
    }

    #[test]
    fn the_settings_of_every_pair_of_locations_are_listed() {
        let db = "postgres://ada:s3cret@db/pinhole";
        let database_url = "PINHOLE_DATABASE_URL=…   the URL of pinhole on db:5432";
        for (database, blobs, expected) in [
            (db, "s3://bucket", vec![database_url, "PINHOLE_BLOBS_URL=s3://bucket"]),
            (db, "/new", vec![database_url, "PINHOLE_DATA_DIR=/new"]),
            ("/new", "s3://bucket", vec!["PINHOLE_DATA_DIR=/new", "PINHOLE_BLOBS_URL=s3://bucket"]),
            ("/new", "/new", vec!["PINHOLE_DATA_DIR=/new"]),
            ("/new", "/old", vec!["PINHOLE_DATA_DIR=/new", "after moving /old/photos to /new/photos"]),
        ] {
            assert_eq!(settings(&location(database, blobs)), expected, "{database} {blobs}");
        }
    }

    #[test]
    fn advice_names_the_flags_of_migrate() {
        let locked = OpenError::Locked { path: "--data-dir".into() };
        let message = message(&locked);
        let (what, advice) = message.split_once('\n').unwrap();
        assert!(what.ends_with("--data-dir"), "a path is not replaced: {what}");
        assert!(advice.contains("--to-database or --to-blobs") && !advice.contains("--data-dir"), "{advice}");
    }
}
