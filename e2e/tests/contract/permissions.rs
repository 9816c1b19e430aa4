//! Authorization: every operation, every kind of caller, both auth methods.

use e2e::{AuthMethod, Body, Client, FormData, PASSWORD, Service, picture};

/// Statuses for: no session, the author, another user, a session that was logged out, an invalid token. `{}`
/// is a new post of the author without likes.
#[rustfmt::skip]
const MATRIX: [(&str, &str, [u16; 5]); 25] = [
    //                                  anon author other  ended invalid
    ("GET",    "/feed",              [   200,   200,   200,  200,  200]),
    ("GET",    "/posts/{}",          [   200,   200,   200,  200,  200]),
    ("GET",    "/photos/{photo}/8x8",[   200,   200,   200,  200,  200]),
    ("GET",    "/users/{author}",    [   200,   200,   200,  200,  200]),
    ("GET",    "/users/{author}/posts",[ 200,   200,   200,  200,  200]),
    ("GET",    "/me",                [   401,   200,   200,  401,  401]),
    ("GET",    "/posts/{}/likes",    [   200,   200,   200,  200,  200]),
    ("GET",    "/me/likes",          [   401,   200,   200,  401,  401]),
    ("PATCH",  "/me",                [   401,   200,   200,  401,  401]),
    // The current password is wrong: a change would end the other sessions.
    ("PUT",    "/me/password",       [   401,   400,   400,  401,  401]),
    ("GET",    "/me/sessions",       [   401,   200,   200,  401,  401]),
    ("DELETE", "/me/sessions/0123456789abcdef",[401, 404, 404, 401, 401]),
    ("GET",    "/me/recovery-codes", [   401,   200,   200,  401,  401]),
    ("POST",   "/me/recovery-codes", [   401,   201,   201,  401,  401]),
    ("POST",   "/recover",           [   400,   400,   400,  400,  400]),
    ("PUT",    "/me/photo",          [   401,   200,   200,  401,  401]),
    ("DELETE", "/me/photo",          [   401,   200,   200,  401,  401]),
    ("POST",   "/posts",             [   401,   201,   201,  401,  401]),
    ("PUT",    "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("PATCH",  "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("POST",   "/posts/{}/likes",    [   401,   201,   201,  401,  401]),
    ("DELETE", "/posts/{}/likes",    [   401,   409,   409,  401,  401]),
    ("DELETE", "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("DELETE", "/posts/0",           [   401,   404,   404,  401,  401]),
    // Last, because it ends the sessions.
    ("POST",   "/logout",            [   401,   200,   200,  401,  401]),
];

#[test]
fn every_caller_gets_the_status_of_the_matrix() {
    let service = Service::shared();
    let anonymous = service.anonymous();
    // A further session of the author, which creates the post of every case.
    let setup = service.new_user("author");
    for auth in AuthMethod::BOTH {
        let author = anonymous.login(setup.username()).with_auth(auth);
        let other = service.new_user("other").with_auth(auth);
        let ended = anonymous.login(setup.username()).with_auth(auth);
        ended.post("/logout", Body::none()).expect(200);
        let invalid = anonymous.with_session("", auth, &author.token().chars().rev().collect::<String>());
        let callers: [(&str, &Client); 5] = [
            ("no session", &anonymous),
            ("the author", &author),
            ("another user", &other),
            ("an ended session", &ended),
            ("an invalid token", &invalid),
        ];
        for (method, path, statuses) in MATRIX {
            for ((caller, client), status) in callers.iter().zip(statuses) {
                assert_case(&setup, client, method, path, status, &format!("{caller} by {auth:?}"));
            }
        }
    }
}

#[track_caller]
fn assert_case(setup: &Client, client: &Client, method: &str, path: &str, status: u16, caller: &str) {
    let before = setup.share(&picture::tiny(), "before");
    let address = format!("/posts/{}", before["id"]);
    let photo = before["photo"]["id"].as_str().unwrap();
    let path = path.replace("{}", &before["id"].to_string()).replace("{photo}", photo);
    let path = path.replace("{author}", setup.username());
    let body = match (method, path.as_str()) {
        ("PUT", "/me/password") => {
            FormData::new().text("current_password", "wrong").text("password", PASSWORD).body()
        }
        ("POST", "/me/recovery-codes") => FormData::new().text("password", PASSWORD).body(),
        ("POST", "/recover") => FormData::account(client.username(), PASSWORD).text("code", "x").body(),
        ("POST", "/posts") | ("PUT", "/me/photo") => FormData::photo(&picture::tiny()).body(),
        ("PUT" | "PATCH", _) => FormData::message("after").body(),
        _ => Body::none(),
    };
    let response = client.request(method, &path).body(body).send();
    assert_eq!(response.status, status, "{caller}: {response}");
    if status >= 400 {
        response.expect_error(status);
        assert_eq!(
            setup.get(&address).expect(200).json(),
            before,
            "the request was rejected but has changed the post: {caller}"
        );
    }
}
