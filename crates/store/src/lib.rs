//! The database: users, sessions, posts, likes, the feed. The only crate that knows SQL.
//!
//! Each file named after a table holds its columns, its statements and the functions that run them. A function is written
//! once over a `Tx`; the backends behind it are in `sqlite` and `postgres`.

mod changes;
mod error;
mod export;
mod facts;
mod feed;
mod import;
mod likes;
mod lock_key;
mod photos;
mod postgres;
mod posts;
mod profile;
mod row;
mod sessions;
mod sqlite;
mod statements;
mod store;
mod tx;
mod upkeep;
mod users;
mod value;

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
pub use store::{Database, SCHEMA_VERSION, Store};
pub use upkeep::{Census, Lingering, Miscount, Totals};
pub use users::{Credentials, NewUser};
