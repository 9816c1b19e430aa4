//! Codecs of textual settings: addresses, folders, usernames, networks, URLs, enumerations.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use app::{BucketUrl, DatabaseUrl, UploadHookTarget};
use ipnet::IpNet;
use model::Username;

use super::codec::{Codec, quoted};
use super::public_url::PublicUrl;
use super::secret::Secret;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

pub(super) struct Choice;

impl Codec<LogFormat> for Choice {
    const PLACEHOLDER: &'static str = "FORMAT";

    fn parse(raw: &str) -> Result<LogFormat, String> {
        match raw {
            "auto" => Ok(LogFormat::Auto),
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err("expected auto, text or json".into()),
        }
    }

    fn to_toml(format: &LogFormat) -> Option<String> {
        let name = match format {
            LogFormat::Auto => "auto",
            LogFormat::Text => "text",
            LogFormat::Json => "json",
        };
        Some(quoted(name))
    }
}

pub(super) struct Switch;

impl Codec<bool> for Switch {
    const PLACEHOLDER: &'static str = "on|off";

    fn parse(raw: &str) -> Result<bool, String> {
        match raw {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            _ => Err("expected on or off (or true or false)".into()),
        }
    }

    fn to_toml(on: &bool) -> Option<String> {
        Some(on.to_string())
    }
}

pub(super) struct Address;

impl Codec<SocketAddr> for Address {
    const PLACEHOLDER: &'static str = "ADDR";

    fn parse(raw: &str) -> Result<SocketAddr, String> {
        raw.parse().map_err(|_| "expected an IP address and a port (port 0 chooses a free one)".into())
    }

    fn to_toml(address: &SocketAddr) -> Option<String> {
        Some(quoted(&address.to_string()))
    }
}

pub(super) struct Folder;

impl Codec<PathBuf> for Folder {
    const PLACEHOLDER: &'static str = "DIR";

    fn parse(raw: &str) -> Result<PathBuf, String> {
        if raw.is_empty() { Err("expected the path of a folder".into()) } else { Ok(raw.into()) }
    }

    fn to_toml(path: &PathBuf) -> Option<String> {
        Some(quoted(&path.display().to_string()))
    }
}

/// Free text, which its consumer validates.
pub(super) struct Text;

impl Codec<String> for Text {
    const PLACEHOLDER: &'static str = "FILTER";

    fn parse(raw: &str) -> Result<String, String> {
        if raw.is_empty() { Err("expected some text".into()) } else { Ok(raw.into()) }
    }

    fn to_toml(text: &String) -> Option<String> {
        Some(quoted(text))
    }
}

pub(super) struct Name;

impl Codec<Username> for Name {
    const PLACEHOLDER: &'static str = "NAME";

    fn parse(raw: &str) -> Result<Username, String> {
        raw.parse().map_err(|reason| format!("expected a username: {reason}"))
    }

    fn to_toml(name: &Username) -> Option<String> {
        Some(quoted(name.as_str()))
    }
}

pub(super) struct Network;

impl Codec<IpNet> for Network {
    const PLACEHOLDER: &'static str = "NETWORK";

    fn parse(raw: &str) -> Result<IpNet, String> {
        let address = raw.parse::<IpAddr>().map(IpNet::from);
        // 10.1.2.3/8 is printed as 10.0.0.0/8, the network that it matches.
        let network = address.or_else(|_| raw.parse::<IpNet>().map(|network| network.trunc()));
        network.map_err(|_| "expected an IP address or a network in CIDR notation".into())
    }

    fn to_toml(network: &IpNet) -> Option<String> {
        let alone = network.prefix_len() == network.max_prefix_len();
        Some(quoted(&if alone { network.addr().to_string() } else { network.to_string() }))
    }
}

pub(super) struct Url;

impl Codec<PublicUrl> for Url {
    const PLACEHOLDER: &'static str = "URL";

    fn parse(raw: &str) -> Result<PublicUrl, String> {
        raw.parse()
    }

    fn to_toml(url: &PublicUrl) -> Option<String> {
        Some(quoted(url.as_str()))
    }
}

pub(super) struct Bucket;

impl Codec<BucketUrl> for Bucket {
    const PLACEHOLDER: &'static str = "URL";

    fn parse(raw: &str) -> Result<BucketUrl, String> {
        raw.parse()
    }

    fn to_toml(url: &BucketUrl) -> Option<String> {
        Some(quoted(&url.to_string()))
    }
}

pub(super) struct Hook;

impl Codec<UploadHookTarget> for Hook {
    const PLACEHOLDER: &'static str = "URL|PATH";

    fn parse(raw: &str) -> Result<UploadHookTarget, String> {
        raw.parse()
    }

    fn to_toml(target: &UploadHookTarget) -> Option<String> {
        let (UploadHookTarget::Http(text) | UploadHookTarget::Command(text)) = target;
        Some(quoted(text))
    }
}

pub(super) struct Database;

impl Codec<DatabaseUrl> for Database {
    const PLACEHOLDER: &'static str = "URL";
    const SECRET: bool = true;

    fn parse(raw: &str) -> Result<DatabaseUrl, String> {
        raw.parse()
    }

    /// Never printed, because it may contain a password.
    fn to_toml(_: &DatabaseUrl) -> Option<String> {
        None
    }
}

pub(super) struct Token;

impl Codec<Secret> for Token {
    const PLACEHOLDER: &'static str = "TOKEN";
    const SECRET: bool = true;

    fn parse(raw: &str) -> Result<Secret, String> {
        raw.parse()
    }

    /// Never printed.
    fn to_toml(_: &Secret) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_may_be_a_bare_address() {
        let cases = [
            ("192.0.2.7", "192.0.2.7/32", "\"192.0.2.7\""),
            ("10.1.2.3/8", "10.0.0.0/8", "\"10.0.0.0/8\""),
            ("::1", "::1/128", "\"::1\""),
            ("fd00::/8", "fd00::/8", "\"fd00::/8\""),
        ];
        for (raw, network, toml) in cases {
            let network: IpNet = network.parse().unwrap();
            assert_eq!(Network::parse(raw), Ok(network));
            assert_eq!(Network::to_toml(&network).as_deref(), Some(toml));
        }
        for raw in ["", "localhost", "10.0.0.0/33", "10.0.0", "10.0.0.0/8/8"] {
            assert!(Network::parse(raw).is_err(), "{raw:?} was accepted as a network");
        }
    }
}
