//! A fault at every file operation of every kind of write.

use std::collections::BTreeSet;

use e2e::faults::{Action, FileCall, FileOperation, Rule};
use e2e::oracle::UnknownOutcome;
use rustix::io::Errno;

use FileOperation::{Create, MakeFolder, Open, Read, Remove, Rename, Sync, Truncate, Write};

use crate::fixture::{DATABASE, Fixture, LOG, assert_cause_logged, commits, first_calls};
use crate::operations::{
    DELETE, DELETE_PROFILE_PHOTO, EDIT, JOIN, LIKE, LOGIN, LOGOUT, Operation, SET_PROFILE_PHOTO, UNLIKE,
    UPLOAD,
};

#[derive(Debug)]
struct Fault {
    name: &'static str,
    operations: &'static [FileOperation],
    action: Action,
    is_lasting: bool,
}

const FAULTS: [Fault; 8] = [
    Fault {
        name: "no space once",
        operations: &[Create, MakeFolder, Write, Sync, Rename],
        action: Action::Fail(Errno::NOSPC),
        is_lasting: false,
    },
    Fault {
        name: "no space from here on",
        operations: &[Create, MakeFolder, Write, Rename],
        action: Action::ShortWriteThen(Errno::NOSPC),
        is_lasting: true,
    },
    Fault {
        name: "quota exceeded from here on",
        operations: &[Create, MakeFolder, Write],
        action: Action::Fail(Errno::DQUOT),
        is_lasting: true,
    },
    Fault {
        name: "I/O error once",
        operations: &[Create, MakeFolder, Write, Sync, Rename, Truncate, Remove],
        action: Action::Fail(Errno::IO),
        is_lasting: false,
    },
    Fault {
        name: "I/O errors from here on",
        operations: &[Create, MakeFolder, Write, Sync, Rename, Truncate, Remove],
        action: Action::Fail(Errno::IO),
        is_lasting: true,
    },
    Fault {
        name: "I/O error of a read",
        operations: &[Open, Read],
        action: Action::Fail(Errno::IO),
        is_lasting: false,
    },
    Fault { name: "short write", operations: &[Write], action: Action::ShortWrite, is_lasting: false },
    Fault {
        name: "fsync loses what was written",
        operations: &[Sync],
        action: Action::LoseUnsynced(Errno::IO),
        is_lasting: false,
    },
];

impl Fault {
    fn is_no_space(&self) -> bool {
        matches!(self.action, Action::Fail(Errno::NOSPC | Errno::DQUOT) | Action::ShortWriteThen(_))
    }
}

#[test]
fn uploads() {
    inject_everywhere(&[UPLOAD, SET_PROFILE_PHOTO]);
}

#[test]
fn edits_and_likes() {
    inject_everywhere(&[EDIT, LIKE]);
}

#[test]
fn deletes() {
    inject_everywhere(&[DELETE, DELETE_PROFILE_PHOTO, UNLIKE, LOGOUT]);
}

#[test]
fn accounts() {
    inject_everywhere(&[JOIN, LOGIN]);
}

fn inject_everywhere(operations: &[Operation]) {
    let mut fixture = Fixture::start();
    for operation in operations {
        for fault in &FAULTS {
            let mut hit = BTreeSet::new();
            let mut expected: Vec<_> = operation.sites.to_vec();
            expected.retain(|(kind, _)| fault.operations.contains(kind));
            let mut count = 0;
            // A checkpoint adds calls before or after those of the operation, so that a later run of it may
            // number them otherwise: its trace is taken again until every site was hit.
            for _ in 0..10 {
                fixture.restart_before_maintenance();
                (operation.prepare)(fixture.worker());
                let (outcome, trace) = fixture.inject(&[], operation.run);
                outcome.unwrap();
                let calls = first_calls(&trace.calls, fault.operations);
                count += calls.len();
                hit.extend(calls.iter().filter_map(|call| inject(&mut fixture, operation, fault, *call)));
                expected.retain(|(kind, path)| !hit.iter().any(|call| call.is(*kind, path)));
                if expected.is_empty() {
                    break;
                }
            }
            assert!(expected.is_empty(), "{}, {} never hit {expected:?}", operation.name, fault.name);
            println!("{}, {}: {count} faults at {} sites", operation.name, fault.name, hit.len());
        }
    }
    fixture.finish();
}

/// Returns the site that was hit.
fn inject(
    fixture: &mut Fixture,
    operation: &Operation,
    fault: &Fault,
    (run, call): (u64, u64),
) -> Option<FileCall> {
    (operation.prepare)(fixture.worker());
    let orphans = fixture.orphans();
    let Fault { operations, action, is_lasting, .. } = *fault;
    let rule = Rule { operations, path: "", run, call, is_lasting, action };
    let (outcome, trace) = fixture.inject(&[rule], operation.run);
    let hit = trace.hits[0];
    let call = hit.map(|hit| &trace.calls[hit]);
    let what = format!("{}, {} at {call:?}", operation.name, fault.name);
    let expected = hit.map_or(Outcome::Acknowledged, |hit| expect(operation, fault, &trace.calls, hit));
    match outcome {
        Ok(_) => assert_ne!(expected, Outcome::Failed, "{what}: acknowledged"),
        Err(UnknownOutcome::Failed(response) | UnknownOutcome::Unavailable(response)) => {
            assert_ne!(expected, Outcome::Acknowledged, "{what}: {response}");
            let status = match call.unwrap() {
                _ if expected == Outcome::Either => response.status,
                // The log holds the commit, so it may be found there after a crash.
                call if call.is(Sync, LOG) => 503,
                _ if fault.is_no_space() => 507,
                _ => 500,
            };
            assert_cause_logged(fixture.service(), &response.expect_error(status));
            if status == 507 {
                fixture.worker().reject_last();
            }
        }
        Err(outcome) => panic!("{what}: {outcome:?}"),
    }
    if fault.is_no_space() {
        fixture.wait_until_writable();
    }
    let after = fixture.orphans();
    // Also a rename that was lost with its fsync.
    let may_leave_files = is_lasting
        || matches!(action, Action::LoseUnsynced(_))
        || call.is_some_and(|call| [Open, Remove].contains(&call.operation));
    assert!(after <= orphans || may_leave_files, "{what}: {after} files are left over");
    (operation.prepare)(fixture.worker());
    (operation.run)(fixture.worker()).unwrap_or_else(|outcome| panic!("{what}, then again: {outcome:?}"));
    call.map(FileCall::site)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Acknowledged,
    Failed,
    Either,
}

fn expect(operation: &Operation, fault: &Fault, calls: &[FileCall], hit: usize) -> Outcome {
    let (call, earlier) = (&calls[hit], &calls[..hit]);
    let is_retried = operation.frees_space && fault.is_no_space() && !fault.is_lasting && !call.is(Sync, LOG);
    let is_harmless = fault.action == Action::ShortWrite || call.operation == Remove || is_retried;
    if [Open, Read].contains(&call.operation) || is_checkpoint(call, earlier) {
        Outcome::Either
    } else if is_harmless || commits(earlier) >= operation.commits {
        Outcome::Acknowledged
    } else {
        Outcome::Failed
    }
}

/// On a slow machine the service may have been idle long enough for one. It begins with an fsync of the log.
fn is_checkpoint(call: &FileCall, earlier: &[FileCall]) -> bool {
    let last = earlier.iter().rev().find(|call| call.path == LOG && call.operation != Read);
    let has_written = last.is_some_and(|call| call.operation == Write);
    call.path == DATABASE || call.is(Truncate, LOG) || (call.is(Sync, LOG) && !has_written)
}
