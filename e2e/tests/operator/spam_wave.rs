//! A spam wave on the command line: accounts listed, suspended and deleted in one pipe, joins closed.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use e2e::{Body, Client, FormData, PASSWORD, Service, program, unique};
use serde_json::Value;

/// Runs a command beside a service, as a shell would: without `--json`, with a standard input.
fn pinhole(service: &Service, args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(program());
    command.args(args).arg("--data-dir").arg(service.data_dir()).args(service.store_flags());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    process.stdin.take().unwrap().write_all(input).unwrap();
    process.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn expect_failure(output: &Output, message: &str) {
    let error = text(&output.stderr);
    assert!(!output.status.success() && error.contains(message), "{error}");
}

fn join_from(service: &Service, name: &str, address: &str) -> Client {
    let anonymous = service.anonymous();
    let join = anonymous.request("POST", "/join/username").header("X-Forwarded-For", address);
    join.body(FormData::account(name, PASSWORD)).send().expect(201);
    anonymous.login(name)
}

fn usernames(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap()).collect()
}

#[test]
fn fifty_accounts_are_suspended_and_deleted_in_one_pipe_each() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1"]);
    let ada = join_from(&service, "ada", "198.51.100.7");
    let spammers: Vec<Client> =
        (0..50).map(|n| join_from(&service, &unique("spam"), &format!("203.0.113.{n}"))).collect();
    let post = spammers[7].share_tiny("buy");
    ada.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);

    let page = pinhole(&service, &["user", "list", "--limit", "10"], b"");
    let table = text(&page.stdout);
    let columns: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(columns, ["ID", "USERNAME", "AGE", "NETWORK", "ROLE", "STATUS", "POSTS", "LIKES"]);
    assert_eq!(table.lines().count(), 11, "{table}");
    let last = table.lines().last().unwrap().split_whitespace().next().unwrap();
    let hint = format!("10 of 51 shown; --limit 51 or --after {last} shows more\n");
    assert_eq!(text(&page.stderr), hint);
    let rest = pinhole(&service, &["user", "list", "--names", "--after", last], b"");
    assert_eq!((text(&rest.stdout).lines().count(), text(&rest.stderr)), (41, String::new()));
    assert!(text(&rest.stdout).ends_with("\nada\n"), "newest first");
    let list = service.operator(&["user", "list", "--query", "ad", "--since", "2h", "--role", "member"]);
    assert_eq!((usernames(&list), &list[0]["likes"]), (vec!["ada"], &1.into()));
    assert_eq!(service.operator(&["user", "list", "--since", "2100-01-01"]), serde_json::json!([]));
    for (flag, value) in [("--since", "soon"), ("--network", "home"), ("--status", "x"), ("--role", "x")] {
        assert!(!service.try_operator(&["user", "list", flag, value]).status.success(), "{flag} {value}");
    }

    let spam = ["user", "list", "--network", "203.0.113.0/24", "--since", "1h", "--names"];
    let names = pinhole(&service, &spam, b"").stdout;
    assert_eq!(text(&names).lines().count(), 50);
    let suspend = ["user", "suspend", "--reason", "spam", "--hide-posts", "-"];
    let done = pinhole(&service, &suspend, &names);
    assert!(done.status.success(), "{done:?}");
    assert_eq!(text(&done.stdout).matches("hidden").count(), 50);
    ada.get(&format!("/posts/{post}")).expect_error(404);
    assert_eq!(spammers[49].get("/me/account").expect(200).json()["reason"], "spam");
    let hidden = service.operator(&["user", "list", "--status", "hidden"]);
    assert_eq!(usernames(&hidden).len(), 50);

    // One that fails does not stop the others. Each name counts once.
    let messy = format!("\n no-such-user \r\n{}{}", text(&names), text(&names).to_uppercase());
    let deleted = pinhole(&service, &["user", "delete", "-"], messy.as_bytes());
    expect_failure(&deleted, "1 of 51 failed");
    expect_failure(&deleted, "no-such-user  there is no such user");
    assert_eq!(text(&deleted.stdout).matches(" deleted").count(), 50);
    assert_eq!(usernames(&service.operator(&["user", "list"])), ["ada"]);
    let audit = service.operator(&["audit", "--limit", "200"]);
    let count =
        |action: &str| audit.as_array().unwrap().iter().filter(|entry| entry["action"] == action).count();
    assert_eq!((count("suspend_and_hide"), count("delete_account")), (50, 50));

    let nothing = pinhole(&service, &["user", "delete", "-"], b"\n");
    assert!(nothing.status.success() && text(&nothing.stderr).contains("no names"), "{nothing:?}");
    let outcomes = service.try_operator(&["user", "restore", "ada", "no-such-user"]);
    let outcomes: Value = serde_json::from_slice(&outcomes.stdout).unwrap();
    assert_eq!(outcomes[0]["error"], "this account is active already");
    expect_failure(&service.try_operator(&["user", "suspend", "ada", "--reason", ""]), "the reason is empty");
    expect_failure(&pinhole(&service, &["user", "restore", "ada"], b""), "pinhole: this account is active");
}

