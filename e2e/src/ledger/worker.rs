//! Somebody who writes, and keeps a ledger. Whatever is not answered stays open in it.

use std::collections::BTreeMap;

use crate::{Answer, Body, Carrier, Client, Form, PASSWORD, Request, picture, unique};

use super::{Entry, Fact};

pub struct Worker {
    /// Their own session, which never ends.
    pub person: Client,
    rng: fastrand::Rng,
    pub posts: BTreeMap<i64, Entry>,
    /// Whether they like a post, of their own or of others.
    pub likes: BTreeMap<i64, Fact<bool>>,
    /// The photo they show of themselves, known by its width: no two of theirs are equally wide.
    pub portrait: Fact<Option<u32>>,
    widest: u32,
    /// Further sessions, and whether each is still open.
    pub sessions: Vec<(Client, Fact<bool>)>,
    pub(super) unanswered_upload: Option<Upload>,
    /// The names of joins nobody answered.
    pub(super) unanswered_joins: Vec<String>,
}

/// An upload that can be sent again, and then is the same.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    key: String,
    pub(super) message: String,
    colour: [u8; 3],
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    /// Something with a picture.
    Photo,
    /// Words, likes, sessions.
    Fact,
}

/// Nobody knows what came of a request.
#[derive(Debug)]
pub enum Unanswered {
    /// The line went dead in the middle of it.
    Dead(String),
    /// 503 with `Retry-After`: the service itself cannot tell, or has not begun.
    Unavailable(String),
    /// The balancer in front lost the node it had asked.
    Lost(String),
}

type Done = Result<Deed, Unanswered>;

impl Worker {
    pub fn new(person: Client, seed: u64) -> Self {
        Self {
            person,
            rng: fastrand::Rng::with_seed(seed),
            posts: BTreeMap::new(),
            likes: BTreeMap::new(),
            portrait: Fact::Sure(None),
            widest: 8,
            sessions: Vec::new(),
            unanswered_upload: None,
            unanswered_joins: Vec::new(),
        }
    }

    pub fn living(&self) -> Vec<i64> {
        self.posts.iter().filter(|(_, entry)| entry.is_open_for_writes()).map(|(id, _)| *id).collect()
    }

    /// Writes one thing, of their own or among what all have in `common`.
    pub fn write(&mut self, common: &[i64]) -> Done {
        if self.unanswered_upload.is_some() {
            return self.send_upload();
        }
        let own = self.living();
        let mut likeable = [common, &own].concat();
        likeable.sort_unstable();
        likeable.dedup();
        likeable.retain(|id| self.likes.get(id).is_none_or(Fact::is_sure));
        let (own, liked) = (self.rng.choice(own), self.rng.choice(likeable));
        match (self.rng.u8(..100), own, liked) {
            (0..30, ..) | (_, None, _) | (.., None) => self.upload(),
            (30..52, _, Some(id)) => self.like_or_unlike(id),
            (52..60, ..) => self.show_or_hide(),
            (60..76, Some(id), _) => self.edit(id),
            (76..88, Some(id), _) => self.delete(id),
            (88..92, ..) => self.join(),
            (92..96, ..) => self.login(),
            _ => self.logout(),
        }
    }

    pub fn upload(&mut self) -> Done {
        let colour = [self.rng.u8(..), self.rng.u8(..), self.rng.u8(..)];
        self.unanswered_upload = Some(Upload { key: unique("key"), message: unique("upload"), colour });
        self.send_upload()
    }

    fn send_upload(&mut self) -> Done {
        let answer = send(self.pending_upload().expect("an upload is under way"))?;
        self.adopt(answer);
        Ok(Deed::Photo)
    }

    /// The upload nobody answered, to be sent again.
    pub(super) fn pending_upload(&self) -> Option<Request> {
        let Upload { key, message, colour } = self.unanswered_upload.as_ref()?;
        let file = picture::png(&picture::plain(8, 8, *colour));
        let form = Form::photo(&file).text("message", message);
        Some(self.person.request("POST", "/posts").header("Idempotency-Key", key).body(form))
    }

    /// The upload is answered: its post is theirs from now on.
    pub(super) fn adopt(&mut self, answer: Answer) -> i64 {
        let post = answer.expect(201).json();
        let Upload { message, colour, .. } = self.unanswered_upload.take().expect("an upload was under way");
        assert_eq!(post["message"], *message);
        let photo = post["photo"]["id"].as_str().unwrap().to_owned();
        let entry = Entry { photo, colour, message: Fact::Sure(Some(message)), lives: Fact::Sure(true) };
        let id = post["id"].as_i64().unwrap();
        let known = self.posts.insert(id, entry);
        assert!(known.is_none(), "post {id} was given out twice");
        id
    }

