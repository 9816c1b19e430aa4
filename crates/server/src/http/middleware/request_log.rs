//! What the log says of a request beside its outcome: the user who sent it and the ids in its path.

use std::cell::Cell;

use model::UserId;
use percent_encoding::percent_decode_str;

use crate::http::path_parameters::PathParameters;

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

/// The user of the current request, if a session has named it by now.
pub(crate) fn user() -> Option<UserId> {
    USER.try_with(Cell::get).ok().flatten()
}

/// Names the user of the current request. Outside of a request it does nothing.
pub(crate) fn set_user(user: UserId) {
    // The error is that no request is handled.
    _ = USER.try_with(|current| current.set(Some(user)));
}

/// An id in the path of a request, for a line that is logged. The query, which may have secrets, is not a
/// part of it.
pub(crate) fn id(parameters: PathParameters<'_>, name: &str) -> Option<String> {
    let raw = parameters.raw(name).filter(|raw| raw.len() <= MAX_ID)?;
    Some(percent_decode_str(raw).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_logged_up_to_the_longest() {
        let logged = |path| id(PathParameters { route: "/users/{username}", path }, "username");
        assert_eq!(logged("/users/%61d%ff").as_deref(), Some("ad\u{fffd}"));
        assert_eq!(logged(&format!("/users/{}", "x".repeat(MAX_ID + 1))), None);
    }
}
