//! The URL of a PostgreSQL database. It may contain a password, so no message shows it whole.

use std::fmt;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{LoadBalanceHosts, SslMode as ClientSslMode, SslNegotiation};

use super::authentication::{AuthMethod, DEFAULT_METHODS, parse_methods};
use super::endpoint::Endpoint;
use super::ssl_mode::SslMode;

/// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full`. Several hosts, separated by commas, are
/// tried in turn until one accepts writes.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// The raw URL, for comparison.
    text: String,
    pub(super) servers: Vec<Server>,
    pub(super) require_auth: Vec<AuthMethod>,
    /// User, password, database and session options, for all servers.
    pub(super) config: Box<Config>,
}

#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) endpoint: Endpoint,
    pub(super) ssl_mode: SslMode,
}

const EXPECTED_FORMAT: &str =
    "expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters of the password as %XX";

impl FromStr for DatabaseUrl {
    type Err = String;

    /// The error continues a sentence of the caller, and repeats no part of the URL.
    fn from_str(raw: &str) -> Result<Self, String> {
        if !["postgres://", "postgresql://"].iter().any(|scheme| raw.starts_with(scheme)) {
            return Err(EXPECTED_FORMAT.into());
        }
        // A question mark before the @ is part of the password.
        let credentials = raw.find('@').unwrap_or(0);
        let question = raw[credentials..].find('?').map(|at| credentials + at);
        let (address, query) = question.map_or((raw, ""), |at| (&raw[..at], &raw[at + 1..]));
        let (mut ssl_mode, mut root_cert, mut require_auth) = (None, None, DEFAULT_METHODS.to_vec());
        // tokio-postgres supports neither these values of `sslmode` nor the other two.
        let mut other_parameters = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => ssl_mode = Some(percent_decoded(value)?),
                Some(("sslrootcert", value)) => root_cert = Some(percent_decoded(value)?),
                Some(("require_auth", value)) => require_auth = parse_methods(&percent_decoded(value)?)?,
                _ => other_parameters.push(parameter),
            }
        }
        let query = if other_parameters.is_empty() {
            String::new()
        } else {
            format!("?{}", other_parameters.join("&"))
        };
        let root_cert = root_cert.as_deref();
        let ssl_mode = ssl_mode.map(|name| SslMode::parse(&name, root_cert)).transpose()?;
        let mut config: Config = format!("{address}{query}").parse().map_err(|_| EXPECTED_FORMAT)?;
        check(&config)?;
        // The connector encrypts connections, before tokio-postgres gets them.
        config.ssl_mode(ClientSslMode::Disable);
        let servers = Endpoint::all_of(&config)?.into_iter().map(|endpoint| Server {
            ssl_mode: match (&endpoint, &ssl_mode) {
                // PostgreSQL has no TLS there; libpq ignores `sslmode` too.
                (Endpoint::Unix { .. }, _) => SslMode::Disable,
                (_, Some(mode)) => mode.clone(),
                (endpoint, None) => SslMode::default_for(endpoint, root_cert),
            },
            endpoint,
        });
        Ok(Self { text: raw.to_owned(), servers: servers.collect(), require_auth, config: Box::new(config) })
    }
}

fn check(config: &Config) -> Result<(), String> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(format!("{EXPECTED_FORMAT}; the host is missing"));
    }
    if config.get_dbname().is_none() {
        return Err(format!("{EXPECTED_FORMAT}; the database is missing"));
    }
    if config.get_ssl_negotiation() != SslNegotiation::Postgres
        || config.get_load_balance_hosts() != LoadBalanceHosts::Disable
    {
        return Err("expected neither sslnegotiation nor load_balance_hosts: they are not supported".into());
    }
    Ok(())
}

fn percent_decoded(value: &str) -> Result<String, String> {
    percent_decode_str(value).decode_utf8().map(Into::into).map_err(|_| EXPECTED_FORMAT.into())
}

