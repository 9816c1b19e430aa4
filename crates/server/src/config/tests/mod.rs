//! Tests of the configuration: four layers in, a `Config` or an error message out.

mod errors;
mod printing;
mod secrets;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::setting::{flag, variable};
use super::settings::SETTINGS;
use super::suggest::nearest_key;
use super::*;

/// The flags, environment variables and files of a test.
#[derive(Default)]
struct TestEnv {
    flags: Flags,
    environment: Vec<(String, String)>,
    files: HashMap<&'static str, String>,
}

impl TestEnv {
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

    fn load(&self) -> Result<LoadedConfig, ConfigError> {
        let environment = self.environment.iter().map(|(name, value)| (name.into(), value.into()));
        Config::load(&self.flags, environment, |path: &Path| {
            let text = path.to_str().and_then(|path| self.files.get(path));
            text.cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
        })
    }

    fn config(&self) -> Config {
        self.load().unwrap_or_else(|error| panic!("{error}")).config
    }

    fn error_message(&self) -> String {
        self.load().expect_err("the configuration was accepted").to_string()
    }
}

#[test]
fn flags_override_environment_overrides_file_overrides_defaults() {
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
        let mut env = TestEnv::default();
        if let Some(value) = flag {
            env = env.flag("listen", value);
        }
        if let Some(value) = variable {
            env = env.variable("PINHOLE_LISTEN", value);
        }
        if let Some(value) = file {
            env = env.toml(&format!("listen = {value:?}"));
        }
        let loaded = env.load().unwrap();
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
fn defaults_are_as_documented() {
    let config = TestEnv::default().config();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(config.data_dir, Path::new("./pinhole-data"));
    assert_eq!((config.public_url, config.admin_listen, config.admin_token), (None, None, None));
    assert_eq!(config.blobs_url, None);
    assert_eq!((config.database_url, config.database_read_url), (None, None));
    assert!(config.admins.is_empty() && config.trusted_proxies.is_empty());
    assert!(config.keep_originals);
    assert_eq!((config.log.as_str(), config.log_format), ("info", LogFormat::Auto));
    assert_eq!((config.max_upload, config.max_megapixels, config.min_password), (32 << 20, 64, 8));
    assert!(!config.common_passwords);
    assert_eq!(config.session_idle, Duration::from_hours(90 * 24));
    assert!(config.rate_limits);
    assert_eq!((config.login_failures, config.login_window), (30, Duration::from_mins(5)));
    assert_eq!((config.name_failures, config.address_failures), (300, 300));
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
fn a_file_may_use_toml_types() {
    let config = TestEnv::default()
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
fn an_empty_value_unsets_a_value_of_a_lower_layer() {
    let file = "public_url = \"https://a.example\"\nadmins = [\"ada\"]\nrate_limits = true";
    let env = TestEnv::default().toml(file).flag("public_url", "").variable("PINHOLE_ADMINS", "");
    let config = env.flag("rate_limits", "off").config();
    assert_eq!((config.public_url, config.admins.len(), config.rate_limits), (None, 0, false));
}

#[test]
fn the_file_is_named_by_flag_or_variable_or_default() {
    let env = || {
        let env = TestEnv::default().file("a.toml", "log = 'a'").file("b.toml", "log = 'b'");
        env.toml("log = 'default'")
    };
    assert_eq!(env().config().log, "default");
    assert_eq!(env().variable("PINHOLE_CONFIG", "a.toml").config().log, "a");
    let mut both = env().variable("PINHOLE_CONFIG", "a.toml");
    both.flags.config = Some("b.toml".into());
    let loaded = both.load().unwrap();
    assert_eq!((loaded.config.log.as_str(), loaded.file.as_deref()), ("b", Some(Path::new("b.toml"))));

    let missing = TestEnv::default().variable("PINHOLE_CONFIG", "missing.toml").error_message();
    assert!(missing.contains("cannot read the configuration file \"missing.toml\""), "{missing}");
    assert_eq!(TestEnv::default().load().unwrap().file, None);
}

#[test]
fn flag_and_variable_are_derived_from_the_key() {
    assert_eq!(
        (flag("max_upload").as_str(), variable("max_upload").as_str()),
        ("--max-upload", "PINHOLE_MAX_UPLOAD")
    );
    for setting in SETTINGS.iter() {
        assert!(!setting.help.is_empty() && !setting.help.ends_with('.'), "{}", setting.key);
    }
}
