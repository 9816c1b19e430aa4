//! A power failure at every file operation of a write: what was not synced is lost.

use e2e::faults::{Action, FileOperation, Rule};
use e2e::oracle::UnknownOutcome;

use FileOperation::{Create, MakeFolder, Remove, Rename, Sync, Truncate, Write};

use crate::fixture::{Fixture, first_calls};
use crate::operations::{DELETE, EDIT, Operation, SET_PROFILE_PHOTO, UPLOAD};

const OPERATIONS: &[FileOperation] = &[Create, MakeFolder, Write, Sync, Rename, Truncate, Remove];

#[test]
fn uploads_survive_a_power_failure() {
    fail_everywhere(&UPLOAD);
}

#[test]
fn edits_and_deletes_survive_a_power_failure() {
    fail_everywhere(&EDIT);
    fail_everywhere(&DELETE);
}

#[test]
fn profile_photos_survive_a_power_failure() {
    fail_everywhere(&SET_PROFILE_PHOTO);
}

/// The power fails in the middle of an operation, and so right after the acknowledged ones before it.
fn fail_everywhere(operation: &Operation) {
    let mut fixture = Fixture::start();
    (operation.prepare)(fixture.worker());
    let (outcome, trace) = fixture.inject(&[], operation.run);
    outcome.unwrap();
    let calls = first_calls(&trace.calls, OPERATIONS);
    let mut failures = 0;
    for (run, call) in &calls {
        (operation.prepare)(fixture.worker());
        (operation.run)(fixture.worker()).unwrap();
        (operation.prepare)(fixture.worker());
        let action = Action::PowerFailure;
        let rule =
            Rule { operations: OPERATIONS, path: "", run: *run, call: *call, is_lasting: true, action };
        let (outcome, trace) = fixture.inject(&[rule], operation.run);
        match (trace.hits[0], outcome) {
            (Some(_), Err(UnknownOutcome::ConnectionLost(_))) => {
                failures += 1;
                fixture.restart();
            }
            (None, Ok(_)) => {}
            (hit, outcome) => {
                panic!("{}: {outcome:?} at {:?}", operation.name, hit.map(|hit| &trace.calls[hit]))
            }
        }
    }
    println!("{}: {failures} power failures", operation.name);
    assert!(failures * 2 > calls.len(), "{failures} power failures at {} calls", calls.len());
    fixture.finish();
}
