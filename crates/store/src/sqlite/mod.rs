//! SQLite behind the seam: one writer that commits in groups, a few readers beside it.

pub(crate) mod connection;
mod pool;
mod readers;
mod schema;
pub(crate) mod statement;
mod writer;

use std::path::Path;
use std::sync::Arc;

use crate::{Error, Listener, OpenError, Work};

use pool::Pool;
use readers::Readers;
use writer::Writer;

/// What all readers may keep of the database in memory.
const READ_CACHE: u64 = 96 << 20;

/// Slow reads that may wait.
const SLOW_QUEUE: usize = 32;

#[derive(Debug)]
pub(crate) struct Sqlite {
    // Dropped in this order: the last connection to close tidies the write-ahead log away.
    readers: Arc<Pool>,
    /// One thread for reads that take long, so that they only hold up each other.
    slow_reader: Readers,
    writer: Writer,
}

impl Sqlite {
    pub(crate) fn open(path: &Path, read_connections: usize, listener: Listener) -> Result<Self, OpenError> {
        let conn = connection::open(path)?;
        let readers = Arc::new(Pool::open(path, read_connections, READ_CACHE)?);
        let writer = Writer::start(conn, Arc::downgrade(&readers), listener)?;
        let slow_reader = Readers::start(path, "store-slow", 1, SLOW_QUEUE)?;
        Ok(Self { readers, slow_reader, writer })
    }

    pub(crate) fn queued_writes(&self) -> usize {
        self.writer.queued()
    }

    pub(crate) fn shed_writes(&self) -> u64 {
        self.writer.shed()
    }

    pub(crate) async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.writer.run(work).await
    }

    pub(crate) async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.readers.run(work)
    }

    pub(crate) async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.slow_reader.run(work).await
    }
}
