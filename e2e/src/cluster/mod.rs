//! The parts of a service on many machines, really started: databases, photo stores, the balancer, and a network that
//! can be made worse.

mod balancer;
mod bucket;
mod daemon;
mod house;
mod postgres;
mod proxy;
mod schema;
mod trio;

pub use balancer::{ASKED, Balancer};
pub use bucket::Bucket;
pub use daemon::Daemon;
pub use house::House;
pub use postgres::{Pair, Postgres};
pub use proxy::{Proxy, Weather};
pub use schema::fresh_database;
pub use trio::Trio;
