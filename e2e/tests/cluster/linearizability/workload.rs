//! Clients that read and write the same few posts on all nodes, and record every operation.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use e2e::oracle::{UnknownOutcome, send};
use e2e::{Body, Client, FormData, Request, Response, eventually, picture, unique};
use serde_json::Value;

use crate::load::{RETRY_DELAY, SetOnDrop, WAIT_TIMEOUT};

use super::cluster::{Cluster, NODES};
use super::history::{History, Operation};
use super::post::{Action, Outcome, PostView};

/// Each user has several clients with one session, so a user's own operations overlap as well.
pub(super) const USERS: usize = 4;
const CLIENTS: usize = 2 * USERS;

/// How many posts exist at a time: few, so that operations on a post overlap.
const ACTIVE_POSTS: usize = 3;

/// No further post is created after this many: all of them must be on the first page of the feed.
const MAX_POSTS: usize = 90;

/// The load of one round, and what its clients know.
pub(super) struct Workload<'c> {
    cluster: &'c Cluster,
    users: &'c [Client],
    history: History,
    posts: Mutex<Vec<PostRecord>>,
    completed: AtomicUsize,
    unanswered: AtomicUsize,
    is_over: AtomicBool,
    has_failed: AtomicBool,
}

/// A post as the clients know it, which refer to it by its number in the round.
#[derive(Debug, Clone)]
struct PostRecord {
    author: usize,
    /// The begin of every message of this post, by which a list identifies it.
    label: String,
    /// The id and the photo's id, once a response has shown them.
    ids: Option<(i64, String)>,
    next_message: u32,
    /// A delete was sent.
    is_deleted: bool,
}

/// One client: a user, and the nodes whose state it knows.
struct ClientState {
    number: usize,
    user: usize,
    rng: fastrand::Rng,
    /// The last request to the node was not answered. Until a read is answered, the client does not write
    /// there: each write with an unknown outcome doubles the possible pasts.
    is_suspect: [bool; NODES],
    /// An upload without a response, which is sent again with the same key.
    pending_upload: Option<usize>,
}

