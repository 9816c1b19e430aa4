//! A client that writes at random and records what the service may now return.

use std::collections::BTreeMap;

use crate::{AuthMethod, Body, Client, FormData, PASSWORD, Request, Response, picture, unique};

use super::{Expected, PostState};

pub struct Worker {
    /// The session that the worker never logs out.
    pub client: Client,
    rng: fastrand::Rng,
    pub posts: BTreeMap<i64, PostState>,
    /// Whether the worker likes a post, its own or another worker's.
    pub likes: BTreeMap<i64, Expected<bool>>,
    /// The width of the profile photo, which identifies it: every upload is wider than the one before.
    pub profile_photo: Expected<Option<u32>>,
    last_width: u32,
    /// Further sessions, and whether each is still open.
    pub sessions: Vec<(Client, Expected<bool>)>,
    pub(super) pending_upload: Option<Upload>,
    /// Usernames of joins whose outcome is unknown.
    pub(super) pending_joins: Vec<String>,
}

/// An upload with its idempotency key, so that it can be retried.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    key: String,
    pub(super) message: String,
    colour: [u8; 3],
}

/// What an acknowledged write has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// A photo, so blobs and database rows.
    Upload,
    /// Database rows only: messages, likes, sessions.
    Rows,
}

/// A write without an acknowledgement: it may or may not have been executed.
#[derive(Debug)]
pub enum UnknownOutcome {
    /// The connection failed before the response was complete.
    ConnectionLost(String),
    /// 503 with `Retry-After`: the service does not know the outcome, or has not begun.
    Unavailable(Box<Response>),
    /// 502 or 504 of the balancer, which lost the node.
    BadGateway(String),
    /// 500 or 507: a failed disk. Only a test that makes it fail may accept this.
    Failed(Box<Response>),
}

pub type WriteResult = Result<WriteKind, UnknownOutcome>;

impl Worker {
    pub fn new(client: Client, seed: u64) -> Self {
        Self {
            client,
            rng: fastrand::Rng::with_seed(seed),
            posts: BTreeMap::new(),
            likes: BTreeMap::new(),
            profile_photo: Expected::Known(None),
            last_width: 8,
            sessions: Vec::new(),
            pending_upload: None,
            pending_joins: Vec::new(),
        }
    }

    pub fn writable_posts(&self) -> Vec<i64> {
        self.posts.iter().filter(|(_, state)| state.is_writable()).map(|(id, _)| *id).collect()
    }

    /// Sends one random write. It may like posts of its own and those in `shared`.
    pub fn write(&mut self, shared: &[i64]) -> WriteResult {
        if self.pending_upload.is_some() {
            return self.send_upload();
        }
        let own = self.writable_posts();
        let mut likeable = [shared, &own].concat();
        likeable.sort_unstable();
        likeable.dedup();
        likeable.retain(|id| self.likes.get(id).is_none_or(Expected::is_known));
        let (own, liked) = (self.rng.choice(own), self.rng.choice(likeable));
        match (self.rng.u8(..100), own, liked) {
            (0..30, ..) | (_, None, _) | (.., None) => self.upload(),
            (30..52, _, Some(id)) => self.like_or_unlike(id),
            (52..60, ..) if self.profile_photo.is_known() => match self.rng.u8(..4) {
                0 => self.delete_profile_photo(),
                _ => self.set_profile_photo(),
            },
            (52..60, ..) => self.upload(),
            (60..76, Some(id), _) => self.edit(id),
            (76..88, Some(id), _) => self.delete(id),
            (88..92, ..) => self.join(),
            (92..96, ..) => self.login(),
            _ => self.logout(),
        }
    }

    /// The service has rejected the last write and says that nothing was changed.
    pub fn reject_last(&mut self) {
        self.pending_upload = None;
        self.profile_photo.reject();
        self.likes.values_mut().for_each(Expected::reject);
        self.sessions.iter_mut().for_each(|(_, is_open)| is_open.reject());
        for post in self.posts.values_mut() {
            post.message.reject();
            post.exists.reject();
        }
    }

    pub fn upload(&mut self) -> WriteResult {
        let colour = [self.rng.u8(..), self.rng.u8(..), self.rng.u8(..)];
        self.pending_upload = Some(Upload { key: unique("key"), message: unique("upload"), colour });
        self.send_upload()
    }

    fn send_upload(&mut self) -> WriteResult {
        let response = send(self.pending_upload_request().expect("an upload is pending"))?;
        self.record_upload(response);
        Ok(WriteKind::Upload)
    }

    /// The pending upload's request, the same on every call.
    pub(super) fn pending_upload_request(&self) -> Option<Request> {
        let Upload { key, message, colour } = self.pending_upload.as_ref()?;
        let file = picture::png(&picture::plain(8, 8, *colour));
        let form = FormData::photo(&file).text("message", message);
        Some(self.client.request("POST", "/posts").header("Idempotency-Key", key).body(form))
    }

