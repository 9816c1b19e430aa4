//! Faults of a start: the service becomes ready, or exits and says why, and the next start works.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use e2e::faults::{Action, Faults, FileCall, FileOperation, Rule};
use e2e::oracle::{Worker, verify};
use e2e::{Service, eventually};
use rustix::io::Errno;

use FileOperation::{Create, MakeFolder, Open, Read, Remove, Rename, Sync, Truncate, Write};

use crate::fixture::names_cause;

const FAULTS: [(&[FileOperation], Action); 2] = [
    (&[Open, Create, MakeFolder, Read, Write, Sync, Rename, Truncate, Remove], Action::Fail(Errno::IO)),
    (&[Create, MakeFolder, Write, Sync, Rename, Truncate, Remove], Action::PowerFailure),
];

#[test]
fn a_first_start_that_fails_says_why_and_can_be_repeated() {
    let faults = Faults::new();
    inject_everywhere(&faults, |started| {
        let service = started.unwrap_or_else(|| faults.start(&[]));
        // A read that failed may look like damage until the file has been checked.
        eventually("the service is ready", Duration::from_secs(30), || {
            (service.anonymous().get("/readyz").status == 200).then_some(())
        });
        drop(service);
        fs::remove_dir_all(faults.data_dir()).unwrap();
        fs::create_dir(faults.data_dir()).unwrap();
    });
}

#[test]
fn a_start_that_fails_says_why_and_loses_nothing() {
    let faults = Faults::new();
    let service = faults.start(&[]);
    let mut workers = [Worker::new(service.new_user("worker"), fastrand::u64(..))];
    workers[0].upload().unwrap();
    service.kill();
    inject_everywhere(&faults, |started| {
        let service = started.unwrap_or_else(|| faults.start(&[]));
        verify(service.base(), &mut workers);
        // Leaves something in the log for the next start.
        workers[0].upload().unwrap();
        service.kill();
    });
}

/// Starts the service with a fault at the first call from every site; after it, all calls fail as well.
/// `check` gets the service if it has become ready.
fn inject_everywhere(faults: &Faults, mut check: impl FnMut(Option<Service>)) {
    faults.arm(&[]);
    let service = faults.start(&[]);
    let calls = faults.disarm().calls;
    check(Some(service));
    let mut hits = BTreeSet::new();
    for (operations, action) in FAULTS {
        for run in runs(&calls, operations) {
            faults.arm(&[Rule { operations, path: "", run, call: 1, is_lasting: true, action }]);
            let started = faults.try_start(&[]);
            let trace = faults.disarm();
            let hit = trace.hits[0].map(|hit| trace.calls[hit].site());
            if let Err(log) = &started {
                let says_why = names_cause(log) || log.contains("unable to open database file");
                assert!(says_why || action == Action::PowerFailure, "{action:?} at {hit:?}:\n{log}");
            }
            hits.extend(hit);
            check(started.ok());
        }
    }
    println!("{} sites", hits.len());
    assert!(hits.len() > 10, "too few calls were hit: {hits:?}");
}

/// The number of the first run from every site, among the runs of these operations.
fn runs(calls: &[FileCall], operations: &[FileOperation]) -> Vec<u64> {
    let mut seen = BTreeSet::new();
    let matching: Vec<&FileCall> = calls.iter().filter(|call| operations.contains(&call.operation)).collect();
    let runs = matching.chunk_by(|one, next| one == next);
    (1..).zip(runs).filter(|(_, calls)| seen.insert(calls[0].site())).map(|(run, _)| run).collect()
}
