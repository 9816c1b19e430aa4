//! What responses read: values of one moment, of which nothing is published later than the response.

use crate::memo::Sources;
use crate::{App, Error};

/// How often a response is composed of memoised values before it is read otherwise: the values are not of
/// one moment if a change was published meanwhile.
const ATTEMPTS: usize = 3;

impl App {
    /// The sources of a response, begun before anything of it is read.
    pub fn sources(&self) -> Sources {
        Sources::new(self.0.store.revisions())
    }

    /// What was read, once all that the reads have seen is published: until then, another request may be
    /// answered by an older value.
    pub async fn settle<T, E: From<store::Error>>(
        &self,
        sources: &Sources,
        read: Result<T, E>,
    ) -> Result<T, E> {
        self.0.store.await_published(sources.ticket()).await?;
        read
    }

    /// What `compose` makes of values of one moment; `None` if changes are published each time meanwhile.
    pub async fn of_one_moment<T, E: From<Error>, F: Future<Output = Result<T, E>>>(
        &self,
        sources: &Sources,
        compose: impl Fn() -> F,
    ) -> Result<Option<T>, E> {
        for _ in 0..ATTEMPTS {
            let composed = compose().await;
            self.settle(sources, Ok::<_, Error>(())).await?;
            let composed = composed?;
            if sources.are_of_one_moment() {
                return Ok(Some(composed));
            }
            sources.renew();
        }
        Ok(None)
    }
}
