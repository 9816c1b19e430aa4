//! Joining and logging in.

use std::time::{Duration, Instant};

use e2e::shape::assert_user;
use e2e::{Form, PASSWORD, Service, unique};
use serde_json::Value;

#[test]
fn who_joins_is_a_user_and_can_log_in_again() {
    let anyone = Service::shared().anyone();
    let name = unique("Ada");

    let joined = anyone.post("/join/username", Form::account(&name, PASSWORD)).expect(201);
    let user = joined.json();
    assert_user(&user);
    assert_eq!(user["username"], *name);
    assert_eq!(user["photo"], Value::Null);

    let login = anyone.post("/login/username", Form::account(&name, PASSWORD)).expect(200);
    assert_eq!(login.json(), user);
    let me = anyone.login(&name).get("/me").expect(200);
    assert_eq!(me.json(), user);
}

#[test]
fn names_are_plain_letters_digits_and_five_signs() {
    let anyone = Service::shared().anyone();
    let join = |name: &str| anyone.post("/join/username", Form::account(name, PASSWORD));

    let padded = |length: usize| format!("{:x<length$}", unique("n"));
    for name in [unique("a_b.c-d@e+F9"), unique("0"), unique("_"), padded(64)] {
        assert_eq!(join(&name).expect(201).json()["username"], *name);
    }
    // One letter is enough; somebody may have come first.
    let shortest = join("q");
    assert!([201, 409].contains(&shortest.status), "{shortest}");

    let too_long = padded(65);
    for name in [
        "",
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
        join(name).refused_for(400, Some("username"));
    }
}

#[test]
fn a_name_is_taken_whatever_its_case_and_shown_as_it_was_written() {
    let anyone = Service::shared().anyone();
    let name = unique("GraceHopper");
    let user = anyone.join(&name).get("/me").expect(200).json();
    assert_eq!(user["username"], *name);

    for spelling in [name.clone(), name.to_lowercase(), name.to_uppercase()] {
        anyone
            .post("/join/username", Form::account(&spelling, "another password"))
            .refused_for(409, Some("username"));
        let login = anyone.post("/login/username", Form::account(&spelling, PASSWORD)).expect(200);
        assert_eq!(login.json(), user, "logged in as {spelling}");
    }
}

#[test]
fn passwords_have_six_to_256_bytes() {
    let anyone = Service::shared().anyone();
    for (password, status) in [
        ("x".repeat(5), 400),
        ("x".repeat(6), 201),
        ("é".repeat(3), 201),
        ("x".repeat(256), 201),
        ("x".repeat(257), 400),
        ("é".repeat(129), 400),
        (" spaces at both ends ".into(), 201),
        ("🔑 ключ 鍵".into(), 201),
        (String::new(), 400),
    ] {
        let name = unique("pass");
        let answer = anyone.post("/join/username", Form::account(&name, &password));
        match status {
            201 => {
                answer.expect(201);
                anyone.post("/login/username", Form::account(&name, &password)).expect(200);
                anyone
                    .post("/login/username", Form::account(&name, password.trim_end()))
                    .expect(if password.ends_with(' ') { 400 } else { 200 });
            }
            _ => {
                answer.refused_for(400, Some("password"));
                // Nobody was made: the name is free.
                anyone.join(&name);
            }
        }
    }
}

#[test]
fn an_operator_may_ask_for_longer_passwords() {
    let service = Service::start(&["--min-password", "12"]);
    let join = |password| service.anyone().post("/join/username", Form::account("ada", password));
    join("eleven char").refused_for(400, Some("password"));
    join("twelve chars").expect(201);
}

#[test]
fn a_missing_parameter_is_named() {
    let service = Service::shared();
    let known = service.newcomer("known");
    for path in ["/join/username", "/login/username"] {
        let send = |form: Form| service.anyone().post(path, form);
        send(Form::new().text("password", PASSWORD)).refused_for(400, Some("username"));
        send(Form::new().text("username", known.username())).refused_for(400, Some("password"));
        let both = send(Form::new()).refused(400).json();
        assert!(["username", "password"].contains(&both["error"]["field"].as_str().unwrap()), "{both}");
    }
}

#[test]
fn login_does_not_tell_whether_the_name_or_the_password_was_wrong() {
    let service = Service::shared();
    let known = service.newcomer("known");
    let login = |name: &str, password: &str| {
        let began = Instant::now();
        let answer = service.anyone().post("/login/username", Form::account(name, password)).refused(400);
        (answer, began.elapsed())
    };

    let mut fastest = [Duration::MAX; 2];
    for _ in 0..8 {
        let (unknown, unknown_took) = login(&unique("nobody"), "wrong password");
        let (wrong, wrong_took) = login(known.username(), "wrong password");
        assert_eq!(unknown.bytes, wrong.bytes);
        assert_eq!(unknown.header("x-error-code"), wrong.header("x-error-code"));
        assert!(unknown.header("x-auth-token").is_none() && unknown.header("set-cookie").is_none());
        fastest = [fastest[0].min(unknown_took), fastest[1].min(wrong_took)];
    }
    // The fastest of each is the work itself, whatever else the machine did. Without a hash for unknown
    // names theirs would be a small fraction.
    assert!(fastest[0] * 2 > fastest[1], "unknown name {:?}, wrong password {:?}", fastest[0], fastest[1]);

    // Nor is a name that cannot exist anything else than wrong.
    login("no such name!", "wrong password");
}
