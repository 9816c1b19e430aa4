//! Histories that the checker must accept or reject.

use std::time::Duration;

use super::checker::check;
use super::history::Operation;
use super::post::{Action, Outcome, Post, PostView};

const ADA: usize = 0;
const BOB: usize = 1;

/// An operation of a user from one millisecond to another.
fn operation(user: usize, [call, return_]: [u64; 2], action: Action, outcome: Outcome) -> Operation {
    let (call, return_) = (Duration::from_millis(call), Duration::from_millis(return_));
    Operation { client: user, user, node: user, call, return_, action, outcome }
}

fn view(message: u32, is_liked: bool, like_count: u32) -> Outcome {
    Outcome::Post(PostView { message, is_liked, like_count })
}

/// A post that Ada has created before the operations of a test.
fn created() -> Operation {
    operation(ADA, [0, 10], Action::Create(0), view(0, false, 0))
}

#[track_caller]
fn assert_linearizable(operations: &[Operation]) {
    if let Err(report) = check(operations) {
        panic!("{report}");
    }
}

/// The report must mark the operation with this number.
#[track_caller]
fn assert_violation(operations: &[Operation], violation: usize) {
    let report = check(operations).expect_err("the history is not linearizable");
    assert!(report.contains(&format!("> {}", operations[violation])), "{report}");
}

#[test]
fn operations_one_after_another_are_linearizable() {
    assert_linearizable(&[
        operation(BOB, [0, 5], Action::ReadFeed, Outcome::NotFound),
        operation(ADA, [6, 10], Action::Create(0), view(0, false, 0)),
        operation(BOB, [11, 20], Action::Like, Outcome::Succeeded),
        operation(BOB, [21, 30], Action::Like, Outcome::Conflict),
        operation(BOB, [31, 40], Action::Read, view(0, true, 1)),
        operation(ADA, [41, 50], Action::Edit(1), view(1, false, 1)),
        operation(BOB, [51, 60], Action::Unlike, Outcome::Succeeded),
        operation(BOB, [61, 70], Action::ReadImage, Outcome::Succeeded),
        operation(ADA, [71, 80], Action::Delete, Outcome::Succeeded),
        operation(ADA, [81, 90], Action::Delete, Outcome::NotFound),
        operation(BOB, [81, 90], Action::ReadImage, Outcome::NotFound),
        operation(ADA, [91, 95], Action::Create(0), Outcome::Conflict),
    ]);
}

#[test]
fn a_read_during_a_write_returns_the_old_or_the_new_value() {
    let edit = operation(ADA, [20, 50], Action::Edit(1), view(1, false, 0));
    let read = |times, message| operation(BOB, times, Action::Read, view(message, false, 0));
    assert_linearizable(&[created(), edit, read([25, 30], 0), read([31, 40], 1)]);
    assert_violation(&[created(), edit, read([25, 30], 1), read([31, 40], 0)], 3);
}

#[test]
fn a_stale_read_is_a_violation() {
    let edit = operation(ADA, [20, 30], Action::Edit(1), view(1, false, 0));
    assert_violation(&[created(), edit, operation(BOB, [31, 40], Action::Read, view(0, false, 0))], 2);
    let like = operation(BOB, [20, 30], Action::Like, Outcome::Succeeded);
    for read in [view(0, false, 0), view(0, false, 1), view(0, true, 0), view(0, true, 2)] {
        assert_violation(&[created(), like, operation(BOB, [31, 40], Action::ReadFeed, read)], 2);
    }
}

#[test]
fn a_lost_write_is_a_violation() {
    let like = operation(BOB, [20, 30], Action::Like, Outcome::Succeeded);
    let unlike = |outcome| operation(BOB, [31, 40], Action::Unlike, outcome);
    assert_violation(&[created(), like, unlike(Outcome::Conflict)], 2);
    assert_linearizable(&[created(), like, unlike(Outcome::Succeeded)]);
    assert_violation(&[created(), operation(BOB, [20, 30], Action::ReadFeed, Outcome::NotFound)], 1);
}

#[test]
fn one_like_acknowledged_twice_is_a_violation() {
    let like = |times, outcome| operation(BOB, times, Action::Like, outcome);
    let first = like([20, 40], Outcome::Succeeded);
    assert_violation(&[created(), first, like([30, 50], Outcome::Succeeded)], 2);
    assert_linearizable(&[created(), first, like([30, 50], Outcome::Conflict)]);
}

