//! Latencies in buckets of at most 1.6 % of their value: small, and quick to add to.

use std::time::Duration;

/// Buckets for every doubling.
const FINE: u32 = 6;

#[derive(Debug, Clone)]
pub(super) struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Histogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; 64 << FINE], total: 0 }
    }

    pub(super) fn add(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// In microseconds: so large a part of all was not slower.
    pub(super) fn quantile_us(&self, part: f64) -> f64 {
        let wanted = ((self.total as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return middle(bucket) / 1000.0;
            }
        }
        f64::NAN
    }
}

/// The highest bit and the ones that follow it.
fn bucket(nanos: u64) -> usize {
    let nanos = nanos.max(1 << FINE);
    let exponent = nanos.ilog2();
    let fraction = (nanos >> (exponent - FINE)) & ((1 << FINE) - 1);
    ((exponent as usize) << FINE) + fraction as usize
}

fn middle(bucket: usize) -> f64 {
    let (exponent, fraction) = ((bucket >> FINE) as i32, bucket & ((1 << FINE) - 1));
    let steps = f64::from(1 << FINE);
    2f64.powi(exponent) * (1.0 + (fraction as f64 + 0.5) / steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_near_the_truth() {
        let mut histogram = Histogram::new();
        for micros in 1..=10_000 {
            histogram.add(Duration::from_micros(micros));
        }
        let mut twice = histogram.clone();
        twice.merge(&histogram);
        assert_eq!(twice.total(), 20_000);
        for (part, truth) in [(0.5, 5_000.0), (0.99, 9_900.0), (0.999, 9_990.0)] {
            let found = twice.quantile_us(part);
            assert!((found / truth - 1.0).abs() < 0.016, "{part}: {found}");
        }
    }
}
