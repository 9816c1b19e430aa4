//! The service is killed repeatedly under write load; every acknowledged write must survive.
//!
//! `CRASH_ROUNDS` (20) is the number of kills, `CRASH_SEED` repeats the random choices of an earlier run.

#![allow(clippy::unwrap_used, reason = "a failed expectation must stop the test at once")]

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use e2e::oracle::{UnknownOutcome, Worker, verify};
use e2e::{Body, Client, FormData, PASSWORD, Service, eventually, picture};

/// Enough to queue behind each other; few, because each join costs a password hash.
const WORKERS: usize = 4;
/// The service should be ready within a second; two more are for a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(3);

#[test]
fn acknowledged_writes_survive_kill_9() {
    let rounds: usize = setting("CRASH_ROUNDS").unwrap_or(20);
    let seed = setting("CRASH_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("CRASH_SEED={seed} CRASH_ROUNDS={rounds}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let dir = tempfile::tempdir().unwrap();

    let archive = archive();
    let service = Service::start_in(dir.path(), &[]);
    let mut workers: Vec<Worker> =
        (0..WORKERS).map(|n| Worker::new(service.new_user(&format!("worker{n}")), rng.u64(..))).collect();
    service.kill();

    let (mut acknowledged, mut leaver, mut interrupted): (_, Option<Leaver>, _) = (0, None, 0);
    let mut newcomer: Option<Newcomer> = None;
    for round in 1..=rounds {
        let service = restart(dir.path(), &format!("round {round}"));
        if let Some(leaver) = leaver.take() {
            leaver.verify(&service);
        }
        if let Some(newcomer) = newcomer.take() {
            interrupted += usize::from(newcomer.verify(&service, &archive));
        }
        verify(service.base(), &mut workers);
        let likes = rng.usize(..10);
        let leaving = leaver.insert(Leaver::new(&service, likes));
        newcomer = Some(Newcomer::new(&service, &archive));
        acknowledged += write_until_killed(service, &mut workers, leaving, rng.usize(..80));
    }
    let service = restart(dir.path(), "the end");
    if let Some(leaver) = leaver {
        leaver.verify(&service);
    }
    if let Some(newcomer) = newcomer {
        interrupted += usize::from(newcomer.verify(&service, &archive));
    }
    let photos = verify(service.base(), &mut workers);
    println!("{acknowledged} acknowledged writes, {interrupted} interrupted imports, {photos} photos exist");
    assert!(acknowledged > rounds, "too few acknowledged writes: {acknowledged}");
    assert_no_orphans(dir.path(), photos);
}

fn setting<T: std::str::FromStr>(name: &str) -> Option<T> {
    let raw = std::env::var(name).ok()?;
    Some(raw.parse().unwrap_or_else(|_| panic!("{name} is not a number: {raw}")))
}

fn restart(dir: &Path, round: &str) -> Service {
    let began = Instant::now();
    let service = Service::start_in(dir, &[]);
    eventually("the service is ready", Duration::from_secs(30), || {
        service
            .anonymous()
            .request("GET", "/readyz")
            .try_send()
            .ok()
            .filter(|response| response.status == 200)
    });
    let took = began.elapsed();
    println!("{round}: ready after {} ms", took.as_millis());
    assert!(took < READY_WITHIN, "{round}: ready only after {took:?}");
    service
}

/// All workers write; after `enough` acknowledged writes the service is killed. Returns the number
/// acknowledged.
fn write_until_killed(service: Service, workers: &mut [Worker], leaver: &mut Leaver, enough: usize) -> usize {
    // Every worker may like the posts that exist at the start, even while their authors delete them.
    let shared: Vec<i64> = workers.iter().flat_map(Worker::writable_posts).collect();
    let (acknowledge, acknowledged) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in workers {
            let (acknowledge, shared) = (acknowledge.clone(), &shared);
            worker.client = worker.client.with_base(service.base());
            scope.spawn(move || write_until_disconnected(worker, shared, &acknowledge));
        }
        let shared = &shared;
        scope.spawn(move || leaver.leave(shared));
        drop(acknowledge);
        let count = acknowledged.iter().take(enough).count();
        service.kill();
        count + acknowledged.iter().count()
    })
}

/// A user who posts and likes, and deletes the account while the service is killed.
struct Leaver {
    client: Client,
    posts: Vec<serde_json::Value>,
    /// The likes before the deletion.
    likes: usize,
    /// Whether the deletion was acknowledged.
    has_left: bool,
}

impl Leaver {
    fn new(service: &Service, likes: usize) -> Self {
        let client = service.new_user("leaver");
        let posts = (0..2).map(|_| client.share(&picture::tiny(), "of a user who leaves")).collect();
        Self { client, posts, likes, has_left: false }
    }

