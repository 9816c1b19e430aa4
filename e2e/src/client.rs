//! An HTTP client of the service, anonymous or with a session, and its responses.

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use reqwest::blocking;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{Body, FormData};

pub const PASSWORD: &str = "correct horse battery";

/// How a request carries the session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    Cookie,
    Bearer,
}

impl AuthMethod {
    pub const BOTH: [AuthMethod; 2] = [AuthMethod::Cookie, AuthMethod::Bearer];
}

#[derive(Debug, Clone)]
pub struct Client {
    http: blocking::Client,
    base: String,
    username: String,
    session: Option<(AuthMethod, String)>,
}

/// Speaks plain HTTP. Feature unification with the server's build turns on TLS in `reqwest`, which then
/// panics without an installed crypto provider.
pub fn client_builder() -> blocking::ClientBuilder {
    match rustls::crypto::ring::default_provider().install_default() {
        // Another test has installed it.
        Ok(()) | Err(_) => {}
    }
    blocking::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        // Shorter than any server's idle timeout, so that no request is sent on a connection being closed.
        .pool_idle_timeout(Duration::from_secs(2))
        .timeout(Duration::from_secs(120))
}

impl Client {
    pub fn anonymous(base: &str) -> Self {
        static HTTP: LazyLock<blocking::Client> = LazyLock::new(|| client_builder().build().unwrap());
        Self { http: HTTP.clone(), base: base.into(), username: String::new(), session: None }
    }

    /// The same session from another source address of this machine, such as 127.0.0.2.
    pub fn with_source_ip(&self, source: &str) -> Self {
        let source: IpAddr = source.parse().unwrap();
        Self { http: client_builder().local_address(source).build().unwrap(), ..self.clone() }
    }

    /// The same session with another base URL, such as after a restart on another port.
    pub fn with_base(&self, base: &str) -> Self {
        Self { base: base.into(), ..self.clone() }
    }

    #[track_caller]
    pub fn join(&self, username: &str) -> Self {
        let response = self.post("/join/username", FormData::account(username, PASSWORD)).expect(201);
        self.with_session(username, AuthMethod::Bearer, &response.token())
    }

    /// A further session of an existing user.
    #[track_caller]
    pub fn login(&self, username: &str) -> Self {
        let anonymous = Self { session: None, ..self.clone() };
        let response = anonymous.post("/login/username", FormData::account(username, PASSWORD)).expect(200);
        self.with_session(username, AuthMethod::Bearer, &response.token())
    }

    pub fn with_session(&self, username: &str, auth: AuthMethod, token: &str) -> Self {
        Self { username: username.into(), session: Some((auth, token.into())), ..self.clone() }
    }

    /// The same session, sent with another method.
    pub fn with_auth(&self, auth: AuthMethod) -> Self {
        self.with_session(&self.username, auth, self.token())
    }

    pub fn username(&self) -> &str {
        &self.username
    }

    pub fn token(&self) -> &str {
        &self.session.as_ref().expect("the client has a session").1
    }

    /// Creates a post and returns it.
    #[track_caller]
    pub fn share(&self, picture: &[u8], message: &str) -> Value {
        self.post("/posts", FormData::photo(picture).text("message", message)).expect(201).json()
    }

    /// Creates a post with the smallest picture and returns its id.
    #[track_caller]
    pub fn share_tiny(&self, message: &str) -> i64 {
        self.share(&crate::picture::tiny(), message)["id"].as_i64().unwrap()
    }

    /// The post as the feed lists it, if it is among the newest thousand.
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
    pub fn get(&self, path: &str) -> Response {
        self.request("GET", path).send()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: impl Into<Body>) -> Response {
        self.request("POST", path).body(body).send()
    }

    #[track_caller]
    pub fn put(&self, path: &str, body: impl Into<Body>) -> Response {
        self.request("PUT", path).body(body).send()
    }

    #[track_caller]
    pub fn delete(&self, path: &str) -> Response {
        self.request("DELETE", path).send()
    }

    /// `path` is relative to the base URL, or an absolute URL such as `paging.next`.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let url = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.base) };
        let mut builder = self.http.request(method.parse().unwrap(), url);
        builder = match &self.session {
            None => builder,
            Some((AuthMethod::Cookie, token)) => builder.header("Cookie", format!("pinhole_session={token}")),
            Some((AuthMethod::Bearer, token)) => builder.header("Authorization", format!("Bearer {token}")),
        };
        Request { description: format!("{method} {path}"), builder }
    }
}

/// A request before it is sent.
pub struct Request {
    /// Method and path, for assertion messages.
    description: String,
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
    pub fn send(self) -> Response {
        let description = self.description.clone();
        self.try_send().unwrap_or_else(|error| panic!("{description}: no response: {error:?}"))
    }

    /// For tests in which the connection may fail.
    pub fn try_send(self) -> Result<Response, reqwest::Error> {
        let response = self.builder.send()?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes()?.to_vec();
        Ok(Response { description: self.description, status, headers, bytes })
    }
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct Response {
    /// Method and path of the request, for assertion messages.
    description: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Response {
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

    /// Decodes the body as an image.
    #[track_caller]
    pub fn picture(&self) -> image::DynamicImage {
        image::load_from_memory(&self.bytes).unwrap_or_else(|error| panic!("{self}: {error}"))
    }
}

/// The exchange in a line or two, for assertion messages.
impl std::fmt::Display for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes[..self.bytes.len().min(500)]);
        write!(f, "{} returned {} {:?} {text:?}", self.description, self.status, self.headers)
    }
}
