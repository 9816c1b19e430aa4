//! The operator's commands, beside a running service and without one.

use std::process::Command;

use e2e::{FormData, PASSWORD, Service, program};
use serde_json::Value;

#[test]
fn users_are_managed_beside_a_running_service() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let post = ada.share_tiny("rude");
    let name = ada.username();
    let list = service.operator(&["user", "list"]);
    let names: Vec<&str> =
        list.as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap()).collect();
    assert_eq!(names, [bob.username(), name]);
    let show = service.operator(&["user", "show", &name.to_uppercase()]);
    assert_eq!((&show["posts"], &show["status"]), (&1.into(), &"active".into()));

    // Visible to every request that begins after the command has ended.
    service.operator(&["user", "suspend", name, "--reason", "spam", "--hide-posts"]);
    bob.get(&format!("/posts/{post}")).expect_error(404);
    assert_eq!(ada.get("/me/account").expect(200).json()["reason"], "spam");
    assert_eq!(service.operator(&["user", "list", "--status", "hidden"])[0]["username"], name);
    service.operator(&["user", "restore", name]);
    bob.get(&format!("/posts/{post}")).expect(200);

    assert_eq!(service.operator(&["user", "sessions", name]).as_array().unwrap().len(), 1);
    assert_eq!(service.operator(&["user", "sessions", name, "--end"])["ended"], 1);
    ada.get("/me").expect_error(401);
    let link = service.operator(&["user", "reset", name]);
    let (_, code) = link["url"].as_str().unwrap().split_once('#').unwrap();
    let form = FormData::account(name, PASSWORD).text("code", code);
    service.anonymous().post("/recover", form).expect(200);

    service.operator(&["post", "hide", &post.to_string(), "--reason", "rude"]);
    bob.get(&format!("/posts/{post}")).expect_error(404);
    service.operator(&["post", "show", &post.to_string()]);
    service.operator(&["post", "delete", &post.to_string()]);
    bob.get(&format!("/posts/{post}")).expect_error(404);
    service.operator(&["user", "delete", name, "--reason", "asked for it"]);
    bob.get(&format!("/users/{name}")).expect_error(404);

    let invitation = service.operator(&["invite", "--uses", "2", "--role", "moderator"]);
    let (_, code) = invitation["url"].as_str().unwrap().split_once("?invitation=").unwrap();
    let form = FormData::account("carol", PASSWORD).text("invitation", code);
    service.anonymous().post("/join/username", form).expect(201);
    assert_eq!(service.operator(&["user", "show", "carol"])["role"], "moderator");

    let audit = service.operator(&["audit", "--limit", "3"]);
    let actions: Vec<&str> =
        audit.as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert_eq!(actions, ["invite", "delete_account", "delete_post"]);
    for (args, message) in [
        (&["user", "show", "no-such-user"][..], "there is no such user"),
        (&["user", "role", "carol", "king"], "member, moderator, owner"),
        (&["post", "delete", "999999"], "there is no such post"),
        (&["invite", "--uses", "0"], "uses must be"),
        (&["user", "add", "Carol"], "taken"),
    ] {
        let output = service.try_operator(args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(message), "{args:?}: {error}");
    }
}

#[test]
fn the_first_owner_is_made_before_the_first_start() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let run =
        |args: &[&str]| Command::new(program()).args(args).arg("--data-dir").arg(&data).output().unwrap();
    let missing = run(&["user", "list"]);
    let error = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(!missing.status.success() && error.contains("there is no instance in"), "{error}");
    assert!(!data.exists(), "a command that only reads creates nothing");

    let added = run(&["user", "add", "grace", "--owner", "--json"]);
    assert!(added.status.success(), "{added:?}");
    let added: Value = serde_json::from_slice(&added.stdout).unwrap();
    let table = String::from_utf8(run(&["user", "list"]).stdout).unwrap();
    let words: Vec<&str> = table.split_whitespace().collect();
    let columns = ["ID", "USERNAME", "AGE", "ROLE", "STATUS", "POSTS", "LIKES"];
    assert_eq!(words, [&columns[..], &["1", "grace", "0m", "owner", "active", "0", "0"]].concat(), "{table}");

    let service = Service::start_in(&data, &[]);
    assert!(!service.log().join("\n").contains("join?invitation="), "there is an owner");
    let (_, code) = added["url"].as_str().unwrap().split_once('#').unwrap();
    let form = FormData::account("grace", PASSWORD).text("code", code);
    service.anonymous().post("/recover", form).expect(200);
    let grace = service.anonymous().login("grace");
    assert_eq!(grace.get("/me/account").expect(200).json()["role"], "owner");
    assert_eq!(service.operator(&["stats"])["users"], 1);
}
