//! One person who uses the service, and what it answers them.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use reqwest::blocking;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{Body, Form};

pub const PASSWORD: &str = "correct horse battery";

/// How a session travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    Cookie,
    Bearer,
}

impl Carrier {
    pub const BOTH: [Carrier; 2] = [Carrier::Cookie, Carrier::Bearer];
}

#[derive(Debug, Clone)]
pub struct Client {
    http: blocking::Client,
    base: String,
    username: String,
    session: Option<(Carrier, String)>,
}

/// Speaks plain HTTP. But the service's own build gives this library TLS, and then it wants to know whose.
pub fn browser() -> blocking::ClientBuilder {
    match rustls::crypto::ring::default_provider().install_default() {
        // Some other test was quicker.
        Ok(()) | Err(_) => {}
    }
    blocking::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than any server's patience, so that we never write into a connection it is closing.
        .pool_idle_timeout(Duration::from_secs(2))
        .timeout(Duration::from_secs(120))
}

impl Client {
    pub fn anonymous(base: &str) -> Self {
        static HTTP: LazyLock<blocking::Client> = LazyLock::new(|| browser().build().unwrap());
        Self { http: HTTP.clone(), base: base.into(), username: String::new(), session: None }
    }

    /// The same person at another of this machine's addresses, such as 127.0.0.2.
    pub fn at(&self, source: &str) -> Self {
        let source: IpAddr = source.parse().unwrap();
        Self { http: browser().local_address(source).build().unwrap(), ..self.clone() }
    }

    /// The same person looking for the service elsewhere, after it came back on another port.
    pub fn moved_to(&self, base: &str) -> Self {
        Self { base: base.into(), ..self.clone() }
    }

    #[track_caller]
    pub fn join(&self, username: &str) -> Self {
        let answer = self.post("/join/username", Form::account(username, PASSWORD)).expect(201);
        self.holding(username, Carrier::Bearer, &answer.token())
    }

    /// A further session of the person called so.
    #[track_caller]
    pub fn login(&self, username: &str) -> Self {
        let anonymous = Self { session: None, ..self.clone() };
        let answer = anonymous.post("/login/username", Form::account(username, PASSWORD)).expect(200);
        self.holding(username, Carrier::Bearer, &answer.token())
    }

    pub fn holding(&self, username: &str, carrier: Carrier, token: &str) -> Self {
        Self { username: username.into(), session: Some((carrier, token.into())), ..self.clone() }
    }

    /// The same session sent in another way.
    pub fn by(&self, carrier: Carrier) -> Self {
        self.holding(&self.username, carrier, self.token())
    }

    pub fn username(&self) -> &str {
        &self.username
    }

    pub fn token(&self) -> &str {
        &self.session.as_ref().expect("a person with a session").1
    }

    /// Posts a picture and returns the Post.
    #[track_caller]
    pub fn share(&self, picture: &[u8], message: &str) -> Value {
        self.post("/posts", Form::photo(picture).text("message", message)).expect(201).json()
    }

    /// Posts the cheapest picture there is and returns the post's id.
    #[track_caller]
    pub fn share_tiny(&self, message: &str) -> i64 {
        self.share(&crate::picture::tiny(), message)["id"].as_i64().unwrap()
    }

    /// The post as it stands in the feed, among the newest thousand.
    #[track_caller]
    pub fn find_in_feed(&self, id: i64) -> Option<Value> {
        let mut next = Some("/feed?limit=100".to_owned());
        for _ in 0..10 {
            let page = self.get(&next?).expect(200).json();
            let found = page["data"].as_array().unwrap().iter().find(|post| post["id"] == id);
            if let Some(post) = found {
                return Some(post.clone());
            }
            next = page["paging"]["next"].as_str().map(str::to_owned);
        }
        None
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path).send()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.request("POST", path).body(body).send()
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: impl Into<Body>) -> Answer {
        self.request("PUT", path).body(body).send()
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path).send()
    }

    /// `path` is relative to the service, or a whole address such as `paging.next`.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let mut builder = self.http.request(method.parse().unwrap(), url);
        builder = match &self.session {
            None => builder,
            Some((Carrier::Cookie, token)) => builder.header("Cookie", format!("pinhole_session={token}")),
            Some((Carrier::Bearer, token)) => builder.header("Authorization", format!("Bearer {token}")),
        };
        Request { told: format!("{method} {path}"), builder }
    }
}

/// A request before it is sent.
pub struct Request {
    told: String,
    builder: blocking::RequestBuilder,
}

impl Request {
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.builder = self.builder.header(name, value.as_ref());
        self
    }

    pub fn body(mut self, body: impl Into<Body>) -> Self {
        let Body { content_type, bytes } = body.into();
        if let Some(content_type) = content_type {
            self.builder = self.builder.header("Content-Type", content_type).body(bytes);
        }
        self
    }

    #[track_caller]
    pub fn send(self) -> Answer {
        let told = self.told.clone();
        self.try_send().unwrap_or_else(|error| panic!("{told}: no answer: {error:?}"))
    }

    /// For those who pull the plug: no answer is an answer too.
    pub fn try_send(self) -> Result<Answer, reqwest::Error> {
        let response = self.builder.send()?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes()?.to_vec();
        Ok(Answer { told: self.told, status, headers, bytes })
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    told: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self}");
        serde_json::from_slice(&self.bytes).unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[track_caller]
    pub fn token(&self) -> String {
        self.header("x-auth-token").unwrap_or_else(|| panic!("{self}: no X-Auth-Token")).to_owned()
    }

    /// The decoded picture.
    #[track_caller]
    pub fn picture(&self) -> image::DynamicImage {
        image::load_from_memory(&self.bytes).unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

/// The whole exchange in a line or two, for messages of failed assertions.
impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(500)]);
        write!(f, "{} answered {} {:?} {text:?}", self.told, self.status, self.headers)
    }
}