    /// Records the post that the pending upload has created.
    pub(super) fn record_upload(&mut self, response: Response) -> i64 {
        let post = response.expect(201).json();
        let Upload { message, colour, .. } = self.pending_upload.take().expect("an upload is pending");
        assert_eq!(post["message"], *message);
        let photo = post["photo"]["id"].as_str().unwrap().to_owned();
        let state = PostState {
            photo,
            colour,
            message: Expected::Known(Some(message)),
            exists: Expected::Known(true),
        };
        let id = post["id"].as_i64().unwrap();
        let duplicate = self.posts.insert(id, state);
        assert!(duplicate.is_none(), "the id of post {id} was used twice");
        id
    }

    pub fn edit(&mut self, id: i64) -> WriteResult {
        let state = self.posts.get_mut(&id).unwrap();
        // An edit that changes nothing writes nothing.
        let clears = state.message.value().is_some() && self.rng.u8(..5) == 0;
        let text = if clears { String::new() } else { unique("edited") };
        state.message.begin_write(Some(text.clone()).filter(|text| !text.is_empty()));
        send(self.client.request("PUT", &format!("/posts/{id}")).body(FormData::message(&text)))?.expect(200);
        state.message.acknowledge();
        Ok(WriteKind::Rows)
    }

    pub fn delete(&mut self, id: i64) -> WriteResult {
        let state = self.posts.get_mut(&id).unwrap();
        state.exists.begin_write(false);
        let response = send(self.client.request("DELETE", &format!("/posts/{id}")))?;
        if !(response.status == 404 && was_retried(&response)) {
            response.expect(200);
        }
        state.exists.acknowledge();
        Ok(WriteKind::Rows)
    }

    pub fn set_profile_photo(&mut self) -> WriteResult {
        self.last_width += 1;
        self.profile_photo.begin_write(Some(self.last_width));
        let file = picture::png(&picture::plain(self.last_width, 8, picture::BLUE));
        send(self.client.request("PUT", "/me/photo").body(FormData::photo(&file)))?.expect(200);
        self.profile_photo.acknowledge();
        Ok(WriteKind::Upload)
    }

    pub fn delete_profile_photo(&mut self) -> WriteResult {
        self.profile_photo.begin_write(None);
        send(self.client.request("DELETE", "/me/photo"))?.expect(200);
        self.profile_photo.acknowledge();
        Ok(WriteKind::Rows)
    }

    pub fn like_or_unlike(&mut self, id: i64) -> WriteResult {
        let like = self.likes.entry(id).or_insert(Expected::Known(false));
        let liked = *like.value();
        let (method, status) = if liked { ("DELETE", 200) } else { ("POST", 201) };
        like.begin_write(!liked);
        let response = send(self.client.request(method, &format!("/posts/{id}/likes")))?;
        if response.status == 404 {
            // The author has deleted the post, and its likes with it.
            *like = Expected::Known(false);
        } else {
            if !(liked && response.status == 409 && was_retried(&response)) {
                response.expect(status);
            }
            like.acknowledge();
        }
        Ok(WriteKind::Rows)
    }

    pub fn join(&mut self) -> WriteResult {
        let name = unique("joined");
        self.pending_joins.push(name.clone());
        let response =
            send(self.client.request("POST", "/join/username").body(FormData::account(&name, PASSWORD)))?;
        let token = response.expect(201).token();
        self.pending_joins.pop();
        self.record_session(&name, &token);
        Ok(WriteKind::Rows)
    }

    pub fn login(&mut self) -> WriteResult {
        let name = self.client.username().to_owned();
        let form = FormData::account(&name, PASSWORD);
        let response = send(self.client.request("POST", "/login/username").body(form))?;
        self.record_session(&name, &response.expect(200).token());
        Ok(WriteKind::Rows)
    }

    fn record_session(&mut self, name: &str, token: &str) {
        let session = self.client.with_session(name, AuthMethod::Bearer, token);
        self.sessions.push((session, Expected::Known(true)));
    }

    pub fn logout(&mut self) -> WriteResult {
        let open = self.sessions.iter_mut().filter(|(_, is_open)| *is_open == Expected::Known(true));
        let Some((session, is_open)) = self.rng.choice(open.collect::<Vec<_>>()) else {
            return self.login();
        };
        is_open.begin_write(false);
        let response = send(session.request("POST", "/logout").body(Body::none()))?;
        response.expect(200);
        is_open.acknowledge();
        Ok(WriteKind::Rows)
    }
}

/// A missing or incomplete response leaves the outcome unknown, and so does a 503, or a 500 of a failed disk.
pub fn send(request: Request) -> Result<Response, UnknownOutcome> {
    let response =
        request.try_send().map_err(|error| UnknownOutcome::ConnectionLost(format!("{error:?}")))?;
    match response.status {
        503 => {
            assert!(response.header("retry-after").is_some(), "{response}");
            Err(UnknownOutcome::Unavailable(response.into()))
        }
        502 | 504 if is_balanced(&response) => Err(UnknownOutcome::BadGateway(response.to_string())),
        500 | 507 => Err(UnknownOutcome::Failed(response.into())),
        _ => Ok(response),
    }
}

fn is_balanced(response: &Response) -> bool {
    response.header(crate::cluster::UPSTREAM_HEADER).is_some()
}

/// The balancer sends an idempotent request to the next node when the first one dies. If the first node has
/// executed it, the second one finds nothing to delete and says so.
fn was_retried(response: &Response) -> bool {
    response.header(crate::cluster::UPSTREAM_HEADER).is_some_and(|nodes| nodes.contains(','))
}