#[test]
fn several_users_are_deleted_without_a_service() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        Command::new(program()).args(args).arg("--data-dir").arg(dir.path()).output().unwrap()
    };
    for name in ["grace", "spam1", "spam2", "spam3"] {
        assert!(run(&["user", "add", name]).status.success());
    }
    let output = run(&["user", "delete", "spam1", "spam3", "spam4"]);
    expect_failure(&output, "1 of 3 failed");
    assert_eq!(text(&run(&["user", "list", "--names"]).stdout), "spam2\ngrace\n");
}

#[test]
fn joins_are_closed_and_reopened_while_the_service_runs() {
    let service = Service::start(&[]);
    let join = || {
        let form = FormData::account(&unique("new"), PASSWORD);
        service.anonymous().post("/join/username", form)
    };
    join().expect(201);
    let set = service.operator(&["instance", "set", "registration=closed", "name=Birds = us"]);
    assert_eq!((&set["registration"], &set["name"]), (&"closed".into(), &"Birds = us".into()));
    let refused = join().expect_error(403);
    assert_eq!(refused.header("x-error-code"), Some("registration_closed"));
    service.operator(&["instance", "set", "registration=approval"]);
    join().expect(201);
    assert_eq!(service.operator(&["stats"])["pending"], 1);
    service.operator(&["instance", "set", "registration=", "member_bytes=10GB", "member_invitations=on"]);
    join().expect(201);
    let shown = service.operator(&["instance", "show"]);
    assert_eq!((&shown["registration"], &shown["member_bytes"]), (&"open".into(), &"10000000000".into()));
    let instance = service.anonymous().get("/instance").expect(200).json();
    assert_eq!(instance["member_quota"]["bytes"], 10_000_000_000_u64);
    for (setting, message) in [
        ("registraton=closed", "unknown setting registraton; did you mean registration?"),
        ("registration=shut", "registration is one of open, invitation, approval, closed"),
        ("registration", "expected KEY=VALUE"),
        ("accent=red", "a colour has the form #b8442f"),
        ("member_posts_per_day=many", "expected a whole number"),
    ] {
        expect_failure(&service.try_operator(&["instance", "set", "name=Wrong", setting]), message);
    }
    assert_eq!(service.operator(&["instance", "show"]), shown, "one that is refused refuses all");
    let table = text(&pinhole(&service, &["instance", "show"], b"").stdout);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["member_invitations", "on"]) && lines.contains(&vec!["terms"]), "{table}");
}

#[test]
fn invitations_are_listed_and_revoked() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    owner.post("/invitations", Body::none()).expect(201);
    let made = service.operator(&["invite", "--uses", "5"]);
    let (_, code) = made["url"].as_str().unwrap().split_once("?invitation=").unwrap();
    let join = || {
        let form = FormData::account(&unique("new"), PASSWORD).text("invitation", code);
        service.anonymous().post("/join/username", form)
    };
    join().expect(201);
    let list = service.operator(&["invite", "list"]);
    let of_operator = list.as_array().unwrap().iter().find(|row| row["username"] == "operator").unwrap();
    assert_eq!((&of_operator["uses_left"], list.as_array().unwrap().len()), (&4.into(), 2));
    let id = of_operator["id"].as_str().unwrap();
    service.operator(&["invite", "revoke", id]);
    join().expect_error_for(400, Some("invitation"));
    expect_failure(&service.try_operator(&["invite", "revoke", id]), "there is no such invitation");
    expect_failure(&service.try_operator(&["invite", "revoke", "x"]), "`pinhole invite list`");
    assert_eq!(usernames(&service.operator(&["invite", "list"])), [owner.username()]);
}
