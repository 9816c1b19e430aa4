//! The route table. A new operation is a row here and a handler: the router, the fast path, the rate limit,
//! the metric labels and the OpenAPI document follow from the row and from the arguments of the handler.

use app::InputFormat;
use http::Method;
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::http::dto::{Empty, User};
use crate::http::handlers::account_exports::AccountExport;
use crate::http::handlers::account_imports::AccountImport;
use crate::http::handlers::accounts::AccountDto;
use crate::http::handlers::blocks::{BlockList, HiddenPostList};
use crate::http::handlers::instance::{InstanceDto, Invitation, InvitationList};
use crate::http::handlers::likes::UserPageDto;
use crate::http::handlers::security::{RecoveryCodeCount, RecoveryCodes, SessionList};
use crate::http::handlers::{
    account_exports, account_imports, accounts, blocks, docs, feed, health, instance, likes, photos, posts,
    profile, reports, resumable_uploads, security, tags, users,
};
use crate::http::openapi::{byte_count, string, structured_boolean};
use crate::http::pages;
use crate::http::pages::site_files;
use crate::http::post_json::{FeedPageDto, PostDto};
use crate::http::routes::moderation_table;
use crate::http::routes::route::{Route, api, file, page};

/// The groups of operations in the OpenAPI document.
pub(crate) const TAGS: &[(&str, &str)] = &[
    ("accounts", "Join, log in, log out, and the current user's profile"),
    ("security", "The current user's password, sessions and recovery codes"),
    ("people", "Users and their posts"),
    ("posts", "Photos with a message"),
    ("likes", "Likes on posts"),
    ("feed", "All posts, newest first"),
    ("photos", "Photos as images of any size, and as originals"),
    ("safety", "Blocked users, hidden posts and reports"),
    ("instance", "The instance and its invitations"),
    ("moderation", "For moderators and owners"),
    ("health", "Liveness and readiness probes"),
];

const REMOVED_METADATA: &str =
    "The kinds of metadata that were removed from the photo, such as `gps, exif`; absent if there were none";

const KEY_REUSED: &str =
    "This Idempotency-Key was used for another request, which created the post at `Location`";

pub(crate) fn table() -> Vec<Route> {
    let mut routes = operations();
    routes.extend(moderation_table::moderation());
    routes.extend(web_client());
    routes
}

