//! Runs every candidate once per round, one after another, under the same load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

pub(super) use super::bench::Pace;
use super::load::{Load, Requests, Window};
use super::pgbench::Script;
use super::process::Server;
use crate::error::Error;
use crate::measure::{Ratio, median};
use crate::table::{Cell, Table, thousands};

/// A server under comparison.
pub(super) struct Candidate<'a> {
    name: String,
    /// The servers whose CPU time counts; the first one receives the requests.
    servers: Vec<&'a Server>,
    source: Source,
    /// Background load on the same server.
    beside: Option<Load>,
}

/// Where the requests come from.
enum Source {
    Load(Load),
    Script(Script),
}

impl<'a> Candidate<'a> {
    pub(super) fn new(name: &str, server: &'a Server, connections: usize, requests: Arc<Requests>) -> Self {
        let load = Load { addresses: vec![server.address], connections, rate: None, core: None, requests };
        Self { name: name.into(), servers: vec![server], source: Source::Load(load), beside: None }
    }

    /// A database queried directly by pgbench.
    pub(super) fn scripted(name: &str, server: &'a Server, script: Script) -> Self {
        Self { name: name.into(), servers: vec![server], source: Source::Script(script), beside: None }
    }

    /// Distributes connections over these servers as well. A script has one database only.
    pub(super) fn spread_over(mut self, others: impl IntoIterator<Item = &'a Server>) -> Self {
        for other in others {
            if let Source::Load(load) = &mut self.source {
                load.addresses.push(other.address);
            }
            self.servers.push(other);
        }
        self
    }

    /// Adds the CPU time of a server behind this one.
    pub(super) fn backed_by(mut self, server: &'a Server) -> Self {
        self.servers.push(server);
        self
    }

    /// The load stays on this core; the server was started on another.
    pub(super) fn with_load_on(mut self, core: usize) -> Self {
        match &mut self.source {
            Source::Load(load) => load.core = Some(core),
            Source::Script(script) => script.core = Some(core),
        }
        self
    }

    /// An open-loop rate, or closed-loop without one. A script is always closed-loop.
    pub(super) fn at_rate(mut self, rate: Option<f64>) -> Self {
        if let Source::Load(load) = &mut self.source {
            load.rate = rate;
        }
        self
    }

    pub(super) fn beside(mut self, connections: usize, rate: Option<f64>, requests: Arc<Requests>) -> Self {
        let addresses = self.servers.iter().take(1).map(|server| server.address).collect();
        self.beside = Some(Load { addresses, connections, rate, core: None, requests });
        self
    }

    /// The same on another server, at a rate.
    pub(super) fn beside_on(
        mut self,
        server: &'a Server,
        connections: usize,
        rate: f64,
        requests: Arc<Requests>,
    ) -> Self {
        let addresses = vec![server.address];
        self.beside = Some(Load { addresses, connections, rate: Some(rate), core: None, requests });
        self.servers.push(server);
        self
    }

    fn cpu(&self) -> Result<Duration, Error> {
        self.servers.iter().map(|server| server.cpu()).sum()
    }

    pub(super) fn measure(&self, warm_up: Duration, length: Duration) -> Result<Sample, Error> {
        let window = Window::after(warm_up, length);
        let beside = self.beside.clone().map(|load| load.start(window)).transpose()?;
        let running = match &self.source {
            Source::Load(load) => load.clone().start(window)?,
            Source::Script(script) => script.clone().start(window)?,
        };
        sleep_until(window.from);
        let before = self.cpu()?;
        sleep_until(window.to);
        let cpu = self.cpu()?.saturating_sub(before);
        let context = |error| Error::measure(format!("{}: {error}", self.name));
        let answers = running.finish().map_err(context)?;
        let beside = beside.map(super::load::Running::finish).transpose().map_err(context)?;

        let (jobs, seconds) = (answers.latency.total() as f64, window.length().as_secs_f64());
        Ok(Sample {
            per_second: jobs / seconds,
            cpu_us: cpu.as_secs_f64() * 1e6 / jobs,
            p50_us: answers.latency.quantile_us(0.5),
            p99_us: answers.latency.quantile_us(0.99),
            p999_us: answers.latency.quantile_us(0.999),
            bytes: answers.bytes as f64 / jobs,
            load_busy: answers.cpu.as_secs_f64() / (warm_up.as_secs_f64() + seconds),
            beside_per_second: beside.map(|beside| beside.latency.total() as f64 / seconds),
        })
    }
}

