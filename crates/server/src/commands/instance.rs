//! The storage locations of the instance that the settings describe.

use app::Account;
use ops::{InstanceLocation, StorageLocation};

use crate::config::Config;

pub(super) fn location(config: &Config) -> InstanceLocation {
    let folder = || config.data_dir.clone();
    InstanceLocation {
        database: config
            .database_url
            .clone()
            .map_or_else(|| StorageLocation::Folder(folder()), StorageLocation::Url),
        blobs: config
            .blobs_url
            .clone()
            .map_or_else(|| StorageLocation::Folder(folder()), StorageLocation::Url),
        account: Account::from_variables(std::env::vars_os()),
    }
}