#[test]
fn a_deleted_post_that_exists_again_is_a_violation() {
    let delete = operation(ADA, [20, 40], Action::Delete, Outcome::Succeeded);
    let missing = operation(BOB, [21, 25], Action::Read, Outcome::NotFound);
    for (action, outcome) in [
        (Action::Read, view(0, false, 0)),
        (Action::ReadFeed, view(0, false, 0)),
        (Action::ReadImage, Outcome::Succeeded),
        (Action::Like, Outcome::Succeeded),
        (Action::Unlike, Outcome::Conflict),
    ] {
        let later = operation(BOB, [26, 30], action, outcome);
        assert_violation(&[created(), delete, missing, later], 3);
        assert_linearizable(&[created(), delete, later]);
    }
}

#[test]
fn an_operation_with_an_unknown_outcome_takes_effect_late_or_never() {
    let edit = operation(ADA, [20, 30], Action::Edit(1), Outcome::Unknown);
    let read = |times, message| operation(BOB, times, Action::Read, view(message, false, 0));
    assert_linearizable(&[created(), edit, read([40, 50], 0), read([900, 910], 0)]);
    assert_linearizable(&[created(), edit, read([40, 50], 0), read([900, 910], 1)]);
    assert_violation(&[created(), edit, read([40, 50], 1), read([900, 910], 0)], 3);
    assert_violation(&[created(), edit, read([11, 15], 1)], 2);
}

#[test]
fn an_operation_with_an_unknown_outcome_takes_effect_once() {
    let like = operation(BOB, [20, 30], Action::Like, Outcome::Unknown);
    let unlike = |times| operation(BOB, times, Action::Unlike, Outcome::Succeeded);
    assert_linearizable(&[created(), like, unlike([40, 50])]);
    assert_violation(&[created(), like, unlike([40, 50]), unlike([60, 70])], 3);
}

#[test]
fn an_upload_sent_again_creates_one_post() {
    let unanswered = operation(ADA, [0, 10], Action::Create(0), Outcome::Unknown);
    let like = operation(BOB, [12, 14], Action::Like, Outcome::Succeeded);
    let again = |like_count| operation(ADA, [20, 30], Action::Create(0), view(0, false, like_count));
    assert_linearizable(&[unanswered, again(0)]);
    assert_linearizable(&[unanswered, like, again(1)]);
    assert_violation(&[unanswered, like, again(0)], 2);
}

/// Compares the search with all orders of short random histories, some of them linearizable.
#[test]
fn the_search_agrees_with_all_permutations() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..3_000 {
        let operations = random_history(&mut rng);
        let mut remaining: Vec<&Operation> = operations.iter().collect();
        let expected = has_linearization(Post::Absent, &mut remaining);
        assert_eq!(check(&operations).is_ok(), expected, "{operations:#?}");
        *if expected { &mut accepted } else { &mut rejected } += 1;
    }
    assert!(accepted > 300 && rejected > 300, "{accepted} accepted, {rejected} rejected");
}

/// The outcomes are those of an execution in the order of the calls, except for a few.
fn random_history(rng: &mut fastrand::Rng) -> Vec<Operation> {
    let mut calls: Vec<u64> = (0..6).map(|_| rng.u64(10..60)).collect();
    calls.sort_unstable();
    let mut post = Post::Present { message: 0, likers: 0 };
    let later = calls.iter().enumerate().map(|(n, call)| {
        let user = rng.usize(..2);
        let action = match rng.u8(..10) {
            0..3 => Action::Like,
            3..5 => Action::Unlike,
            5..7 => Action::Edit(n as u32 + 1),
            7 => Action::Delete,
            _ => Action::Read,
        };
        let (next, outcome) = post.execute(user, action);
        post = next;
        let outcome = match rng.u8(..8) {
            0 => Outcome::Unknown,
            1 => Outcome::NotFound,
            _ => outcome,
        };
        operation(user, [*call, call + rng.u64(1..30)], action, outcome)
    });
    [created()].into_iter().chain(later).collect()
}

fn has_linearization(post: Post, remaining: &mut Vec<&Operation>) -> bool {
    let returned = |operation: &&&Operation| operation.outcome != Outcome::Unknown;
    let Some(first_return) = remaining.iter().filter(returned).map(|operation| operation.return_).min()
    else {
        return true;
    };
    (0..remaining.len()).any(|n| {
        let operation = remaining[n];
        let (next, expected) = post.execute(operation.user, operation.action);
        let is_allowed = operation.outcome == Outcome::Unknown || operation.outcome == expected;
        if operation.call > first_return || !is_allowed {
            return false;
        }
        remaining.remove(n);
        let is_linearizable = has_linearization(next, remaining);
        remaining.insert(n, operation);
        is_linearizable
    })
}