fn operations() -> Vec<Route> {
    let session = |route: Route| {
        route
            .always_checked_for_csrf()
            .header("X-Auth-Token", "The session token, to send as `Authorization: Bearer <token>`")
            .header("Set-Cookie", "The session cookie, for browsers")
    };
    let image = |route: Route| {
        route
            .request_header("If-None-Match", "The `ETag` of the image that the client has cached", string())
            .binary(200, "The image", &["image/jpeg", "image/webp", "image/avif"])
            .empty(304, "The image that the client has cached is current")
            .header(
                "Cache-Control",
                "Images never change: `public, max-age=31536000, immutable`. Until the AVIF of a client that accepts \
                 it is encoded: `public, max-age=60`",
            )
            .header("Vary", "Always `Accept`")
            .header("ETag", "Identifies the bytes of the image")
    };
    let edit = |method: Method, id: &str| {
        let about = "Changes texts, the focus, and whether the original is shared. PUT and PATCH do the same: a \
            parameter that is not sent changes nothing, an empty text is removed.";
        api(method, "/posts/{post_id}", posts::edit)
            .about(id, "posts", "Edit a post", about)
            .json::<PostDto>(200, "The post after the edit")
            .error(
                403,
                "The post belongs to another user, or the request comes from a page of another origin",
            )
            .error(409, "The focus cannot be moved: the original is not kept, or another edit has moved it")
    };
    let upload = |row: Route| {
        row.typed_header("Upload-Offset", "How many bytes are stored", byte_count())
            .typed_header(
                "Upload-Complete",
                "`?1` if the response is that of the whole body",
                structured_boolean(),
            )
            .header("Upload-Limit", "`max-size`, and `max-age`: the seconds until the upload expires")
    };
    vec![
        session(
            api(Method::POST, "/join/username", accounts::join)
                .about("join", "accounts", "Create an account", "Creates a user and starts a session.")
                .json::<User>(201, "The new user"),
        )
        .error(403, "Registration is closed or needs an invitation, or the request comes from a page of another origin")
        .error(409, "The username is taken or reserved"),
        session(
            api(Method::POST, "/login/username", accounts::login)
                .about("login", "accounts", "Log in", "Starts a session; other sessions of the user stay valid.")
                .json::<User>(200, "The user"),
        )
        .error(400, "A parameter is missing, or the username or the password is wrong"),
        session(
            api(Method::POST, "/recover", accounts::recover)
                .about(
                    "recover",
                    "accounts",
                    "Recover an account",
                    "Sets a new password by a recovery code or the code of a reset link. Ends all sessions, recovery codes \
                     and reset links of the user, and starts a session.",
                )
                .json::<User>(200, "The user"),
        )
        .error(400, "A parameter is missing or invalid, or the username or the code is wrong"),
        api(Method::POST, "/logout", accounts::logout)
            .about("logout", "accounts", "Log out", "Ends the session of the request, and only that one.")
            .json::<Empty>(200, "The session has ended")
            .header("Set-Cookie", "Clears the session cookie"),
        api(Method::GET, "/me", accounts::me)
            .about("me", "accounts", "Read the current user", "The user of the request's session.")
            .json::<User>(200, "The current user"),
        api(Method::PATCH, "/me", profile::edit)
            .about(
                "edit_profile",
                "accounts",
                "Edit the profile",
                "A parameter that is not sent leaves its text as it is, an empty one removes it. The username cannot be \
                 changed.",
            )
            .json::<User>(200, "The current user, with the edited profile")
            .error(400, "A text is too long, or the link is not the address of a website"),
        api(Method::DELETE, "/me", accounts::leave)
            .about(
                "leave",
                "accounts",
                "Delete the account",
                "When the response is sent, the account, its posts, its photos and its sessions are gone for everyone, \
                 and the username is free. Rows and files are deleted right after, and the likes of the user with them.",
            )
            .json::<Empty>(200, "The account is deleted")
            .header("Set-Cookie", "Clears the session cookie")
            .error(400, "The password is missing or wrong")
            .error(409, "The user is the only owner, or another request has changed the password meanwhile"),
        api(Method::GET, "/me/account", accounts::account)
            .about(
                "account",
                "accounts",
                "Read the account",
                "The role, the status and the quotas of the current user, and what moderators have done to their posts.",
            )
            .json::<AccountDto>(200, "The account of the current user"),
        api(Method::POST, "/me/export", account_exports::start)
            .about(
                "start_export",
                "accounts",
                "Start an export",
                "Allows to download the account with `GET /me/export` for 24 hours. Nothing has to be waited for.",
            )
            .json::<AccountExport>(201, "The export can be downloaded"),
        api(Method::GET, "/me/export", account_exports::download)
            .about(
                "download_export",
                "accounts",
                "Download the account",
                "A zip with all photos as they are stored, posts, likes and the profile as JSON, and a page that shows \
                 them offline. Another instance imports it with `POST /me/import`. It is made while it is sent, with the \
                 state of that moment.",
            )
            .binary(200, "The archive", &["application/zip"])
            .header("Content-Disposition", "The name of the file")
            .error(404, "No export was started within 24 hours"),
        api(Method::POST, "/me/import", account_imports::start)
            .about(
                "start_import",
                "accounts",
                "Import an account",
                "Adds the posts of an archive that an instance has exported, with their dates, and what the profile does \
                 not have yet. A post is never imported twice, so an archive can be sent again. Runs on after the \
                 response; `GET /me/import` shows the progress. The quotas of the user apply.",
            )
            .json::<AccountImport>(202, "The import is running")
            .error(400, "The file is not the archive of an account, or larger than the instance allows")
            .error(409, "An import into this account is running"),
        api(Method::GET, "/me/import", account_imports::status)
            .about("import_status", "accounts", "Read the progress of the import", "That of the last import.")
            .json::<AccountImport>(200, "The last import of the current user")
            .error(404, "There was no import"),
        api(Method::DELETE, "/me/import", account_imports::cancel)
            .about(
                "cancel_import",
                "accounts",
                "Cancel the import",
                "What is imported stays. It ends within a second, on whichever node it runs.",
            )
            .json::<Empty>(200, "The import is cancelled")
            .error(404, "No import is running"),
        api(Method::PUT, "/me/password", security::change_password)
            .about(
                "change_password",
                "security",
                "Change the password",
                "Ends all other sessions, the recovery codes and the reset links of the user. Wrong passwords are limited \
                 for each user.",
            )
            .json::<Empty>(200, "The password is changed")
            .error(400, "A parameter is missing or invalid, or the current password is wrong")
            .error(409, "Another request has changed the password meanwhile"),
        api(Method::GET, "/me/sessions", security::sessions)
            .about(
                "sessions",
                "security",
                "Read the sessions",
                "Where the user is logged in. A session ends 90 days after its last use, if the operator sets no other \
                 time, and after a year at the latest; a user has at most 100, and one more ends the one that has not \
                 been used for longest.",
            )
            .json::<SessionList>(200, "The sessions of the current user"),
        api(Method::DELETE, "/me/sessions", security::end_other_sessions)
            .about("end_other_sessions", "security", "End other sessions", "Ends all sessions but that of the request.")
            .json::<Empty>(200, "The other sessions have ended"),
        api(Method::DELETE, "/me/sessions/{session_id}", security::end_session)
            .about("end_session", "security", "End a session", "Its token is invalid when the response is sent.")
            .json::<Empty>(200, "The session has ended"),
        api(Method::GET, "/me/recovery-codes", security::recovery_codes)
            .about("recovery_codes", "security", "Count the recovery codes", "The codes themselves are not stored.")
            .json::<RecoveryCodeCount>(200, "The number of unused recovery codes"),
        api(Method::POST, "/me/recovery-codes", security::new_recovery_codes)
            .about(
                "new_recovery_codes",
                "security",
                "Make recovery codes",
                "Returns ten one-time codes for `POST /recover`, which are not shown again. Earlier ones stop working. \
                 Wrong passwords are limited for each user.",
            )
            .json::<RecoveryCodes>(201, "The new recovery codes")
            .error(400, "The password is missing or wrong")
            .error(409, "Another request has changed the password meanwhile"),
        api(Method::PUT, "/me/photo", profile::set)
            .about(
                "set_profile_photo",
                "accounts",
                "Set the profile photo",
                "Accepts the same formats and sizes as a post. The previous photo and all images rendered from it \
                 are deleted before the response is sent.",
            )
            .json::<User>(200, "The current user, with the photo")
            .header("X-Removed-Metadata", REMOVED_METADATA),
        api(Method::DELETE, "/me/photo", profile::delete)
            .about(
                "delete_profile_photo",
                "accounts",
                "Delete the profile photo",
                "The photo and all images rendered from it are deleted before the response is sent. Succeeds if \
                 there is none.",
            )
            .json::<Empty>(200, "The user has no profile photo"),
        api(Method::GET, "/users/{username}", users::get)
            .about("user", "people", "Read a user", "Usernames match regardless of case.")
            .json::<User>(200, "The user"),
        api(Method::GET, "/users/{username}/posts", users::posts)
            .about("user_posts", "people", "Read a user's posts", "Newest first, in pages like those of the feed.")
            .json::<FeedPageDto>(200, "A page of the user's posts"),
        api(Method::GET, "/tags/{tag}/posts", tags::posts)
            .about(
                "tag_posts",
                "feed",
                "Read the posts with a tag",
                "Those with `#tag` in the message, in any case, newest first, in pages like those of the feed. A tag that no \
                 post has gives an empty page.",
            )
            .json::<FeedPageDto>(200, "A page of posts with the tag")
            .error(400, "The tag, `limit`, `offset` or `after` is invalid"),
        api(Method::GET, "/feed", feed::feed)
            .about(
                "feed",
                "feed",
                "Read the feed",
                "Newest first. A client that follows `paging.next` gets every post that existed at its first request \
                 exactly once, unless it is deleted; new posts do not shift the pages.",
            )
            .json::<FeedPageDto>(200, "A page of posts"),
        upload(
            api(Method::POST, "/posts", posts::create)
                .json::<PostDto>(201, "The new post; an empty object if this starts a resumable upload"),
        )
            .about(
                "create_post",
                "posts",
                "Create a post",
                "Metadata (EXIF, GPS, comments) is removed from the photo; its orientation and colours are kept.",
            )
            .header("Location", "The address of the resumable upload that this starts")
            .typed_header(
                "Idempotency-Replayed",
                "`true` if an earlier request with the same key created the post; else absent",
                ObjectBuilder::new().schema_type(Type::Boolean),
            )
            .header("X-Removed-Metadata", REMOVED_METADATA)
            .request_header(
                "Upload-Complete",
                "`?0` starts a resumable upload with the first piece of the body, which may be empty: the response is \
                 201 with `Location`, `Upload-Offset` and `Upload-Limit`, and the rest goes to `PATCH` of that location.",
                structured_boolean(),
            )
            .request_header(
                "Upload-Length",
                "The length of the whole body of a resumable upload, if it is known",
                byte_count(),
            )
            .error(409, "The post that this Idempotency-Key created has been deleted")
            .error(422, KEY_REUSED),
        api(Method::OPTIONS, "/posts", resumable_uploads::limits)
            .about("upload_limits", "posts", "Read the limits of uploads", "Of resumable uploads, before one starts.")
            .empty(204, "The limits")
            .header("Upload-Limit", "`max-size` of the form, and `max-age`: the seconds until an upload expires"),
        upload(
            api(Method::GET, "/uploads/{upload_id}", resumable_uploads::get)
                .about(
                    "upload_offset",
                    "posts",
                    "Read the offset of an upload",
                    "How much of a resumable upload is stored. Ends a request that appends to it. Use `HEAD`.",
                )
                .empty(204, "The state of the upload"),
        ),
        upload(
            api(Method::PATCH, "/uploads/{upload_id}", resumable_uploads::append)
                .about(
                    "append_upload",
                    "posts",
                    "Append to an upload",
                    "Stores the next piece of the body, as it arrives. The last piece creates the post, and the response \
                     is that of `POST /posts`; a repetition without content returns the same post.",
                )
                .required_header("Upload-Offset", "How many bytes were sent before this piece", byte_count())
                .required_header(
                    "Upload-Complete",
                    "`?1` with the last piece, else `?0`",
                    structured_boolean(),
                )
                .request_header("Upload-Length", "The length of the whole body, if it is known", byte_count())
                .binary_body(resumable_uploads::PARTIAL_UPLOAD, "The next bytes of the body of `POST /posts`.")
                .json::<PostDto>(201, "The new post")
                .empty(204, "The piece is stored; the upload is not complete"),
        )
        .error(403, "The account is suspended, or the request comes from a page of another origin")
        .error(409, "`Upload-Offset` is not where the upload ends; the header of the response is")
        .error(422, KEY_REUSED),
        api(Method::DELETE, "/uploads/{upload_id}", resumable_uploads::cancel)
            .about("cancel_upload", "posts", "Cancel an upload", "Deletes what has arrived.")
            .empty(204, "The upload is deleted"),
        api(Method::GET, "/posts/{post_id}", posts::get)
            .about("get_post", "posts", "Read a post", "`is_liked` says whether the caller likes the post.")
            .json::<PostDto>(200, "The post"),
        edit(Method::PUT, "edit_post"),
        edit(Method::PATCH, "patch_post"),
        api(Method::DELETE, "/posts/{post_id}", posts::delete)
            .about(
                "delete_post",
                "posts",
                "Delete a post",
                "Its likes, its photo and all images rendered from it are deleted before the response is sent.",
            )
            .json::<Empty>(200, "The post is deleted")
            .error(403, "The post belongs to another user, or the request comes from a page of another origin"),
        api(Method::POST, "/posts/{post_id}/likes", likes::like)
            .about("like", "likes", "Like a post", "Adds the caller's like.")
            .json::<Empty>(201, "The caller likes the post")
            .error(409, "The caller already likes the post"),
        api(Method::GET, "/posts/{post_id}/likes", likes::likers)
            .about("likers", "likes", "Read who likes a post", "The newest members first, in pages like those of the feed.")
            .json::<UserPageDto>(200, "A page of the users who like the post"),
        api(Method::GET, "/me/likes", likes::liked)
            .about("liked_posts", "likes", "Read the liked posts", "The posts that the caller likes, the newest posts first, in pages like those of the feed.")
            .json::<FeedPageDto>(200, "A page of posts that the caller likes"),
        api(Method::DELETE, "/posts/{post_id}/likes", likes::unlike)
            .about("unlike", "likes", "Unlike a post", "Removes the caller's like.")
            .json::<Empty>(200, "The caller does not like the post")
            .error(409, "The caller has not liked the post"),
        image(
            api(Method::GET, "/photos/{photo_id}/{size}", photos::image)
                .documented_as("/photos/{photo_id}/{width}x{height}")
                .about(
                    "image",
                    "photos",
                    "Read an image",
                    "The photo, cropped around its focus to a square of exactly the requested size: JPEG, or WebP or \
                     AVIF if `Accept` names it; AVIF once it is encoded, WebP or JPEG until then. Supports conditional \
                     requests.",
                )
        ),
        image(
            api(Method::GET, "/photos/{photo_id}/fit/{longest}", photos::fit)
                .about(
                    "fit_image",
                    "photos",
                    "Read an image of the whole photo",
                    "The whole photo with its aspect, its longest side reduced to at most this many pixels and never \
                     enlarged: JPEG, or WebP or AVIF if `Accept` names it; AVIF once it is encoded, WebP or JPEG until \
                     then. Supports conditional requests.",
                )
        ),
        api(Method::GET, "/photos/{photo_id}/original", photos::original)
            .about(
                "original",
                "photos",
                "Download the original",
                "The uploaded file without its metadata. For the author, and for everyone if the author shares it \
                 (`share_original` of the post). An instance that does not keep originals sends the largest image \
                 of the whole photo that it has.",
            )
            .request_header("If-None-Match", "The `ETag` of the original that the client has cached", string())
            .binary(200, "The original", &InputFormat::ALL.map(InputFormat::media_type))
            .empty(304, "The original that the client has cached is current")
            .error(401, "The author does not share the original, and the caller is not logged in")
            .error(403, "The author does not share the original")
            .error(
                500,
                "The stored original is damaged (`original_damaged`), or an internal error; the log has its cause \
                 under the request id",
            )
            .header("Cache-Control", "`private, no-cache`: the author may stop sharing it")
            .header("ETag", "Identifies the original"),
        api(Method::GET, "/me/blocks", blocks::list)
            .about("blocks", "safety", "Read the blocked users", "At most 1,000.")
            .json::<BlockList>(200, "The users that the caller has blocked"),
        api(Method::PUT, "/me/blocks/{username}", blocks::block)
            .about(
                "block",
                "safety",
                "Block a user",
                "Lists of posts and users leave the user out for the caller, and the user cannot like the caller's \
                 posts. Blocking again succeeds. Like counts are the same for everyone.",
            )
            .json::<Empty>(200, "The user is blocked")
            .error(400, "The caller cannot block themselves")
            .error(409, "The caller has blocked 1,000 users"),
        api(Method::DELETE, "/me/blocks/{username}", blocks::unblock)
            .about("unblock", "safety", "Unblock a user", "Succeeds if the user is not blocked.")
            .json::<Empty>(200, "The user is not blocked"),
        api(Method::GET, "/me/hidden-posts", blocks::hidden_posts)
            .about("hidden_posts", "safety", "Read the hidden posts", "At most 10,000.")
            .json::<HiddenPostList>(200, "The posts that the caller has hidden"),
        api(Method::PUT, "/me/hidden-posts/{post_id}", blocks::hide_post)
            .about("hide_post", "safety", "Hide a post", "Lists leave the post out for the caller. Hiding again succeeds.")
            .json::<Empty>(200, "The post is hidden")
            .error(409, "The caller has hidden 10,000 posts"),
        api(Method::DELETE, "/me/hidden-posts/{post_id}", blocks::unhide_post)
            .about("unhide_post", "safety", "Show a hidden post", "Succeeds if the post is not hidden.")
            .json::<Empty>(200, "The post is not hidden"),
        api(Method::POST, "/posts/{post_id}/reports", reports::report_post)
            .about("report_post", "safety", "Report a post", "Moderators see the report with its reason.")
            .json::<Empty>(201, "The post is reported")
            .error(403, "The caller is the author, or cannot write")
            .error(409, "The caller has an open report of this post"),
        api(Method::POST, "/users/{username}/reports", reports::report_user)
            .about("report_user", "safety", "Report a user", "Moderators see the report with its reason.")
            .json::<Empty>(201, "The user is reported")
            .error(403, "The caller cannot report themselves, or cannot write")
            .error(409, "The caller has an open report of this user"),
        api(Method::GET, "/instance", instance::get)
            .about("instance", "instance", "Read the instance", "What it is about, who may join, and its limits.")
            .json::<InstanceDto>(200, "The instance"),
        api(Method::GET, "/instance/logo", instance::logo)
            .about("logo", "instance", "Read the logo", "`GET /instance` has its address, which changes with the logo.")
            .binary(200, "The logo", &["image/webp"])
            .header("Cache-Control", "`public, max-age=86400` at its current address")
            .error(404, "The instance has no logo"),
        api(Method::GET, "/invitations", instance::invitations)
            .about("invitations", "instance", "Read the invitations", "Those that the caller has made.")
            .json::<InvitationList>(200, "The caller's invitations")
            .error(403, "The account is suspended or waits for approval"),
        api(Method::POST, "/invitations", instance::invite)
            .about(
                "invite",
                "instance",
                "Make an invitation",
                "Returns a link with which others can join. Moderators and owners can, members if the instance allows it.",
            )
            .json::<Invitation>(201, "The invitation with its link, which is not shown again")
            .error(403, "The caller cannot invite others, or the request comes from a page of another origin")
            .error(409, "A member has ten invitations"),
        api(Method::DELETE, "/invitations/{invitation_id}", instance::delete_invitation)
            .about("delete_invitation", "instance", "Delete an invitation", "Its link stops working.")
            .json::<Empty>(200, "The invitation is deleted")
            .error(403, "The account is suspended, or the request comes from a page of another origin"),
        api(Method::GET, "/livez", health::livez)
            .about("livez", "health", "Liveness probe", "Succeeds while the process runs.")
            .json::<Empty>(200, "The process is alive")
            .probe(),
        api(Method::GET, "/readyz", health::readyz)
            .about("readyz", "health", "Readiness probe", "Checks the database and the blob store.")
            .json::<Empty>(200, "The service can handle requests")
            .probe(),
    ]
}

