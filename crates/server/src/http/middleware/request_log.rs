//! What the log says of a request beside its outcome: the user who sent it and the ids in its path.

use std::cell::Cell;

use model::UserId;
use percent_encoding::percent_decode_str;

/// A longer segment is no id.
const MAX_ID: usize = 256;

tokio::task_local! {
    /// The user of the request that the task handles.
    static USER: Cell<Option<UserId>>;
}

/// Runs a handler; returns its response and the user whom [`set_user`] has named meanwhile.
pub(crate) async fn with_user<T>(handler: impl Future<Output = T>) -> (T, Option<UserId>) {
    let handled = async {
        let response = handler.await;
        (response, USER.with(Cell::get))
    };
    USER.scope(Cell::new(None), handled).await
}

/// Names the user of the current request. Outside of a request it does nothing.
pub(crate) fn set_user(user: UserId) {
    // The error is that no request is handled.
    _ = USER.try_with(|current| current.set(Some(user)));
}

/// The ids in the path of a request, by the parameters of its route. They are parsed only for a line that is
/// logged. The query, which may have secrets, is not a part of them.
#[derive(Clone, Copy)]
pub(crate) struct PathIds<'a> {
    pub(crate) route: &'static str,
    pub(crate) path: &'a str,
}

impl PathIds<'_> {
    pub(crate) fn text(self, name: &str) -> Option<String> {
        let parameter = |pattern: &'static str| {
            // A profile is `/@{username}`.
            let (prefix, parameter) = pattern.split_once('{')?;
            (parameter.strip_suffix('}') == Some(name)).then_some(prefix)
        };
        let segments = self.route.split('/').zip(self.path.split('/'));
        let segment = segments
            .filter_map(|(pattern, segment)| segment.strip_prefix(parameter(pattern)?))
            .find(|segment| segment.len() <= MAX_ID)?;
        Some(percent_decode_str(segment).decode_utf8_lossy().into_owned())
    }

    pub(crate) fn number(self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_the_parameters_of_the_route() {
        for (route, path, name, expected) in [
            ("/posts/{post_id}/likes", "/posts/17/likes", "post_id", Some("17")),
            ("/photos/{photo_id}/{size}", "/photos/0199/64x64", "photo_id", Some("0199")),
            ("/@{username}/feed.atom", "/@ada/feed.atom", "username", Some("ada")),
            ("/users/{username}", "/users/%61da", "username", Some("ada")),
            ("/users/{username}", "/users/ada", "post_id", None),
            ("/posts", "/posts", "post_id", None),
            ("(none)", "/join/abcd-efgh", "username", None),
        ] {
            assert_eq!(PathIds { route, path }.text(name).as_deref(), expected, "{route} {path} {name}");
        }
        let long = format!("/users/{}", "x".repeat(MAX_ID + 1));
        assert_eq!(PathIds { route: "/users/{username}", path: &long }.text("username"), None);
        let number = |path| PathIds { route: "/posts/{post_id}", path }.number("post_id");
        assert_eq!((number("/posts/17"), number("/posts/x")), (Some(17), None));
    }
}
