//! The sessions of a user: listing and ending them.

use model::{SessionId, Timestamp, TokenHash, UserId};

use crate::{App, Caller, Error};

/// A session as its user sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    pub id: SessionId,
    pub created_at: Timestamp,
    pub last_used_at: Timestamp,
    /// The client that started it, as its `User-Agent` names it.
    pub client: Option<String>,
    /// The network that it was started from.
    pub network: Option<String>,
    /// Whether it is the session of the request.
    pub is_current: bool,
}

impl App {
    /// The caller's sessions, the last used one first.
    pub async fn sessions(&self, caller: &Caller) -> Result<Vec<SessionInfo>, Error> {
        self.session_infos(caller.user.id, Some(caller.token)).await
    }

    pub(crate) async fn session_infos(
        &self,
        user: UserId,
        current: Option<TokenHash>,
    ) -> Result<Vec<SessionInfo>, Error> {
        let now = self.0.clock.now();
        let mut rows = self.0.store.sessions(user).await?;
        // Expired ones are deleted by maintenance, a little later.
        rows.retain(|row| !self.is_expired(now, row.created_at, row.last_used_at));
        let info = |row: store::SessionRow| SessionInfo {
            id: row.token_hash.session_id(),
            created_at: row.created_at,
            last_used_at: row.last_used_at,
            client: row.client,
            network: row.network,
            is_current: Some(row.token_hash) == current,
        };
        Ok(rows.into_iter().map(info).collect())
    }

    /// Ends one of the caller's sessions.
    pub async fn end_session(&self, caller: &Caller, id: SessionId) -> Result<(), Error> {
        if !self.0.store.end_session_of(caller.user.id, id).await? {
            return Err(Error::NotFound("there is no such session"));
        }
        caller.log("session ended");
        Ok(())
    }

    /// Ends all sessions of the caller but the one of the request.
    pub async fn end_other_sessions(&self, caller: &Caller) -> Result<(), Error> {
        self.0.store.end_other_sessions(caller.user.id, caller.token).await?;
        caller.log("other sessions ended");
        Ok(())
    }
}
