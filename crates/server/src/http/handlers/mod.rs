//! The handlers of the API: one module for each kind of resource.

pub(super) mod account_exports;
pub(super) mod account_imports;
pub(super) mod accounts;
pub(super) mod blocks;
pub(super) mod docs;
pub(super) mod feed;
pub(super) mod health;
pub(super) mod instance;
pub(super) mod invitations;
pub(super) mod likes;
pub(super) mod moderation;
pub(super) mod new_post;
pub(super) mod photos;
pub(super) mod posts;
pub(super) mod profile;
pub(super) mod reports;
pub(super) mod resumable_uploads;
pub(super) mod security;
pub(super) mod tags;
pub(super) mod upload;
pub(super) mod users;
