//! Where facts live: users, sessions, posts, likes, the feed. The only place that knows SQL.
//!
//! Each file named after a noun holds its statements and the functions that run them. A function is
//! written once over a [`Tx`]; which database stands behind it is decided below, in `sqlite`.

mod changes;
mod error;
mod export;
mod facts;
mod feed;
mod import;
mod likes;
mod photos;
mod posts;
mod profile;
mod sessions;
mod sqlite;
mod statements;
mod tx;
mod upkeep;
mod users;

use std::path::Path;

use futures_util::future::BoxFuture;

pub use changes::{Change, Listener};
pub use error::{Error, OpenError};
pub use export::Sink;
pub use facts::{Fact, KeyFact, LikeFact, PhotoFact, PostFact, SequenceFact, SessionFact, Table, UserFact};
pub use import::Arrival;
pub use likes::Like;
pub use photos::{NewPhoto, Original};
pub use posts::{Access, Created, NewPost, Repeat};
pub use profile::Portrait;
pub use sessions::{NewSession, Session};
pub use upkeep::{Census, Lingering, Miscount, Totals};
pub use users::{Credentials, NewUser};

use tx::Tx;

/// The version of the schema that this program reads and writes.
pub const SCHEMA_VERSION: u32 = sqlite::schema::KNOWN;

/// A handle on the database. Its methods are in the files of their nouns.
#[derive(Debug)]
pub struct Store {
    sqlite: sqlite::Sqlite,
}

/// A transaction's work: called with the transaction, done when the future is.
trait Work<T>: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static {}
impl<T, F> Work<T> for F where
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}

/// The same for work that is done once, and takes as long as it takes: what it is given cannot be had again.
trait Once<T>: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static {}
impl<T, F> Once<T> for F where
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}

impl Store {
    /// Opens the SQLite database at `path`, making or upgrading it where needed. `listener` is told of every change.
    pub fn open(path: &Path, read_connections: usize, listener: Listener) -> Result<Self, OpenError> {
        Ok(Self { sqlite: sqlite::Sqlite::open(path, read_connections, listener)? })
    }

    /// Opens the SQLite database at `path` to look at it, beside a service that may be writing to it. It has to be
    /// there and up to date: nothing is made or upgraded, and every write is refused.
    pub fn open_to_read(path: &Path) -> Result<Self, OpenError> {
        Ok(Self { sqlite: sqlite::Sqlite::open_to_read(path)? })
    }

    /// How many writes wait for the writer.
    pub fn queued_writes(&self) -> usize {
        self.sqlite.queued_writes()
    }

    /// How many writes were refused because too many waited.
    pub fn shed_writes(&self) -> u64 {
        self.sqlite.shed_writes()
    }

    /// Runs `work` in a transaction; when this returns `Ok`, it is on the disk.
    async fn write<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.sqlite.write(work).await
    }

    /// Runs `work` on what is committed.
    async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.sqlite.read(work).await
    }

    /// The same for work that may take long: it waits behind its like and holds up nobody else.
    async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        self.sqlite.read_slowly(work).await
    }

    /// Runs `work` on one view of everything, from its first statement to its last.
    async fn view<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.sqlite.view(work).await
    }

    /// Runs `work` in a transaction of its own, beside which nobody is in a hurry.
    async fn write_once<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        self.sqlite.write(work).await
    }
}