fn web_client() -> Vec<Route> {
    vec![
        page(Method::GET, "/", pages::home),
        page(Method::GET, "/p/{post_id}", pages::post),
        page(Method::GET, "/@{username}", pages::profile),
        page(Method::GET, "/tags/{tag}", pages::tag),
        page(Method::GET, "/feed.atom", pages::atom::instance),
        page(Method::GET, "/@{username}/feed.atom", pages::atom::user),
        page(Method::GET, "/oembed", pages::oembed::oembed),
        page(Method::GET, "/join", pages::join),
        page(Method::GET, "/login", pages::login),
        page(Method::GET, "/recovery", pages::recovery),
        page(Method::GET, "/settings", pages::settings),
        page(Method::GET, "/admin", pages::admin),
        page(Method::GET, "/about", pages::about),
        page(Method::GET, "/new", pages::compose),
        page(Method::POST, "/share", pages::share).always_checked_for_csrf(),
        page(Method::GET, "/share", pages::share).always_checked_for_csrf(),
        page(Method::GET, "/offline", pages::offline),
        file(Method::GET, "/web/{version}/{file}", site_files::asset),
        file(Method::GET, "/sw.js", site_files::service_worker).with_read_barrier(),
        file(Method::GET, "/manifest.webmanifest", site_files::manifest).with_read_barrier(),
        file(Method::GET, "/logo/{size}", site_files::icon).with_read_barrier(),
        file(Method::GET, "/accent.css", pages::accent::accent).with_read_barrier(),
        file(Method::GET, "/licences", site_files::licences),
        file(Method::GET, "/robots.txt", site_files::robots),
        file(Method::GET, "/favicon.ico", site_files::favicon).with_read_barrier(),
        file(Method::GET, "/openapi.json", docs::openapi),
        file(Method::GET, "/docs", docs::redirect),
        file(Method::GET, "/docs/", docs::index),
        file(Method::GET, "/docs/{*rest}", docs::asset),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::http::openapi::document;

    #[test]
    fn every_operation_has_a_complete_entry() {
        let rows: Vec<Route> = operations().into_iter().chain(moderation_table::moderation()).collect();
        for route in &rows {
            assert!(route.entry.is_some(), "{} {} is not documented", route.method, route.path);
        }
        let count = rows.len();
        let document = document(rows.into_iter().filter_map(Route::operation), TAGS);
        let document = serde_json::to_value(document).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let operations: Vec<&Value> =
            paths.values().flat_map(|item| item.as_object().unwrap().values()).collect();
        let ids: BTreeSet<&str> =
            operations.iter().map(|entry| entry["operationId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), count, "operation ids are unique: {ids:?}");
        let known: BTreeSet<&str> =
            document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
        for entry in operations {
            let id = &entry["operationId"];
            assert!(known.contains(entry["tags"][0].as_str().unwrap()), "{id} has an unknown tag");
            assert!(entry["summary"].as_str().is_some_and(|text| !text.is_empty()), "{id} has no summary");
            assert!(
                entry["responses"].as_object().unwrap().keys().any(|status| status.starts_with('2')),
                "{id} has no successful response"
            );
            assert!(entry["security"].is_array(), "{id} does not say whether it needs a session");
        }
        for (path, item) in paths {
            let named: BTreeSet<&str> =
                path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect();
            for entry in item.as_object().unwrap().values() {
                let parameters = entry["parameters"].as_array().into_iter().flatten();
                let documented: BTreeSet<&str> = parameters
                    .filter(|parameter| parameter["in"] == "path")
                    .filter_map(|parameter| parameter["name"].as_str())
                    .collect();
                assert_eq!(documented, named, "the parameters in {path}");
            }
        }
        let missing = without_description("", &document);
        assert!(missing.is_empty(), "these have no description: {missing:#?}");
    }

    /// A nullable property has its description in one of the schemas of its `oneOf`.
    fn has_description(member: &Value) -> bool {
        let own = member["description"].as_str().is_some_and(|text| !text.is_empty());
        own || member["oneOf"].as_array().is_some_and(|schemas| schemas.iter().any(has_description))
    }

    /// The JSON pointers of all operations, parameters, headers, responses, schemas and properties without a
    /// description.
    fn without_description(pointer: &str, value: &Value) -> Vec<String> {
        let Some(members) = value.as_object() else { return Vec::new() };
        let mut missing = Vec::new();
        for (name, member) in members {
            let pointer = format!("{pointer}/{name}");
            match (name.as_str(), member) {
                (
                    "responses" | "headers" | "schemas" | "properties" | "securitySchemes",
                    Value::Object(children),
                ) => {
                    missing.extend(
                        children
                            .iter()
                            .filter(|(_, child)| !has_description(child))
                            .map(|(name, _)| format!("{pointer}/{name}")),
                    );
                }
                ("parameters", Value::Array(children)) => missing.extend(
                    children
                        .iter()
                        .filter(|child| !has_description(child))
                        .map(|child| format!("{pointer}/{}", child["name"])),
                ),
                ("get" | "put" | "post" | "patch" | "delete", operation) if !has_description(operation) => {
                    missing.push(pointer.clone());
                }
                _ => {}
            }
            missing.extend(without_description(&pointer, member));
        }
        missing
    }
}
