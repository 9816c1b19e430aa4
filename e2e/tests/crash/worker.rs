//! Somebody who writes until the line goes dead, and keeps a ledger.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use e2e::{Answer, Body, Client, Form, PASSWORD, Request, picture, unique};

use crate::ledger::{Entry, Fact};

pub(crate) struct Worker {
    /// Their own session, which never ends.
    pub(crate) person: Client,
    rng: fastrand::Rng,
    pub(crate) posts: BTreeMap<i64, Entry>,
    /// Whether they like a post, of their own or of others.
    pub(crate) likes: BTreeMap<i64, Fact<bool>>,
    /// The photo they show of themselves, known by its width: no two of theirs are equally wide.
    pub(crate) portrait: Fact<Option<u32>>,
    widest: u32,
    /// Further sessions, and whether each is still open.
    pub(crate) sessions: Vec<(Client, Fact<bool>)>,
    /// Key and message of an upload nobody answered.
    pub(crate) unanswered_upload: Option<(String, String)>,
    /// The name of a join nobody answered.
    pub(crate) unanswered_join: Option<String>,
}

/// The line went dead in the middle of a request.
struct Dead;

impl Worker {
    pub(crate) fn new(person: Client, seed: u64) -> Self {
        Self {
            person,
            rng: fastrand::Rng::with_seed(seed),
            posts: BTreeMap::new(),
            likes: BTreeMap::new(),
            portrait: Fact::Sure(None),
            widest: 8,
            sessions: Vec::new(),
            unanswered_upload: None,
            unanswered_join: None,
        }
    }

    pub(crate) fn living(&self) -> Vec<i64> {
        self.posts.iter().filter(|(_, entry)| entry.is_open_for_writes()).map(|(id, _)| *id).collect()
    }

    /// Writes one thing after another and reports each acknowledgement, until there is none.
    pub(crate) fn work(&mut self, base: &str, common: &[i64], acknowledge: &Sender<()>) {
        self.person = self.person.moved_to(base);
        // Nobody counts any more once the plug is pulled; then the next request fails.
        while self.write(common).is_ok() {
            acknowledge.send(()).ok();
        }
    }

    fn write(&mut self, common: &[i64]) -> Result<(), Dead> {
        let own = self.living();
        let mut likeable = [common, &own].concat();
        likeable.sort_unstable();
        likeable.dedup();
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

    fn upload(&mut self) -> Result<(), Dead> {
        let (key, message) = (unique("key"), unique("crash"));
        self.unanswered_upload = Some((key, message));
        let answer = send(self.pending_upload().unwrap())?;
        self.adopt(answer);
        Ok(())
    }

    /// The upload nobody answered, to be sent again.
    pub(crate) fn pending_upload(&self) -> Option<Request> {
        let (key, message) = self.unanswered_upload.as_ref()?;
        let form = Form::photo(&picture::tiny()).text("message", message);
        Some(self.person.request("POST", "/posts").header("Idempotency-Key", key).body(form))
    }

    /// The upload is answered: its post is theirs from now on.
    pub(crate) fn adopt(&mut self, answer: Answer) -> i64 {
        let post = answer.expect(201).json();
        let (_, message) = self.unanswered_upload.take().expect("an upload was under way");
        assert_eq!(post["message"], *message);
        let photo = post["photo"]["id"].as_str().unwrap().to_owned();
        let entry = Entry { photo, message: Fact::Sure(Some(message)), lives: Fact::Sure(true) };
        let id = post["id"].as_i64().unwrap();
        let known = self.posts.insert(id, entry);
        assert!(known.is_none(), "post {id} was given out twice");
        id
    }

    fn edit(&mut self, id: i64) -> Result<(), Dead> {
        let text = if self.rng.u8(..5) == 0 { String::new() } else { unique("edited") };
        let entry = self.posts.get_mut(&id).unwrap();
        entry.message.attempt(Some(text.clone()).filter(|text| !text.is_empty()));
        send(self.person.request("PUT", &format!("/posts/{id}")).body(Form::message(&text)))?.expect(200);
        entry.message.done();
        Ok(())
    }

    fn delete(&mut self, id: i64) -> Result<(), Dead> {
        let entry = self.posts.get_mut(&id).unwrap();
        entry.lives.attempt(false);
        send(self.person.request("DELETE", &format!("/posts/{id}")))?.expect(200);
        entry.lives.done();
        Ok(())
    }

    fn show_or_hide(&mut self) -> Result<(), Dead> {
        if self.rng.u8(..4) == 0 {
            self.portrait.attempt(None);
            send(self.person.request("DELETE", "/me/photo"))?.expect(200);
        } else {
            self.widest += 1;
            self.portrait.attempt(Some(self.widest));
            let file = picture::png(&picture::plain(self.widest, 8, picture::BLUE));
            send(self.person.request("PUT", "/me/photo").body(Form::photo(&file)))?.expect(200);
        }
        self.portrait.done();
        Ok(())
    }

    fn like_or_unlike(&mut self, id: i64) -> Result<(), Dead> {
        let like = self.likes.entry(id).or_insert(Fact::Sure(false));
        let liked = *like.known();
        let (method, status) = if liked { ("DELETE", 200) } else { ("POST", 201) };
        like.attempt(!liked);
        let answer = send(self.person.request(method, &format!("/posts/{id}/likes")))?;
        if answer.status == 404 {
            // Its author was faster; the like went with the post.
            *like = Fact::Sure(false);
        } else {
            answer.expect(status);
            like.done();
        }
        Ok(())
    }

    fn join(&mut self) -> Result<(), Dead> {
        let name = unique("newcomer");
        self.unanswered_join = Some(name.clone());
        let answer =
            send(self.person.request("POST", "/join/username").body(Form::account(&name, PASSWORD)))?;
        let token = answer.expect(201).token();
        self.unanswered_join = None;
        self.remember_session(&name, &token);
        Ok(())
    }

    fn login(&mut self) -> Result<(), Dead> {
        let name = self.person.username().to_owned();
        let form = Form::account(&name, PASSWORD);
        let answer = send(self.person.request("POST", "/login/username").body(form))?;
        self.remember_session(&name, &answer.expect(200).token());
        Ok(())
    }

    fn remember_session(&mut self, name: &str, token: &str) {
        let session = self.person.holding(name, e2e::Carrier::Bearer, token);
        self.sessions.push((session, Fact::Sure(true)));
    }

    fn logout(&mut self) -> Result<(), Dead> {
        let open = self.sessions.iter_mut().filter(|(_, open)| *open == Fact::Sure(true));
        let Some((session, open)) = self.rng.choice(open.collect::<Vec<_>>()) else { return self.login() };
        open.attempt(false);
        send(session.request("POST", "/logout").body(Body::none()))?.expect(200);
        open.done();
        Ok(())
    }
}

/// No answer, or half of one, means that nobody knows what happened.
fn send(request: Request) -> Result<Answer, Dead> {
    request.try_send().map_err(|_| Dead)
}
