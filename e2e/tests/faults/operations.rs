//! The kinds of writes, with what their file operations must be.

use e2e::faults::FileOperation;
use e2e::oracle::{Expected, Worker, WriteResult};

use FileOperation::{Create, MakeFolder, Read, Remove, Rename, Sync, Write};

use crate::fixture::LOG;

/// A write, and what must be so before it.
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&mut Worker),
    pub(crate) run: fn(&mut Worker) -> WriteResult,
    /// The number of commits after which it is acknowledged, whatever fails then.
    pub(crate) commits: usize,
    /// Uses the reserve of a full disk.
    pub(crate) frees_space: bool,
    /// Calls that must be among those of the operation, and so be hit by every fault that applies.
    pub(crate) sites: &'static [(FileOperation, &'static str)],
}

const COMMIT: [(FileOperation, &str); 2] = [(Write, LOG), (Sync, LOG)];

/// Every step of an upload, and what makes it durable.
const STORE_PHOTO: [(FileOperation, &str); 14] = [
    (Write, "tmp/*"),
    (Read, "tmp/*"),
    (MakeFolder, "tmp/put-*"),
    (Create, "tmp/put-*/N"),
    (Write, "tmp/put-*/N"),
    (Sync, "tmp/put-*/N"),
    (Create, "tmp/put-*/original"),
    (Write, "tmp/put-*/original"),
    (Sync, "tmp/put-*/original"),
    (Sync, "tmp/put-*"),
    (Rename, "photos/*/*"),
    (Sync, "photos/*"),
    (Write, LOG),
    (Sync, LOG),
];

const DELETE_PHOTO: [(FileOperation, &str); 6] = [
    (Write, LOG),
    (Sync, LOG),
    (Remove, "photos/*/*/N"),
    (Remove, "photos/*/*/original"),
    (Remove, "photos/*/*"),
    (Sync, "photos/*"),
];

pub(crate) const UPLOAD: Operation = Operation {
    name: "upload",
    prepare: some_posts,
    run: Worker::upload,
    commits: 2,
    frees_space: false,
    sites: &STORE_PHOTO,
};

pub(crate) const SET_PROFILE_PHOTO: Operation = Operation {
    name: "change the profile photo",
    prepare: some_profile_photo,
    run: Worker::set_profile_photo,
    commits: 2,
    frees_space: false,
    sites: &STORE_PHOTO,
};

pub(crate) const EDIT: Operation = Operation {
    name: "edit",
    prepare: some_posts,
    run: |worker| worker.edit(newest(worker)),
    commits: 1,
    frees_space: false,
    sites: &COMMIT,
};

pub(crate) const LIKE: Operation = Operation {
    name: "like",
    prepare: |worker| set_like(worker, false),
    run: |worker| worker.like_or_unlike(newest(worker)),
    commits: 1,
    frees_space: false,
    sites: &COMMIT,
};

pub(crate) const DELETE: Operation = Operation {
    name: "delete",
    prepare: some_posts,
    run: |worker| worker.delete(newest(worker)),
    commits: 1,
    frees_space: true,
    sites: &DELETE_PHOTO,
};

pub(crate) const DELETE_PROFILE_PHOTO: Operation = Operation {
    name: "delete the profile photo",
    prepare: some_profile_photo,
    run: Worker::delete_profile_photo,
    commits: 1,
    frees_space: true,
    sites: &DELETE_PHOTO,
};

pub(crate) const UNLIKE: Operation = Operation {
    name: "unlike",
    prepare: |worker| set_like(worker, true),
    run: |worker| worker.like_or_unlike(newest(worker)),
    commits: 1,
    frees_space: true,
    sites: &COMMIT,
};

pub(crate) const LOGOUT: Operation = Operation {
    name: "logout",
    prepare: some_session,
    run: Worker::logout,
    commits: 1,
    frees_space: true,
    sites: &COMMIT,
};

pub(crate) const JOIN: Operation = Operation {
    name: "join",
    prepare: few_sessions,
    run: Worker::join,
    commits: 1,
    frees_space: false,
    sites: &COMMIT,
};

pub(crate) const LOGIN: Operation = Operation {
    name: "login",
    prepare: few_sessions,
    run: Worker::login,
    commits: 1,
    frees_space: false,
    sites: &COMMIT,
};

/// The newest post, which is not the fixture's.
fn newest(worker: &Worker) -> i64 {
    let posts = worker.writable_posts();
    assert!(posts.len() > 1, "the fixture's post must not be used");
    posts[posts.len() - 1]
}

/// At least two posts, and at most four.
fn some_posts(worker: &mut Worker) {
    match worker.writable_posts()[..] {
        [_] => drop(worker.upload().unwrap()),
        [_, oldest, _, _, ..] => drop(worker.delete(oldest).unwrap()),
        _ => {}
    }
}

fn set_like(worker: &mut Worker, liked: bool) {
    some_posts(worker);
    let post = newest(worker);
    if worker.likes.get(&post).is_some_and(|like| *like.value()) != liked {
        worker.like_or_unlike(post).unwrap();
    }
}

fn some_profile_photo(worker: &mut Worker) {
    if worker.profile_photo.value().is_none() {
        worker.set_profile_photo().unwrap();
    }
}

fn some_session(worker: &mut Worker) {
    if !worker.sessions.iter().any(|(_, is_open)| *is_open == Expected::Known(true)) {
        worker.login().unwrap();
    }
}

fn few_sessions(worker: &mut Worker) {
    if worker.sessions.len() > 3 {
        worker.logout().unwrap();
    }
}