/// One candidate in one round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sample {
    pub(super) per_second: f64,
    /// The servers' CPU time per request, background load included.
    pub(super) cpu_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    /// Body bytes per request.
    bytes: f64,
    /// The share of its core that the load generator used; near 1, the generator was the limit.
    load_busy: f64,
    pub(super) beside_per_second: Option<f64>,
}

/// One candidate in all rounds.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Entry {
    pub(super) name: String,
    samples: Vec<Sample>,
}

type Figure = fn(&Sample) -> f64;
pub(super) const RATE: Figure = |sample| sample.per_second;
/// Requests per second of CPU time.
pub(super) const PER_CPU_SECOND: Figure = |sample| 1e6 / sample.cpu_us;
pub(super) const CPU: Figure = |sample| sample.cpu_us;
pub(super) const P50: Figure = |sample| sample.p50_us;
pub(super) const P99: Figure = |sample| sample.p99_us;

impl Entry {
    /// Over the rounds.
    pub(super) fn of(&self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        spread(self.samples.iter().map(figure).collect())
    }

    /// Round by round, so that a disturbance of the machine affects both sides of the ratio.
    pub(super) fn against(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        let rounds = self.samples.iter().zip(&other.samples);
        spread(rounds.map(|(own, other)| figure(own) / figure(other)).collect())
    }

    /// Round by round, like [`Entry::against`].
    pub(super) fn difference(&self, other: &Self, figure: impl Fn(&Sample) -> f64) -> Ratio {
        let rounds = self.samples.iter().zip(&other.samples);
        spread(rounds.map(|(own, other)| figure(own) - figure(other)).collect())
    }
}

fn spread(values: Vec<f64>) -> Ratio {
    let (min, max) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (min.min(*v), max.max(*v)));
    Ratio { median: median(&values), min, max }
}

/// The order rotates from round to round.
pub(super) fn compare(pace: Pace, candidates: &[Candidate]) -> Result<Vec<Entry>, Error> {
    let mut entries: Vec<Entry> = candidates
        .iter()
        .map(|candidate| Entry { name: candidate.name.clone(), samples: Vec::new() })
        .collect();
    for round in 0..pace.rounds {
        for turn in 0..candidates.len() {
            let index = (round + turn) % candidates.len();
            entries[index].samples.push(candidates[index].measure(pace.warm_up, pace.window)?);
        }
    }
    Ok(entries)
}

/// Compares the first entry with each of the others.
pub(crate) fn table(entries: &[Entry]) -> Table {
    let rows = entries.iter().enumerate().map(|(index, entry)| {
        let against = |figure: Figure| match entries.first() {
            Some(first) if index > 0 => factor(first.against(entry, figure)),
            _ => Cell::Text(String::new()),
        };
        let rate = entry.of(RATE);
        [
            Cell::Text(entry.name.clone()),
            Cell::Integer(rate.median as u64),
            Cell::Text(format!("{}–{}", thousands(rate.min as u64), thousands(rate.max as u64))),
            entry.of(CPU).median.into(),
            millis(entry.of(P50).median),
            millis(entry.of(P99).median),
            Cell::Integer(entry.of(|sample| sample.bytes).median as u64),
            Cell::Integer((entry.of(|sample| sample.load_busy).median * 100.0) as u64),
            against(RATE),
            against(PER_CPU_SECOND),
        ]
    });
    let first = entries.first().map_or("", |first| &first.name);
    let head = [
        "candidate",
        "requests/s",
        "min–max",
        "CPU µs",
        "p50 ms",
        "p99 ms",
        "bytes",
        "load busy %",
        &format!("{first} ÷ it"),
        "per CPU second",
    ];
    Table::new(head, rows)
}

pub(super) fn factor(ratio: Ratio) -> Cell {
    Cell::Text(format!("{:.2}× ({:.2}–{:.2})", ratio.median, ratio.min, ratio.max))
}

pub(super) fn millis(micros: f64) -> Cell {
    Cell::Text(format!("{:.2}", micros / 1000.0))
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}
