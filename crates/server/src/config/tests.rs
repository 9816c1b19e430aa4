//! Settings as an operator meets them: four layers in, a `Config` or an explanation out.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::setting::{flag, variable};
use super::settings::SETTINGS;
use super::suggest::nearest_key;
use super::*;

/// A machine with flags, an environment and files, none of them real.
#[derive(Default)]
struct Machine {
    flags: Flags,
    environment: Vec<(String, String)>,
    files: HashMap<&'static str, String>,
}

impl Machine {
    fn flag(mut self, key: &str, value: &str) -> Self {
        self.flags.values.insert(key.into(), value.into());
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    fn file(mut self, path: &'static str, text: &str) -> Self {
        self.files.insert(path, text.into());
        self
    }

    fn toml(self, text: &str) -> Self {
        self.file("pinhole.toml", text)
    }

    fn load(&self) -> Result<Loaded, ConfigError> {
        let environment = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        Config::load(&self.flags, environment, |path: &Path| {
            let text = path.to_str().and_then(|path| self.files.get(path));
            text.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        })
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|error| panic!("{error}")).config
    }

    fn complaint(&self) -> String {
        self.load().expect_err("passed for a configuration").to_string()
    }
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let cases = [
        (None, None, None, "127.0.0.1:8080", "default"),
        (None, None, Some("0.0.0.0:3"), "0.0.0.0:3", "pinhole.toml"),
        (None, Some("0.0.0.0:2"), None, "0.0.0.0:2", "PINHOLE_LISTEN"),
        (None, Some("0.0.0.0:2"), Some("0.0.0.0:3"), "0.0.0.0:2", "PINHOLE_LISTEN"),
        (Some("0.0.0.0:1"), None, None, "0.0.0.0:1", "flag"),
        (Some("0.0.0.0:1"), None, Some("0.0.0.0:3"), "0.0.0.0:1", "flag"),
        (Some("0.0.0.0:1"), Some("0.0.0.0:2"), None, "0.0.0.0:1", "flag"),
        (Some("0.0.0.0:1"), Some("0.0.0.0:2"), Some("0.0.0.0:3"), "0.0.0.0:1", "flag"),
    ];
    for (flag, variable, file, listen, origin) in cases {
        let mut machine = Machine::default();
        if let Some(value) = flag {
            machine = machine.flag("listen", value);
        }
        if let Some(value) = variable {
            machine = machine.variable("PINHOLE_LISTEN", value);
        }
        if let Some(value) = file {
            machine = machine.toml(&format!("listen = {value:?}"));
        }
        let loaded = machine.load().unwrap();
        assert_eq!(loaded.config.listen, listen.parse().unwrap(), "{flag:?} {variable:?} {file:?}");
        let printed = loaded.to_toml();
        let line = printed.lines().find(|line| line.starts_with("listen")).unwrap();
        assert!(
            line.starts_with(&format!("listen = {listen:?}")) && line.ends_with(&format!("# {origin}")),
            "{line}"
        );
    }
}

#[test]
fn defaults_are_those_of_the_decisions() {
    let config = Machine::default().config();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.data_dir, Path::new("./pinhole-data"));
    assert_eq!((config.public_url, config.admin_listen, config.admin_token), (None, None, None));
    assert_eq!(config.blobs_url, None);
    assert_eq!((config.database_url, config.database_read_url), (None, None));
    assert!(config.admins.is_empty() && config.trusted_proxies.is_empty());
    assert!(config.keep_originals);
    assert_eq!((config.log.as_str(), config.log_format), ("info", LogFormat::Auto));
    assert_eq!((config.max_upload, config.max_megapixels, config.min_password), (32 << 20, 64, 6));
    assert_eq!(config.session_idle, Duration::from_hours(90 * 24));
    assert!(config.rate_limits);
    assert_eq!((config.login_failures, config.login_window), (30, Duration::from_mins(5)));
    assert_eq!((config.join_burst, config.join_interval), (100, Duration::from_secs(10)));
    assert_eq!((config.request_burst, config.request_rate), (20_000, 2_000));
    assert_eq!((config.max_connections, config.max_connections_per_address), (4096, 1024));
    assert_eq!(config.header_timeout, Duration::from_secs(30));
    assert_eq!(
        (config.body_timeout, config.write_timeout),
        (Duration::from_secs(30), Duration::from_secs(30))
    );
    assert_eq!(
        (config.upload_timeout, config.shutdown_timeout),
        (Duration::from_mins(10), Duration::from_secs(30))
    );
    assert_eq!((config.hash_threads, config.hash_queue), (1, 64));
    assert!(config.pixel_threads >= 1);
    assert_eq!((config.pixel_queue, config.pixel_memory, config.image_cache), (64, 320 << 20, 64 << 20));
    assert_eq!((config.cache_disk, config.decode_time), (2 << 30, Duration::from_secs(20)));
    assert!(config.read_connections >= 1);
}

