//! What holds for any words people write: a bound, and no NUL.

use crate::Invalid;

/// The text as it was sent; an empty one is none. `what` names it in the words of a refusal.
pub(crate) fn checked(what: &str, raw: String, max_chars: usize) -> Result<Option<String>, Invalid> {
    if raw.is_empty() {
        return Ok(None);
    }
    let chars = raw.chars().count();
    if chars > max_chars {
        return Err(Invalid(format!("the {what} has {chars} characters; {max_chars} are allowed")));
    }
    // PostgreSQL cannot hold it, and no one can see it.
    if raw.contains('\0') {
        return Err(Invalid(format!("the {what} contains a NUL character")));
    }
    Ok(Some(raw))
}
