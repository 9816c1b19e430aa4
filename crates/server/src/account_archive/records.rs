//! The JSON files of an archive.

use serde::{Deserialize, Serialize};

/// The value of `format` in `account.json`.
pub(super) const FORMAT: &str = "pinhole-account";

/// Incremented when an older version could not read the archive.
pub(super) const VERSION: u32 = 1;

pub(super) const ACCOUNT_FILE: &str = "account.json";
pub(super) const POSTS_FILE: &str = "posts.json";
pub(super) const LIKES_FILE: &str = "likes.json";
pub(super) const INDEX_FILE: &str = "index.html";

/// The content of `account.json`. Members that a reader does not know are ignored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccountRecord {
    pub(super) format: String,
    pub(super) version: u32,
    pub(crate) exported_at: String,
    pub(crate) instance: InstanceRecord,
    pub(crate) profile: ProfileRecord,
    /// The number of entries in `posts.json`.
    pub(crate) posts: u64,
    /// The number of entries in `likes.json`.
    pub(crate) likes: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InstanceRecord {
    pub(crate) name: String,
    pub(crate) url: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ProfileRecord {
    pub(crate) username: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) display_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bio: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<String>,
    pub(crate) created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) photo: Option<PhotoRecord>,
}

/// An entry of `posts.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PostRecord {
    /// Identifies the post on every instance: the id of its photo where it was first published.
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    #[serde(default)]
    pub(crate) like_count: i64,
    /// Why a moderator has hidden it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hidden_reason: Option<String>,
    /// Whether everyone may download the original of its photo.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) share_original: bool,
    pub(crate) photo: PhotoRecord,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PhotoRecord {
    /// Its path in the archive.
    pub(crate) file: String,
    /// The path of a file that every browser shows, if `file` is not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<String>,
    /// Whether the file is the upload without its metadata; else it is the largest stored square.
    pub(crate) is_original: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alt: Option<String>,
    /// The point that squares are cut around, such as `0.5,0.25`; absent for the centre.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) focus: Option<String>,
}

/// An entry of `likes.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LikeRecord {
    pub(crate) url: String,
    pub(crate) author: String,
    pub(crate) created_at: String,
}

impl PhotoRecord {
    /// The path of a file that every browser shows.
    pub(crate) fn shown(&self) -> &str {
        self.preview.as_deref().unwrap_or(&self.file)
    }
}
