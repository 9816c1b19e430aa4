//! `pinhole import-account`: from one instance to another, beside a running service and without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use e2e::{FormData, Service, eventually, picture, program};
use serde_json::Value;

#[test]
fn an_account_moves_to_another_instance() {
    let (old, new) = (Service::start(&[]), Service::start(&[]));
    let ada = old.new_user("ada");
    ada.request("PATCH", "/me").body(FormData::new().text("bio", "Engines")).send().expect(200);
    let posts: Vec<Value> = (0..3).map(|n| ada.share(&picture::tiny(), &format!("post {n}"))).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ada.zip");
    fs::write(&file, ada.export_account()).unwrap();
    let file = file.to_str().unwrap();

    let missing = new.try_operator(&["import-account", file]);
    let error = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && error.contains("pinhole user add"), "{error}");
    let moved = new.anonymous().join(ada.username());
    // The operator is not bound by quotas, and members see the posts at once.
    let owner = new.new_user_with_role("owner");
    let quota = FormData::new().text("member_posts_per_day", "1");
    owner.request("PATCH", "/admin/instance").body(quota).send().expect(200);
    let import = new.operator(&["import-account", file]);
    assert_eq!((&import["posts"], &import["imported"]), (&3.into(), &3.into()), "{import}");
    let page = owner.get(&format!("/users/{}/posts", ada.username())).expect(200).json();
    let imported = page["data"].as_array().unwrap();
    for (post, original) in imported.iter().rev().zip(&posts) {
        assert_eq!((&post["message"], &post["created_at"]), (&original["message"], &original["created_at"]));
    }
    assert_eq!(moved.get("/me").expect(200).json()["bio"], "Engines");
    assert_eq!(new.operator(&["import-account", file, "--user", moved.username()])["skipped"], 3);
    let audit = new.operator(&["audit", "--limit", "1"]);
    assert_eq!(
        (&audit[0]["action"], &audit[0]["username"]),
        (&"import_account".into(), &ada.username().into())
    );

    let damaged = folder.path().join("damaged.zip");
    fs::write(&damaged, b"no zip").unwrap();
    for (path, message) in [(damaged.to_str().unwrap(), "not the archive"), ("/no/such/file", "cannot read")]
    {
        let refused = new.try_operator(&["import-account", path]);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && error.contains(message), "{error}");
    }
}

#[test]
fn one_import_of_a_user_runs_at_a_time_and_shows_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let (hook, go_on) = (folder.path().join("hook"), folder.path().join("go-on"));
    // Holds every upload up until the file exists.
    fs::write(&hook, format!("#!/bin/sh\nwhile [ ! -e {} ]; do sleep 0.02; done\n", go_on.display()))
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let old = Service::start(&[]);
    let ada = old.new_user("ada");
    ada.share_tiny("moves");
    let archive = ada.export_account();
    let service = Service::start(&["--upload-hook", hook.to_str().unwrap(), "--upload-hook-timeout", "60s"]);
    let eve = service.new_user("eve");
    let import = || eve.post("/me/import", FormData::new().file("archive", &archive));
    let started = import().expect(202).json();
    assert_eq!((&started["status"], &started["total"]), (&"running".into(), &1.into()), "{started}");
    let second = import().expect_error(409);
    assert!(second.json()["error"]["message"].as_str().unwrap().contains("GET /me/import"), "{second}");
    let settings = String::from_utf8(eve.get("/settings").expect(200).bytes).unwrap();
    assert!(settings.contains("data-running"), "the page follows the import");
    assert_eq!(eve.get("/me/import").expect(200).json()["status"], "running");
    fs::write(&go_on, "").unwrap();
    let finished = eventually("the import is finished", Duration::from_secs(30), || {
        let status = eve.get("/me/import").expect(200).json();
        (status["status"] == "finished").then_some(status)
    });
    assert_eq!(finished["imported"], 1, "{finished}");
}

#[test]
fn an_account_is_imported_without_a_running_service() {
    let old = Service::start(&[]);
    let ada = old.new_user("ada");
    let post = ada.share(&picture::tiny(), "moves");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ada.zip");
    fs::write(&file, ada.export_account()).unwrap();
    let data = dir.path().join("data");
    let run = |args: &[&str]| {
        Command::new(program()).args(args).args(["--data-dir", data.to_str().unwrap()]).output().unwrap()
    };
    let nothing = run(&["import-account", file.to_str().unwrap()]);
    let error = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(!nothing.status.success() && error.contains("there is no instance"), "{error}");
    assert!(run(&["user", "add", "eve"]).status.success());
    let imported = run(&["import-account", file.to_str().unwrap(), "--user", "eve", "--json"]);
    let result: Value = serde_json::from_slice(&imported.stdout).unwrap();
    assert!(imported.status.success() && result["imported"] == 1, "{result}");
    let service = Service::start_in(&data, &[]);
    let page = service.anonymous().get("/users/eve/posts").expect(200).json();
    assert_eq!(page["data"][0]["created_at"], post["created_at"]);
}
