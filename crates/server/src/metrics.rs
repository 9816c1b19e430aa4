//! Prometheus metrics, named after the OpenTelemetry conventions.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use app::{PhotoTotals, Stats};
use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::exposition::{ExpositionFormat, to_text};

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Histogram, fn() -> Histogram>,
    pub(crate) connections: Gauge,
    pub(crate) refused_connections: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    http_request_method: &'static str,
    http_route: &'static str,
    http_response_status_code: u16,
}

type Labels = Vec<(&'static str, &'static str)>;

/// Upper bounds in seconds.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let help = "Duration of requests, from the request head to the response head";
        registry.register("http_server_request_duration_seconds", help, requests.clone());
        let connections = Gauge::default();
        registry.register("http_server_open_connections", "Open connections", connections.clone());
        let refused_connections = Counter::default();
        let help = "Connections refused by a connection limit";
        registry.register("http_server_refused_connections", help, refused_connections.clone());
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("pinhole_build", "The running version", build);
        Self { registry, requests, connections, refused_connections }
    }

    pub(crate) fn request(
        &self,
        method: &Method,
        route: &'static str,
        status: StatusCode,
        duration: Duration,
    ) {
        let labels = RequestLabels {
            http_request_method: method_label(method),
            http_route: route,
            http_response_status_code: status.as_u16(),
        };
        self.requests.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    /// The histogram of GET requests of this route with status 200. The fast path looks it up once, not for
    /// each request.
    pub(crate) fn successful_gets(&self, route: &'static str) -> Histogram {
        let labels = RequestLabels {
            http_request_method: method_label(&Method::GET),
            http_route: route,
            http_response_status_code: StatusCode::OK.as_u16(),
        };
        self.requests.get_or_create_owned(&labels)
    }

    pub(crate) fn encode(&self, stats: &Stats, format: ExpositionFormat) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &stats_registry(stats))?;
        encode_eof(&mut text)?;
        Ok(match format {
            ExpositionFormat::OpenMetrics => text,
            ExpositionFormat::Text => to_text(&text),
        })
    }
}

/// Other methods share one label: labels chosen by clients would be unbounded.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "_OTHER",
    }
}

/// The metrics that `app` counts itself, as a registry of one scrape.
fn stats_registry(stats: &Stats) -> Registry {
    let mut registry = Registry::default();
    let depth = Family::<Labels, Gauge>::default();
    let rejected = Family::<Labels, Counter>::default();
    let timed_out = Family::<Labels, Counter>::default();
    for queue in &stats.queues {
        let labels = vec![("queue", queue.name)];
        depth.get_or_create(&labels).set(i64::try_from(queue.depth).unwrap_or(i64::MAX));
        rejected.get_or_create(&labels).inc_by(queue.rejected);
        timed_out.get_or_create(&labels).inc_by(queue.timed_out);
    }
    registry.register("pinhole_queue_depth", "Jobs that are running or queued", depth);
    registry.register("pinhole_queue_rejected", "Jobs rejected because the queue was full", rejected);
    registry.register("pinhole_queue_timed_out", "Jobs that exceeded their time limit", timed_out);

    let lookups = Family::<Labels, Counter>::default();
    let evictions = Family::<Labels, Counter>::default();
    let bytes = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    let entries = Family::<Labels, Gauge<u64, AtomicU64>>::default();
    for cache in &stats.caches {
        let labels = vec![("cache", cache.name)];
        for (result, count) in [("hit", cache.hits), ("miss", cache.misses)] {
            lookups.get_or_create(&vec![("cache", cache.name), ("result", result)]).inc_by(count);
        }
        evictions.get_or_create(&labels).inc_by(cache.evictions);
        bytes.get_or_create(&labels).set(cache.bytes);
        entries.get_or_create(&labels).set(cache.entries);
    }
    registry.register("pinhole_cache_lookups", "Cache lookups by result", lookups);
    registry.register(
        "pinhole_cache_evictions",
        "Entries evicted to stay within the size limit of a cache",
        evictions,
    );
    registry.register("pinhole_cache_bytes", "Size of the entries of a cache", bytes);
    registry.register("pinhole_cache_entries", "Entries in a cache", entries);
    if let Some(barrier) = &stats.read_barrier {
        for (name, help, count) in [
            ("pinhole_read_barrier_waits", "Requests that waited for a check of the caches", barrier.waits),
            ("pinhole_read_barrier_checks", "Checks of the caches, each for all that waited", barrier.checks),
            ("pinhole_read_barrier_changes", "Changes of all nodes that were published", barrier.changes),
        ] {
            let counter = Counter::<u64>::default();
            counter.inc_by(count);
            registry.register(name, help, counter);
        }
        let check_time = Counter::<f64, AtomicU64>::default();
        check_time.inc_by(barrier.check_time.as_secs_f64());
        registry.register(
            "pinhole_read_barrier_check_seconds",
            "Time of all checks of the caches",
            check_time,
        );
    }
    let renders = Counter::<u64>::default();
    renders.inc_by(stats.renders);
    registry.register("pinhole_image_renders", "Images rendered because no cache had them", renders);
    let encodes = Family::<Labels, Counter>::default();
    for (result, count) in [("encoded", stats.avif.encoded), ("failed", stats.avif.failed)] {
        encodes.get_or_create(&vec![("result", result)]).inc_by(count);
    }
    registry.register("pinhole_avif_encodes", "Images encoded as AVIF while the threads were idle", encodes);
    let encode_time = Counter::<f64, AtomicU64>::default();
    encode_time.inc_by(stats.avif.time.as_secs_f64());
    registry.register("pinhole_avif_encode_seconds", "Time of all AVIF encodes", encode_time);
    let rebuilt = Counter::<u64>::default();
    rebuilt.inc_by(stats.rebuilt_files);
    registry.register(
        "pinhole_photo_files_rebuilt",
        "Damaged or lost photo files that were rebuilt",
        rebuilt,
    );

    for (name, help, value) in [
        (
            "pinhole_database_damaged",
            "1 after an error has reported damage of the database",
            stats.is_database_damaged.into(),
        ),
        ("pinhole_disk_bytes", "Size of the disk of the data folder", stats.disk.bytes),
        ("pinhole_disk_free_bytes", "Free space on the disk of the data folder", stats.disk.free),
        (
            "pinhole_disk_upload_min_free_bytes",
            "Free space below which uploads are rejected",
            stats.disk.upload_min_free,
        ),
        ("pinhole_disk_full", "1 while only deletes are accepted", stats.disk.is_full.into()),
    ] {
        register_gauge(&mut registry, name, help, value);
    }
    if let Some(PhotoTotals { photos, bytes }) = stats.photos {
        let help = "Stored photos (counted at most once a minute)";
        register_gauge(&mut registry, "pinhole_photos", help, photos);
        let help = "Size of the stored photos (counted at most once a minute)";
        register_gauge(&mut registry, "pinhole_stored_bytes", help, bytes);
    }
    registry
}

fn register_gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<u64, AtomicU64>::default();
    gauge.set(value);
    registry.register(name, help, gauge);
}