    fn leave(&mut self, shared: &[i64]) {
        for post in shared.iter().take(self.likes) {
            let like = self.client.request("POST", &format!("/posts/{post}/likes")).body(Body::none());
            if like.try_send().is_err() {
                return;
            }
        }
        let password = FormData::new().text("password", PASSWORD);
        let left = self.client.request("DELETE", "/me").body(password).try_send();
        self.has_left = left.is_ok_and(|response| response.expect(200).status == 200);
    }

    /// The account is gone if its deletion was acknowledged, else it can be deleted again; then nothing is
    /// left of it.
    fn verify(self, service: &Service) {
        let anonymous = service.anonymous();
        let login = anonymous.post("/login/username", FormData::account(self.client.username(), PASSWORD));
        match login.status {
            200 => {
                assert!(!self.has_left, "the deletion was acknowledged: {login}");
                let client = anonymous.login(self.client.username());
                let password = FormData::new().text("password", PASSWORD);
                client.request("DELETE", "/me").body(password).send().expect(200);
            }
            _ => drop(login.expect_error(400)),
        }
        for post in &self.posts {
            anonymous.get(&format!("/posts/{}", post["id"])).expect_error(404);
            let photo = post["photo"]["id"].as_str().unwrap();
            anonymous.get(&format!("/photos/{photo}/8x8")).expect_error(404);
        }
        eventually("the account is deleted", Duration::from_secs(60), || {
            (service.operator(&["stats"])["deleting"] == 0).then_some(())
        });
    }
}

/// The posts in the archive that is imported.
const ARCHIVED_POSTS: usize = 30;

/// The archive of a user of another instance.
fn archive() -> Vec<u8> {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    for n in 0..ARCHIVED_POSTS {
        ada.share(&picture::tiny(), &format!("archived {n}"));
    }
    ada.export_account()
}

/// A user who imports an archive while the service is killed.
struct Newcomer(Client);

impl Newcomer {
    fn new(service: &Service, archive: &[u8]) -> Self {
        let client = service.new_user("newcomer");
        client.post("/me/import", FormData::new().file("archive", archive)).expect(202);
        Self(client)
    }

    /// No post is there twice, and a second import adds those that are missing. Then the account is deleted.
    /// Returns whether the first import was interrupted.
    fn verify(self, service: &Service, archive: &[u8]) -> bool {
        let client = self.0.with_base(service.base());
        let messages = || {
            let page =
                client.get(&format!("/users/{}/posts?limit=100", client.username())).expect(200).json();
            let posts = page["data"].as_array().unwrap();
            posts.iter().map(|post| post["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let expected: Vec<String> = (0..ARCHIVED_POSTS).map(|n| format!("archived {n}")).rev().collect();
        let before = messages();
        assert!(expected.ends_with(&before), "in the order of the archive, and none twice: {before:?}");
        let status = client.get("/me/import").expect(200).json();
        assert_ne!(status["status"], "running", "the process that ran it has ended");
        let again = client.import_account(archive);
        assert_eq!(again["skipped"], before.len(), "{again}");
        assert_eq!(messages(), expected, "{again}");
        let password = FormData::new().text("password", PASSWORD);
        client.request("DELETE", "/me").body(password).send().expect(200);
        eventually("the account is deleted", Duration::from_secs(60), || {
            (service.operator(&["stats"])["deleting"] == 0).then_some(())
        });
        before.len() < ARCHIVED_POSTS
    }
}

/// Sends write after write and reports each acknowledgement, until the connection fails.
fn write_until_disconnected(worker: &mut Worker, shared: &[i64], acknowledge: &mpsc::Sender<()>) {
    loop {
        match worker.write(shared) {
            Ok(_) => {
                // The receiver is dropped after the kill; then the next request fails.
                acknowledge.send(()).ok();
            }
            Err(UnknownOutcome::ConnectionLost(_)) => return,
            Err(outcome) => panic!("{outcome:?}"),
        }
    }
}

/// Asserts one folder per existing photo, and no temporary file.
fn assert_no_orphans(data_dir: &Path, photos: usize) {
    let entries = |path: &Path| match std::fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    let count = || entries(&data_dir.join("photos")).iter().map(|shard| entries(shard).len()).sum::<usize>();
    let deadline = Instant::now() + Duration::from_secs(10);
    eventually("orphans are removed", Duration::from_secs(11), || {
        let (folders, unfinished) = (count(), entries(&data_dir.join("tmp")));
        if folders == photos && unfinished.is_empty() {
            return Some(());
        }
        let late = Instant::now() > deadline;
        assert!(!late, "{folders} folders for {photos} photos; unfinished: {unfinished:?}");
        None
    });
}
