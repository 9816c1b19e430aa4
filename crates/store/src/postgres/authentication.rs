//! The authentication methods that a server may use (`require_auth` in the database URL). A stream enforces
//! them below the PostgreSQL client, which would answer every request of the server.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A method in the terms of libpq's `require_auth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMethod {
    /// The server asks for nothing: `trust` and `peer` in pg_hba.conf.
    None,
    ScramSha256,
    Md5,
    Password,
    /// GSSAPI, SSPI and others that this client does not speak.
    Unsupported,
}

/// Neither shows the password to a server that does not know it.
pub(super) const DEFAULT_METHODS: [AuthMethod; 2] = [AuthMethod::ScramSha256, AuthMethod::None];

/// Parses `require_auth`: a list without libpq's negations, because `!none` would allow cleartext unsaid.
pub(super) fn parse_methods(list: &str) -> Result<Vec<AuthMethod>, String> {
    let method = |name| match name {
        "none" => Ok(AuthMethod::None),
        "scram-sha-256" => Ok(AuthMethod::ScramSha256),
        "md5" => Ok(AuthMethod::Md5),
        "password" => Ok(AuthMethod::Password),
        _ => Err("expected require_auth to be a list of scram-sha-256, md5, password and none".into()),
    };
    list.split(',').map(method).collect()
}

/// A method that the server asked for and the database URL does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal(AuthMethod);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            AuthMethod::Password => {
                "the server asked for the password in cleartext; it was not sent. Let pg_hba.conf require \
                 scram-sha-256, or, if the server needs the password itself (LDAP, PAM, RADIUS), allow that \
                 with require_auth=password in the database URL: an impostor could then learn it, so keep \
                 sslmode=verify-full"
            }
            AuthMethod::Md5 => {
                "the server asked for an MD5 hash of the password; it was not sent. Set the password again \
                 with password_encryption = 'scram-sha-256', or allow it with \
                 require_auth=scram-sha-256,md5 in the database URL: an impostor could then guess \
                 the password from the hash"
            }
            AuthMethod::None => {
                "the server asked for no authentication, and require_auth in the database URL does not \
                 allow none"
            }
            AuthMethod::ScramSha256 => {
                "the server asked for scram-sha-256, and require_auth in the database URL does not allow it"
            }
            AuthMethod::Unsupported => {
                "the server asked for GSSAPI, SSPI or another unsupported method; let pg_hba.conf require \
                 scram-sha-256"
            }
        })
    }
}

impl std::error::Error for Refusal {}

/// Unset until the server's first authentication request arrives.
pub(super) type Verdict = Arc<OnceLock<Result<(), Refusal>>>;

/// libpq's limit for a message before authentication; more is not from a PostgreSQL server.
const MAX_MESSAGE: usize = 30_000;

/// Delivers a message of the server only after it was inspected, until authentication has ended. A request
/// for a method that is not allowed is an error instead, so the client never answers it.
pub(super) struct AuthGuard<S> {
    stream: S,
    allowed: Vec<AuthMethod>,
    verdict: Verdict,
    received: BytesMut,
    /// The length of the prefix of `received` that may be delivered.
    inspected: usize,
    authenticated: bool,
}

impl<S> AuthGuard<S> {
    pub(super) fn new(stream: S, allowed: Vec<AuthMethod>, verdict: Verdict) -> Self {
        Self { stream, allowed, verdict, received: BytesMut::new(), inspected: 0, authenticated: false }
    }

    /// Inspects all messages that have been received whole.
    fn inspect(&mut self) -> io::Result<()> {
        while !self.authenticated {
            let message = &self.received[self.inspected..];
            let mut fields = message;
            if fields.remaining() < 5 {
                return Ok(());
            }
            let (tag, length) = (fields.get_u8(), 1 + fields.get_u32() as usize);
            let min_length = if tag == b'R' { 9 } else { 5 };
            if !(min_length..=MAX_MESSAGE).contains(&length) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "not the protocol of PostgreSQL"));
            }
            if message.len() < length {
                return Ok(());
            }
            if tag == b'R' {
                self.check(fields.get_u32()).map_err(io::Error::other)?;
            }
            self.inspected += length;
        }
        self.inspected = self.received.len();
        Ok(())
    }

    fn check(&mut self, request: u32) -> Result<(), Refusal> {
        let method = match request {
            0 => AuthMethod::None,
            3 => AuthMethod::Password,
            5 => AuthMethod::Md5,
            // The three messages of a SASL exchange; the client implements no other mechanism.
            10..=12 => AuthMethod::ScramSha256,
            _ => AuthMethod::Unsupported,
        };
        self.authenticated = request == 0;
        let ends_an_exchange = self.authenticated && self.verdict.get().is_some();
        if ends_an_exchange || self.allowed.contains(&method) {
            self.verdict.get_or_init(|| Ok(()));
            return Ok(());
        }
        self.verdict.get_or_init(|| Err(Refusal(method)));
        Err(Refusal(method))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AuthGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let guard = &mut *self;
        while guard.inspected == 0 {
            if guard.authenticated {
                return Pin::new(&mut guard.stream).poll_read(cx, into);
            }
            let mut bytes = [0; 1024];
            let mut chunk = ReadBuf::new(&mut bytes);
            ready!(Pin::new(&mut guard.stream).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            guard.received.extend_from_slice(chunk.filled());
            guard.inspect()?;
        }
        let length = guard.inspected.min(into.remaining());
        into.put_slice(&guard.received.split_to(length));
        guard.inspected -= length;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AuthGuard<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
