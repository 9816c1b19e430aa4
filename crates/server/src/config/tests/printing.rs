//! The output of `pinhole config`.

use super::*;

#[test]
fn the_printed_settings_round_trip() {
    let changed = TestEnv::default()
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
    for env in [TestEnv::default(), changed] {
        let loaded = env.load().unwrap();
        let printed = loaded.to_toml();
        let reloaded =
            TestEnv::default().toml(&printed).load().unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(reloaded.config, loaded.config, "{printed}");
    }
}

#[test]
fn every_setting_is_printed_once_and_its_remarks_are_aligned() {
    let printed = TestEnv::default().load().unwrap().to_toml();
    for setting in SETTINGS.iter() {
        let lines = printed.lines().filter(|line| {
            line.trim_start_matches("# ").split_once(" =").is_some_and(|(key, _)| key == setting.key)
        });
        assert_eq!(lines.count(), 1, "{}\n{printed}", setting.key);
    }
    let columns: Vec<usize> = printed.lines().filter_map(|line| line.find("# default")).collect();
    assert!(columns.windows(2).all(|pair| pair[0] == pair[1]), "{printed}");
}
