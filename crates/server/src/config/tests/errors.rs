//! Messages of rejected configurations.

use super::*;

#[test]
fn the_error_of_an_unknown_name_suggests_the_nearest() {
    let cases = [
        (
            TestEnv::default().toml("max_uplod = 1"),
            "pinhole.toml: unknown setting max_uplod; did you mean max_upload?",
        ),
        (
            TestEnv::default().toml("[limits]\nmax_uplod = 1"),
            "did you mean max_upload, outside of any [section]?",
        ),
        (
            TestEnv::default().variable("PINHOLE_LISEN", "x"),
            "unknown environment variable PINHOLE_LISEN; did you mean PINHOLE_LISTEN?",
        ),
        (
            TestEnv::default().variable("PINHOLE_ADMIN_TOKN_FILE", "x"),
            "did you mean PINHOLE_ADMIN_TOKEN_FILE?",
        ),
        // Only secrets have a `_FILE` variable.
        (
            TestEnv::default().variable("PINHOLE_LISTEN_FILE", "x"),
            "unknown environment variable PINHOLE_LISTEN_FILE",
        ),
        (
            TestEnv::default().variable("PINHOLE_ZZZ", "x"),
            "unknown environment variable PINHOLE_ZZZ; `pinhole --help` lists all settings",
        ),
    ];
    for (env, expected) in cases {
        let message = env.error_message();
        assert!(message.contains(expected), "{message}");
    }
    let others = TestEnv::default()
        .variable("PATH", "/bin")
        .variable("PINHOLES", "1")
        .variable("PINHOLE_E2E_SEED", "7");
    others.config();
}

#[test]
fn the_error_of_an_invalid_value_has_setting_origin_value_and_expectation() {
    let cases = [
        (
            TestEnv::default().flag("max_upload", "lots"),
            "max_upload (flag --max-upload): invalid value \"lots\": expected a size in bytes, KiB, MiB or GiB, for \
             example 32MiB",
        ),
        (
            TestEnv::default().variable("PINHOLE_SESSION_IDLE", "90"),
            "session_idle (environment variable PINHOLE_SESSION_IDLE): invalid value \"90\": expected a duration in \
             ms, s, m, h or d, for example 90d",
        ),
        (
            TestEnv::default().toml("max_megapixels = 1001"),
            "max_megapixels (pinhole.toml: max_megapixels): invalid value \"1001\": expected a whole number from 1 to 1000, \
             for example 64",
        ),
        (
            TestEnv::default().flag("header_timeout", "0s"),
            "header_timeout (flag --header-timeout): invalid value \"0s\": zero does not mean \"no limit\"; expected a \
             duration in ms, s, m, h or d, greater than zero, for example 30s",
        ),
        (
            TestEnv::default().flag("trusted_proxies", "10.0.0.0/8,proxy"),
            "trusted_proxies (flag --trusted-proxies): invalid value \"10.0.0.0/8,proxy\": item \"proxy\": expected an \
             IP address or a network in CIDR notation, for example 10.0.0.0/8,192.0.2.7",
        ),
        (
            TestEnv::default().flag("listen", "localhost"),
            "listen (flag --listen): invalid value \"localhost\": expected an IP address and a port (port 0 chooses a \
             free one), for example 127.0.0.1:8080",
        ),
        (
            TestEnv::default().flag("blobs_url", "https://photos"),
            "blobs_url (flag --blobs-url): invalid value \"https://photos\": expected an address that begins with s3://, \
             for example s3://my-photos/pinhole",
        ),
        (
            TestEnv::default().toml("listen = ['127.0.0.1:1']"),
            "listen (pinhole.toml: listen): invalid value (a list): expected one string, number or boolean, for \
             example 127.0.0.1:8080",
        ),
        (
            TestEnv::default().toml("admins = [['ada']]"),
            "admins (pinhole.toml: admins): invalid value (a nested list): expected a list of strings, for example \
             ada,grace",
        ),
    ];
    for (env, expected) in cases {
        assert_eq!(env.error_message(), expected);
    }
}

#[test]
fn all_errors_are_reported_at_once() {
    let env = TestEnv::default()
        .flag("listen", "x")
        .variable("PINHOLE_LOGG", "y")
        .toml("hash_queue = 0\ncolour = 1");
    let message = env.error_message();
    assert!(message.starts_with("4 errors in the configuration:\n  "), "{message}");
    for name in ["--listen", "PINHOLE_LOGG", "hash_queue", "colour"] {
        assert!(message.contains(name), "the message does not name {name}: {message}");
    }
}

#[test]
fn zero_is_rejected_unless_the_setting_allows_it() {
    let zero_allowed = ["shutdown_timeout", "image_cache", "cache_disk", "cache_min_free", "upload_min_free"];
    for setting in SETTINGS.iter().filter(|setting| ["N", "SIZE", "TIME"].contains(&setting.placeholder)) {
        let zero = if setting.placeholder == "TIME" { "0s" } else { "0" };
        let outcome = TestEnv::default().flag(setting.key, zero).load();
        assert_eq!(outcome.is_ok(), zero_allowed.contains(&setting.key), "{}", setting.key);
    }
}

#[test]
fn the_error_of_invalid_toml_has_the_line_and_the_setting() {
    for value in ["127.0.0.1:8080", "localhost"] {
        let message = TestEnv::default().toml(&format!("log = 'info'\nlisten = {value}\n")).error_message();
        assert_eq!(
            message,
            "pinhole.toml, line 2: listen: the value is not valid TOML; write it in quotes, for example listen = \
             \"127.0.0.1:8080\"",
            "{value:?}"
        );
    }
    let message = TestEnv::default().toml("log = 'info'\nlisten = \n").error_message();
    assert!(message.starts_with("pinhole.toml, line 2: "), "{message}");
}

#[test]
fn the_error_of_a_value_that_its_consumer_rejects_has_its_origin() {
    let loaded = TestEnv::default().variable("PINHOLE_LOG", "info,=").load().unwrap();
    let message = loaded.invalid("log", "invalid filter directive").to_string();
    assert_eq!(message, "log (environment variable PINHOLE_LOG): invalid filter directive");
}

#[test]
fn the_nearest_key_is_found_for_typing_errors_and_related_names() {
    let cases = [
        ("max_uplod", Some("max_upload")),
        ("max-upload", Some("max_upload")),
        ("upload_max", Some("max_upload")),
        ("MAX_UPLOAD_SIZE", Some("max_upload")),
        ("lisetn", Some("listen")),
        ("datadir", Some("data_dir")),
        ("admin", Some("admins")),
        ("admin_tokn_file", Some("admin_token_file")),
        ("session_idel", Some("session_idle")),
        ("log_level", Some("log")),
        ("url", Some("public_url")),
        ("colour", None),
        ("zzz", None),
    ];
    for (unknown, expected) in cases {
        assert_eq!(nearest_key(SETTINGS, unknown).as_deref(), expected, "{unknown}");
    }
}
