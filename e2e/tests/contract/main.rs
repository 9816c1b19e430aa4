//! The contract, row by row, told by people who use the service.

#![allow(clippy::unwrap_used, reason = "a broken expectation must stop the story where it stands")]

mod accounts;
mod alt;
mod concurrency;
mod cross_site;
mod docs;
mod errors;
mod feed;
mod forms;
mod freshness;
mod likes;
mod limits;
mod order;
mod pages;
mod paging;
mod permissions;
mod photos;
mod posts;
mod profile;
mod retries;
mod sessions;
mod uploads;
mod users;
