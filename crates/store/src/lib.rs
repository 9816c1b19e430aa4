//! Where facts live: users, sessions, posts, likes, the feed. The only place that knows SQL.
//!
//! Each file named after a noun holds its statements and the functions that run them. A function is
//! written once over a [`Tx`]; which database stands behind it is decided below, in `sqlite` and `postgres`.

mod changes;
mod error;
mod export;
mod facts;
mod feed;
mod holds;
mod import;
mod likes;
mod photos;
mod postgres;
mod posts;
mod profile;
mod row;
mod sessions;
mod sqlite;
mod statements;
mod tx;
mod upkeep;
mod users;
mod value;

use std::path::PathBuf;

use futures_util::future::BoxFuture;

pub use changes::{Change, Listener};
pub use error::{Error, OpenError};
pub use export::Sink;
pub use facts::{Fact, KeyFact, LikeFact, PhotoFact, PostFact, SequenceFact, SessionFact, Table, UserFact};
pub use import::Arrival;
pub use likes::Like;
pub use photos::{NewPhoto, Original};
pub use postgres::{DatabaseUrl, Lag, replica_lag};
pub use posts::{Access, Created, NewPost, Repeat};
pub use profile::Portrait;
pub use sessions::{NewSession, Session};
pub use upkeep::{Census, Lingering, Miscount, Totals};
pub use users::{Credentials, NewUser};

use holds::Holds;
use postgres::Postgres;
use sqlite::Sqlite;
use tx::Tx;

/// The version of the facts that are given away and taken in; SQLite's history leads it.
pub const SCHEMA_VERSION: u32 = sqlite::schema::KNOWN;

/// Where the facts are.
#[derive(Debug, Clone)]
pub enum Database {
    /// In a file of our own, by SQLite.
    File(PathBuf),
    /// With a PostgreSQL server that other nodes use as well. A replica answers reads whenever it knows everything
    /// that was committed before they were asked.
    Server { primary: DatabaseUrl, replica: Option<DatabaseUrl> },
}

/// A handle on the database. Its methods are in the files of their nouns.
#[derive(Debug)]
pub struct Store {
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
    Postgres(Box<Postgres>),
}

/// A transaction's work: called with the transaction, done when the future is. It can be cloned because a database
/// across a network may lose it half done, and then it is done again from the start.
trait Work<T>: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static {}
impl<T, F> Work<T> for F where
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static
{
}

/// The same for work that is done once, and takes as long as it takes: what it is given cannot be had again.
trait Once<T>: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static {}
impl<T, F> Once<T> for F where
    F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Send + 'static
{
}

impl Store {
    /// Opens the database, making or upgrading its schema where needed. `listener` is told of every change that is
    /// made through this handle. A file is opened right here, on the thread that asks.
    pub async fn open(
        database: &Database,
        read_connections: usize,
        listener: Listener,
    ) -> Result<Self, OpenError> {
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open(path, read_connections, listener)?),
            Database::Server { primary, replica } => {
                let postgres = Postgres::open(primary, replica.as_ref(), read_connections, listener).await?;
                Backend::Postgres(Box::new(postgres))
            }
        };
        Ok(Self { backend })
    }

    /// Opens the database to look at it, beside a service that may be writing to it. It has to be there and up to
    /// date: nothing is made or upgraded, and every write is refused.
    pub async fn open_to_read(database: &Database) -> Result<Self, OpenError> {
        let backend = match database {
            Database::File(path) => Backend::Sqlite(Sqlite::open_to_read(path)?),
            Database::Server { primary, .. } => {
                Backend::Postgres(Box::new(Postgres::open_to_read(primary).await?))
            }
        };
        Ok(Self { backend })
    }

    /// The version of the schema that this program reads and writes there: each kind of database has its own history.
    pub fn schema_version(&self) -> u32 {
        match &self.backend {
            Backend::Sqlite(_) => sqlite::schema::KNOWN,
            Backend::Postgres(_) => postgres::schema::KNOWN,
        }
    }

    /// Whether others write to the same database, of whom the listener hears nothing: what was read a moment ago may
    /// not be true any more.
    pub fn is_shared(&self) -> bool {
        matches!(self.backend, Backend::Postgres(_))
    }

    /// How many writes wait to be written.
    pub fn queued_writes(&self) -> usize {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.queued_writes(),
            Backend::Postgres(postgres) => postgres.queued_writes(),
        }
    }

    /// How many writes were refused because too many waited.
    pub fn shed_writes(&self) -> u64 {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.shed_writes(),
            Backend::Postgres(postgres) => postgres.shed_writes(),
        }
    }

    // What PostgreSQL is asked lies in a box, so that SQLite's futures stay as small as they are without it.

    /// Runs `work` in a transaction; when this returns `Ok`, it is on the disk.
    async fn write<T: Send + 'static>(&self, holds: Holds, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => Box::pin(postgres.write(holds, work)).await,
        }
    }

    /// Runs `work` on what is committed.
    async fn read<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(work).await,
            Backend::Postgres(postgres) => Box::pin(postgres.read(work)).await,
        }
    }

    /// The same for work that may take long: it waits behind its like and holds up nobody else.
    async fn read_slowly<T: Send + 'static>(&self, work: impl Work<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.read_slowly(work).await,
            Backend::Postgres(postgres) => Box::pin(postgres.read_slowly(work)).await,
        }
    }

    /// Runs `work` on one view of everything, from its first statement to its last.
    async fn view<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.view(work).await,
            Backend::Postgres(postgres) => Box::pin(postgres.view(work)).await,
        }
    }

    /// Runs `work` in a transaction of its own, beside which nobody is in a hurry.
    async fn write_once<T: Send + 'static>(&self, work: impl Once<T>) -> Result<T, Error> {
        match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(work).await,
            Backend::Postgres(postgres) => Box::pin(postgres.write_once(work)).await,
        }
    }
}
