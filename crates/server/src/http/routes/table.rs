//! The route table. A new operation is a row here and a handler: the router, the fast path, the rate limit,
//! the metric labels and the OpenAPI document follow from the row and from the arguments of the handler.

use http::Method;

use crate::http::dto::{Empty, User};
use crate::http::handlers::likes::UserPageDto;
use crate::http::handlers::security::{RecoveryCodeCount, RecoveryCodes, SessionList};
use crate::http::handlers::{accounts, docs, feed, health, likes, photos, posts, profile, security, users};
use crate::http::pages;
use crate::http::pages::site_files;
use crate::http::post_json::{FeedPageDto, PostDto};
use crate::http::routes::fast_route::FastRoute;
use crate::http::routes::route::{Route, api, file, page};

/// The groups of operations in the OpenAPI document.
pub(crate) const TAGS: &[(&str, &str)] = &[
    ("accounts", "Join, log in, log out, and the current user's profile"),
    ("security", "The current user's password, sessions and recovery codes"),
    ("people", "Users and their posts"),
    ("posts", "Photos with a message"),
    ("likes", "Likes on posts"),
    ("feed", "All posts, newest first"),
    ("photos", "Photos as square images of any size"),
    ("health", "Liveness and readiness probes"),
];

const REMOVED_METADATA: &str =
    "The kinds of metadata that were removed from the photo, such as `gps, exif`; absent if there were none";

pub(crate) fn table() -> Vec<Route> {
    let mut routes = operations();
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
    let edit = |method: Method, id: &str| {
        let about = "Replaces the message and the alternative text. PUT and PATCH do the same: a parameter that is \
            not sent leaves its text as it is, an empty one removes it.";
        api(method, "/posts/{post_id}", posts::edit)
            .about(id, "posts", "Edit a post", about)
            .json::<PostDto>(200, "The post after the edit")
            .error(
                403,
                "The post belongs to another user, or the request comes from a page of another origin",
            )
    };
    vec![
        session(
            api(Method::POST, "/join/username", accounts::join)
                .about("join", "accounts", "Create an account", "Creates a user and starts a session.")
                .json::<User>(201, "The new user"),
        )
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
                    "Sets a new password by a recovery code, which cannot be used again. Ends all sessions of the user \
                     and starts a new one.",
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
        api(Method::PUT, "/me/password", security::change_password)
            .about(
                "change_password",
                "security",
                "Change the password",
                "Ends all other sessions of the user, and deletes the recovery codes. Wrong passwords are limited for each \
                 user.",
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
        api(Method::GET, "/feed", feed::feed)
            .fast(FastRoute::feed)
            .about(
                "feed",
                "feed",
                "Read the feed",
                "Newest first. A client that follows `paging.next` gets every post that existed at its first request \
                 exactly once, unless it is deleted; new posts do not shift the pages.",
            )
            .json::<FeedPageDto>(200, "A page of posts"),
        api(Method::POST, "/posts", posts::create)
            .about(
                "create_post",
                "posts",
                "Create a post",
                "Metadata (EXIF, GPS, comments) is removed from the photo; its orientation and colours are kept.",
            )
            .json::<PostDto>(201, "The new post")
            .header("Idempotency-Replayed", "`true` if an earlier request with the same key created the post")
            .header("X-Removed-Metadata", REMOVED_METADATA)
            .error(409, "The post that this Idempotency-Key created has been deleted"),
        api(Method::GET, "/posts/{post_id}", posts::get)
            .fast(FastRoute::post)
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
            .fast(FastRoute::like)
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
            .fast(FastRoute::unlike)
            .about("unlike", "likes", "Unlike a post", "Removes the caller's like.")
            .json::<Empty>(200, "The caller does not like the post")
            .error(409, "The caller has not liked the post"),
        api(Method::GET, "/photos/{photo_id}/{size}", photos::image)
            .fast(FastRoute::image)
            .documented_as("/photos/{photo_id}/{width}x{height}")
            .about(
                "image",
                "photos",
                "Read an image",
                "The centre of the photo, cropped to a square of exactly the requested size: JPEG, or WebP if \
                 `Accept` names it. Supports conditional requests.",
            )
            .request_header("If-None-Match", "The `ETag` of the image that the client has cached")
            .binary(200, "The image", &["image/jpeg", "image/webp"])
            .empty(304, "The image that the client has cached is current")
            .header("Cache-Control", "Images never change: `public, max-age=31536000, immutable`")
            .header("Vary", "Always `Accept`")
            .header("ETag", "Identifies the bytes of the image"),
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
        page(Method::GET, "/join", pages::join),
        page(Method::GET, "/login", pages::login),
        page(Method::GET, "/recovery", pages::recovery),
        page(Method::GET, "/settings", pages::settings),
        page(Method::GET, "/new", pages::compose),
        page(Method::POST, "/share", pages::share).always_checked_for_csrf(),
        page(Method::GET, "/share", pages::share).always_checked_for_csrf(),
        page(Method::GET, "/offline", pages::offline),
        file(Method::GET, "/web/{version}/{file}", site_files::asset),
        file(Method::GET, "/sw.js", site_files::service_worker),
        file(Method::GET, "/manifest.webmanifest", site_files::manifest),
        file(Method::GET, "/robots.txt", site_files::robots),
        file(Method::GET, "/favicon.ico", site_files::favicon),
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
    use utoipa::openapi::{RefOr, Schema};

    use super::*;
    use crate::http::extract::form_body::FormSchema;
    use crate::http::handlers::accounts::{Credentials, Recovery};
    use crate::http::handlers::posts::{Edit, NewPost};
    use crate::http::handlers::profile::{Profile, ProfilePhoto};
    use crate::http::handlers::security::{Confirmation, PasswordChange};
    use crate::http::openapi::document;

    #[test]
    fn every_operation_has_a_complete_entry() {
        let rows = operations();
        for route in &rows {
            assert!(route.entry.is_some(), "{} {} is not documented", route.method, route.path);
        }
        let count = rows.len();
        let document = serde_json::to_value(document(rows, TAGS)).unwrap();
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

    #[test]
    fn a_form_documents_the_parameters_that_it_reads() {
        fn check<T: FormSchema>() {
            let RefOr::T(Schema::Object(object)) = T::schema() else { panic!("{} is no object", T::name()) };
            let documented: BTreeSet<&str> = object.properties.keys().map(String::as_str).collect();
            let read = T::TEXT.iter().copied().chain(T::HAS_PHOTO.then_some("photo")).collect();
            assert_eq!(documented, read, "{}", T::name());
        }
        check::<Credentials>();
        check::<Recovery>();
        check::<PasswordChange>();
        check::<Confirmation>();
        check::<NewPost>();
        check::<Edit>();
        check::<ProfilePhoto>();
        check::<Profile>();
    }
}
