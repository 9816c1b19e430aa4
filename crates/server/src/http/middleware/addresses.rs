//! Addresses of a request: its client, the public URL it was sent to, and the origin of the page that sent
//! it.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method, Uri};
use ipnet::IpNet;

use crate::config::{Config, PublicUrl};
use crate::connection::ConnectionAddrs;
use crate::http::session_cookie::cookie_value;

/// The head of a request, and the connection it came over.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    pub(crate) method: &'a Method,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) addrs: Option<ConnectionAddrs>,
}

impl<'a> From<&'a Parts> for Head<'a> {
    fn from(parts: &'a Parts) -> Self {
        let Parts { method, uri, headers, extensions, .. } = parts;
        Self { method, uri, headers, addrs: extensions.get().copied() }
    }
}

impl<'a> From<&'a Request> for Head<'a> {
    fn from(request: &'a Request) -> Self {
        let addrs = request.extensions().get().copied();
        Self { method: request.method(), uri: request.uri(), headers: request.headers(), addrs }
    }
}

pub(crate) struct Addresses {
    public_url: Option<PublicUrl>,
    trusted: Vec<IpNet>,
}

impl Addresses {
    pub(crate) fn new(config: &Config) -> Self {
        Self { public_url: config.public_url.clone(), trusted: config.trusted_proxies.clone() }
    }

    /// The client: the peer, or behind a proxy we trust the right-most address that is not one itself.
    pub(crate) fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.ip().to_canonical();
        if !self.trusts(peer) {
            return peer;
        }
        let values = headers.get_all("x-forwarded-for");
        let hops: Vec<&[u8]> =
            values.iter().flat_map(|value| value.as_bytes().split(|b| *b == b',')).collect();
        let mut client = peer;
        for hop in hops.iter().rev() {
            match std::str::from_utf8(hop).ok().and_then(|hop| parse_hop(hop.trim())) {
                Some(address) if self.trusts(address) => client = address,
                Some(address) => return address,
                // Beyond a hop that makes no sense nothing can be believed.
                None => break,
            }
        }
        client
    }

    /// The address to put before a path in links: as configured, else where the request came to.
    pub(crate) fn base_url(&self, head: Head<'_>) -> String {
        if let Some(url) = &self.public_url {
            return url.as_str().to_owned();
        }
        let Named { scheme, host } = self.named(head);
        match host.filter(|host| is_authority(host)) {
            Some(host) => format!("{scheme}://{host}"),
            None => {
                let local = head.addrs.map_or_else(|| "localhost".into(), |addrs| addrs.local.to_string());
                format!("{scheme}://{local}")
            }
        }
    }

    /// The scheme and host that a request names, itself or through a proxy we trust.
    fn named<'a>(&self, head: Head<'a>) -> Named<'a> {
        let (mut scheme, mut host) = ("http", head.headers.get(HOST).and_then(|host| host.to_str().ok()));
        if head.addrs.is_some_and(|addrs| self.trusts(addrs.peer.ip().to_canonical())) {
            if first(head.headers, "x-forwarded-proto")
                .is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
            {
                scheme = "https";
            }
            host = first(head.headers, "x-forwarded-host").or(host);
        }
        // A request in absolute form names its host in its target.
        Named { scheme, host: head.uri.authority().map(Authority::as_str).or(host) }
    }

    /// Cross-site request forgery: whether a page of another origin sent this write with a user's cookie.
    pub(crate) fn is_cross_origin_write(&self, method: &Method, headers: &HeaderMap, cookie: &str) -> bool {
        if method.is_safe() || !has_cookie(headers, cookie) {
            return false;
        }
        if let Some(site) = headers.get("sec-fetch-site") {
            return site == "cross-site";
        }
        let Some(origin) = headers.get(ORIGIN) else { return false };
        let origin = origin.to_str().unwrap_or_default();
        let own = match &self.public_url {
            Some(url) => origin.eq_ignore_ascii_case(url.as_str()),
            None => {
                let host = headers.get(HOST).and_then(|host| host.to_str().ok());
                origin.split_once("://").is_some_and(|(_, authority)| Some(authority) == host)
            }
        };
        !own
    }

    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|net| net.contains(&address))
    }
}

/// The scheme and the host that a request names; the host is not validated yet.
struct Named<'a> {
    scheme: &'static str,
    host: Option<&'a str>,
}

fn has_cookie(headers: &HeaderMap, name: &str) -> bool {
    headers.get_all(COOKIE).iter().any(|value| cookie_value(value, name).is_some())
}

fn first<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()?.split(',').next().map(str::trim)
}

/// An address as proxies write it: bare, with a port, or bracketed.
fn parse_hop(hop: &str) -> Option<IpAddr> {
    let bare = hop.parse::<IpAddr>().ok();
    let with_port = || hop.parse::<SocketAddr>().ok().map(|address| address.ip());
    let bracketed = || hop.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    bare.or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

/// A host with an optional port, and nothing that could break out of a link.
fn is_authority(host: &str) -> bool {
    !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]_".contains(&b))
        && host.parse::<http::uri::Authority>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(trusted: &[&str]) -> Addresses {
        Addresses { public_url: None, trusted: trusted.iter().map(|net| net.parse().unwrap()).collect() }
    }

    #[test]
    fn the_client_is_the_right_most_hop_we_do_not_trust() {
        let proxies = behind(&["10.0.0.0/8"]);
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
            let found = proxies.client(peer.parse().unwrap(), &headers);
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{peer} / {forwarded}");
        }
    }

    #[test]
    fn links_never_carry_what_could_break_out_of_them() {
        for host in ["example.org", "example.org:8080", "[::1]:80", "127.0.0.1:1", "my_host"] {
            assert!(is_authority(host), "{host}");
        }
        for host in ["", "a b", "a/b", "a?b", "a#b", "user@host", "a\"b", "a<b", "a:b:c"] {
            assert!(!is_authority(host), "{host}");
        }
    }
}