#[test]
fn a_file_may_write_values_as_toml_does() {
    let config = Machine::default()
        .toml(
            r#"
            max_upload = 1048576
            rate_limits = false
            admins = ["Ada", "grace"]
            trusted_proxies = "10.1.2.3/8, 192.0.2.7"
            public_url = "https://Photos.example.org/"
            shutdown_timeout = "0s"
            image_cache = 0
            "#,
        )
        .config();
    assert_eq!(config.max_upload, 1 << 20);
    assert!(!config.rate_limits);
    assert_eq!(config.admins.iter().map(|name| name.as_str()).collect::<Vec<_>>(), ["Ada", "grace"]);
    let proxies: Vec<String> = config.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(proxies, ["10.0.0.0/8", "192.0.2.7/32"]);
    assert_eq!(config.public_url.unwrap().as_str(), "https://photos.example.org");
    assert_eq!((config.shutdown_timeout, config.image_cache), (Duration::ZERO, 0));
}

#[test]
fn nothing_at_all_takes_back_what_an_outer_layer_set() {
    let file = "public_url = \"https://a.example\"\nadmins = [\"ada\"]\nrate_limits = true";
    let machine = Machine::default().toml(file).flag("public_url", "").variable("PINHOLE_ADMINS", "");
    let config = machine.flag("rate_limits", "off").config();
    assert_eq!((config.public_url, config.admins.len(), config.rate_limits), (None, 0, false));
}

#[test]
fn the_file_is_named_by_flag_or_variable_or_its_usual_name() {
    let machine = || {
        let one = Machine::default().file("a.toml", "log = 'a'").file("b.toml", "log = 'b'");
        one.toml("log = 'usual'")
    };
    assert_eq!(machine().config().log, "usual");
    assert_eq!(machine().variable("PINHOLE_CONFIG", "a.toml").config().log, "a");
    let mut both = machine().variable("PINHOLE_CONFIG", "a.toml");
    both.flags.config = Some("b.toml".into());
    let loaded = both.load().unwrap();
    assert_eq!((loaded.config.log.as_str(), loaded.file.as_deref()), ("b", Some(Path::new("b.toml"))));

    let missing = Machine::default().variable("PINHOLE_CONFIG", "missing.toml").complaint();
    assert!(missing.contains("\"missing.toml\" cannot be read"), "{missing}");
    assert_eq!(Machine::default().load().unwrap().file, None);
}

#[test]
fn an_unknown_name_is_met_with_the_nearest_known() {
    let cases = [
        (
            Machine::default().toml("max_uplod = 1"),
            "pinhole.toml: max_uplod is not a setting; did you mean max_upload?",
        ),
        (
            Machine::default().toml("[limits]\nmax_uplod = 1"),
            "did you mean max_upload, outside of any [section]?",
        ),
        (
            Machine::default().variable("PINHOLE_LISEN", "x"),
            "PINHOLE_LISEN is not a setting; did you mean PINHOLE_LISTEN?",
        ),
        (
            Machine::default().variable("PINHOLE_ADMIN_TOKN_FILE", "x"),
            "did you mean PINHOLE_ADMIN_TOKEN_FILE?",
        ),
        // Only a secret can be read from a file.
        (Machine::default().variable("PINHOLE_LISTEN_FILE", "x"), "PINHOLE_LISTEN_FILE is not a setting"),
        (
            Machine::default().variable("PINHOLE_ZZZ", "x"),
            "PINHOLE_ZZZ is not a setting; `pinhole --help` lists them all",
        ),
    ];
    for (machine, expected) in cases {
        let complaint = machine.complaint();
        assert!(complaint.contains(expected), "{complaint}");
    }
    let others = Machine::default()
        .variable("PATH", "/bin")
        .variable("PINHOLES", "1")
        .variable("PINHOLE_E2E_SEED", "7");
    others.config();
}

