//! The HTTP contract of the API and the web pages, tested from outside.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

mod account_archives;
mod accounts;
mod alt;
mod atom;
mod avif;
mod blocks;
mod branding;
mod concurrency;
mod cross_site;
mod docs;
mod errors;
mod feed;
mod forms;
mod freshness;
mod leave;
mod like_lists;
mod likes;
mod limits;
mod moderation;
mod oembed;
mod order;
mod pages;
mod paging;
mod permissions;
mod photos;
mod posts;
mod profile;
mod profile_texts;
mod quotas;
mod registration;
mod resumable_uploads;
mod retries;
mod security;
mod sessions;
mod tags;
mod uploads;
mod user_lists;
mod users;
mod whole_photos;
