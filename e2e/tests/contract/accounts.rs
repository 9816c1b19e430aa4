//! Joining and logging in.

use std::time::{Duration, Instant};

use e2e::shape::assert_user;
use e2e::{FormData, PASSWORD, Service, unique};
use serde_json::Value;

#[test]
fn joining_creates_a_user_who_can_log_in() {
    let anonymous = Service::shared().anonymous();
    let name = unique("Ada");

    let joined = anonymous.post("/join/username", FormData::account(&name, PASSWORD)).expect(201);
    let user = joined.json();
    assert_user(&user);
    assert_eq!(user["username"], *name);
    assert_eq!(user["photo"], Value::Null);

    let login = anonymous.post("/login/username", FormData::account(&name, PASSWORD)).expect(200);
    assert_eq!(login.json(), user);
    let me = anonymous.login(&name).get("/me").expect(200);
    assert_eq!(me.json(), user);
}

#[test]
fn usernames_have_1_to_64_ascii_letters_digits_and_five_signs() {
    let anonymous = Service::shared().anonymous();
    let join = |name: &str| anonymous.post("/join/username", FormData::account(name, PASSWORD));

    let padded = |length: usize| format!("{:x<length$}", unique("n"));
    for name in [unique("a_b.c-d@e+F9"), unique("0"), unique("_"), padded(64)] {
        assert_eq!(join(&name).expect(201).json()["username"], *name);
    }
    // One character is enough; an earlier run may have taken the name.
    let shortest = join("q");
    assert!([201, 409].contains(&shortest.status), "{shortest}");

    let too_long = padded(65);
    for name in [
        "",
        ".",
        "..",
        &too_long,
        "a b",
        " ada",
        "ada ",
        "ada\n",
        "ada\0",
        "a/b",
        "a:b",
        "a,b",
        "<b>",
        "a'b",
        "é",
        "ада",
        "ａda",
        "ada\u{200b}",
        "😀",
    ] {
        join(name).expect_error_for(400, Some("username"));
    }
}

#[test]
fn usernames_are_case_insensitive_and_case_preserving() {
    let anonymous = Service::shared().anonymous();
    let name = unique("GraceHopper");
    let user = anonymous.join(&name).get("/me").expect(200).json();
    assert_eq!(user["username"], *name);

    for spelling in [name.clone(), name.to_lowercase(), name.to_uppercase()] {
        anonymous
            .post("/join/username", FormData::account(&spelling, "another password"))
            .expect_error_for(409, Some("username"));
        let login = anonymous.post("/login/username", FormData::account(&spelling, PASSWORD)).expect(200);
        assert_eq!(login.json(), user, "logged in as {spelling}");
    }
}

#[test]
fn the_name_of_an_administrator_without_an_account_is_reserved() {
    let service = Service::start(&["--admins", "root,Carol"]);
    for name in ["root", "ROOT", "carol"] {
        let response = service.anonymous().post("/join/username", FormData::account(name, PASSWORD));
        let response = response.expect_error_for(409, Some("username"));
        assert!(response.json()["error"]["message"].as_str().unwrap().contains("reserved"), "{response}");
    }
    service.anonymous().join("roots");
}

#[test]
fn passwords_have_eight_to_256_bytes() {
    let anonymous = Service::shared().anonymous();
    for (password, status) in [
        ("x".repeat(7), 400),
        ("x1y2z3.!".into(), 201),
        ("é".repeat(4), 201),
        ("x".repeat(256), 201),
        ("x".repeat(257), 400),
        ("é".repeat(129), 400),
        (" spaces at both ends ".into(), 201),
        ("🔑 ключ 鍵".into(), 201),
        (String::new(), 400),
    ] {
        let name = unique("pass");
        let response = anonymous.post("/join/username", FormData::account(&name, &password));
        match status {
            201 => {
                response.expect(201);
                anonymous.post("/login/username", FormData::account(&name, &password)).expect(200);
                anonymous
                    .post("/login/username", FormData::account(&name, password.trim_end()))
                    .expect(if password.ends_with(' ') { 400 } else { 200 });
            }
            _ => {
                response.expect_error_for(400, Some("password"));
                // The rejected join created no user, so the name is still free.
                anonymous.join(&name);
            }
        }
    }
}

#[test]
fn min_password_sets_the_minimum_length() {
    let service = Service::start(&["--min-password", "12"]);
    let join = |password| service.anonymous().post("/join/username", FormData::account("ada", password));
    join("eleven char").expect_error_for(400, Some("password"));
    join("twelve chars").expect(201);
}

#[test]
fn a_new_password_is_neither_common_nor_the_username() {
    let service = Service::start(&[]);
    let join = |name: &str, password: &str| {
        service.anonymous().post("/join/username", FormData::account(name, password))
    };
    for password in ["password", "PassWord1", "iloveyou", "Ada.Lovelace", "ada.lovelace"] {
        let refused = join("Ada.Lovelace", password).expect_error_for(400, Some("password"));
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains("choose another"), "{refused}");
    }
    join("Ada.Lovelace", "not so common").expect(201);

    // A password from before the rule still logs in.
    let (relaxed, dir) = (&["--common-passwords", "on", "--min-password", "3"], tempfile::tempdir().unwrap());
    let before = Service::start_in(dir.path(), relaxed);
    for (name, password) in [("bob", "bob"), ("carol", "password")] {
        before.anonymous().post("/join/username", FormData::account(name, password)).expect(201);
    }
    before.kill();
    let strict = Service::start_in(dir.path(), &[]);
    for (name, password) in [("bob", "bob"), ("carol", "password")] {
        strict.anonymous().post("/login/username", FormData::account(name, password)).expect(200);
    }
}

#[test]
fn the_error_for_a_missing_parameter_names_it() {
    let service = Service::shared();
    let known = service.new_user("known");
    for path in ["/join/username", "/login/username"] {
        let send = |form: FormData| service.anonymous().post(path, form);
        send(FormData::new().text("password", PASSWORD)).expect_error_for(400, Some("username"));
        send(FormData::new().text("username", known.username())).expect_error_for(400, Some("password"));
        let both = send(FormData::new()).expect_error(400).json();
        assert!(["username", "password"].contains(&both["error"]["field"].as_str().unwrap()), "{both}");
    }
}

#[test]
fn login_does_not_reveal_whether_a_username_exists() {
    let service = Service::shared();
    let known = service.new_user("known");
    let login = |name: &str, password: &str| {
        let began = Instant::now();
        let response =
            service.anonymous().post("/login/username", FormData::account(name, password)).expect_error(400);
        (response, began.elapsed())
    };

    let mut fastest = [Duration::MAX; 2];
    for _ in 0..8 {
        let (unknown, unknown_took) = login(&unique("unknown"), "wrong password");
        let (wrong, wrong_took) = login(known.username(), "wrong password");
        assert_eq!(unknown.bytes, wrong.bytes);
        assert_eq!(unknown.header("x-error-code"), wrong.header("x-error-code"));
        assert!(unknown.header("x-auth-token").is_none() && unknown.header("set-cookie").is_none());
        fastest = [fastest[0].min(unknown_took), fastest[1].min(wrong_took)];
    }
    // The minimum of each filters out other load. Without a hash for unknown names theirs would be far lower.
    assert!(fastest[0] * 2 > fastest[1], "unknown name {:?}, wrong password {:?}", fastest[0], fastest[1]);

    // An invalid username gets the same error as an unknown one.
    login("no such name!", "wrong password");
}