#[test]
fn a_bad_value_names_setting_source_finding_and_remedy() {
    let cases = [
        (
            Machine::default().flag("max_upload", "lots"),
            "max_upload (flag --max-upload): found \"lots\", expected a number of bytes, or of KiB, MiB or GiB, \
             for example 32MiB",
        ),
        (
            Machine::default().variable("PINHOLE_SESSION_IDLE", "90"),
            "session_idle (variable PINHOLE_SESSION_IDLE): found \"90\", expected a number of ms, s, m, h or d, \
             for example 90d",
        ),
        (
            Machine::default().toml("max_megapixels = 1001"),
            "max_megapixels (pinhole.toml: max_megapixels): found \"1001\", expected a whole number from 1 to 1000, \
             for example 64",
        ),
        (
            Machine::default().flag("header_timeout", "0s"),
            "header_timeout (flag --header-timeout): found \"0s\", which would mean none at all, not \"no limit\"; \
             expected a number of ms, s, m, h or d, more than zero, for example 30s",
        ),
        (
            Machine::default().flag("trusted_proxies", "10.0.0.0/8,proxy"),
            "trusted_proxies (flag --trusted-proxies): found \"10.0.0.0/8,proxy\", in it \"proxy\", expected an IP \
             address or a network, for example 10.0.0.0/8,192.0.2.7",
        ),
        (
            Machine::default().flag("listen", "localhost"),
            "listen (flag --listen): found \"localhost\", expected an IP address and a port (port 0 picks a free \
             one), for example 127.0.0.1:8080",
        ),
        (
            Machine::default().flag("blobs_url", "https://photos"),
            "blobs_url (flag --blobs-url): found \"https://photos\", expected an address that begins with s3://, \
             for example s3://my-photos/pinhole",
        ),
        (
            Machine::default().toml("listen = ['127.0.0.1:1']"),
            "pinhole.toml: listen: found a list, expected one value, for example 127.0.0.1:8080",
        ),
        (
            Machine::default().toml("admins = [['ada']]"),
            "pinhole.toml: admins: found a list of more than plain values, expected a list of strings, for example \
             ada,grace",
        ),
    ];
    for (machine, expected) in cases {
        assert_eq!(machine.complaint(), expected);
    }
}

#[test]
fn every_mistake_is_told_at_once() {
    let machine = Machine::default()
        .flag("listen", "x")
        .variable("PINHOLE_LOGG", "y")
        .toml("hash_queue = 0\ncolour = 1");
    let complaint = machine.complaint();
    assert!(complaint.starts_with("4 mistakes in the configuration:\n  "), "{complaint}");
    for name in ["--listen", "PINHOLE_LOGG", "hash_queue", "colour"] {
        assert!(complaint.contains(name), "{name} is missing: {complaint}");
    }
}

#[test]
fn zero_is_refused_wherever_it_makes_no_sense() {
    let sensible = ["shutdown_timeout", "image_cache", "cache_disk"];
    for setting in SETTINGS.iter().filter(|setting| ["N", "SIZE", "TIME"].contains(&setting.placeholder)) {
        let zero = if setting.placeholder == "TIME" { "0s" } else { "0" };
        let outcome = Machine::default().flag(setting.key, zero).load();
        assert_eq!(outcome.is_ok(), sensible.contains(&setting.key), "{}", setting.key);
    }
}

#[test]
fn a_secret_comes_directly_or_from_a_file() {
    let file = |machine: Machine| machine.file("/run/token", "s3cret\r\n");
    let cases = [
        Machine::default().flag("admin_token", "s3cret"),
        Machine::default().variable("PINHOLE_ADMIN_TOKEN", "s3cret"),
        Machine::default().toml("admin_token = 's3cret'"),
        file(Machine::default()).flag("admin_token_file", "/run/token"),
        file(Machine::default()).variable("PINHOLE_ADMIN_TOKEN_FILE", "/run/token"),
        file(Machine::default()).toml("admin_token_file = '/run/token'"),
        // Precedence between layers is as for any setting.
        file(Machine::default())
            .toml("admin_token = 'other'")
            .variable("PINHOLE_ADMIN_TOKEN_FILE", "/run/token"),
    ];
    for machine in cases {
        assert_eq!(machine.config().admin_token.unwrap().expose(), "s3cret");
    }
}

#[test]
fn a_secret_given_twice_or_empty_or_missing_is_an_error() {
    let cases = [
        (
            Machine::default()
                .variable("PINHOLE_ADMIN_TOKEN", "s3cret")
                .variable("PINHOLE_ADMIN_TOKEN_FILE", "f"),
            "both variable PINHOLE_ADMIN_TOKEN and variable PINHOLE_ADMIN_TOKEN_FILE are given; keep one",
        ),
        (
            Machine::default().variable("PINHOLE_ADMIN_TOKEN", ""),
            "variable PINHOLE_ADMIN_TOKEN is empty; leave it out to have none",
        ),
        (
            Machine::default().flag("admin_token_file", "f").file("f", "\n"),
            "flag --admin-token-file is empty; leave it out to have none",
        ),
        (
            Machine::default().flag("admin_token_file", "f"),
            "flag --admin-token-file cannot be read from \"f\": entity not found",
        ),
    ];
    for (machine, expected) in cases {
        assert_eq!(machine.complaint(), expected);
    }
}

