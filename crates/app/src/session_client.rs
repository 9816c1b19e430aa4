//! The client that starts a session: its name and its network, as its user recognises them.

use std::net::IpAddr;

use model::Network;

use crate::Client;

/// The client that starts a session.
#[derive(Debug, Clone)]
pub struct SessionClient {
    address: IpAddr,
    name: Option<String>,
}

impl SessionClient {
    pub fn new(address: IpAddr, user_agent: Option<&str>) -> Self {
        Self { address: address.to_canonical(), name: user_agent.and_then(client_name) }
    }

    /// For the log alone: rows have the network.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    pub(crate) fn client(&self) -> Client {
        Client::anonymous(self.address)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn network(&self) -> Network {
        Network::of(self.address)
    }
}

/// Marks of browsers in a `User-Agent`, most specific first: all name others that they are compatible with.
const BROWSERS: [(&str, &str); 9] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 7] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
];

/// The longest name of a program that is no browser.
const MAX_PROGRAM: usize = 40;

/// A short name such as `Firefox on Windows`, or `curl`; `None` if there is nothing to show.
fn client_name(user_agent: &str) -> Option<String> {
    let find = |marks: &[(&str, &'static str)]| {
        marks.iter().find(|(mark, _)| user_agent.contains(mark)).map(|(_, name)| *name)
    };
    if user_agent.starts_with("Mozilla/") {
        return match (find(&BROWSERS), find(&SYSTEMS)) {
            (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
            (browser, system) => browser.or(system).map(str::to_owned),
        };
    }
    let program = user_agent.split(['/', ' ', ';', '(']).next()?;
    let name: String = program.chars().filter(|letter| !letter.is_control()).take(MAX_PROGRAM).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_short_names() {
        let mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)";
        for (user_agent, expected) in [
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:144.0) Gecko/20100101 Firefox/144.0",
                "Firefox on Windows",
            ),
            (&format!("{mac} Version/18.1 Safari/605.1.15"), "Safari on macOS"),
            (&format!("{mac} Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0"), "Edge on macOS"),
            (
                "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/142.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile Safari/604.1",
                "Safari on iPhone",
            ),
            ("curl/8.5.0", "curl"),
            ("Pinholer (+https://example.org)", "Pinholer"),
        ] {
            assert_eq!(client_name(user_agent).as_deref(), Some(expected), "{user_agent}");
        }
        assert_eq!((client_name(""), client_name("Mozilla/5.0")), (None, None));
        assert_eq!(client_name(&"x".repeat(99)).map(|name| name.len()), Some(MAX_PROGRAM));
    }
}
