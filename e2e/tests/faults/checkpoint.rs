//! Faults while the write-ahead log is copied into the database.

use e2e::eventually;
use e2e::faults::{Action, FileOperation, Rule};
use e2e::oracle::UnknownOutcome;
use rustix::io::Errno;

use FileOperation::{Sync, Truncate, Write};

use crate::fixture::{DATABASE, Fixture, LOG, TIMEOUT, assert_cause_logged};
use crate::operations::{DELETE, EDIT};

/// The writer copies the log after five seconds without a write, and tries again after the next write.
#[test]
fn a_failed_checkpoint_of_an_idle_service_is_repeated() {
    let io = Action::Fail(Errno::IO);
    let cases = [
        (Write, DATABASE, Action::Fail(Errno::NOSPC)),
        (Sync, DATABASE, io),
        (Sync, DATABASE, Action::LoseUnsynced(Errno::IO)),
        (Truncate, LOG, io),
        (Write, DATABASE, Action::PowerFailure),
        (Sync, DATABASE, Action::PowerFailure),
        (Truncate, LOG, Action::PowerFailure),
    ];
    // At the same time, since each waits until its service is idle.
    std::thread::scope(|scope| {
        for (operation, path, action) in cases {
            scope.spawn(move || fail_checkpoint(operation, path, action));
        }
    });
}

fn fail_checkpoint(operation: FileOperation, path: &'static str, action: Action) {
    let mut fixture = Fixture::start();
    fixture.worker().upload().unwrap();
    let operations: &[FileOperation] = match operation {
        Write => &[Write],
        Sync => &[Sync],
        _ => &[Truncate],
    };
    fixture.faults.arm(&[Rule { operations, path, run: 1, call: 1, is_lasting: true, action }]);
    let what = format!("a checkpoint with {action:?} of {operation:?} {path}");
    eventually(&what, TIMEOUT, || fixture.faults.is_hit().then_some(()));
    if action == Action::PowerFailure {
        fixture.faults.disarm();
        fixture.restart();
    } else {
        eventually(&format!("{what} is logged"), TIMEOUT, || {
            fixture.service().log().iter().any(|line| line.contains("checkpoint failed")).then_some(())
        });
        fixture.faults.disarm();
        fixture.verify();
        (EDIT.prepare)(fixture.worker());
        (EDIT.run)(fixture.worker()).unwrap();
        eventually(&format!("the log is empty after {what}"), TIMEOUT, || {
            (fixture.faults.data_dir().join(LOG).metadata().unwrap().len() == 0).then_some(())
        });
        fixture.verify();
    }
    fixture.finish();
}

/// A delete on a full disk releases the reserve, copies the log, and runs again.
#[test]
fn deletes_on_a_full_disk_survive_a_further_fault() {
    const AFTER: &[FileOperation] = &[Write, Sync, Truncate];
    let mut fixture = Fixture::start();
    let (operations, path) = (&[Write][..], LOG);
    let full =
        Rule { operations, path, run: 1, call: 1, is_lasting: false, action: Action::Fail(Errno::NOSPC) };
    let mut sites = Vec::new();
    for action in [Action::Fail(Errno::IO), Action::LoseUnsynced(Errno::IO), Action::Fail(Errno::NOSPC)] {
        for (run, call) in (2..).flat_map(|run| [(run, 1), (run, 2)]) {
            (DELETE.prepare)(fixture.worker());
            let further = Rule { operations: AFTER, path: "", run, call, is_lasting: false, action };
            let (outcome, trace) = fixture.inject(&[full, further], DELETE.run);
            let hit = trace.hits[1].map(|hit| trace.calls[hit].site());
            match outcome {
                Ok(_) => {}
                Err(UnknownOutcome::Failed(response) | UnknownOutcome::Unavailable(response)) => {
                    assert_cause_logged(fixture.service(), &response);
                    let is_commit = hit.as_ref().is_some_and(|call| call.path == LOG);
                    assert!(is_commit, "{action:?} at {hit:?}: {response}");
                    if response.status == 507 {
                        fixture.worker().reject_last();
                    }
                }
                Err(outcome) => panic!("{action:?} at {hit:?}: {outcome:?}"),
            }
            fixture.wait_until_writable();
            fixture.verify();
            let is_over = hit.is_none() && call == 1;
            sites.extend(hit);
            if is_over {
                break;
            }
        }
    }
    for (operation, path) in
        [(Sync, "reserve"), (Write, DATABASE), (Sync, DATABASE), (Truncate, LOG), (Sync, LOG)]
    {
        assert!(
            sites.iter().any(|call| call.is(operation, path)),
            "{operation:?} {path} was never hit: {sites:?}"
        );
    }
    fixture.finish();
}

/// After 4062 pages the log's index grows, once the commit is in the log.
#[test]
fn a_commit_whose_index_entry_has_no_space_is_rolled_back() {
    let mut fixture = Fixture::start();
    let action = Action::Fail(Errno::NOSPC);
    let rule = Rule { operations: &[Write], path: "-shm", run: 1, call: 1, is_lasting: true, action };
    (EDIT.prepare)(fixture.worker());
    fixture.faults.arm(&[rule]);
    let response = eventually("the index grows", TIMEOUT, || {
        (0..100).find_map(|_| match (EDIT.run)(fixture.worker()) {
            Ok(_) => None,
            Err(UnknownOutcome::Failed(response)) => Some(response),
            Err(outcome) => panic!("{outcome:?}"),
        })
    });
    assert_eq!(response.status, 507, "{response}");
    assert_cause_logged(fixture.service(), &response);
    fixture.worker().reject_last();
    assert!(fixture.faults.is_hit());
    fixture.faults.arm(&[]);
    // Nothing is written before the crash, so whatever is in the log is found by the restart.
    fixture.finish();
}
