//! TLS and authentication to PostgreSQL: what each `sslmode` and `require_auth` accepts.

use std::path::Path;
use std::process::Command;
use std::thread;

use e2e::cluster::{PASSWORD, Postgres, TempHome, TlsCertificate};
use e2e::{Service, program};

/// Without a password unless `user` contains one.
fn url(server: &Postgres, user: &str, host: &str, query: &str) -> String {
    format!("postgres://{user}@{host}:{}/pinhole?{query}", server.address().port())
}

fn with_root(mode: &str, root_certificate: &Path) -> String {
    format!("sslmode={mode}&sslrootcert={}", root_certificate.display())
}

/// Whether the connections with an `application_name` are encrypted, as the server sees it.
fn encryption(server: &Postgres, application_name: &str) -> String {
    server.query(&format!(
        "SELECT string_agg(DISTINCT ssl::text, ' and ') FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE application_name = '{application_name}'"
    ))
}

#[test]
fn sslmode_decides_whether_connections_are_encrypted() {
    let server = Postgres::with_tls();
    let root = server.root_certificate();
    let cases = [
        ("pinhole", "localhost", with_root("verify-full", root), "true"),
        ("pinhole", "localhost", format!("sslrootcert={}", root.display()), "true"),
        ("pinhole", "127.0.0.1", with_root("verify-ca", root), "true"),
        ("pinhole", "localhost", "sslmode=require".into(), "true"),
        ("pinhole", "localhost", String::new(), "true"),
        ("pinhole", "localhost", "sslmode=allow".into(), "true"),
        ("either", "localhost", "sslmode=allow".into(), "false"),
        ("unencrypted", "localhost", "sslmode=prefer".into(), "false"),
        ("unencrypted", "localhost", "sslmode=disable".into(), "false"),
    ];
    for (number, (user, host, query, encrypted)) in cases.iter().enumerate() {
        let name = format!("case{number}");
        let query = format!("{query}&application_name={name}");
        let service = Service::single_node(&["--database-url", &url(&server, user, host, &query)]);
        let id = service.new_user(&name).share_tiny("encrypted");
        service.anonymous().get(&format!("/posts/{id}")).expect(200);
        assert_eq!(&encryption(&server, &name), encrypted, "{user} on {host} with {query}");
    }
}

#[test]
fn passwords_are_sent_only_by_the_methods_of_require_auth() {
    let server = Postgres::with_tls();
    for (user, query) in [
        ("scram", ""),
        ("scram", "require_auth=scram-sha-256&sslmode=disable"),
        ("md5", "require_auth=scram-sha-256,md5"),
        ("cleartext", "require_auth=password"),
    ] {
        let user = format!("{user}:{PASSWORD}");
        let service = Service::single_node(&["--database-url", &url(&server, &user, "localhost", query)]);
        service.anonymous().get("/readyz").expect(200);
    }
}

#[test]
fn a_server_that_cannot_be_trusted_is_rejected_at_startup() {
    let server = Postgres::with_tls();
    let home = TempHome::unprivileged();
    let other = &TlsCertificate::self_signed_in(&home).cert_file;
    let root = server.root_certificate();
    let cases = [
        ("pinhole", "localhost", with_root("verify-full", other), "set sslrootcert"),
        ("pinhole", "localhost", with_root("verify-ca", other), "set sslrootcert"),
        ("pinhole", "127.0.0.1", with_root("verify-full", root), "use the host name of the certificate"),
        ("pinhole", "localhost", with_root("verify-full", Path::new("/nowhere.pem")), "/nowhere.pem"),
        // Leads to this machine, but is no loopback address.
        ("pinhole", "0.0.0.0", String::new(), "invalid peer certificate"),
        ("pinhole", "localhost", "sslmode=disable".into(), "no encryption"),
        ("unencrypted", "localhost", "sslmode=require".into(), "no pg_hba.conf entry"),
        ("md5", "localhost", String::new(), "require_auth=scram-sha-256,md5"),
        ("cleartext", "localhost", String::new(), "require_auth=password"),
        ("pinhole", "localhost", "require_auth=scram-sha-256".into(), "does not allow none"),
    ];
    // Each start retries for some seconds.
    thread::scope(|scope| {
        for (user, host, query, expected) in &cases {
            let url = url(&server, &format!("{user}:{PASSWORD}"), host, query);
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                // A node that starts after all is stopped, and has the wrong output.
                let mut node = Command::new("timeout");
                node.arg("30")
                    .arg(program())
                    .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
                    .arg(folder.path());
                let output = node.args(["--database-url", &url]).output().unwrap();
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(!output.status.success() && stderr.contains(expected), "{url}: {stderr}");
            });
        }
    });
}