    fn edit(&mut self, id: i64) -> Done {
        let text = if self.rng.u8(..5) == 0 { String::new() } else { unique("edited") };
        let entry = self.posts.get_mut(&id).unwrap();
        entry.message.attempt(Some(text.clone()).filter(|text| !text.is_empty()));
        send(self.person.request("PUT", &format!("/posts/{id}")).body(Form::message(&text)))?.expect(200);
        entry.message.done();
        Ok(Deed::Fact)
    }

    fn delete(&mut self, id: i64) -> Done {
        let entry = self.posts.get_mut(&id).unwrap();
        entry.lives.attempt(false);
        let answer = send(self.person.request("DELETE", &format!("/posts/{id}")))?;
        if !(answer.status == 404 && was_sent_twice(&answer)) {
            answer.expect(200);
        }
        entry.lives.done();
        Ok(Deed::Fact)
    }

    fn show_or_hide(&mut self) -> Done {
        if !self.portrait.is_sure() {
            return self.upload();
        }
        let deed = if self.rng.u8(..4) == 0 {
            self.portrait.attempt(None);
            send(self.person.request("DELETE", "/me/photo"))?.expect(200);
            Deed::Fact
        } else {
            self.widest += 1;
            self.portrait.attempt(Some(self.widest));
            let file = picture::png(&picture::plain(self.widest, 8, picture::BLUE));
            send(self.person.request("PUT", "/me/photo").body(Form::photo(&file)))?.expect(200);
            Deed::Photo
        };
        self.portrait.done();
        Ok(deed)
    }

    fn like_or_unlike(&mut self, id: i64) -> Done {
        let like = self.likes.entry(id).or_insert(Fact::Sure(false));
        let liked = *like.known();
        let (method, status) = if liked { ("DELETE", 200) } else { ("POST", 201) };
        like.attempt(!liked);
        let answer = send(self.person.request(method, &format!("/posts/{id}/likes")))?;
        if answer.status == 404 {
            // Its author was faster; the like went with the post.
            *like = Fact::Sure(false);
        } else {
            if !(liked && answer.status == 409 && was_sent_twice(&answer)) {
                answer.expect(status);
            }
            like.done();
        }
        Ok(Deed::Fact)
    }

    fn join(&mut self) -> Done {
        let name = unique("newcomer");
        self.unanswered_joins.push(name.clone());
        let answer =
            send(self.person.request("POST", "/join/username").body(Form::account(&name, PASSWORD)))?;
        let token = answer.expect(201).token();
        self.unanswered_joins.pop();
        self.remember_session(&name, &token);
        Ok(Deed::Fact)
    }

    fn login(&mut self) -> Done {
        let name = self.person.username().to_owned();
        let form = Form::account(&name, PASSWORD);
        let answer = send(self.person.request("POST", "/login/username").body(form))?;
        self.remember_session(&name, &answer.expect(200).token());
        Ok(Deed::Fact)
    }

    fn remember_session(&mut self, name: &str, token: &str) {
        let session = self.person.holding(name, Carrier::Bearer, token);
        self.sessions.push((session, Fact::Sure(true)));
    }

    fn logout(&mut self) -> Done {
        let open = self.sessions.iter_mut().filter(|(_, open)| *open == Fact::Sure(true));
        let Some((session, open)) = self.rng.choice(open.collect::<Vec<_>>()) else { return self.login() };
        open.attempt(false);
        let answer = send(session.request("POST", "/logout").body(Body::none()))?;
        answer.expect(200);
        open.done();
        Ok(Deed::Fact)
    }
}

/// No answer, or half of one, means that nobody knows what happened; so does a 503. A 500 is never in order.
fn send(request: Request) -> Result<Answer, Unanswered> {
    let answer = request.try_send().map_err(|error| Unanswered::Dead(format!("{error:?}")))?;
    match answer.status {
        503 => {
            assert!(answer.header("retry-after").is_some(), "{answer}");
            Err(Unanswered::Unavailable(answer.to_string()))
        }
        502 | 504 if is_balanced(&answer) => Err(Unanswered::Lost(answer.to_string())),
        _ => Ok(answer),
    }
}

fn is_balanced(answer: &Answer) -> bool {
    answer.header(crate::cluster::ASKED).is_some()
}

/// Balancers ask the next node when one dies in the middle of a request that may be repeated. If it was done
/// there, the next one has nothing left to delete, and says so.
fn was_sent_twice(answer: &Answer) -> bool {
    answer.header(crate::cluster::ASKED).is_some_and(|nodes| nodes.contains(','))
}
