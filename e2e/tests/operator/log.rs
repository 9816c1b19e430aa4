//! The log says who did what, without secrets, and the commands of the documentation find it.

use std::fs;
use std::process::Command;
use std::time::Duration;

use e2e::{Body, FormData, PASSWORD, Service, eventually, program};
use serde_json::{Value, json};

const NEW_PASSWORD: &str = "staple battery horse";

fn lines(service: &Service) -> Vec<Value> {
    // Without that of the watchdog.
    service.log().iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Waits for a line with these fields.
#[track_caller]
fn assert_line(service: &Service, fields: &Value) -> Value {
    eventually(&format!("the log has {fields}"), Duration::from_secs(30), || {
        let wanted = fields.as_object().unwrap();
        lines(service).into_iter().find(|line| wanted.iter().all(|(name, value)| line[name] == *value))
    })
}

fn id_of(service: &Service, username: &str) -> i64 {
    service.operator(&["user", "show", username])["id"].as_i64().unwrap()
}

#[test]
fn the_line_of_a_request_has_its_user_its_ids_and_its_id() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let (user_id, username) = (id_of(&service, ada.username()), ada.username());
    let post = ada.share(&e2e::picture::tiny(), "");
    let post_id = post["id"].as_i64().unwrap();
    let done = |method: &str, route: &str, status: u16| json!({ "message": "request completed", "method": method, "route": route, "status": status });
    let with = |mut line: Value, fields: Value| {
        line.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        line
    };

    // On the fast path and on the router.
    let like = format!("/posts/{post_id}/likes");
    let liked = ada.post(&like, Body::none()).expect(201);
    let request_id = liked.header("x-request-id").unwrap();
    let fields =
        json!({ "user_id": user_id, "post_id": post_id, "request_id": request_id, "client": "127.0.0.1" });
    assert_line(&service, &with(done("POST", "/posts/{post_id}/likes", 201), fields));
    ada.delete(&format!("/posts/{post_id}")).expect(200);
    let fields = json!({ "user_id": user_id, "post_id": post_id });
    assert_line(&service, &with(done("DELETE", "/posts/{post_id}", 200), fields));
    ada.put(&format!("/me/blocks/{}", service.new_user("bob").username()), Body::none()).expect(200);
    let line = assert_line(
        &service,
        &with(done("PUT", "/me/blocks/{username}", 200), json!({ "user_id": user_id })),
    );
    assert!(line["username"].as_str().unwrap().starts_with("bob"), "{line}");
    // Of a rejected request, without a session and with one.
    service.anonymous().get("/photos/0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48/8x8").expect(404);
    let fields = json!({ "photo_id": "0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48", "code": "not_found" });
    let line = assert_line(&service, &with(done("GET", "/photos/{photo_id}/{size}", 404), fields));
    assert_eq!(line.get("user_id"), None, "{line}");
    ada.get("/users/n%6Fne").expect(404);
    let fields = json!({ "user_id": user_id, "username": "none" });
    assert_line(&service, &with(done("GET", "/users/{username}", 404), fields));
    // The user of a request that starts the session.
    let login =
        service.anonymous().post("/login/username", FormData::account(username, PASSWORD)).expect(200);
    let fields = json!({ "user_id": user_id, "request_id": login.header("x-request-id").unwrap() });
    assert_line(&service, &with(done("POST", "/login/username", 200), fields.clone()));
    let line = assert_line(&service, &with(fields, json!({ "message": "logged in", "username": username })));
    assert_eq!(line.get("span"), None, "{line}");
}

