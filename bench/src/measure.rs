//! CPU time, in rounds in which every candidate runs once.

use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use serde::Serialize;

use crate::error::Error;
use crate::photos::Photo;

/// One implementation under comparison; its job returns the CPU time it took.
pub(crate) struct Candidate<'a> {
    name: &'static str,
    job: Job<'a>,
}

type Job<'a> = Box<dyn FnMut(&Photo) -> Result<Duration, Error> + 'a>;

impl<'a> Candidate<'a> {
    pub(crate) fn new(name: &'static str, job: impl FnMut(&Photo) -> Result<Duration, Error> + 'a) -> Self {
        Self { name, job: Box::new(job) }
    }
}

/// Milliseconds of CPU per picture, one sample a round.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Timing {
    pub(crate) candidate: String,
    pub(crate) median_ms: f64,
    pub(crate) min_ms: f64,
    pub(crate) max_ms: f64,
    samples_ms: Vec<f64>,
}

impl Timing {
    pub(crate) fn new(candidate: &str, samples_ms: Vec<f64>) -> Self {
        let (min_ms, max_ms) = ends(&samples_ms);
        Self { candidate: candidate.into(), median_ms: median(&samples_ms), min_ms, max_ms, samples_ms }
    }

    /// Round by round, so that a disturbance of the machine affects both sides of the ratio.
    pub(crate) fn ratio(&self, other: &Self) -> Ratio {
        self.combined(other, |pinhole, theirs| pinhole / theirs)
    }

    /// Subtracts a part that both timings contain.
    pub(crate) fn without(&self, part: &Self) -> Self {
        let rounds = self.samples_ms.iter().zip(&part.samples_ms);
        Self::new(&self.candidate, rounds.map(|(whole, part)| whole - part).collect())
    }

    fn combined(&self, other: &Self, with: impl Fn(f64, f64) -> f64) -> Ratio {
        let rounds: Vec<f64> =
            self.samples_ms.iter().zip(&other.samples_ms).map(|(a, b)| with(*a, *b)).collect();
        let (min, max) = ends(&rounds);
        Ratio { median: median(&rounds), min, max }
    }
}

#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Ratio {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// Every candidate processes every photo in every round. The order rotates from round to round, and one
/// discarded photo warms each candidate up.
pub(crate) fn compare(
    rounds: usize,
    photos: &[Photo],
    mut candidates: Vec<Candidate>,
) -> Result<Vec<Timing>, Error> {
    for candidate in &mut candidates {
        for photo in photos.iter().take(1) {
            (candidate.job)(photo)?;
        }
    }
    let mut samples = vec![Vec::new(); candidates.len()];
    for round in 0..rounds {
        let mut spent = vec![Duration::ZERO; candidates.len()];
        for photo in photos {
            for turn in 0..candidates.len() {
                let index = (round + turn) % candidates.len();
                spent[index] += (candidates[index].job)(photo)?;
            }
        }
        for (samples, spent) in samples.iter_mut().zip(spent) {
            samples.push(spent.as_secs_f64() * 1000.0 / photos.len() as f64);
        }
    }
    let timings = candidates.iter().zip(samples);
    Ok(timings.map(|(candidate, samples)| Timing::new(candidate.name, samples)).collect())
}

/// The CPU time of everything this process does meanwhile, on all its threads.
pub(crate) fn cpu_here<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(Duration, T), Error> {
    let before = process_clock()?;
    let made = work()?;
    Ok((process_clock()?.saturating_sub(before), made))
}

/// The CPU time of a process from its start to its end. Nothing else may be started meanwhile.
pub(crate) fn cpu_of(command: &mut Command) -> Result<Duration, Error> {
    let before = children_clock()?;
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(Error::system(command.get_program().display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Error::Peer(format!("{} failed: {words}", command.get_program().display())));
    }
    Ok(children_clock()?.saturating_sub(before))
}

/// Pins this process and its children to one core: migrations between cores cost candidates unequally.
pub(crate) fn stay_on_one_core() -> Result<usize, Error> {
    let me = Pid::from_raw(0);
    let allowed = sched_getaffinity(me).map_err(Error::measure)?;
    let core = (0..CpuSet::count()).rev().find(|core| allowed.is_set(*core) == Ok(true));
    let core = core.ok_or_else(|| Error::measure("this process may run on no core at all"))?;
    let mut one = CpuSet::new();
    one.set(core).map_err(Error::measure)?;
    sched_setaffinity(me, &one).map_err(Error::measure)?;
    Ok(core)
}

/// The middle one, or halfway between the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), v| (min.min(*v), max.max(*v)))
}

fn process_clock() -> Result<Duration, Error> {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map(Duration::from).map_err(Error::measure)
}

fn children_clock() -> Result<Duration, Error> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(Error::measure)?;
    let micros = |time: TimeVal| u64::try_from(time.num_microseconds()).map_err(Error::measure);
    Ok(Duration::from_micros(micros(usage.user_time())? + micros(usage.system_time())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_round_by_round() {
        let pinhole = Timing::new("Pinhole", vec![1.0, 4.0, 2.0]);
        let theirs = Timing::new("theirs", vec![2.0, 4.0, 8.0]);
        let ratio = pinhole.ratio(&theirs);
        assert_eq!((ratio.median, ratio.min, ratio.max), (0.5, 0.25, 1.0));
        assert_eq!(theirs.without(&pinhole).median_ms, 1.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
    }
}
