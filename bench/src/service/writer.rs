//! A limit for likes: axum and SQLite with different ways to commit.
//!
//! The statements and their order are the service's; the user is taken from the path. `Plain` is the simplest
//! design: a connection behind a mutex, a transaction in every request, SQLite's default WAL and cache. The
//! others have one writer thread with the service's WAL and cache settings: `Each` commits per request,
//! `Full` commits all queued requests in one transaction, `Normal` does the same with `synchronous=NORMAL`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::extract::{Path as Segments, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use clap::ValueEnum;
use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior, params};
use store::sql::{COUNT_LIKE, INSERT_LIKE};
use tokio::sync::oneshot;

use super::Bench;
use super::process::{Server, free_address};
use super::wire::request;
use crate::error::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Commit {
    Plain,
    Each,
    Full,
    Normal,
}

/// The service's own largest batch.
const BATCH: usize = 256;

struct Job {
    user: i64,
    post: i64,
    done: oneshot::Sender<bool>,
}

/// What the child process does.
pub(crate) fn serve(address: SocketAddr, database: &Path, commit: Commit) -> Result<(), Error> {
    let conn = open(database, commit).map_err(Error::measure)?;
    let route = "/posts/{post}/likes/{user}";
    let router = if commit == Commit::Plain {
        Router::new().route(route, post(like_in_request)).with_state(Arc::new(Mutex::new(conn)))
    } else {
        let (jobs, queue) = channel::<Job>();
        std::thread::spawn(move || {
            // Exits, so that a failing writer cannot look fast.
            if let Err(error) = work(&conn, &queue, commit) {
                eprintln!("the writer failed: {error}");
                std::process::exit(1);
            }
        });
        Router::new().route(route, post(like)).with_state(jobs)
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(Error::system("the runtime"))?.block_on(async {
        let router = router.route("/", get(|| async { "ready" }));
        let listener = tokio::net::TcpListener::bind(address).await.map_err(Error::system(address))?;
        let listener = listener.tap_io(|stream| {
            if let Err(error) = stream.set_nodelay(true) {
                eprintln!("likes: {error}");
            }
        });
        axum::serve(listener, router).await.map_err(Error::system(address))
    })
}

async fn like(State(jobs): State<Sender<Job>>, Segments((post, user)): Segments<(i64, i64)>) -> StatusCode {
    let (done, answer) = oneshot::channel();
    if jobs.send(Job { user, post, done }).is_err() {
        return StatusCode::SERVICE_UNAVAILABLE;
    }
    match answer.await {
        Ok(true) => StatusCode::CREATED,
        Ok(false) => StatusCode::CONFLICT,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

async fn like_in_request(
    State(conn): State<Arc<Mutex<Connection>>>,
    Segments((post, user)): Segments<(i64, i64)>,
) -> StatusCode {
    let written = move || {
        let mut conn = conn.lock();
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let new = insert(&tx, user, post)?;
        tx.commit().map(|()| new)
    };
    match tokio::task::spawn_blocking(written).await {
        Ok(Ok(true)) => StatusCode::CREATED,
        Ok(Ok(false)) => StatusCode::CONFLICT,
        Ok(Err(error)) => {
            eprintln!("a like failed: {error}");
            StatusCode::SERVICE_UNAVAILABLE
        }
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    }
}

pub(super) fn open(database: &Path, commit: Commit) -> rusqlite::Result<Connection> {
    let conn = Connection::open(database)?;
    let synchronous = if commit == Commit::Normal { "NORMAL" } else { "FULL" };
    conn.execute_batch(&format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON;
         PRAGMA secure_delete = ON;"
    ))?;
    if commit != Commit::Plain {
        conn.execute_batch(
            "PRAGMA journal_size_limit = 134217728; PRAGMA wal_autocheckpoint = 32000; PRAGMA cache_size = -16384;",
        )?;
    }
    Ok(conn)
}

fn work(conn: &Connection, queue: &Receiver<Job>, commit: Commit) -> rusqlite::Result<()> {
    let limit = if commit == Commit::Each { 1 } else { BATCH };
    while let Ok(first) = queue.recv() {
        conn.execute_batch("BEGIN IMMEDIATE")?;
        let batch: Vec<Job> = std::iter::once(first).chain(queue.try_iter()).take(limit).collect();
        let mut replies = Vec::with_capacity(batch.len());
        for job in batch {
            conn.prepare_cached("SAVEPOINT job")?.execute([])?;
            let new = insert(conn, job.user, job.post)?;
            conn.prepare_cached("RELEASE job")?.execute([])?;
            replies.push((job.done, new));
        }
        conn.execute_batch("COMMIT")?;
        for (done, new) in replies {
            if done.send(new).is_err() {
                eprintln!("a client disconnected before the response");
            }
        }
    }
    Ok(())
}

/// Whether the like is new.
pub(super) fn insert(conn: &Connection, user: i64, post: i64) -> rusqlite::Result<bool> {
    let new = conn.prepare_cached(INSERT_LIKE)?.execute(params![user, 1, post])? > 0;
    if new {
        conn.prepare_cached(COUNT_LIKE)?.execute([1, post])?;
    }
    Ok(new)
}

pub(super) struct Writer {
    pub(super) server: Server,
}

impl Writer {
    pub(super) fn start(bench: &Bench, database: &PathBuf, commit: Commit) -> Result<Self, Error> {
        let address = free_address()?;
        let word = commit.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let mut command = bench.own_program()?;
        command.arg("likes").arg(address.to_string()).arg(database).arg(&word);
        let mut server = Server::start(&format!("likes-{word}"), &command, address, None, &bench.logs())?;
        server.ready("/")?;
        Ok(Self { server })
    }

    pub(super) fn like(address: SocketAddr, user: u64, post: u64) -> Vec<u8> {
        request("POST", address, &format!("/posts/{post}/likes/{user}"), &[], None)
    }
}
