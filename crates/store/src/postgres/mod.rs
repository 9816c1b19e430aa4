//! PostgreSQL behind the seam: many nodes write to it at once, and each may lose it at any moment.
//!
//! `lane.rs` says what is done again after a loss and what is not; `link.rs` bounds every wait. Nothing here answers
//! from memory, so that every answer holds what was acknowledged before it was asked for, on whichever node.

mod error;
mod job;
mod lag;
mod lane;
mod link;
mod long;
mod pool;
mod replica;
pub(crate) mod row;
pub(crate) mod schema;
mod session;
mod tls;
#[cfg(test)]
pub(crate) mod trial;
mod url;
mod writer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use lag::{Lag, replica_lag};
pub(crate) use session::Session;
pub use url::DatabaseUrl;

use crate::holds::Holds;
use crate::{Error, Listener, Once, OpenError, Work};

use link::{Link, PATIENCE, Purpose};
use long::Long;
use pool::{Bounds, Pool};
use replica::Replica;
use writer::Writer;

/// For one statement of the everyday sort. The longest of them, a sweep of what has expired, takes a second.
const STATEMENT_TIME: Duration = Duration::from_secs(10);

/// For one that counts its way through millions of posts.
const SLOW_STATEMENT_TIME: Duration = Duration::from_secs(30);

/// Reads at once for each core of ours: while one waits for the network, another can be answered.
const READS_PER_CORE: usize = 2;

/// Connections of somebody who only looks.
const LOOKS: usize = 4;

const SLOW_READS: Bounds = Bounds {
    connections: 1,
    waiting: 32,
    patience: Duration::from_secs(60),
    absence: PATIENCE,
    time: Duration::from_secs(40),
};

pub(crate) struct Postgres {
    /// Not there when the database was opened to be looked at.
    writer: Option<Writer>,
    readers: Arc<Pool>,
    /// Reads that take long, so that they only hold up each other.
    slow_readers: Arc<Pool>,
    replica: Option<Replica>,
    long: Long,
}

impl Postgres {
    pub(crate) async fn open(
        primary: &DatabaseUrl,
        replica: Option<&DatabaseUrl>,
        read_connections: usize,
        listener: Listener,
    ) -> Result<Self, OpenError> {
        schema::upgrade(primary, link(primary, Purpose::Write, STATEMENT_TIME)?).await?;

        let bounds = Bounds {
            connections: READS_PER_CORE * read_connections.max(1),
            // As many as there are connections to us; how long they wait is the bound that counts.
            waiting: usize::MAX,
            patience: PATIENCE,
            absence: PATIENCE,
            time: 2 * STATEMENT_TIME,
        };
        let writes = link(primary, Purpose::Write, STATEMENT_TIME)?;
        // With the primary as well: what a standby says may be old.
        let readers = Arc::new(Pool::new(writes.clone(), bounds));
        let replica = match replica {
            Some(url) => {
                let link = link(url, Purpose::Read, STATEMENT_TIME)?;
                // It can be done without at any moment, so nobody is kept waiting for it.
                let pool = Pool::new(link, Bounds { absence: Duration::ZERO, ..bounds });
                Some(Replica::new(pool, readers.clone()))
            }
            None => None,
        };
        Ok(Self {
            writer: Some(Writer::start(&writes, listener)),
            readers,
            slow_readers: Arc::new(Pool::new(
                link(primary, Purpose::Write, SLOW_STATEMENT_TIME)?,
                SLOW_READS,
            )),
            replica,
            long: Long::new(link(primary, Purpose::Write, long::STATEMENT_TIME)?),
        })
    }

    /// With the primary as well: a standby may not know yet what it is asked about.
    pub(crate) async fn open_to_read(primary: &DatabaseUrl) -> Result<Self, OpenError> {
        schema::expect_current(primary, link(primary, Purpose::Write, STATEMENT_TIME)?).await?;
        let reads = link(primary, Purpose::Write, STATEMENT_TIME)?;
        let bounds = Bounds { connections: LOOKS, patience: SLOW_READS.time, ..SLOW_READS };
        Ok(Self {
            writer: None,
            readers: Arc::new(Pool::new(reads, bounds)),
            slow_readers: Arc::new(Pool::new(
                link(primary, Purpose::Write, SLOW_STATEMENT_TIME)?,
                SLOW_READS,
            )),
            replica: None,
            long: Long::new(link(primary, Purpose::Write, long::STATEMENT_TIME)?),
        })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.writer.as_ref().map_or(0, Writer::queued)
    }

    pub(crate) fn shed_writes(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::shed)
    }

    pub(crate) async fn write<T: Send + 'static>(
        &self,
        holds: Holds,
        work: impl Work<T>,
    ) -> Result<T, Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?.run(holds, work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.replica {
            Some(replica) => replica.run(work).await,
            None => self.readers.run(work).await,
        }
    }

    pub(crate) async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.slow_readers.run_to_the_end(work).await
    }

    pub(crate) async fn view<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.long.view(work).await
    }

    pub(crate) async fn write_once<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.writer.as_ref().ok_or(Error::ReadOnly)?;
        self.long.write(work).await
    }
}

fn link(url: &DatabaseUrl, purpose: Purpose, statement_time: Duration) -> Result<Arc<Link>, OpenError> {
    let failed = |cause| OpenError::Server { place: url.to_string(), cause };
    Link::new(url, purpose, statement_time).map(Arc::new).map_err(failed)
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}
