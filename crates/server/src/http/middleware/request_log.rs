//! What the log says of a request beside its outcome: its own id, the user who sent it, and the ids in its
//! path.

use std::cell::Cell;

use model::UserId;
use percent_encoding::percent_decode_str;

use crate::http::form::memory::FormMemory;
use crate::http::middleware::request_id::RequestId;
use crate::http::path_parameters::PathParameters;

/// A longer segment is no id.
const MAX_ID: usize = 256;

/// The request that a task handles. Not a span: the registry of spans costs more than the rest of the
/// middleware.
struct CurrentRequest {
    id: RequestId,
    user: Cell<Option<UserId>>,
    /// Of its form.
    memory: Cell<Option<FormMemory>>,
}

tokio::task_local! {
    static REQUEST: CurrentRequest;
}

/// Runs a future whose log lines have the id of the request.
pub(crate) async fn of_request<T>(id: RequestId, handler: impl Future<Output = T>) -> T {
    REQUEST.scope(CurrentRequest { id, user: Cell::new(None), memory: Cell::new(None) }, handler).await
}

/// Holds the memory of a form until the current request is answered. Outside of a request it is released.
pub(crate) fn hold(memory: FormMemory) {
    // The error is that no request is handled.
    _ = REQUEST.try_with(|request| request.memory.set(Some(memory)));
}

/// The id of the current request, if any.
pub(crate) fn request_id() -> Option<RequestId> {
    REQUEST.try_with(|request| request.id).ok()
}

/// The user of the current request, if a session has named it by now.
pub(crate) fn user() -> Option<UserId> {
    REQUEST.try_with(|request| request.user.get()).ok().flatten()
}

/// Names the user of the current request. Outside of a request it does nothing.
pub(crate) fn set_user(user: UserId) {
    // The error is that no request is handled.
    _ = REQUEST.try_with(|request| request.user.set(Some(user)));
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
