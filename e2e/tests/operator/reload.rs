//! SIGHUP reloads the configuration of a running service.

use std::fs;
use std::time::Duration;

use e2e::{RawConnection, Service, eventually};

fn reloads(service: &Service) -> usize {
    service.log().iter().filter(|line| line.contains(r#""message":"configuration reloaded""#)).count()
}

fn has_logged_route(service: &Service, route: &str) -> bool {
    let field = format!(r#""route":"{route}""#);
    service.log().iter().any(|line| line.contains(&field))
}

#[test]
fn sighup_applies_the_log_level_names_what_needs_a_restart_and_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("pinhole.toml"));
    let configure = |text: &str| fs::write(&file, text).unwrap();
    configure("log = \"info\"\nmax_upload = \"1MiB\"\n");
    let service = Service::start_in(&data, &["--config", file.to_str().unwrap()]);
    let reload = |expected: usize| {
        service.hang_up();
        eventually("the configuration is reloaded", Duration::from_secs(30), || {
            (reloads(&service) == expected).then_some(())
        });
    };
    // A connection that is open during all of it.
    let mut open = RawConnection::connect(&service);
    open.send("GET /livez HTTP/1.1\r\nHost: x\r\n").unwrap();
    service.anonymous().get("/about").expect(200);

    reload(1);
    assert!(!service.log().iter().any(|line| line.contains("restart the service")), "nothing has changed");
    configure("log = \"debug\"\nmax_upload = \"2MiB\"\nadmin_token = \"hush-hush\"\n");
    reload(2);
    service.assert_logged(&[r#""settings":"admin_token, max_upload""#, "restart the service to apply them"]);
    assert!(!service.log().iter().any(|line| line.contains("hush")), "secrets are not logged");
    service.anonymous().get("/feed").expect(200);
    service.assert_logged(&[r#""route":"/feed""#]);
    assert!(!has_logged_route(&service, "/about"), "reads were not logged before");

    configure("log = \"info\"\nlogg = \"debug\"\n");
    service.hang_up();
    service.assert_logged(&["configuration not reloaded", "logg"]);
    configure("log = \"server=chatty\"\n");
    service.hang_up();
    eventually("the second error is reported", Duration::from_secs(30), || {
        let errors = service.log().iter().filter(|line| line.contains("configuration not reloaded")).count();
        (errors == 2).then_some(())
    });
    service.anonymous().get("/instance").expect(200);
    service.assert_logged(&[r#""route":"/instance""#]);

    configure("log = \"info\"\n");
    reload(3);
    service.anonymous().get("/openapi.json").expect(200);
    // Written after it, and logged.
    service.new_user("ada");
    service.assert_logged(&[r#""message":"user joined""#]);
    assert!(!has_logged_route(&service, "/openapi.json"), "reads are not logged again");

    open.send("\r\n").unwrap();
    assert_eq!(open.receive(false).expect("the connection is open").status, 200);
    service.terminate();
    service.assert_clean_exit();
}

#[test]
fn sighup_does_not_end_a_demo() {
    let folder = tempfile::tempdir().unwrap();
    let demo = Service::demo(folder.path(), &["--listen", "127.0.0.1:0"]);
    demo.hang_up();
    demo.assert_logged(&["configuration reloaded"]);
    demo.assert_ready();
    demo.terminate();
    demo.assert_clean_exit();
}
