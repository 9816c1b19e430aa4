//! `pinhole import-account`: imports the archive of an account, without the quotas of its user.

use std::fs::File;
use std::sync::Arc;

use app::App;
use model::Username;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::account_archive::{Archive, ImportJob, MAX_OPERATOR_DIRECTORY, run_import};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImportCommand {
    /// The account; by default that with the username in the archive.
    pub(crate) username: Option<String>,
    /// The size of the archive, in bytes.
    pub(crate) length: u64,
}

/// Imports an archive, and returns what became of its posts. The error is a message.
pub(crate) async fn import_account(
    app: &App,
    username: Option<String>,
    archive: Arc<File>,
) -> Result<Value, String> {
    let opened =
        tokio::task::spawn_blocking(move || Archive::open(archive, MAX_OPERATOR_DIRECTORY, |_| true)).await;
    let archive = opened.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let username = username.unwrap_or_else(|| archive.account.profile.username.clone());
    let name: Username = username.parse().map_err(|rule: model::ValidationError| rule.message)?;
    let importer = match app.operator_importer(&name).await {
        Err(app::Error::NotFound(_)) => {
            return Err(format!(
                "there is no user {username}\nMake one with `pinhole user add {username}`, or name another with --user."
            ));
        }
        importer => importer.map_err(|error| error.to_string())?,
    };
    let total = archive.account.posts;
    let run = app.begin_import(&importer, total).await.map_err(|error| error.to_string())?;
    let progress = run_import(ImportJob { app: app.clone(), importer, run, archive, permit: None }).await;
    Ok(json!({
        "username": name.as_str(),
        "posts": total,
        "imported": progress.imported,
        "skipped": progress.skipped,
        "failed": progress.failed,
        "error": progress.error,
    }))
}
