//! Figures for operators, in the form Prometheus reads, named after the OpenTelemetry conventions.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use app::Stats;
use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Histogram, fn() -> Histogram>,
    pub(crate) connections: Gauge,
    pub(crate) refused_connections: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    http_request_method: &'static str,
    http_route: &'static str,
    http_response_status_code: u16,
}

type Labels = Vec<(&'static str, &'static str)>;

/// From half a millisecond to ten seconds.
const BUCKETS: [f64; 14] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        let about = "How long requests took, from the head of the request to the head of the answer";
        registry.register("http_server_request_duration_seconds", about, requests.clone());
        let connections = Gauge::default();
        registry.register("http_server_open_connections", "Connections that are open", connections.clone());
        let refused_connections = Counter::default();
        let about = "Connections refused because too many were open";
        registry.register("http_server_refused_connections", about, refused_connections.clone());
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("pinhole_build", "The running version", build);
        Self { registry, requests, connections, refused_connections }
    }

    pub(crate) fn request(&self, method: &Method, route: &'static str, status: StatusCode, took: Duration) {
        let labels = Request {
            http_request_method: method_label(method),
            http_route: route,
            http_response_status_code: status.as_u16(),
        };
        self.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Where reads of this route that go well are counted: found once, for those that come all the time.
    pub(crate) fn reads(&self, route: &'static str) -> Histogram {
        let labels = Request {
            http_request_method: method_label(&Method::GET),
            http_route: route,
            http_response_status_code: StatusCode::OK.as_u16(),
        };
        self.requests.get_or_create_owned(&labels)
    }

    /// Everything, as text.
    pub(crate) fn encode(&self, stats: &Stats) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &of_stats(stats))?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Methods are a fixed set, or anyone could fill our memory with new ones.
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

/// The use cases count for themselves; here their figures get names.
fn of_stats(stats: &Stats) -> Registry {
    let mut registry = Registry::default();
    let depth = Family::<Labels, Gauge>::default();
    let shed = Family::<Labels, Counter>::default();
    let abandoned = Family::<Labels, Counter>::default();
    for queue in &stats.queues {
        let labels = vec![("queue", queue.name)];
        depth.get_or_create(&labels).set(i64::try_from(queue.depth).unwrap_or(i64::MAX));
        shed.get_or_create(&labels).inc_by(queue.shed);
        abandoned.get_or_create(&labels).inc_by(queue.abandoned);
    }
    registry.register("pinhole_queue_depth", "Jobs that run or wait", depth);
    registry.register("pinhole_queue_shed", "Jobs refused because the queue was full", shed);
    registry.register("pinhole_queue_abandoned", "Jobs given up because they took too long", abandoned);

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
    registry.register("pinhole_cache_evictions", "Entries evicted to stay within the bound", evictions);
    registry.register("pinhole_cache_bytes", "Bytes that the entries of a cache take", bytes);
    registry.register("pinhole_cache_entries", "Entries in a cache", entries);
    let renders = Counter::<u64>::default();
    renders.inc_by(stats.renders);
    registry.register("pinhole_image_renders", "Images drawn because no level had them", renders);

    for (name, about, value) in [
        ("pinhole_photos", "Photos stored (counted at most once a minute)", stats.photos),
        (
            "pinhole_stored_bytes",
            "Bytes of photos stored (counted at most once a minute)",
            stats.stored_bytes,
        ),
    ] {
        let gauge = Gauge::<u64, AtomicU64>::default();
        gauge.set(value);
        registry.register(name, about, gauge);
    }
    registry
}
