//! Secrets: given directly or in a file, and never printed.

use super::*;

#[test]
fn a_secret_can_be_given_directly_or_in_a_file() {
    let file = |env: TestEnv| env.file("/run/token", "s3cret\r\n");
    let cases = [
        TestEnv::default().flag("admin_token", "s3cret"),
        TestEnv::default().variable("PINHOLE_ADMIN_TOKEN", "s3cret"),
        TestEnv::default().toml("admin_token = 's3cret'"),
        file(TestEnv::default()).flag("admin_token_file", "/run/token"),
        file(TestEnv::default()).variable("PINHOLE_ADMIN_TOKEN_FILE", "/run/token"),
        file(TestEnv::default()).toml("admin_token_file = '/run/token'"),
        // The precedence of the layers is as for any setting.
        file(TestEnv::default())
            .toml("admin_token = 'other'")
            .variable("PINHOLE_ADMIN_TOKEN_FILE", "/run/token"),
    ];
    for env in cases {
        assert_eq!(env.config().admin_token.unwrap().expose(), "s3cret");
    }
}

#[test]
fn a_secret_that_is_conflicting_empty_or_unreadable_is_an_error() {
    let cases = [
        (
            TestEnv::default()
                .variable("PINHOLE_ADMIN_TOKEN", "s3cret")
                .variable("PINHOLE_ADMIN_TOKEN_FILE", "f"),
            "both environment variable PINHOLE_ADMIN_TOKEN and environment variable PINHOLE_ADMIN_TOKEN_FILE are set; \
             remove one",
        ),
        (
            TestEnv::default().variable("PINHOLE_ADMIN_TOKEN", ""),
            "environment variable PINHOLE_ADMIN_TOKEN: the value is empty; remove it to leave the setting unset",
        ),
        (
            TestEnv::default().flag("admin_token_file", "f").file("f", "\n"),
            "flag --admin-token-file: the value is empty; remove it to leave the setting unset",
        ),
        (
            TestEnv::default().flag("admin_token_file", "f"),
            "flag --admin-token-file: cannot read \"f\": entity not found",
        ),
    ];
    for (env, expected) in cases {
        assert_eq!(env.error_message(), expected);
    }
}

#[test]
fn a_secret_is_never_printed() {
    let env = TestEnv::default().flag("admin_token", "s3cret");
    let loaded = env.load().unwrap();
    let printed = loaded.to_toml();
    assert!(printed.contains("(hidden: set by flag)"), "{printed}");
    let output = format!("{printed}{loaded:?}{:?}{:?}", loaded.config, env.flags);
    assert!(!output.contains("s3cret"), "{output}");

    let invalid = [
        TestEnv::default().flag("admin_token", "s3cret with spaces"),
        TestEnv::default().toml("admin_token = s3cret"),
        TestEnv::default().toml("log = 'info'\nadmin_token = \"s3cret"),
        TestEnv::default().toml("admin_token = ['s3cret']"),
    ];
    for env in invalid {
        let error = env.load().unwrap_err();
        let output = format!("{error} {error:?}");
        assert!(!output.contains("s3cret"), "{output}");
    }
}

#[test]
fn the_password_of_a_database_url_is_never_printed() {
    let address = "postgres://ada:s3cret@db.example.org:6543/pinhole?sslmode=require";
    let env = TestEnv::default().variable("PINHOLE_DATABASE_URL", address).flag("database_read_url", address);
    let loaded = env.load().unwrap();
    let displayed = loaded.config.database_url.as_ref().unwrap().to_string();
    assert_eq!(displayed, "pinhole on db.example.org:6543");
    let output = format!("{}{loaded:?}{:?}", loaded.to_toml(), loaded.config);
    assert!(!output.contains("s3cret"), "{output}");

    for wrong in ["s3cret", "mysql://ada:s3cret@db/x", "postgres://ada:s3cret@db/x?sslmode=maybe"] {
        let message = TestEnv::default().variable("PINHOLE_DATABASE_URL", wrong).error_message();
        assert!(message.contains("PINHOLE_DATABASE_URL") && !message.contains("s3cret"), "{message}");
    }
    let alone = TestEnv::default().variable("PINHOLE_DATABASE_READ_URL", address).error_message();
    assert!(alone.starts_with("database_read_url is set, but database_url is not"), "{alone}");
}
