//! Why a request is refused, finer than its status and code: words of the API, for which clients have
//! sentences of their own.

use crate::words;

words! {
    /// The reason of a refusal. Those with a limit are sent with it.
    Refusal, "a refusal" {
        /// More characters than the limit.
        TooLong = "too_long",
        ControlCharacters = "control_characters",
        Blank = "blank",
        Missing = "missing",
        /// A number that is not between 1 and the limit.
        OutOfRange = "out_of_range",
        NotALink = "not_a_link",
        NotAColour = "not_a_colour",

        UsernameInvalid = "username_invalid",
        UsernameReserved = "username_reserved",
        UsernameTaken = "username_taken",
        /// Fewer bytes than the limit.
        PasswordTooShort = "password_too_short",
        /// More bytes than the limit.
        PasswordTooLong = "password_too_long",
        PasswordIsUsername = "password_is_username",
        PasswordCommon = "password_common",
        PasswordChanged = "password_changed",
        /// Of an act that the password confirms.
        PasswordRequired = "password_required",
        PasswordWrong = "password_wrong",
        InvitationInvalid = "invitation_invalid",
        TermsNotAccepted = "terms_not_accepted",

        /// More bytes than the limit.
        FileTooLarge = "file_too_large",
        UnsupportedImage = "unsupported_image",
        ImageDamaged = "image_damaged",
        /// More pixels than the limit.
        TooManyPixels = "too_many_pixels",
        /// More pixels on one side than the limit.
        SideTooLong = "side_too_long",
        ImageTooSlow = "image_too_slow",
        PhotoNotAllowed = "photo_not_allowed",
        OriginalNotKept = "original_not_kept",
        OriginalDamaged = "original_damaged",
        EditedMeanwhile = "edited_meanwhile",
        PostDeleted = "post_deleted",
        UploadComplete = "upload_complete",
        UploadInPieces = "upload_in_pieces",

        NotAnArchive = "not_an_archive",
        ArchiveNewer = "archive_newer",
        ArchiveDamaged = "archive_damaged",
        ArchiveTooLarge = "archive_too_large",
        ImportRunning = "import_running",

        NotYourPost = "not_your_post",
        OriginalNotShared = "original_not_shared",
        Yourself = "yourself",
        BlockedByAuthor = "blocked_by_author",
        ModeratorsOnly = "moderators_only",
        OwnersOnly = "owners_only",
        InvitationsOff = "invitations_off",
        LastOwner = "last_owner",
        ActiveAlready = "active_already",
        LikedAlready = "liked_already",
        NotLiked = "not_liked",
        ReportedAlready = "reported_already",
        ResolvedAlready = "resolved_already",

        TooManyBlocks = "too_many_blocks",
        TooManyHidden = "too_many_hidden",
        TooManyReports = "too_many_reports",
        TooManyInvitations = "too_many_invitations",
        TooManyUploads = "too_many_uploads",
        LikesPerMinute = "likes_per_minute",
        PostsPerDay = "posts_per_day",
        /// The bytes of all photos of a user.
        Storage = "storage",
    }
}

impl Refusal {
    /// Whether it is about a limit.
    pub fn has_limit(self) -> bool {
        matches!(
            self,
            Self::TooLong
                | Self::OutOfRange
                | Self::PasswordTooShort
                | Self::PasswordTooLong
                | Self::FileTooLarge
                | Self::TooManyPixels
                | Self::SideTooLong
                | Self::TooManyBlocks
                | Self::TooManyHidden
                | Self::TooManyReports
                | Self::TooManyInvitations
                | Self::TooManyUploads
                | Self::LikesPerMinute
                | Self::PostsPerDay
                | Self::Storage
        )
    }
}

/// A broken rule: a message for the client, and where there is one, its refusal and the limit of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValidationError {
    pub message: String,
    pub refusal: Option<Refusal>,
    pub limit: Option<u64>,
}

impl ValidationError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), refusal: None, limit: None }
    }

    pub fn refused(refusal: Refusal, message: impl Into<String>) -> Self {
        Self { refusal: Some(refusal), ..Self::new(message) }
    }

    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

impl From<String> for ValidationError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for ValidationError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}
