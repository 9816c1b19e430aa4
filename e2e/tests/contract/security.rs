//! The current user's password, sessions and recovery codes.

use e2e::{Body, Client, FormData, PASSWORD, Response, Service, unique};
use serde_json::Value;

const NEW_PASSWORD: &str = "a better horse";

fn change_password(client: &Client, current: &str, new: &str) -> Response {
    client.put("/me/password", FormData::new().text("current_password", current).text("password", new))
}

fn login(client: &Client, password: &str) -> Response {
    client.post("/login/username", FormData::account(client.username(), password))
}

fn sessions(client: &Client) -> Vec<Value> {
    client.get("/me/sessions").expect(200).json()["data"].as_array().unwrap().clone()
}

fn make_codes(client: &Client) -> Vec<String> {
    let made =
        client.post("/me/recovery-codes", FormData::new().text("password", PASSWORD)).expect(201).json();
    made["codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn recover(client: &Client, code: &str, password: &str) -> Response {
    client.post("/recover", FormData::account(client.username(), password).text("code", code))
}

fn remaining_codes(client: &Client) -> Value {
    client.get("/me/recovery-codes").expect(200).json()["remaining"].clone()
}

#[test]
fn a_new_password_ends_all_other_sessions() {
    let ada = Service::shared().new_user("ada");
    let others = [ada.login(ada.username()), ada.login(ada.username())];

    let wrong = change_password(&ada, "not the password", NEW_PASSWORD);
    wrong.expect_error_for(400, Some("current_password"));
    for weak in ["short", "password1", ada.username()] {
        change_password(&ada, PASSWORD, weak).expect_error_for(400, Some("password"));
    }
    for other in &others {
        other.get("/me").expect(200);
    }

    let codes = make_codes(&ada);
    change_password(&ada, PASSWORD, NEW_PASSWORD).expect(200);
    // Someone who knew the old password may have made the codes.
    assert_eq!(remaining_codes(&ada), 0);
    recover(&ada, &codes[0], PASSWORD).expect_error(400);
    ada.get("/me").expect(200);
    for other in &others {
        other.get("/me").expect_error(401);
    }
    login(&ada, PASSWORD).expect_error(400);
    login(&ada, NEW_PASSWORD).expect(200);
}

#[test]
fn an_error_says_which_password_is_wrong() {
    let ada = Service::shared().new_user("ada");
    let wrong = change_password(&ada, "not the password", NEW_PASSWORD);
    assert_eq!(wrong.header("x-error-code"), Some("wrong_password"));
    ada.put("/me/password", FormData::new().text("password", NEW_PASSWORD))
        .expect_error_for(400, Some("current_password"));
    ada.put("/me/password", FormData::new().text("current_password", PASSWORD))
        .expect_error_for(400, Some("password"));
}

#[test]
fn wrong_passwords_of_a_session_are_limited_apart_from_logins() {
    let service = Service::start(&["--rate-limits", "on", "--login-failures", "3"]);
    let ada = service.new_user("ada");
    for _ in 0..3 {
        change_password(&ada, "not the password", NEW_PASSWORD).expect_error(400);
    }
    change_password(&ada, PASSWORD, NEW_PASSWORD).expect_error(429);
    ada.post("/me/recovery-codes", FormData::new().text("password", PASSWORD)).expect_error(429);
    // The session stays valid, and others cannot keep the owner from changing the password.
    ada.get("/me").expect(200);
    let bob = service.new_user("bob");
    for _ in 0..3 {
        login(&bob, "not the password").expect_error(400);
    }
    login(&bob, PASSWORD).expect_error(429);
    change_password(&bob, PASSWORD, NEW_PASSWORD).expect(200);
}

#[test]
fn sessions_are_listed_with_their_client_and_network() {
    let anonymous = Service::shared().anonymous();
    let ada = anonymous.join(&unique("ada"));
    let phone = anonymous
        .request("POST", "/login/username")
        .header("User-Agent", "Mozilla/5.0 (Linux; Android 10; K) Chrome/142.0.0.0 Mobile Safari/537.36")
        .body(FormData::account(ada.username(), PASSWORD))
        .send()
        .expect(200);
    let listed = sessions(&ada);
    assert_eq!(listed.len(), 2, "{listed:?}");
    let current: Vec<&Value> = listed.iter().filter(|session| session["is_current"] == true).collect();
    let [current] = current[..] else { panic!("one is current: {listed:?}") };
    let other = listed.iter().find(|session| session["is_current"] == false).unwrap();
    assert_eq!((&other["client"], &other["network"]), (&"Chrome on Android".into(), &"127.0.0.0/24".into()));
    for session in [current, other] {
        for time in ["created_at", "last_used_at"] {
            assert!(session[time].as_str().unwrap().ends_with("+0000"), "{session}");
        }
    }
    assert!(!format!("{listed:?}").contains(&phone.token()), "a token is never shown");
}

#[test]
fn a_session_can_be_ended_by_its_user_only() {
    let ada = Service::shared().new_user("ada");
    let other = ada.login(ada.username());
    let bob = Service::shared().new_user("bob");
    let id = |client: &Client| {
        let current = sessions(client).into_iter().find(|session| session["is_current"] == true).unwrap();
        current["id"].as_str().unwrap().to_owned()
    };
    let path = format!("/me/sessions/{}", id(&other));
    bob.delete(&path).expect_error(404);
    Service::shared().anonymous().delete(&path).expect_error(401);
    other.get("/me").expect(200);

    ada.delete(&path).expect(200);
    other.get("/me").expect_error(401);
    ada.delete(&path).expect_error(404);
    for malformed in ["0", "x", "ffffffffffffffff", "FFFFFFFFFFFFFFFF"] {
        ada.delete(&format!("/me/sessions/{malformed}")).expect_error(404);
    }
    // Also the own one, like a logout.
    ada.delete(&format!("/me/sessions/{}", id(&ada))).expect(200);
    ada.get("/me").expect_error(401);
}

#[test]
fn all_other_sessions_can_be_ended_together() {
    let ada = Service::shared().new_user("ada");
    let others = [ada.login(ada.username()), ada.login(ada.username())];
    Service::shared().anonymous().delete("/me/sessions").expect_error(401);
    ada.delete("/me/sessions").expect(200);
    for other in &others {
        other.get("/me").expect_error(401);
    }
    assert_eq!(sessions(&ada).len(), 1);
    ada.delete("/me/sessions").expect(200);
}

#[test]
fn of_more_than_100_sessions_the_longest_unused_ends() {
    let ada = Service::shared().new_user("ada");
    let logins: Vec<Client> = (0..100).map(|_| ada.login(ada.username())).collect();
    ada.get("/me").expect_error(401);
    assert_eq!(sessions(&logins[99]).len(), 100);
    logins[0].get("/me").expect(200);
    let last = ada.login(ada.username());
    logins[0].get("/me").expect_error(401);
    logins[1].get("/me").expect(200);
    assert_eq!(sessions(&last).len(), 100);
}

#[test]
fn a_recovery_code_sets_a_new_password_once() {
    let ada = Service::shared().new_user("ada");
    assert_eq!(remaining_codes(&ada), 0);
    let wrong = ada.post("/me/recovery-codes", FormData::new().text("password", "not the password"));
    wrong.expect_error_for(400, Some("password"));
    let codes = make_codes(&ada);
    let distinct: std::collections::BTreeSet<&String> = codes.iter().collect();
    assert_eq!((codes.len(), distinct.len(), remaining_codes(&ada)), (10, 10, 10.into()));

    // A rejected password does not use the code up.
    recover(&ada, &codes[0], "short").expect_error_for(400, Some("password"));
    let recovered = recover(&ada, &codes[0].to_uppercase().replace('-', " "), NEW_PASSWORD).expect(200);
    assert_eq!(recovered.json()["username"], ada.username());
    ada.get("/me").expect_error(401);
    let ada = ada.with_session(ada.username(), e2e::AuthMethod::Bearer, &recovered.token());
    login(&ada, PASSWORD).expect_error(400);
    login(&ada, NEW_PASSWORD).expect(200);

    // Who knew one of the codes may know them all.
    assert_eq!(remaining_codes(&ada), 0);
    for code in &codes[..2] {
        let again = recover(&ada, code, PASSWORD);
        assert_eq!(again.header("x-error-code"), Some("wrong_recovery_code"));
        again.expect_error(400);
    }
    ada.get("/me").expect(200);
}

#[test]
fn a_reset_ends_sessions_recovery_codes_and_older_reset_links() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    let by_operator = |name: &str| service.operator(&["user", "reset", name]);
    let by_owner = |name: &str| {
        let form = FormData::new().text("current_password", PASSWORD);
        owner.post(&format!("/admin/users/{name}/reset"), form).expect(201).json()
    };
    let resets: [&dyn Fn(&str) -> Value; 2] = [&by_operator, &by_owner];
    for reset in resets {
        let ada = service.new_user("ada");
        let (other, codes) = (ada.login(ada.username()), make_codes(&ada));
        let [older, newer] = [(); 2].map(|()| {
            let link = reset(ada.username());
            link["url"].as_str().unwrap().split_once('#').unwrap().1.to_owned()
        });
        for session in [&ada, &other] {
            session.get("/me").expect_error(401);
        }
        for code in codes.iter().chain([&older]) {
            recover(&ada, code, NEW_PASSWORD).expect_error(400);
        }
        recover(&ada, &newer, NEW_PASSWORD).expect(200);
        login(&ada, NEW_PASSWORD).expect(200);
    }
}