/// Database, host and port, for messages; no user name and no password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.servers.iter().map(|server| server.endpoint.to_string()).collect();
        write!(f, "{} on {}", self.config.get_dbname().unwrap_or_default(), servers.join(", "))
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
    fn display_shows_database_and_hosts_but_not_the_password() {
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
        for (raw, displayed) in cases {
            let url: DatabaseUrl = raw.parse().unwrap_or_else(|error| panic!("{raw}: {error}"));
            assert_eq!(url.to_string(), displayed);
            assert!(!format!("{url:?}").contains("s3cret"));
            assert_eq!(url.config.get_password(), Some(b"s3cret".as_slice()));
        }
    }

    #[test]
    fn sslmode_and_sslrootcert_select_the_verification() {
        let verify_full = |ca_file: Option<&str>| SslMode::VerifyFull { ca_file: ca_file.map(Into::into) };
        let cases = [
            ("sslmode=disable", SslMode::Disable),
            ("sslmode=allow", SslMode::Allow),
            ("sslmode=prefer", SslMode::Prefer),
            ("application_name=x&sslmode=require", SslMode::Require),
            ("sslmode=verify-ca&sslrootcert=/ca.pem", SslMode::VerifyCa { ca_file: "/ca.pem".into() }),
            ("sslmode=verify-full", verify_full(None)),
            ("sslmode=verify-full&sslrootcert=system", verify_full(None)),
            ("sslrootcert=/etc/a%20b.pem&sslmode=verify-full", verify_full(Some("/etc/a b.pem"))),
            ("sslrootcert=/ca.pem", verify_full(Some("/ca.pem"))),
        ];
        for (query, mode) in cases {
            let url = parse(&format!("localhost/pinhole?{query}"));
            assert_eq!(url.servers[0].ssl_mode, mode, "{query}");
        }
        let wrong = [
            "sslmode=",
            "sslmode=verify",
            "sslmode=verify-ca",
            "sslmode=verify-ca&sslrootcert=system",
            "sslmode=require&sslrootcert=/x",
            "sslnegotiation=direct",
            "require_auth=",
            "require_auth=gss",
            "require_auth=!none",
            "host=a,b&port=1,2,3",
            "colour=blue",
        ];
        for query in wrong {
            let url = format!("postgres://db/pinhole?{query}").parse::<DatabaseUrl>();
            assert!(url.is_err(), "{query} must be rejected");
        }
    }

    #[test]
    fn without_sslmode_each_server_is_verified_unless_it_is_local() {
        let (prefer, verify) = (SslMode::Prefer, SslMode::VerifyFull { ca_file: None });
        let cases: [(&str, &[&SslMode]); 10] = [
            ("localhost/pinhole", &[&prefer]),
            ("LOCALHOST:5433/pinhole", &[&prefer]),
            ("127.0.0.2,[::1],[::ffff:127.0.0.1]/pinhole", &[&prefer, &prefer, &prefer]),
            ("/pinhole?host=/run/postgresql", &[&SslMode::Disable]),
            ("%2Frun%2Fpostgresql,db/pinhole?sslmode=verify-full", &[&SslMode::Disable, &verify]),
            ("db/pinhole", &[&verify]),
            ("localhost.example.org,10.0.0.1,[fe80::1],0.0.0.0/pinhole", &[&verify; 4]),
            ("127.0.0.1,db.example.org/pinhole", &[&prefer, &verify]),
            ("db/pinhole?hostaddr=127.0.0.1", &[&prefer]),
            ("localhost/pinhole?hostaddr=10.0.0.1", &[&verify]),
        ];
        for (raw, modes) in cases {
            let url = parse(raw);
            let parsed: Vec<_> = url.servers.iter().map(|server| &server.ssl_mode).collect();
            assert_eq!(parsed, modes, "{raw}");
        }
    }

    #[test]
    fn require_auth_replaces_the_default_methods() {
        use AuthMethod::{Md5, None, Password, ScramSha256};
        let cases: [(&str, &[AuthMethod]); 4] = [
            ("", &[ScramSha256, None]),
            ("require_auth=scram-sha-256", &[ScramSha256]),
            ("require_auth=password", &[Password]),
            ("require_auth=scram-sha-256%2Cmd5,none", &[ScramSha256, Md5, None]),
        ];
        for (query, methods) in cases {
            assert_eq!(parse(&format!("db/pinhole?{query}")).require_auth, methods, "{query}");
        }
    }

    fn parse(raw: &str) -> DatabaseUrl {
        format!("postgres://{raw}").parse().unwrap_or_else(|error| panic!("{raw}: {error}"))
    }

    #[test]
    fn parse_errors_repeat_no_part_of_the_url() {
        let cases = [
            "",
            "s3cret",
            "mysql://ada:s3cret@db/x",
            "postgres://ada:s3cret@db",
            "postgres:///s3cret",
            "postgres://ada:s3cret@db/x?s3cret=1",
        ];
        for raw in cases {
            let error = raw.parse::<DatabaseUrl>().unwrap_err();
            assert!(!error.contains("s3") && !error.contains("cret@"), "{error}");
        }
    }
}