#[test]
fn account_events_are_logged_with_the_name_and_without_secrets() {
    let service = Service::start(&[]);
    let (ada, mia) = (service.new_user("ada"), service.new_user_with_role("owner"));
    let (name, id) = (ada.username(), id_of(&service, ada.username()));
    let expect = |message: &str| {
        let line = assert_line(&service, &json!({ "message": message, "username": name, "user_id": id }));
        assert!(line["request_id"].is_string(), "{line}");
        line
    };
    let audited = |action: &str, actor: &str| {
        let fields = json!({ "message": "audit entry", "action": action, "username": name, "actor": actor });
        assert_line(&service, &fields)
    };
    let anonymous = service.anonymous();
    let login =
        |name: &str, password: &str| anonymous.post("/login/username", FormData::account(name, password));
    assert_eq!(expect("user joined")["client"], "127.0.0.1");

    login(name, "wrong-guess-17").expect(400);
    assert_eq!(expect("login failed")["client"], "127.0.0.1");
    // A password in the field of the name.
    login("typed-hunter2", "typed-hunter3").expect(400);
    let codes = ada.post("/me/recovery-codes", FormData::new().text("password", PASSWORD)).expect(201).json();
    expect("recovery codes made");
    let code = codes["codes"][0].as_str().unwrap().to_owned();
    let recover = |code: &str| {
        let form = FormData::account(name, NEW_PASSWORD).text("code", code);
        anonymous.post("/recover", form)
    };
    recover("abcd-efgh-ijkm-npqr").expect(400);
    expect("recovery failed");
    let token = recover(&code).expect(200).token();
    expect("account recovered with a recovery code");
    let ada = ada.with_session(name, e2e::AuthMethod::Bearer, &token);
    let passwords = FormData::new().text("current_password", NEW_PASSWORD).text("password", PASSWORD);
    ada.put("/me/password", passwords).expect(200);
    expect("password changed");

    let admin = |method: &str, path: &str, body: FormData| {
        mia.request(method, &format!("/admin/users/{name}/{path}")).body(body).send()
    };
    admin("PUT", "suspension", FormData::new().text("reason", "spam")).expect(200);
    assert_eq!(audited("suspend", mia.username())["detail"], "spam");
    admin("DELETE", "suspension", FormData::new()).expect(200);
    audited("restore", mia.username());
    let reset = admin("POST", "reset", FormData::new().text("current_password", PASSWORD)).expect(201).json()
        ["url"]
        .as_str()
        .unwrap()
        .to_owned();
    audited("reset_password", mia.username());
    service.operator(&["user", "role", name, "moderator"]);
    assert_eq!(audited("set_role", "operator")["detail"], "moderator");
    let invitation = service.operator(&["invite"])["url"].as_str().unwrap().to_owned();
    let invited_by_link = invitation.split("invitation=").nth(1).unwrap().to_owned();
    anonymous.get(&format!("/join?invitation={invited_by_link}")).expect(200);
    anonymous.get(&format!("/nowhere/{invited_by_link}?code={invited_by_link}")).expect(404);

    let other = service.anonymous().login(name);
    other.post("/logout", Body::none()).expect(200);
    expect("logged out");
    // The reset has ended the other session.
    let ada = service.anonymous().login(name);
    ada.request("DELETE", "/me").body(FormData::new().text("password", PASSWORD)).send().expect(200);
    expect("user left");
    assert_line(&service, &json!({ "message": "account deleted", "user_id": id }));

    let log = service.log().join("\n");
    let reset_code = reset.rsplit('#').next().unwrap();
    for secret in [
        PASSWORD,
        NEW_PASSWORD,
        "wrong-guess-17",
        "typed-hunter",
        &code,
        &token,
        ada.token(),
        mia.token(),
        other.token(),
        reset_code,
        &invited_by_link,
    ] {
        assert!(secret.len() > 8 && !log.contains(secret), "{secret} is in the log: {log}");
    }
}

/// The commands in the block of docs/operations.md that follows this text.
fn documented_commands(after: &str) -> Vec<String> {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md")).unwrap();
    let block = page.split(after).nth(1).unwrap().split("```").nth(1).unwrap();
    block.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn the_documented_commands_tell_who_deleted_a_post_and_which_address_joined() {
    let service = Service::start(&[]);
    let (ada, mia) = (service.new_user("ada"), service.new_user_with_role("moderator"));
    let posts = [ada.share_tiny(""), ada.share_tiny("")];
    ada.delete(&format!("/posts/{}", posts[0])).expect(200);
    let reason = FormData::new().text("reason", "spam");
    mia.request("DELETE", &format!("/admin/posts/{}", posts[1])).body(reason).send().expect(200);
    service.assert_logged(&[r#""message":"post deleted""#, r#""action":"delete_post""#]);
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    fs::write(&log, service.log().join("\n") + "\n").unwrap();

    let commands = documented_commands("**Who did what.**");
    let run = |topic: &str, replaced: &[(&str, &str)]| -> String {
        let command = commands.iter().find(|command| command.contains(topic)).expect(topic);
        let log = format!("cat {}", log.display());
        let mut command = command.replace("journalctl -u pinhole -o cat", &log);
        for (example, real) in replaced {
            assert!(command.contains(example), "{command}");
            command = command.replace(example, real);
        }
        let command = command.replace("pinhole audit", &format!("{} audit", program().display()));
        let output =
            Command::new("sh").args(["-c", &command]).env("PINHOLE_DATA_DIR", service.data_dir()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for (post, by) in [(posts[0], ada.username()), (posts[1], mia.username())] {
        let printed = run("post_id", &[("17", &post.to_string())]);
        assert!(printed.contains(by) && printed.lines().count() > 1, "{post} by {by}: {printed}");
    }
    let printed = run("pinhole audit", &[("17", &posts[1].to_string())]);
    assert!(printed.contains(mia.username()) && printed.contains("delete_post"), "{printed}");
    let printed = run("user joined", &[("grace", mia.username())]);
    assert!(printed.lines().count() == 1 && printed.contains(r#""client":"127.0.0.1""#), "{printed}");
}
