//! The feed, as one reader sees it.

use model::{FeedPage, FeedStart, Limit};

use crate::{App, Caller, Error};

impl App {
    pub async fn feed(
        &self,
        caller: Option<&Caller>,
        start: FeedStart,
        limit: Limit,
    ) -> Result<FeedPage, Error> {
        Ok(self.0.store.feed(caller.map(|caller| caller.user.id), start, limit).await?)
    }
}