#[test]
fn a_secret_is_shown_nowhere() {
    let machine = Machine::default().flag("admin_token", "s3cret");
    let loaded = machine.load().unwrap();
    let printed = loaded.to_toml();
    assert!(printed.contains("(hidden: set by flag)"), "{printed}");
    let everything = format!("{printed}{loaded:?}{:?}{:?}", loaded.config, machine.flags);
    assert!(!everything.contains("s3cret"), "{everything}");

    let mistakes = [
        Machine::default().flag("admin_token", "s3cret with spaces"),
        Machine::default().toml("admin_token = s3cret"),
        Machine::default().toml("log = 'info'\nadmin_token = \"s3cret"),
        Machine::default().toml("admin_token = ['s3cret']"),
    ];
    for machine in mistakes {
        let error = machine.load().unwrap_err();
        let everything = format!("{error} {error:?}");
        assert!(!everything.contains("s3cret"), "{everything}");
    }
    let syntax = Machine::default().toml("log = 'info'\nlisten = \n").complaint();
    assert!(syntax.starts_with("pinhole.toml, line 2: "), "{syntax}");
}

#[test]
fn a_database_is_named_by_its_address_and_its_password_by_nobody() {
    let address = "postgres://ada:s3cret@db.example.org:6543/pinhole?sslmode=require";
    let machine =
        Machine::default().variable("PINHOLE_DATABASE_URL", address).flag("database_read_url", address);
    let loaded = machine.load().unwrap();
    let shown = loaded.config.database_url.as_ref().unwrap().to_string();
    assert_eq!(shown, "pinhole on db.example.org:6543");
    let everything = format!("{}{loaded:?}{:?}", loaded.to_toml(), loaded.config);
    assert!(!everything.contains("s3cret"), "{everything}");

    for wrong in ["s3cret", "mysql://ada:s3cret@db/x", "postgres://ada:s3cret@db/x?sslmode=allow"] {
        let complaint = Machine::default().variable("PINHOLE_DATABASE_URL", wrong).complaint();
        assert!(complaint.contains("PINHOLE_DATABASE_URL") && !complaint.contains("s3cret"), "{complaint}");
    }
    let alone = Machine::default().variable("PINHOLE_DATABASE_READ_URL", address).complaint();
    assert!(alone.starts_with("database_read_url is set, but database_url is not"), "{alone}");
}

#[test]
fn what_is_printed_reads_back_to_the_same() {
    let changed = Machine::default()
        .flag("listen", "[::1]:0")
        .flag("data_dir", "C:\\a \"b\" # c")
        .flag("blobs_url", "s3://photos/pinhole")
        .flag("public_url", "https://photos.example.org:8443")
        .flag("admins", "ada,Grace")
        .flag("trusted_proxies", "10.0.0.0/8,::1")
        .flag("log", "warn,server=debug")
        .flag("log_format", "json")
        .flag("admin_listen", "127.0.0.1:9090")
        .flag("max_upload", "1000001")
        .flag("session_idle", "1500ms")
        .flag("rate_limits", "off")
        .flag("shutdown_timeout", "0s")
        .flag("image_cache", "0")
        .flag("cache_disk", "0")
        .flag("keep_originals", "off")
        .flag("pixel_threads", "3");
    for machine in [Machine::default(), changed] {
        let loaded = machine.load().unwrap();
        let printed = loaded.to_toml();
        let again =
            Machine::default().toml(&printed).load().unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(again.config, loaded.config, "{printed}");
    }
}

#[test]
fn every_setting_is_printed_once_and_its_remarks_are_aligned() {
    let printed = Machine::default().load().unwrap().to_toml();
    for setting in SETTINGS.iter() {
        let lines = printed.lines().filter(|line| {
            line.trim_start_matches("# ").split_once(" =").is_some_and(|(key, _)| key == setting.key)
        });
        assert_eq!(lines.count(), 1, "{}\n{printed}", setting.key);
    }
    let columns: Vec<usize> = printed.lines().filter_map(|line| line.find("# default")).collect();
    assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{printed}");
}

#[test]
fn names_follow_from_the_key() {
    assert_eq!(
        (flag("max_upload").as_str(), variable("max_upload").as_str()),
        ("--max-upload", "PINHOLE_MAX_UPLOAD")
    );
    for setting in SETTINGS.iter() {
        assert!(!setting.help.is_empty() && !setting.help.ends_with('.'), "{}", setting.key);
    }
}

#[test]
fn a_user_of_a_value_can_refuse_it_too() {
    let loaded = Machine::default().variable("PINHOLE_LOG", "info,=").load().unwrap();
    let complaint = loaded.refuse("log", "invalid filter directive").to_string();
    assert_eq!(complaint, "log (variable PINHOLE_LOG): invalid filter directive");
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
    for (unknown, meant) in cases {
        assert_eq!(nearest_key(SETTINGS, unknown).as_deref(), meant, "{unknown}");
    }
}
