//! The domain types and their validation: plain data without I/O. Only [`Clock`] reads the time.

mod account;
mod audit_action;
mod cache;
mod clock;
mod cursor;
mod error_chain;
mod feed;
mod focus;
mod idempotency_key;
mod ids;
mod image_size;
mod network;
mod photo;
mod post;
mod recovery_code;
mod refusal;
mod report;
mod session;
mod size;
mod tag;
mod text;
mod timestamp;
mod user;

pub use account::{Registration, Role, Status};
pub use audit_action::AuditAction;
pub use cache::{CacheCounters, CacheStats};
pub use clock::Clock;
pub use cursor::Cursor;
pub use error_chain::error_chain;
pub use feed::{FeedPage, FeedStart, LikerPage, Limit, PostFilter};
pub use focus::Focus;
pub use idempotency_key::{IdempotencyKey, RequestDigest};
pub use ids::{PhotoId, validate_id};
pub use image_size::{FitSize, ImageSize, fit_dimensions};
pub use network::{Network, NetworkRange};
pub use photo::{
    MAX_PIXELS, Photo, Placeholder, fit_master_sides, initial_fit_master_sides, master_sides,
    smallest_sufficient, validate_dimensions, validate_placeholder,
};
pub use post::{Post, PostContent, PostEdit, PostId};
pub use recovery_code::RecoveryCode;
pub use refusal::{Refusal, ValidationError};
pub use report::ReportId;
pub use session::{SessionId, Token, TokenHash};
pub use size::Size;
pub use tag::{OPENING_PUNCTUATION, Tag};
pub use text::*;
pub use timestamp::Timestamp;
pub use user::{Profile, ProfileEdit, User, UserFilter, UserId, Username};
