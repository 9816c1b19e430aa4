//! What moderators, owners and the operator do, as the audit log names it.

use crate::words;

words! {
    /// The action of an entry of the audit log.
    AuditAction, "an action" {
        Suspend = "suspend",
        SuspendAndHide = "suspend_and_hide",
        Approve = "approve",
        Restore = "restore",
        SetRole = "set_role",
        RemoveProfilePhoto = "remove_profile_photo",
        HidePost = "hide_post",
        ShowPost = "show_post",
        DeletePost = "delete_post",
        ResolveReport = "resolve_report",
        ResetPassword = "reset_password",
        EndSessions = "end_sessions",
        AddUser = "add_user",
        DeleteAccount = "delete_account",
        ImportAccount = "import_account",
        EditInstance = "edit_instance",
        Invite = "invite",
        DeleteInvitation = "delete_invitation",
    }
}