#[test]
fn recovery_codes_belong_to_one_user_and_new_ones_replace_them() {
    let (ada, bob) = (Service::shared().new_user("ada"), Service::shared().new_user("bob"));
    let codes = make_codes(&ada);
    for (client, code) in [(&bob, codes[0].as_str()), (&ada, "abcd-efgh-ijkm-npqr"), (&ada, "x"), (&ada, "")]
    {
        recover(client, code, NEW_PASSWORD).expect_error(400);
    }
    let replaced = make_codes(&ada);
    assert_eq!(remaining_codes(&ada), 10);
    recover(&ada, &codes[1], NEW_PASSWORD).expect_error(400);
    ada.get("/me").expect(200);
    recover(&ada, &replaced[0], NEW_PASSWORD).expect(200);
}

#[test]
fn guesses_of_recovery_codes_are_limited_like_logins() {
    let service = Service::start(&["--rate-limits", "on", "--login-failures", "3"]);
    let ada = service.new_user("ada");
    let code = make_codes(&ada).swap_remove(0);
    let recover = |code: &str| {
        let form = FormData::account(ada.username(), NEW_PASSWORD).text("code", code);
        service.anonymous().post("/recover", form)
    };
    for _ in 0..3 {
        recover("abcd-efgh-ijkm-npqr").expect_error(400);
    }
    recover(&code).expect_error(429);
    ada.get("/me").expect(200);
}

/// Of a password change and logins with the old password, no session survives that the change should end.
#[test]
fn no_login_with_the_old_password_outlives_its_change() {
    let ada = Service::shared().new_user("ada");
    std::thread::scope(|scope| {
        let logins: Vec<_> = (0..8).map(|_| scope.spawn(|| login(&ada, PASSWORD))).collect();
        change_password(&ada, PASSWORD, NEW_PASSWORD).expect(200);
        for login in logins {
            let response = login.join().unwrap();
            if response.status == 200 {
                let session = ada.with_session(ada.username(), e2e::AuthMethod::Bearer, &response.token());
                session.get("/me").expect_error(401);
            }
        }
    });
    ada.post("/logout", Body::none()).expect(200);
}
