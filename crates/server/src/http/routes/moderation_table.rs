//! The rows of the route table for moderators and owners.

use http::Method;

use crate::http::dto::Empty;
use crate::http::handlers::instance::InstanceDto;
use crate::http::handlers::invitations::UsableInvitationList;
use crate::http::handlers::moderation::{AuditPage, ModeratedUserPage, ResetLink, UserRecordDto};
use crate::http::handlers::reports::ReportPage;
use crate::http::handlers::{instance, invitations, moderation, reports};
use crate::http::routes::route::{Route, api};

pub(super) fn moderation() -> Vec<Route> {
    const NOT_ALLOWED: &str =
        "The caller is not allowed to do this, or the request comes from a page of another origin";
    let rows = vec![
        api(Method::GET, "/admin/reports", reports::list)
            .parameters(reports::describe_status)
            .about("reports", "moderation", "Read the reports", "Newest first. `offset` is ignored.")
            .json::<ReportPage>(200, "A page of reports"),
        api(Method::PUT, "/admin/reports/{report_id}", reports::resolve)
            .about("resolve_report", "moderation", "Resolve a report", "Removes it from the queue of open reports.")
            .json::<Empty>(200, "The report is resolved")
            .error(409, "The report is resolved already"),
        api(Method::PUT, "/admin/instance/logo", instance::set_logo)
            .about("set_logo", "moderation", "Set the logo", "The centre of an image, as a square. For owners.")
            .json::<InstanceDto>(200, "The instance, with the logo"),
        api(Method::DELETE, "/admin/instance/logo", instance::delete_logo)
            .about("delete_logo", "moderation", "Delete the logo", "Succeeds if there is none. For owners.")
            .json::<Empty>(200, "The instance has no logo"),
        api(Method::PUT, "/admin/posts/{post_id}/hidden", moderation::hide_post)
            .about(
                "moderate_hide_post",
                "moderation",
                "Hide a post",
                "The post and its images answer 404 to all but its author, who sees the reason, and moderators.",
            )
            .json::<Empty>(200, "The post is hidden"),
        api(Method::DELETE, "/admin/posts/{post_id}/hidden", moderation::show_post)
            .about("moderate_show_post", "moderation", "Show a hidden post", "Succeeds if the post is not hidden.")
            .json::<Empty>(200, "The post is shown"),
        api(Method::DELETE, "/admin/posts/{post_id}", moderation::delete_post)
            .about("moderate_delete_post", "moderation", "Delete a post", "With its likes and its photo.")
            .json::<Empty>(200, "The post is deleted"),
        api(Method::GET, "/admin/users", moderation::users)
            .parameters(moderation::describe_users)
            .about(
                "users",
                "moderation",
                "Read the users",
                "Newest first: all, or those that match every parameter. `offset` is ignored.",
            )
            .json::<ModeratedUserPage>(200, "A page of users"),
        api(Method::GET, "/admin/users/{username}", moderation::user)
            .about("user_record", "moderation", "Read a user's record", "With role, status and counts.")
            .json::<UserRecordDto>(200, "The user's record"),
        api(Method::DELETE, "/admin/users/{username}", moderation::delete_user)
            .about("delete_user", "moderation", "Delete a user", "As if the user had left. For owners, with their password.")
            .json::<Empty>(200, "The account is deleted")
            .error(409, "The user is the only owner"),
        api(Method::PUT, "/admin/users/{username}/suspension", moderation::suspend)
            .about(
                "suspend",
                "moderation",
                "Suspend a user",
                "The user can log in, read and delete, but not write, and sees the reason. With `hide_posts=true`, the \
                 profile, its posts and their images answer 404 to others.",
            )
            .json::<Empty>(200, "The user is suspended")
            .error(409, "The user is the only owner"),
        api(Method::DELETE, "/admin/users/{username}/suspension", moderation::restore)
            .about("restore", "moderation", "End a suspension", "The user can write again, and their posts are shown.")
            .json::<Empty>(200, "The user is active")
            .error(409, "The user is active already"),
        api(Method::PUT, "/admin/users/{username}/approval", moderation::restore)
            .about("approve", "moderation", "Approve a new account", "Where registration is by approval.")
            .json::<Empty>(200, "The user is active")
            .error(409, "The user is active already"),
        api(Method::PUT, "/admin/users/{username}/role", moderation::set_role)
            .about("set_role", "moderation", "Set a user's role", "For owners, with their password. An instance keeps at least one owner.")
            .json::<Empty>(200, "The user has the role")
            .error(409, "The user is the only owner"),
        api(Method::DELETE, "/admin/users/{username}/photo", moderation::remove_photo)
            .about("remove_profile_photo", "moderation", "Remove a profile photo", "With its images.")
            .json::<Empty>(200, "The user has no profile photo"),
        api(Method::POST, "/admin/users/{username}/reset", moderation::reset_password)
            .about(
                "reset_password",
                "moderation",
                "Make a link to reset a password",
                "For owners, with their password, to hand to a user who has lost theirs. It works once, within 24 hours. Ends all sessions, \
                 recovery codes and earlier links of the user.",
            )
            .json::<ResetLink>(201, "The link"),
        api(Method::GET, "/admin/invitations", invitations::list)
            .about(
                "usable_invitations",
                "moderation",
                "Read the invitations of all users",
                "Those with which others can join now. Moderators see those for members, owners all.",
            )
            .json::<UsableInvitationList>(200, "The invitations"),
        api(Method::DELETE, "/admin/invitations/{invitation_id}", invitations::revoke)
            .about(
                "revoke_invitation",
                "moderation",
                "Revoke an invitation",
                "Its link stops working. Moderators revoke those of members and their own, owners all.",
            )
            .json::<Empty>(200, "The invitation is revoked"),
        api(Method::GET, "/admin/audit", moderation::audit_log)
            .about("audit_log", "moderation", "Read the audit log", "Newest first. `offset` is ignored.")
            .json::<AuditPage>(200, "A page of the audit log"),
        api(Method::PATCH, "/admin/instance", instance::edit)
            .about("edit_instance", "moderation", "Edit the instance", "For owners; with their password to change who may join.")
            .json::<InstanceDto>(200, "The instance after the edit"),
    ];
    rows.into_iter().map(|route| route.error(403, NOT_ALLOWED)).collect()
}
