//! The formats in which metrics are scraped: OpenMetrics, and the older text format of Prometheus, which more
//! programs read.

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    OpenMetrics,
    Text,
}

impl ExpositionFormat {
    /// OpenMetrics if the client asks for it and does not prefer plain text.
    pub(crate) fn negotiated(headers: &HeaderMap) -> Self {
        let quality = |media_type| {
            let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
            let ranges = accepted.flat_map(|value| value.split(',')).map(parse_range);
            let matching = ranges.filter(|(range, _)| range.eq_ignore_ascii_case(media_type));
            matching.map(|(_, quality)| quality).fold(0.0, f32::max)
        };
        let open_metrics = quality("application/openmetrics-text");
        if open_metrics > 0.0 && open_metrics >= quality("text/plain") {
            Self::OpenMetrics
        } else {
            Self::Text
        }
    }

    pub(crate) fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        })
    }
}

/// A media range of `Accept` without its parameters, and its weight.
fn parse_range(range: &str) -> (&str, f32) {
    let mut parts = range.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let weight = parts.find_map(|parameter| parameter.strip_prefix("q=")?.parse().ok());
    (media_type, weight.unwrap_or(1.0))
}

/// Converts OpenMetrics to the text format, where a counter is described under the name of its samples, an
/// info metric is a gauge, and neither units nor the end are marked.
pub(crate) fn to_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len() + 1024);
    // The line before the type, which decides about its name.
    let mut help = None;
    for line in open_metrics.lines() {
        let Some(comment) = line.strip_prefix("# ") else {
            text.extend([line, "\n"]);
            continue;
        };
        let mut words = comment.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("HELP"), Some(_), Some(sentence)) => help = Some(sentence),
            (Some("TYPE"), Some(name), Some(kind)) => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    _ => ("", kind),
                };
                if let Some(help) = help.take() {
                    text.extend(["# HELP ", name, suffix, " ", help, "\n"]);
                }
                text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
            }
            // UNIT and EOF.
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_metrics_is_served_where_it_is_asked_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
        for (accept, expected) in [
            (None, ExpositionFormat::Text),
            (Some("*/*"), ExpositionFormat::Text),
            (Some("text/html,*/*;q=0.8"), ExpositionFormat::Text),
            (Some("text/plain;version=0.0.4"), ExpositionFormat::Text),
            (Some("application/openmetrics-text"), ExpositionFormat::OpenMetrics),
            (Some("Application/OpenMetrics-Text; version=1.0.0 ; q=0.5, */*"), ExpositionFormat::OpenMetrics),
            (Some(prometheus), ExpositionFormat::OpenMetrics),
            (Some("application/openmetrics-text;q=0.3, text/plain"), ExpositionFormat::Text),
            (Some("application/openmetrics-text;q=0"), ExpositionFormat::Text),
        ] {
            let mut headers = HeaderMap::new();
            headers.extend(accept.map(|accept| (ACCEPT, HeaderValue::from_str(accept).unwrap())));
            assert_eq!(ExpositionFormat::negotiated(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn the_text_format_describes_metrics_under_the_names_of_their_samples() {
        let open_metrics = "# HELP hits Lookups that hit.\n# TYPE hits counter\nhits_total{cache=\"a\"} 3\n\
            # HELP build The version.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n\
            # HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n\
            wait_seconds_bucket{le=\"+Inf\"} 2\n# EOF\n";
        let text = "# HELP hits_total Lookups that hit.\n# TYPE hits_total counter\nhits_total{cache=\"a\"} 3\n\
            # HELP build_info The version.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n\
            # HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\n\
            wait_seconds_bucket{le=\"+Inf\"} 2\n";
        assert_eq!(to_text(open_metrics), text);
    }
}
