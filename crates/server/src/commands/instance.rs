//! The storage locations of the configured instance.

use app::S3Config;
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
        s3_config: S3Config::from_variables(std::env::vars_os()),
    }
}
