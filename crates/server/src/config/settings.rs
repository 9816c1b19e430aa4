//! The table of settings. Everything else about them is derived from these rows.
//!
//! A row is `/// help line`, then `field: type as codec = default`. A help line shares a line
//! of 100 columns with the flag and the variable, so it has about 35 characters; more is said in comments.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use app::{BucketUrl, DatabaseUrl};
use ipnet::IpNet;
use model::Username;

use super::codec::{List, Optional};
use super::define::settings;
use super::numbers::{Bytes, Count, Span};
use super::public_url::PublicUrl;
use super::secret::Secret;
use super::setting::Default::{Cores, Is, Unset};
use super::setting::MAX_THREADS;
use super::text::{
    Address, Bucket, Choice, Database, Folder, LogFormat, Name, Network, Switch, Text, Token, Url,
};

settings! {
    Service {
        // Port 0 picks a free one.
        /// Address to listen on
        listen: SocketAddr as Address = Is("127.0.0.1:8080");
        /// Where everything is kept
        data_dir: PathBuf as Folder = Is("./pinhole-data");
        // Both hold passwords, so neither is ever printed. The second is asked only where it knows as much as
        // the first.
        /// PostgreSQL, instead of a file there
        database_url: Option<DatabaseUrl> as Optional<Database> =
            Unset { means: "SQLite in the data folder", example: "postgres://pinhole:PASSWORD@db.example.org/pinhole" };
        /// A replica of it, to read from
        database_read_url: Option<DatabaseUrl> as Optional<Database> =
            Unset { means: "all reads go to the first", example: "postgres://pinhole:PASSWORD@replica.example.org/pinhole" };
        // Keys, region and endpoint come by the usual AWS_… variables. The data folder is still needed:
        // uploads arrive there, and finished images are kept there.
        /// S3 bucket to keep photos in
        blobs_url: Option<BucketUrl> as Optional<Bucket> =
            Unset { means: "photos are kept in data_dir", example: "s3://my-photos/pinhole" };
        // Costs the disk about as much as was sent, on top of the squares. Nothing reads it today: it is what
        // future formats and larger sizes will be made from, which squares of 2048 pixels cannot give.
        /// Keep uploads, for formats to come
        keep_originals: bool as Switch = Is("on");
        /// Public address, for links and cookies
        public_url: Option<PublicUrl> as Optional<Url> =
            Unset { means: "the address each request came to", example: "https://photos.example.org" };
        /// Who may delete any post
        admins: Vec<Username> as List<Name> = Unset { means: "nobody", example: "ada,grace" };
        /// Proxies whose forwarded address counts
        trusted_proxies: Vec<IpNet> as List<Network> =
            Unset { means: "forwarded addresses are ignored", example: "10.0.0.0/8,192.0.2.7" };
    }
    Observability {
        /// What to log, as tracing directives
        log: String as Text = Is("info");
        // Auto is text on a terminal and JSON elsewhere.
        /// text, json or auto
        log_format: LogFormat as Choice = Is("auto");
        /// Address for /metrics; off without it
        admin_listen: Option<SocketAddr> as Optional<Address> =
            Unset { means: "no metrics are served", example: "127.0.0.1:9090" };
        /// Bearer token that /metrics asks for
        admin_token: Option<Secret> as Optional<Token> =
            Unset { means: "metrics ask for no token", example: "the output of `openssl rand -hex 32`" };
    }
    Limits {
        /// Largest photo accepted
        max_upload: u64 as Bytes = Is("32MiB");
        /// Most pixels of a photo, in millions
        max_megapixels: u32 as Count<1, 1000> = Is("64");
        // Nothing longer than 256 bytes is hashed, so no longer one can be asked for.
        /// Shortest password, in bytes
        min_password: usize as Count<1, 256> = Is("6");
        /// An unused session ends after this
        session_idle: Duration as Span = Is("90d");
    }
    Rates {
        /// All of the limits below, on or off
        rate_limits: bool as Switch = Is("on");
        /// Failed logins by name and address
        login_failures: u32 as Count = Is("30");
        /// The time in which they count
        login_window: Duration as Span = Is("5m");
        /// New accounts at once per address
        join_burst: u32 as Count = Is("100");
        /// After those, one more for each
        join_interval: Duration as Span = Is("10s");
        /// Requests at once per address
        request_burst: u32 as Count = Is("20000");
        /// Requests a second per address
        request_rate: u32 as Count = Is("2000");
    }
    Tuning {
        /// Connections open at once
        max_connections: u32 as Count = Is("4096");
        /// From one address
        max_connections_per_address: u32 as Count = Is("1024");
        // To send a request's head; also how long an idle connection is kept waiting for its next request.
        /// For a request's head, or the next one
        header_timeout: Duration as Span = Is("30s");
        /// Longest pause inside a body
        body_timeout: Duration as Span = Is("30s");
        /// Longest time for a whole upload
        upload_timeout: Duration as Span = Is("10m");
        /// For a client that stops reading
        write_timeout: Duration as Span = Is("30s");
        // Zero is a choice: stop at once.
        /// For requests under way at the end
        shutdown_timeout: Duration as Span<0> = Is("30s");
        /// Threads that hash passwords
        hash_threads: usize as Count<1, MAX_THREADS> = Is("1");
        /// Passwords waiting for one of them
        hash_queue: usize as Count = Is("64");
        /// Threads that work on pictures
        pixel_threads: usize as Count<1, MAX_THREADS> = Cores;
        /// Pictures waiting for one of them
        pixel_queue: usize as Count = Is("64");
        // A quarter of it is for images being made, the rest for uploads.
        /// Memory for decoded pictures
        pixel_memory: u64 as Bytes = Is("320MiB");
        // Of one of those threads, not of waiting for it.
        /// Longest time for one picture
        decode_time: Duration as Span = Is("20s");
        // Zero is a choice: no cache.
        /// Memory for finished images
        image_cache: u64 as Bytes<0> = Is("64MiB");
        // A file counts with whole blocks of 4 KiB and one more, and one photo gets a 64th. Zero is a choice:
        // no cache.
        /// Disk for finished images
        cache_disk: u64 as Bytes<0> = Is("2GiB");
        // No fewer than there are threads that answer, or they wait for each other.
        /// Connections that read the database
        read_connections: usize as Count<1, MAX_THREADS> = Cores;
    }
}
