//! The operator's view: startup and its errors, metrics, caches and limits, backup, migration, doctor, demo.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

mod backup;
mod bit_rot;
mod cache;
mod commands;
mod damage;
mod decode_timeout;
mod demo;
mod doctor;
mod full_disk;
mod import_account;
mod log;
mod metrics;
mod migrate;
mod originals;
mod proxy;
mod reload;
mod restore;
mod round_trip;
mod snapshot;
mod spam_wave;
mod start;
mod upload_hook;