impl<'c> Workload<'c> {
    pub(super) fn new(cluster: &'c Cluster, users: &'c [Client]) -> Self {
        Self {
            cluster,
            users,
            history: History::new(),
            posts: Mutex::default(),
            completed: AtomicUsize::new(0),
            unanswered: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Runs `scenario` while all clients send requests, and returns what they have recorded.
    pub(super) fn run(self, seed: u64, scenario: impl FnOnce(&Self)) -> History {
        std::thread::scope(|scope| {
            for number in 0..CLIENTS {
                let workload = &self;
                scope.spawn(move || workload.send_until_over(number, seed));
            }
            // The clients stop even when the scenario panics.
            let _over = SetOnDrop(&self.is_over);
            scenario(&self);
        });
        self.history
    }

    /// Waits until `more` further operations have got a response.
    #[track_caller]
    pub(super) fn wait_for_operations(&self, more: usize) {
        self.wait("operations complete", &self.completed, more);
    }

    /// Waits until `more` further operations have got no response, or a 503.
    #[track_caller]
    pub(super) fn wait_for_unanswered(&self, more: usize) {
        self.wait("operations fail", &self.unanswered, more);
    }

    #[track_caller]
    fn wait(&self, what: &str, counter: &AtomicUsize, more: usize) {
        let target = counter.load(Ordering::Relaxed) + more;
        eventually(what, WAIT_TIMEOUT, || {
            assert!(!self.has_failed.load(Ordering::Relaxed), "a client has panicked on a wrong response");
            (counter.load(Ordering::Relaxed) >= target).then_some(())
        });
    }

    fn send_until_over(&self, number: usize, seed: u64) {
        let failed = SetOnDrop(&self.has_failed);
        let mut client = ClientState {
            number,
            user: number % USERS,
            rng: fastrand::Rng::with_seed(seed.wrapping_add(number as u64)),
            is_suspect: [false; NODES],
            pending_upload: None,
        };
        while !self.is_over.load(Ordering::Relaxed) {
            self.send_one(&mut client);
        }
        std::mem::forget(failed);
    }

    /// Sends a random request to a random node.
    fn send_one(&self, client: &mut ClientState) {
        let node = client.rng.usize(..NODES);
        let session = self.users[client.user].with_base(&self.cluster.base(node));
        let may_write = !client.is_suspect[node];
        let request = if may_write && let Some(post) = self.post_to_create(client) {
            Some((post, Action::Create(0)))
        } else {
            self.choose_action(client, may_write)
        };
        let Some((post, action)) = request else {
            // No post is known yet.
            return self.send_list(client, node, &session, None);
        };
        match action {
            Action::ReadFeed => self.send_list(client, node, &session, None),
            Action::ReadPostsOfAuthor => self.send_list(client, node, &session, Some(post)),
            _ => self.send_to_post(client, node, &session, post, action),
        }
    }

    /// The upload to send or to send again, if one is due.
    fn post_to_create(&self, client: &ClientState) -> Option<usize> {
        let mut posts = self.posts.lock().unwrap();
        let active = posts.iter().filter(|post| !post.is_deleted).count();
        if client.pending_upload.is_none() && active < ACTIVE_POSTS && posts.len() < MAX_POSTS {
            posts.push(PostRecord {
                author: client.user,
                label: unique("post"),
                ids: None,
                next_message: 1,
                is_deleted: false,
            });
            return Some(posts.len() - 1);
        }
        client.pending_upload
    }

    /// A request about a post whose id is known.
    fn choose_action(&self, client: &mut ClientState, may_write: bool) -> Option<(usize, Action)> {
        let mut posts = self.posts.lock().unwrap();
        let (deleted, active): (Vec<usize>, Vec<usize>) =
            (0..posts.len()).filter(|n| posts[*n].ids.is_some()).partition(|n| posts[*n].is_deleted);
        // Deleted posts are read as well, mostly the newest, whose images may still be cached.
        let newest_deleted = deleted.last().copied().filter(|_| client.rng.u8(..4) == 0);
        let any_deleted = client.rng.choice(&deleted).copied().filter(|_| client.rng.u8(..8) == 0);
        let post = newest_deleted.or(any_deleted).or_else(|| client.rng.choice(active))?;
        let is_author = posts[post].author == client.user;
        let action = match client.rng.u8(..100) {
            _ if !may_write => Action::Read,
            0..22 => Action::Like,
            22..36 => Action::Unlike,
            36..50 if is_author => {
                posts[post].next_message += 1;
                Action::Edit(posts[post].next_message - 1)
            }
            50..56 if is_author => {
                posts[post].is_deleted = true;
                Action::Delete
            }
            56..64 => Action::ReadFeed,
            64..70 => Action::ReadPostsOfAuthor,
            70..86 => Action::ReadImage,
            _ => Action::Read,
        };
        Some((post, action))
    }

    fn send_to_post(
        &self,
        client: &mut ClientState,
        node: usize,
        session: &Client,
        post: usize,
        action: Action,
    ) {
        let PostRecord { label, ids, .. } = self.posts.lock().unwrap()[post].clone();
        let (id, photo) = ids.unwrap_or_default();
        let path = format!("/posts/{id}");
        let edit = |message: u32| FormData::message(&format!("{label} {message}"));
        let request = match action {
            Action::Create(message) => {
                // The same each time: it may be a retry.
                let photo = picture::png(&picture::plain(8, 8, picture::RED));
                let form = FormData::photo(&photo).text("message", format!("{label} {message}"));
                session.request("POST", "/posts").header("Idempotency-Key", &label).body(form)
            }
            Action::Edit(message) => session.request("PUT", &path).body(edit(message)),
            Action::Delete => session.request("DELETE", &path),
            Action::Like => session.request("POST", &format!("{path}/likes")).body(Body::none()),
            Action::Unlike => session.request("DELETE", &format!("{path}/likes")),
            Action::ReadImage => session.request("GET", &format!("/photos/{photo}/16x16")),
            Action::Read | Action::ReadFeed | Action::ReadPostsOfAuthor => session.request("GET", &path),
        };
        let (operation, response) = self.send(client, node, action, request);
        let outcome = response.as_ref().map_or(Outcome::Unknown, |response| outcome(action, response));
        if let Outcome::Post(_) = outcome {
            self.learn_ids(post, &response.expect("a post has a response").json());
        }
        self.history.record(post, Operation { outcome, ..operation });
        if action == Action::Create(0) {
            client.pending_upload = Some(post).filter(|_| outcome == Outcome::Unknown);
        }
    }

    /// Reads the first page of the feed, or of the posts of an author: a read of every post that it could
    /// contain.
    fn send_list(&self, client: &mut ClientState, node: usize, session: &Client, of_author: Option<usize>) {
        let author = of_author.map(|post| self.posts.lock().unwrap()[post].author);
        let (action, path) = match author {
            None => (Action::ReadFeed, "/feed?limit=100".to_owned()),
            Some(author) => {
                let name = self.users[author].username();
                (Action::ReadPostsOfAuthor, format!("/users/{name}/posts?limit=100"))
            }
        };
        let (operation, response) = self.send(client, node, action, session.request("GET", &path));
        let Some(response) = response else { return };
        let page = response.expect(200).json();
        let listed = page["data"].as_array().unwrap();
        let posts = self.posts.lock().unwrap().clone();
        for (number, post) in posts.iter().enumerate() {
            if author.is_some_and(|author| author != post.author) {
                continue;
            }
            let found = listed.iter().find(|json| message(json).0 == post.label);
            if let Some(json) = found {
                self.learn_ids(number, json);
            }
            let outcome = found.map_or(Outcome::NotFound, |json| Outcome::Post(view(json)));
            self.history.record(number, Operation { outcome, ..operation });
        }
    }

    /// Sends a request. The operation is returned with an unknown outcome.
    fn send(
        &self,
        client: &mut ClientState,
        node: usize,
        action: Action,
        request: Request,
    ) -> (Operation, Option<Response>) {
        let call = self.history.now();
        let response = send(request);
        let return_ = self.history.now();
        let &mut ClientState { number, user, .. } = client;
        let outcome = Outcome::Unknown;
        let operation = Operation { client: number, user, node, call, return_, action, outcome };
        client.is_suspect[node] = response.is_err();
        match response {
            Ok(response) => {
                self.completed.fetch_add(1, Ordering::Relaxed);
                (operation, Some(response))
            }
            Err(UnknownOutcome::Failed(response)) => panic!("{response}"),
            Err(_) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(RETRY_DELAY);
                (operation, None)
            }
        }
    }

    fn learn_ids(&self, post: usize, json: &Value) {
        let ids = (json["id"].as_i64().unwrap(), json["photo"]["id"].as_str().unwrap().to_owned());
        let known = &mut self.posts.lock().unwrap()[post].ids;
        assert!(known.as_ref().is_none_or(|known| *known == ids), "a post has two ids: {known:?}, {json}");
        *known = Some(ids);
    }
}

fn outcome(action: Action, response: &Response) -> Outcome {
    match (action, response.status) {
        (Action::Create(_), 201) | (Action::Edit(_) | Action::Read, 200) => {
            Outcome::Post(view(&response.json()))
        }
        (Action::Like, 201) | (Action::Unlike | Action::Delete | Action::ReadImage, 200) => {
            Outcome::Succeeded
        }
        (Action::Create(_) | Action::Like | Action::Unlike, 409) => Outcome::Conflict,
        (_, 404) => Outcome::NotFound,
        _ => panic!("{action:?}: {response}"),
    }
}

fn view(json: &Value) -> PostView {
    PostView {
        message: message(json).1,
        is_liked: json["is_liked"].as_bool().unwrap(),
        like_count: u32::try_from(json["like_count"].as_u64().unwrap()).unwrap(),
    }
}

/// The label and the number of a post's message.
fn message(json: &Value) -> (&str, u32) {
    let (label, number) = json["message"].as_str().unwrap().rsplit_once(' ').unwrap();
    (label, number.parse().unwrap())
}
