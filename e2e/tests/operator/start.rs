//! Startup, its error messages, and the small subcommands `config`, `healthcheck` and `openapi`.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use e2e::{Service, program};
use rusqlite::Connection;

use crate::snapshot::Users;

/// Runs the program to its end, with these arguments and environment variables.
pub(crate) fn run(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(program())
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .expect("the program runs")
}

/// Runs a command that must fail, and returns its stderr.
#[track_caller]
pub(crate) fn run_failing(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(arguments, variables);
    assert!(!output.status.success(), "{arguments:?} {variables:?} should have failed");
    String::from_utf8(output.stderr).expect("stderr is UTF-8")
}

#[track_caller]
pub(crate) fn assert_contains(text: &str, expected: &[&str]) {
    for part in expected {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

#[test]
fn the_error_for_a_taken_port_names_the_setting() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let printed = run_failing(&["--listen", &address, "--data-dir", folder.path().to_str().unwrap()], &[]);
    assert_contains(&printed, &[&address, "--listen", "PINHOLE_LISTEN"]);
}

#[test]
fn the_error_for_an_unusable_data_folder_names_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a-file");
    std::fs::write(&file, "a file where a folder is needed").unwrap();
    let inside = file.join("data");
    let printed = run_failing(&["--listen", "127.0.0.1:0", "--data-dir", inside.to_str().unwrap()], &[]);
    assert_contains(&printed, &[inside.to_str().unwrap(), "--data-dir", "PINHOLE_DATA_DIR"]);
}

#[test]
fn a_second_service_on_the_same_data_folder_fails_to_start() {
    let service = Service::start(&[]);
    let printed =
        run_failing(&["--listen", "127.0.0.1:0", "--data-dir", service.data_dir().to_str().unwrap()], &[]);
    assert_contains(&printed, &["already running", "--data-dir"]);
    service.assert_ready();
}

#[test]
fn a_database_of_a_newer_version_is_rejected_and_not_modified() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    service.terminate();
    service.assert_clean_exit();
    // `PRAGMA user_version`, which is at offset 60 of the file header.
    let database = folder.path().join("pinhole.db");
    let mut bytes = std::fs::read(&database).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&database, &bytes).unwrap();

    let printed =
        run_failing(&["--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()], &[]);
    assert_contains(&printed, &["version 99", "newer Pinhole", "--data-dir"]);
    assert_eq!(std::fs::read(&database).unwrap(), bytes);
}

#[test]
fn an_idempotency_key_from_before_digests_were_kept_finds_its_post() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    let bob = service.new_user("bob");
    let post = Users::keyed(&bob);
    service.terminate();
    service.assert_clean_exit();
    let database = Connection::open(folder.path().join("pinhole.db")).unwrap();
    assert_eq!(database.execute("UPDATE idempotency_keys SET digest = NULL", []).unwrap(), 1);
    drop(database);

    let service = Service::start_in(folder.path(), &[]);
    let replay = Users::send_keyed(&bob.with_base(service.base()), "another").expect(201);
    assert_eq!(replay.header("idempotency-replayed"), Some("true"));
    assert_eq!(replay.json()["id"], post);
}

#[test]
fn a_missing_database_is_a_new_instance_only_on_request() {
    let home = tempfile::tempdir().unwrap();
    let [data, typo, lost] = ["data", "dtaa", "pinhole.db"].map(|name| home.path().join(name));
    let database = data.join("pinhole.db");
    let fails = |folder: &Path| {
        run_failing(&["--listen", "127.0.0.1:0", "--data-dir", folder.to_str().unwrap()], &[])
    };
    let stop = |service: Service| {
        service.terminate();
        service.assert_clean_exit();
    };
    let service = Service::start_in(&data, &[]);
    service.anonymous().join("Ada").share_tiny("kept");
    stop(service);

    assert_contains(&fails(&typo), &[data.to_str().unwrap(), typo.to_str().unwrap(), "serve --init"]);
    assert!(!typo.exists(), "a refused start creates nothing");
    stop(Service::start_in(&typo, &["--init"]));

    std::fs::rename(&database, &lost).unwrap();
    assert_contains(&fails(&data), &["pinhole.db is missing", "serve --init"]);
    assert!(!database.exists(), "a refused start creates no database");
    // An unused database is as suspicious beside photos.
    std::fs::rename(typo.join("pinhole.db"), &database).unwrap();
    assert_contains(&fails(&data), &["the database is empty", "serve --init"]);
    let service = Service::start_in(&data, &["--init"]);
    service.assert_ready();
    stop(service);
    std::fs::rename(&lost, &database).unwrap();
    let service = Service::start_in(&data, &["--init"]);
    service.assert_logged(&["--init has no effect"]);
}

#[test]
fn a_folder_of_other_files_becomes_an_instance_only_on_request() {
    let home = tempfile::tempdir().unwrap();
    let [album, prepared] = ["album", "prepared"].map(|name| home.path().join(name));
    for folder in [album.join("2025"), prepared.join("lost+found")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    let photo = album.join("2025/beach.jpg");
    std::fs::write(&photo, e2e::picture::tiny()).unwrap();
    let folder = album.to_str().unwrap();
    let printed = run_failing(&["--listen", "127.0.0.1:0", "--data-dir", folder], &[]);
    assert_contains(&printed, &[folder, photo.to_str().unwrap(), "--data-dir", "serve --init"]);
    assert_eq!(std::fs::read_dir(&album).unwrap().count(), 1, "a refused start creates nothing");
    Service::start_in(&album, &["--init"]).assert_ready();
    // Now it is an instance.
    Service::start_in(&album, &[]).assert_ready();

    let config = prepared.join("pinhole.toml");
    std::fs::write(&config, "log = \"info\"\n").unwrap();
    Service::start_in(&prepared, &["--config", config.to_str().unwrap()]).assert_ready();
}

#[test]
fn unknown_settings_are_rejected_with_a_suggestion() {
    assert_contains(&run_failing(&["--lisen", "127.0.0.1:0"], &[]), &["--listen"]);
    assert_contains(&run_failing(&["config"], &[("PINHOLE_MAX_UPLAOD", "1MiB")]), &["PINHOLE_MAX_UPLOAD"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("settings.toml");
    std::fs::write(&file, "sesion_idle = \"1d\"\n").unwrap();
    assert_contains(&run_failing(&["config", "--config", file.to_str().unwrap()], &[]), &["session_idle"]);
    assert_contains(&run_failing(&["config", "--max-upload", "lots"], &[]), &["--max-upload", "lots", "MiB"]);
}

#[test]
fn config_prints_the_effective_settings_without_secrets() {
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
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_contains(
        &printed,
        &["max_upload = \"3MiB\"", "min_password = 9", "session_idle = \"1d\"", "join_burst = 100"],
    );
    assert!(!printed.contains("hush"), "{printed}");
}

#[test]
fn healthcheck_fails_without_a_ready_service() {
    let service = Service::start(&[]);
    let address = service.address().to_string();
    assert!(run(&["healthcheck", "--listen", &address], &[]).status.success());
    service.kill();
    assert_contains(&run_failing(&["healthcheck", "--listen", &address], &[]), &[&address, "not ready"]);
    // A listener that accepts connections and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    assert_contains(
        &run_failing(&["healthcheck", "--listen", &address], &[]),
        &[&address, "no response within 5 s"],
    );
}

#[test]
fn openapi_prints_the_document_that_the_service_serves() {
    let service = Service::start(&[]);
    let printed = run(&["openapi"], &[]).stdout;
    let printed: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(service.anonymous().get("/openapi.json").expect(200).json(), printed);
}
