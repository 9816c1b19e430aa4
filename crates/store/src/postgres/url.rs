//! The address of a PostgreSQL server, as an operator writes it. It may hold a password, so it is never shown
//! whole.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full`. Several hosts, separated by commas, are
/// tried in turn until one takes writes.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// As it was written, to tell two apart.
    text: String,
    /// One for each server.
    pub(super) configs: Vec<Config>,
    pub(super) trust: Trust,
}

/// What a server must show before it is believed to be the one that was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing: `disable`, `prefer` and `require` keep listeners out at best, but no impostors.
    Anyone,
    /// `verify-full`: a certificate for its name, from an authority this machine trusts, or from one in a
    /// file.
    Certified { authorities: Option<PathBuf> },
}

const FORM: &str =
    "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %XX";

impl FromStr for DatabaseUrl {
    type Err = String;

    /// The error continues a sentence, and repeats nothing of what was written.
    fn from_str(raw: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| raw.starts_with(scheme)) {
            return Err(FORM.into());
        }
        // A question mark before the @ is part of the password.
        let credentials = raw.find('@').unwrap_or(0);
        let question = raw[credentials..].find('?').map(|at| credentials + at);
        let (address, query) = question.map_or((raw, ""), |at| (&raw[..at], &raw[at + 1..]));
        let mut mode = "prefer".to_owned();
        let mut authorities = None;
        // These two are ours to read: the client knows neither the strict mode nor where certificates lie.
        let mut left = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("sslmode", value)) => mode = decoded(value)?,
                Some(("sslrootcert", value)) => authorities = Some(decoded(value)?),
                _ => left.push(part),
            }
        }
        let query = if left.is_empty() { String::new() } else { format!("?{}", left.join("&")) };
        let servers = each_server(address).into_iter().map(|address| format!("{address}{query}").parse());
        let mut configs: Vec<Config> = servers.collect::<Result<_, _>>().map_err(|_| FORM)?;
        if configs.iter().any(|config| config.get_hosts().is_empty() && config.get_hostaddrs().is_empty()) {
            return Err(format!("{FORM}; the host is missing"));
        }
        if configs.iter().any(|config| config.get_dbname().is_none()) {
            return Err(format!("{FORM}; the database is missing"));
        }

        let (ssl, trust) = match mode.as_str() {
            "disable" => (SslMode::Disable, Trust::Anyone),
            "prefer" => (SslMode::Prefer, Trust::Anyone),
            "require" => (SslMode::Require, Trust::Anyone),
            "verify-full" => {
                let authorities = authorities.take().filter(|path| path != "system").map(PathBuf::from);
                (SslMode::Require, Trust::Certified { authorities })
            }
            _ => return Err("expected sslmode to be disable, prefer, require or verify-full".into()),
        };
        if authorities.is_some() {
            return Err(
                "expected sslmode=verify-full beside sslrootcert: no other mode looks at certificates".into(),
            );
        }
        for config in &mut configs {
            config.ssl_mode(ssl);
        }
        Ok(Self { text: raw.to_owned(), configs, trust })
    }
}

/// The address once for each host in it, so that one that is silent does not use up the time of the others.
fn each_server(address: &str) -> Vec<String> {
    let start = address.find('@').map_or_else(|| address.find("//").map_or(0, |at| at + 2), |at| at + 1);
    let (before, rest) = address.split_at(start);
    let (hosts, after) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    hosts.split(',').map(|host| format!("{before}{host}{after}")).collect()
}

fn decoded(value: &str) -> Result<String, String> {
    percent_decode_str(value).decode_utf8().map(Into::into).map_err(|_| FORM.into())
}

/// Where it is, without who may go in: for messages.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers = self.configs.iter().flat_map(|config| {
            let names = config.get_hosts().iter().map(|host| match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            });
            let port = config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
            let addresses = config.get_hostaddrs().iter().map(ToString::to_string);
            names.chain(addresses).take(1).map(move |server| format!("{server}{port}"))
        });
        let database = self.configs.first().and_then(Config::get_dbname).unwrap_or_default();
        write!(f, "{database} on {}", servers.collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

impl PartialEq for DatabaseUrl {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for DatabaseUrl {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_where_it_leads_and_never_with_which_password() {
        let cases = [
            ("postgres://ada:s3cret@db.example.org/pinhole", "pinhole on db.example.org:5432"),
            ("postgresql://a?a:s3cret@db:6543/pinhole?sslmode=disable", "pinhole on db:6543"),
            ("postgres://ada:s3cret@one:1,two:2/pinhole", "pinhole on one:1, two:2"),
            ("postgres://one,[::1]:2/pinhole?user=ada&password=s3cret", "pinhole on one:5432, ::1:2"),
            (
                "postgres:///pinhole?host=/run/postgresql&user=ada&password=s3cret",
                "pinhole on /run/postgresql",
            ),
        ];
        for (raw, shown) in cases {
            let url: DatabaseUrl = raw.parse().unwrap_or_else(|error| panic!("{raw}: {error}"));
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("s3cret"));
            assert_eq!(url.configs[0].get_password(), Some(b"s3cret".as_slice()));
        }
    }

    #[test]
    fn knows_how_far_to_trust_a_server() {
        let parse = |query: &str| format!("postgres://db/pinhole?{query}").parse::<DatabaseUrl>();
        let cases = [
            ("", SslMode::Prefer, Trust::Anyone),
            ("sslmode=disable", SslMode::Disable, Trust::Anyone),
            ("sslmode=prefer", SslMode::Prefer, Trust::Anyone),
            ("application_name=x&sslmode=require", SslMode::Require, Trust::Anyone),
            ("sslmode=verify-full", SslMode::Require, Trust::Certified { authorities: None }),
            (
                "sslmode=verify-full&sslrootcert=system",
                SslMode::Require,
                Trust::Certified { authorities: None },
            ),
            (
                "sslrootcert=/etc/a%20b.pem&sslmode=verify-full",
                SslMode::Require,
                Trust::Certified { authorities: Some("/etc/a b.pem".into()) },
            ),
        ];
        for (query, mode, trust) in cases {
            let url = parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
            assert_eq!((url.configs[0].get_ssl_mode(), url.trust), (mode, trust), "{query}");
        }
        for query in ["sslmode=allow", "sslmode=verify-ca", "sslmode=", "sslrootcert=/x", "colour=blue"] {
            assert!(parse(query).is_err(), "{query} passed");
        }
    }

    #[test]
    fn a_refusal_repeats_nothing() {
        let cases = [
            "",
            "s3cret",
            "mysql://ada:s3cret@db/x",
            "postgres://ada:s3cret@db",
            "postgres:///s3cret",
            "postgres://ada:s3cret@db/x?s3cret=1",
        ];
        for raw in cases {
            let refusal = raw.parse::<DatabaseUrl>().unwrap_err();
            assert!(!refusal.contains("s3") && !refusal.contains("cret@"), "{refusal}");
        }
    }
}
