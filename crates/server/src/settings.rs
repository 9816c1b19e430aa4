//! Conversion of the configuration to the settings of `app`, and to the address in links.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use app::{CacheMinFree, Location, S3Config, UploadHookSettings};

use crate::config::Config;

pub(crate) fn app_settings(config: &Config) -> app::Settings {
    app::Settings {
        data_dir: config.data_dir.clone(),
        init: false,
        photos: match config.blobs_url.clone() {
            Some(url) => Location::Bucket { url, config: S3Config::from_variables(std::env::vars_os()) },
            None => Location::DataFolder,
        },
        database_url: config.database_url.clone(),
        database_read_url: config.database_read_url.clone(),
        admins: config.admins.clone(),
        upload_hook: config.upload_hook.clone().map(|target| UploadHookSettings {
            target,
            timeout: config.upload_hook_timeout,
            fails_open: config.upload_hook_open,
        }),
        keep_originals: config.keep_originals,
        avif: config.avif,
        max_upload: config.max_upload,
        max_import: config.max_import,
        max_pixels: u64::from(config.max_megapixels) * 1_000_000,
        min_password: config.min_password,
        common_passwords: config.common_passwords,
        session_idle: config.session_idle,
        read_connections: config.read_connections,
        hash_threads: config.hash_threads,
        hash_queue: config.hash_queue,
        pixel_threads: config.pixel_threads,
        pixel_queue: config.pixel_queue,
        pixel_memory: config.pixel_memory,
        decode_time: config.decode_time,
        image_cache: config.image_cache,
        cache_disk: config.cache_disk,
        cache_min_free: CacheMinFree(config.cache_min_free),
        upload_min_free: config.upload_min_free,
    }
}

/// The public address of the service; else the address that it listens on, which others may not reach.
pub(crate) fn base_url(config: &Config, listen: SocketAddr) -> String {
    let ip = if listen.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { listen.ip() };
    let address = SocketAddr::new(ip, listen.port());
    config.public_url.as_ref().map_or_else(|| format!("http://{address}"), ToString::to_string)
}
