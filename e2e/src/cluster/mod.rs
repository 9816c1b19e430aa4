//! The parts of a service on many machines, really started: databases, photo stores, the balancer, and a
//! network that can be made worse.

mod balancer;
mod bucket;
mod house;
mod papers;
mod postgres;
mod proxy;
mod schema;
mod trio;

pub use crate::daemon::Daemon;
pub use balancer::{ASKED, Balancer};
pub use bucket::Bucket;
pub use house::House;
pub(crate) use house::promised;
pub use papers::Papers;
pub use postgres::{Pair, Postgres};
pub use proxy::{Proxy, Weather};
pub use schema::fresh_database;
pub(crate) use schema::{database_in, psql};
pub use trio::Trio;
