//! The table of settings. Flags, variables, keys, help and the fields of `Config` are derived from its rows.
//!
//! A row is `/// help line`, then `field: type as codec = default`. The help line shares 100 columns with the
//! flag and the variable, so it has about 35 characters; comments have the rest.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use app::{BucketUrl, DatabaseUrl, UploadHookTarget};
use ipnet::IpNet;
use model::Username;

use super::codec::{List, Optional};
use super::define::settings;
use super::numbers::{Bytes, Count, Span};
use super::public_url::PublicUrl;
use super::secret::Secret;
use super::setting::DefaultValue::{Cores, Is, Unset};
use super::setting::MAX_THREADS;
use super::text::{
    Address, Bucket, Choice, Database, Folder, Hook, LogFormat, Name, Network, Switch, Text, Token, Url,
};

settings! {
    Service {
        // Port 0 chooses a free port.
        /// Address to listen on
        listen: SocketAddr as Address = Is("127.0.0.1:8080");
        /// Data folder
        data_dir: PathBuf as Folder = Is("./pinhole-data");
        // Both URLs may hold passwords, so they are never printed. The replica answers a read only if it has
        // replayed all writes that were committed before it.
        /// PostgreSQL database, not SQLite
        database_url: Option<DatabaseUrl> as Optional<Database> =
            Unset { means: "SQLite in the data folder", example: "postgres://pinhole:PASSWORD@db.example.org/pinhole" };
        /// Read replica of the database
        database_read_url: Option<DatabaseUrl> as Optional<Database> =
            Unset { means: "all reads go to database_url", example: "postgres://pinhole:PASSWORD@replica.example.org/pinhole" };
        // Credentials, region and endpoint come from the usual AWS_… variables. The data folder is still
        // needed, for uploads in progress and the disk cache of images.
        /// S3 bucket for photos
        blobs_url: Option<BucketUrl> as Optional<Bucket> =
            Unset { means: "photos are stored in data_dir", example: "s3://my-photos/pinhole" };
        // Takes about the size of the upload on disk, in addition to the masters. Without them, photos are
        // kept with at most 2048 pixels.
        /// Keep the originals of uploads
        keep_originals: bool as Switch = Is("on");
        // They are encoded while the image threads are idle, and need the disk cache.
        /// Serve images as AVIF, too
        avif: bool as Switch = Is("on");
        // JSON with the SHA-256 and a perceptual hash of each upload: a POST to the URL, or the standard
        // input of the program. 403 or exit code 1 refuses the upload.
        /// URL or program that checks uploads
        upload_hook: Option<UploadHookTarget> as Optional<Hook> =
            Unset { means: "uploads are not checked", example: "http://127.0.0.1:9000/check" };
        /// Timeout of the upload hook
        upload_hook_timeout: Duration as Span = Is("10s");
        // Off refuses uploads with 503 while the hook fails.
        /// Accept uploads if the hook fails
        upload_hook_open: bool as Switch = Is("off");
        /// Public URL, for links and cookies
        public_url: Option<PublicUrl> as Optional<Url> =
            Unset { means: "the host of each request", example: "https://photos.example.org" };
        // In addition to the owners in the database. A name is reserved until its user exists.
        /// Users who are owners
        admins: Vec<Username> as List<Name> = Unset { means: "no admins", example: "ada,grace" };
        /// Trusted reverse proxies
        trusted_proxies: Vec<IpNet> as List<Network> =
            Unset { means: "forwarded addresses are ignored", example: "10.0.0.0/8,192.0.2.7" };
    }
    Observability {
        /// Log filter, as tracing directives
        log: String as Text = Is("info");
        // Auto is text on a terminal and JSON elsewhere.
        /// Log format: text, json or auto
        log_format: LogFormat as Choice = Is("auto");
        /// Address of the metrics listener
        admin_listen: Option<SocketAddr> as Optional<Address> =
            Unset { means: "no metrics are served", example: "127.0.0.1:9090" };
        /// Bearer token required for /metrics
        admin_token: Option<Secret> as Optional<Token> =
            Unset { means: "metrics need no token", example: "the output of `openssl rand -hex 32`" };
    }
    Limits {
        /// Maximum size of an upload
        max_upload: u64 as Bytes = Is("32MiB");
        // Of an account of another instance. It is stored in the data folder until it is imported.
        /// Maximum size of an import
        max_import: u64 as Bytes = Is("4GiB");
        /// Maximum megapixels of a photo
        max_megapixels: u32 as Count<1, 1000> = Is("64");
        // 256 bytes is the maximum length of a password, so the minimum cannot exceed it.
        /// Minimum password length, in bytes
        min_password: usize as Count<1, 256> = Is("8");
        // On also allows the username as the password.
        /// Allow the most common passwords
        common_passwords: bool as Switch = Is("off");
        /// Idle timeout of sessions
        session_idle: Duration as Span = Is("90d");
    }
    Rates {
        /// Enable the rate limits below
        rate_limits: bool as Switch = Is("on");
        /// Failed logins per name and address
        login_failures: u32 as Count = Is("30");
        /// Failed logins per name
        name_failures: u32 as Count = Is("300");
        /// Failed logins per address
        address_failures: u32 as Count = Is("300");
        /// Time window of failed logins
        login_window: Duration as Span = Is("5m");
        /// Burst of new accounts per address
        join_burst: u32 as Count = Is("100");
        /// Interval of further new accounts
        join_interval: Duration as Span = Is("10s");
        /// Burst of requests per address
        request_burst: u32 as Count = Is("20000");
        /// Requests per second per address
        request_rate: u32 as Count = Is("2000");
    }
    Tuning {
        /// Connection limit
        max_connections: u32 as Count = Is("4096");
        /// Limit per address
        max_connections_per_address: u32 as Count = Is("1024");
        // For receiving a request head; also the timeout of idle keep-alive connections.
        /// Request head, keep-alive timeout
        header_timeout: Duration as Span = Is("30s");
        /// Timeout between reads of a body
        body_timeout: Duration as Span = Is("30s");
        /// Timeout of a whole upload
        upload_timeout: Duration as Span = Is("10m");
        /// Timeout between response writes
        write_timeout: Duration as Span = Is("30s");
        // 0s closes connections at once.
        /// Timeout of graceful shutdown
        shutdown_timeout: Duration as Span<0> = Is("30s");
        /// Threads for password hashing
        hash_threads: usize as Count<1, MAX_THREADS> = Is("1");
        /// Queue limit of password hashing
        hash_queue: usize as Count = Is("64");
        /// Threads for image processing
        pixel_threads: usize as Count<1, MAX_THREADS> = Cores;
        /// Queue limit of image processing
        pixel_queue: usize as Count = Is("64");
        // A quarter is for rendering images, the rest for uploads.
        /// Memory limit of decoded images
        pixel_memory: u64 as Bytes = Is("320MiB");
        // Without the time in the queue.
        /// Time limit of processing an image
        decode_time: Duration as Span = Is("20s");
        // 0 disables the cache.
        /// Size of the image cache in memory
        image_cache: u64 as Bytes<0> = Is("64MiB");
        // A file counts as its size in whole blocks of 4 KiB plus one block, and one photo may take 1/64 of
        // the cache. 0 disables the cache.
        /// Size of the image cache on disk
        cache_disk: u64 as Bytes<0> = Is("2GiB");
        // At most a quarter of the disk. The cache shrinks when others fill the disk.
        /// Disk space that the cache leaves
        cache_min_free: Option<u64> as Optional<Bytes<0>> =
            Unset { means: "5 % of the disk, at least 1GiB", example: "10GiB" };
        // At most 5 % of the disk. What is left is for everything small: joins, likes, edits.
        /// Disk space that uploads leave
        upload_min_free: u64 as Bytes<0> = Is("64MiB");
        // With fewer connections than request threads, requests wait for each other.
        /// Database connections for reads
        read_connections: usize as Count<1, MAX_THREADS> = Cores;
    }
}
