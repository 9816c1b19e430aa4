//! The actor of a decision of moderation.

use std::net::IpAddr;

use app::{Actor, Caller};
use model::Role;

use crate::http::error::ApiError;
use crate::http::state::Http;

/// The caller as an actor, after the body was read: the role may have been taken away meanwhile.
pub(crate) async fn actor(
    http: &Http,
    caller: &Caller,
    address: IpAddr,
    least: Role,
) -> Result<Actor, ApiError> {
    let caller = http.app.reauthenticate(caller).await?.ok_or_else(ApiError::unauthorized)?;
    Ok(Actor::new(&caller, address, least)?)
}
