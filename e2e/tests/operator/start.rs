//! Starting: what is said when it works, and what to do when it does not.

use std::net::TcpListener;
use std::process::{Command, Output};

use e2e::{Service, program};

/// Runs the program to its end. It must not be able to reach the service's own settings.
pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(program())
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .expect("the program runs")
}

/// Runs what must fail, and returns its words.
#[track_caller]
pub(crate) fn refusal(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(arguments, variables);
    assert!(!output.status.success(), "{arguments:?} {variables:?} should have failed");
    String::from_utf8(output.stderr).expect("words")
}

#[track_caller]
pub(crate) fn assert_says(words: &str, expected: &[&str]) {
    for piece in expected {
        assert!(words.contains(piece), "{piece:?} is missing in: {words}");
    }
}

#[test]
fn a_taken_port_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let words = refusal(&["--listen", &address, "--data-dir", folder.path().to_str().unwrap()], &[]);
    assert_says(&words, &[&address, "--listen", "PINHOLE_LISTEN"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_named_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "in the way").unwrap();
    let inside = file.join("data");
    let words = refusal(&["--listen", "127.0.0.1:0", "--data-dir", inside.to_str().unwrap()], &[]);
    assert_says(&words, &[inside.to_str().unwrap(), "--data-dir", "PINHOLE_DATA_DIR"]);
}

#[test]
fn two_services_do_not_share_a_folder() {
    let service = Service::start(&[]);
    let words =
        refusal(&["--listen", "127.0.0.1:0", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    assert_says(&words, &["already running", "--data-dir"]);
    service.assert_alive();
}

#[test]
fn data_of_a_newer_version_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    service.terminate();
    service.assert_ends_well();
    // The schema's version is a number in the file's header.
    let database = folder.path().join("pinhole.db");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&database, &bytes).unwrap();

    let words = refusal(&["--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()], &[]);
    assert_says(&words, &["version 99", "newer Pinhole", "--data-dir"]);
    assert_eq!(std::fs::read(&database).unwrap(), bytes);
}

#[test]
fn settings_that_mean_nothing_are_met_with_the_nearest_that_do() {
    assert_says(&refusal(&["--lisen", "127.0.0.1:0"], &[]), &["--listen"]);
    assert_says(&refusal(&["config"], &[("PINHOLE_MAX_UPLAOD", "1MiB")]), &["PINHOLE_MAX_UPLOAD"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "sesion_idle = \"1d\"\n").unwrap();
    assert_says(&refusal(&["config", "--config", file.to_str().unwrap()], &[]), &["session_idle"]);
    assert_says(&refusal(&["config", "--max-upload", "lots"], &[]), &["--max-upload", "lots", "MiB"]);
}

#[test]
fn config_shows_what_is_in_force_and_hides_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let (file, secret) = (folder.path().join("settings.toml"), folder.path().join("secret"));
    std::fs::write(&file, "min_password = 8\nmax_upload = \"1MiB\"\nsession_idle = \"1d\"\n").unwrap();
    std::fs::write(&secret, "hush-hush\n").unwrap();
    let output = run(
        &["config", "--config", file.to_str().unwrap(), "--max-upload", "3MiB"],
        &[
            ("PINHOLE_MAX_UPLOAD", "2MiB"),
            ("PINHOLE_MIN_PASSWORD", "9"),
            ("PINHOLE_ADMIN_TOKEN_FILE", secret.to_str().unwrap()),
        ],
    );
    assert!(output.status.success());
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_says(
        &shown,
        &["max_upload = \"3MiB\"", "min_password = 9", "session_idle = \"1d\"", "join_burst = 100"],
    );
    assert!(!shown.contains("hush"), "{shown}");
}

#[test]
fn healthcheck_tells_a_ready_service_from_none() {
    let service = Service::start(&[]);
    let address = service.address().to_string();
    assert!(run(&["healthcheck", "--listen", &address], &[]).status.success());
    service.kill();
    assert_says(&refusal(&["healthcheck", "--listen", &address], &[]), &[&address, "not ready"]);
    // Somebody who takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    assert_says(&refusal(&["healthcheck", "--listen", &address], &[]), &[&address, "no answer within 5 s"]);
}

#[test]
fn the_printed_contract_is_the_one_that_is_served() {
    let service = Service::start(&[]);
    let printed = run(&["openapi"], &[]).stdout;
    let printed: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(service.anyone().get("/openapi.json").expect(200).json(), printed);
}
