//! Members as others see them, and what they posted.

use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;
use model::{Username, Whose};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::auth::Reader;
use super::error::Problem;
use super::path::PathId;
use super::wire::{FeedPage, User, json, json_bytes};
use super::{Http, feed};

/// Read a user
///
/// The name matches whatever its case.
#[utoipa::path(
    get, path = "/users/{username}", tag = "people", operation_id = "user",
    params(("username" = String, Path, description = "The user's name", example = "ada",
        min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9_.@+-]{1,64}$")),
    responses((status = 200, description = "The user", body = User)),
    security(()),
)]
pub(crate) async fn get(
    State(http): State<Http>,
    PathId(username): PathId<Username>,
) -> Result<Response, Problem> {
    Ok(json(StatusCode::OK, &User::from(&http.app.user(&username).await?)))
}

/// Read a user's posts
///
/// Newest first, in pages like those of the feed.
#[utoipa::path(
    get, path = "/users/{username}/posts", tag = "people", operation_id = "user_posts",
    params(
        ("username" = String, Path, description = "The user's name", example = "ada",
            min_length = 1, max_length = 64, pattern = r"^[A-Za-z0-9_.@+-]{1,64}$"),
        ("limit" = Option<i64>, Query, description = "Posts on a page; more than 100 counts as 100", example = 20,
            minimum = 1, nullable = false),
        ("offset" = Option<i64>, Query, description = "How many of the user's newest posts to skip", example = 0,
            minimum = 0, nullable = false),
        ("after" = Option<String>, Query, description = "A place among the posts, taken from `paging.next`; then \
            `offset` only counts on in the next link", nullable = false),
    ),
    responses((status = 200, description = "A page of the user's posts", body = FeedPage)),
    security((), ("bearer" = []), ("cookie" = [])),
)]
pub(crate) async fn posts(
    State(http): State<Http>,
    Reader(caller): Reader,
    PathId(username): PathId<Username>,
    request: Request,
) -> Result<Response, Problem> {
    let (parts, _) = request.into_parts();
    // Whether there is such a user comes before whether the page asked for makes sense.
    let user = http.app.user(&username).await?;
    let ask = feed::Ask::parse(parts.uri.query().unwrap_or_default())?;
    let path = format!("/users/{}/posts", in_path(&user.username));
    let (head, caller) = ((&parts).into(), caller.as_ref());
    Ok(json_bytes(StatusCode::OK, feed::page(&http, head, caller, Whose::Only(user.id), &path, ask).await?))
}

/// As the name is written in an address. Some programs read a bare `+` as a blank, so it is not left bare.
fn in_path(username: &Username) -> String {
    const WRITTEN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'@');
    utf8_percent_encode(username.as_str(), WRITTEN).to_string()
}
