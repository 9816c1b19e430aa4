//! The public URL of the service.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

/// An origin in the form that browsers send in `Origin`, so that the two can be compared: lower case, without
/// the default port of the scheme, without a trailing slash. For example `https://photos.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    text: String,
    authority: usize,
}

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_https(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The host, with the port unless it is the default of the scheme.
    pub fn authority(&self) -> &str {
        &self.text[self.authority..]
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let lower = raw.to_ascii_lowercase();
        let schemes = [("http://", 80), ("https://", 443)];
        let known =
            schemes.iter().find_map(|(scheme, port)| Some((scheme, port, lower.strip_prefix(scheme)?)));
        let (scheme, default_port, rest) =
            known.ok_or("expected a URL that begins with http:// or https://")?;

        let authority = rest.trim_end_matches('/');
        if authority.contains(['/', '?', '#']) {
            return Err("expected a URL without a path: the service must be at the root of its host".into());
        }
        if authority.contains('@') {
            return Err("expected a URL without a username".into());
        }
        let (host, port) = split_port(authority)?;
        let authority = match port {
            Some(port) if port != *default_port => format!("{host}:{port}"),
            _ => host.to_owned(),
        };
        Ok(Self { text: format!("{scheme}{authority}"), authority: scheme.len() })
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    // The last colon of [::1] does not precede a port.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    if !is_host(host) {
        return Err("expected a host name (in ASCII form) or an IP address after the scheme".into());
    }
    let port = port.map(|port| port.parse().ok().filter(|port| *port != 0));
    match port {
        Some(None) => Err("expected a port from 1 to 65535".into()),
        Some(port) => Ok((host, port)),
        None => Ok((host, None)),
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    // Underscores are invalid in DNS host names, but common in container networks.
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    host.split('.').all(|label| !label.is_empty() && label.bytes().all(allowed))
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_normalized_to_an_origin() {
        let cases = [
            ("https://photos.example.org", "https://photos.example.org", "photos.example.org"),
            ("https://photos.example.org/", "https://photos.example.org", "photos.example.org"),
            ("HTTPS://Photos.Example.org:443/", "https://photos.example.org", "photos.example.org"),
            ("http://localhost:8080", "http://localhost:8080", "localhost:8080"),
            ("http://x:443", "http://x:443", "x:443"),
            ("http://192.0.2.7:80", "http://192.0.2.7", "192.0.2.7"),
            ("https://[::1]", "https://[::1]", "[::1]"),
            ("https://[::1]:8443", "https://[::1]:8443", "[::1]:8443"),
            ("http://my_app:3000", "http://my_app:3000", "my_app:3000"),
        ];
        for (raw, text, authority) in cases {
            let url: PublicUrl = raw.parse().unwrap();
            assert_eq!((url.as_str(), url.authority()), (text, authority));
            assert_eq!(url.is_https(), text.starts_with("https"));
        }
    }

    #[test]
    fn a_url_that_is_not_an_origin_is_rejected() {
        let cases = [
            "",
            "photos.example.org",
            "ftp://photos.example.org",
            "https://",
            "https://host/path",
            "https://host?query",
            "https://host#fragment",
            "https://ada@host",
            "https://host:",
            "https://host:0",
            "https://host:65536",
            "https://ho st",
            "https://münchen.example",
            "https://a..b",
            "https://[::1",
            "https://[host]",
            "https://::1",
        ];
        for raw in cases {
            assert!(raw.parse::<PublicUrl>().is_err(), "{raw:?} was accepted as a public URL");
        }
    }
}
