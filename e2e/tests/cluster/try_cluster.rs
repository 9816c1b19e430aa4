//! `deploy/try-cluster --kill`: the cluster that an operator tries, with the configurations of `deploy`.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};

use e2e::cluster::{TempHome, free_ports};

/// nginx, and what is behind it.
const PORTS: u16 = 50;

fn try_cluster() -> Command {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/try-cluster"))
}

/// Runs it to its end. Returns its output, in which the expected lines are in this order.
#[track_caller]
fn kill(component: &str, expected: &[&str]) -> String {
    let (home, port) = (TempHome::unprivileged(), free_ports(PORTS));
    let mut command = try_cluster();
    command.args(["--kill", component]).env("PINHOLE", e2e::program()).env("TMPDIR", home.path());
    command.env("PORT", port.to_string()).env("BASE", port.to_string());
    for (name, of_the_tests) in [
        ("WEED", "PINHOLE_TEST_WEED"),
        ("NGINX", "PINHOLE_TEST_NGINX"),
        ("POSTGRES_BIN", "PINHOLE_TEST_POSTGRES_BIN"),
    ] {
        if let Some(path) = std::env::var_os(of_the_tests) {
            command.env(name, path);
        }
    }
    let output = command.output().unwrap();
    let printed = text(&output);
    assert!(output.status.success(), "{}: {printed}", output.status);
    let mut rest = printed.as_str();
    for line in expected {
        let at = rest.find(line).unwrap_or_else(|| panic!("no {line:?} in its place: {printed}"));
        rest = &rest[at..];
    }
    assert!(is_empty(home.path()), "a folder is left");
    for port in port..port + PORTS {
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "port {port} is still open");
    }
    printed
}

fn text(output: &Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{stdout}{stderr}")
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

/// A row of the report: how many requests succeeded and failed, and the longest gap in seconds.
#[track_caller]
fn row(printed: &str, kind: &str) -> [f64; 3] {
    let row = printed.lines().find_map(|line| line.strip_prefix(kind)).expect(printed);
    let numbers: Vec<f64> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().expect(printed)
}

#[test]
fn killing_a_node_shows_its_return_and_that_no_write_is_lost() {
    let printed = kill(
        "node",
        &[
            "load runs",
            "kill -9 of node1",
            "node1 started again",
            "node1 ready",
            "No acknowledged write is lost",
        ],
    );
    for kind in ["feed reads ", "photo reads ", "likes ", "posts "] {
        let [succeeded, ..] = row(&printed, kind);
        assert!(succeeded > 10.0, "{printed}");
    }
}

#[test]
fn killing_the_primary_shows_the_outage_until_the_promotion_and_that_no_write_is_lost() {
    let printed = kill(
        "primary",
        &[
            "kill -9 of db1",
            "pg_ctl promote of db2",
            "post acknowledged again",
            "No acknowledged write is lost",
        ],
    );
    assert!(printed.contains("failed: 503 unavailable"), "{printed}");
    // The standby is promoted 8 s after the kill.
    for kind in ["likes ", "posts "] {
        let [_, _, gap] = row(&printed, kind);
        assert!(gap >= 8.0, "{printed}");
    }
}

#[test]
fn a_component_that_cannot_be_killed_is_refused_with_those_that_can() {
    let output = try_cluster().args(["--kill", "nginx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let printed = text(&output);
    for word in ["node", "primary", "s3", "nginx", "--help"] {
        assert!(printed.contains(word), "{word}: {printed}");
    }
}
