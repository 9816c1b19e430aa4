//! The addresses of a request: the client's IP address and the service's base URL, as trusted proxies forward
//! them.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Method, Uri, Version};
use ipnet::IpNet;

use crate::config::{Config, PublicUrl};
use crate::connection::Connection;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The head of a request, and its connection.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) version: Version,
    pub(crate) headers: &'a HeaderMap,
    /// `None` outside of a connection.
    pub(crate) connection: Option<&'a Connection>,
}

impl Head<'_> {
    /// Whether the request has one `Host` header. HTTP/1.0, which some health checks use, requires none
    /// (RFC 9112, 3.2).
    pub(crate) fn has_valid_host(&self) -> bool {
        let mut hosts = self.headers.get_all(HOST).iter();
        match (hosts.next(), hosts.next()) {
            (Some(_), None) => true,
            (None, _) => self.version < Version::HTTP_11,
            (Some(_), Some(_)) => false,
        }
    }
}

pub(crate) struct Addresses {
    public_url: Option<PublicUrl>,
    trusted_proxies: Vec<IpNet>,
    /// Whether the log has the warning about forwarded headers of an untrusted peer.
    has_warned: AtomicBool,
}

impl Addresses {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            public_url: config.public_url.clone(),
            trusted_proxies: config.trusted_proxies.clone(),
            has_warned: AtomicBool::new(false),
        }
    }

    /// The client's address: the peer, or if that is a trusted proxy, the right-most address of
    /// `X-Forwarded-For` that is not one.
    pub(crate) fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.ip().to_canonical();
        if !self.trusts(peer) {
            if !self.has_warned.load(Ordering::Relaxed) && headers.contains_key(X_FORWARDED_FOR) {
                self.warn_of_untrusted(peer);
            }
            return peer;
        }
        let values = headers.get_all(X_FORWARDED_FOR);
        let hops: Vec<&[u8]> =
            values.iter().flat_map(|value| value.as_bytes().split(|b| *b == b',')).collect();
        let mut client = peer;
        for hop in hops.iter().rev() {
            match std::str::from_utf8(hop).ok().and_then(|hop| parse_hop(hop.trim())) {
                Some(address) if self.trusts(address) => client = address,
                Some(address) => return address,
                // The hops before a malformed one cannot be trusted.
                None => break,
            }
        }
        client
    }

    /// Once per process: without the setting, all clients of a proxy share one rate limit, which goes
    /// unnoticed until they exceed it.
    #[cold]
    fn warn_of_untrusted(&self, peer: IpAddr) {
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                %peer,
                "X-Forwarded-For of an untrusted peer ignored; if it is your proxy, name its address in \
                 PINHOLE_TRUSTED_PROXIES"
            );
        }
    }

    /// The scheme and host for links: the configured public URL, or else those of the request.
    pub(crate) fn base_url(&self, head: Head<'_>) -> String {
        if let Some(url) = &self.public_url {
            return url.as_str().to_owned();
        }
        let RequestOrigin { scheme, host } = self.request_origin(head);
        match host.filter(|host| is_authority(host)) {
            Some(host) => format!("{scheme}://{host}"),
            None => {
                let local = head
                    .connection
                    .map_or_else(|| "localhost".into(), |connection| connection.local.to_string());
                format!("{scheme}://{local}")
            }
        }
    }

    /// The scheme and host that the request, or a trusted proxy in front of it, was addressed to.
    fn request_origin<'a>(&self, head: Head<'a>) -> RequestOrigin<'a> {
        let (mut scheme, mut host) = ("http", head.headers.get(HOST).and_then(|host| host.to_str().ok()));
        if head.connection.is_some_and(|connection| self.trusts(connection.peer.ip().to_canonical())) {
            if last_value(head.headers, "x-forwarded-proto")
                .is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
            {
                scheme = "https";
            }
            host = last_value(head.headers, "x-forwarded-host").or(host);
        }
        // The host of a request target in absolute form takes precedence (RFC 9112, 3.2.2).
        RequestOrigin { scheme, host: head.uri.authority().map(Authority::as_str).or(host) }
    }

    /// Whether `origin`, the value of an `Origin` header, is the service's own: the public URL, or else the
    /// host of the request, whose scheme is not known for sure.
    pub(crate) fn is_own_origin(&self, head: Head<'_>, origin: &str) -> bool {
        if let Some(url) = &self.public_url {
            return origin.eq_ignore_ascii_case(url.as_str());
        }
        let (Some((_, authority)), Some(host)) = (origin.split_once("://"), self.request_origin(head).host)
        else {
            return false;
        };
        authority.eq_ignore_ascii_case(host)
    }

    /// Whether browsers reach the service by https only.
    pub(crate) fn is_https(&self) -> bool {
        self.public_url.as_ref().is_some_and(PublicUrl::is_https)
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted_proxies.iter().any(|net| net.contains(&address))
    }
}

/// The scheme and the host of a request; the host is not validated.
struct RequestOrigin<'a> {
    scheme: &'static str,
    host: Option<&'a str>,
}

/// The last element of a comma-separated header: the one that the trusted proxy itself has added.
fn last_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get_all(name).iter().next_back()?.to_str().ok()?.rsplit(',').next().map(str::trim)
}

/// An address of `X-Forwarded-For`: bare, with a port, or in brackets.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    bare.or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

/// Whether this is a host with an optional port, without characters that could inject into a link.
fn is_authority(host: &str) -> bool {
    !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b))
        && host.parse::<http::uri::Authority>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_trusted_proxies(nets: &[&str]) -> Addresses {
        let trusted_proxies = nets.iter().map(|net| net.parse().unwrap()).collect();
        Addresses { public_url: None, trusted_proxies, has_warned: AtomicBool::new(false) }
    }

    #[test]
    fn the_client_is_the_right_most_untrusted_hop() {
        let addresses = with_trusted_proxies(&["10.0.0.0/8"]);
        for (peer, forwarded, client) in [
            ("203.0.113.9:1", "1.2.3.4", "203.0.113.9"),
            ("10.0.0.1:1", "1.2.3.4", "1.2.3.4"),
            ("10.0.0.1:1", "6.6.6.6, 1.2.3.4", "1.2.3.4"),
            ("10.0.0.1:1", "6.6.6.6, 1.2.3.4, 10.0.0.2", "1.2.3.4"),
            ("10.0.0.1:1", "1.2.3.4:5678", "1.2.3.4"),
            ("10.0.0.1:1", "[2001:db8::1]", "2001:db8::1"),
            ("10.0.0.1:1", "1.2.3.4, nonsense", "10.0.0.1"),
            ("10.0.0.1:1", "\u{e9}, 1.2.3.4", "1.2.3.4"),
            ("10.0.0.1:1", "", "10.0.0.1"),
            ("[::ffff:10.0.0.1]:1", "1.2.3.4", "1.2.3.4"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-forwarded-for", http::HeaderValue::from_bytes(forwarded.as_bytes()).unwrap());
            let address = addresses.client(peer.parse().unwrap(), &headers);
            assert_eq!(address, client.parse::<IpAddr>().unwrap(), "{peer} / {forwarded}");
        }
    }

    #[test]
    fn a_host_with_characters_that_could_inject_into_a_link_is_rejected() {
        for host in ["example.org", "example.org:8080", "[::1]:80", "127.0.0.1:1", "my_host"] {
            assert!(is_authority(host), "{host}");
        }
        for host in ["", "a b", "a/b", "a?b", "a#b", "user@host", "a\"b", "a<b", "a:b:c"] {
            assert!(!is_authority(host), "{host}");
        }
    }
}
