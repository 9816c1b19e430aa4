//! Authorization: every operation, every kind of caller, both auth methods.

use e2e::{AuthMethod, Body, Client, FormData, PASSWORD, Service, picture};

/// Statuses for: no session, a session that was logged out, an invalid token, the author, another user, a
/// user whom the author has blocked, a suspended one, a moderator, an owner. `{}` is a new post of the author
/// without likes.
#[rustfmt::skip]
const MATRIX: [(&str, &str, [u16; 9]); 76] = [
    //                                            anon ended inval author other blckd susp  mod  owner
    ("GET",    "/feed",                          [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/posts/{}",                      [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/photos/{photo}/8x8",            [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/photos/{photo}/fit/8",          [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/photos/{photo}/original",       [401, 401, 401,  200,  403,  403,  403,  403,  403]),
    ("GET",    "/users/{author}",                [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/users/{author}/posts",          [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/tags/sunset/posts",             [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/posts/{}/likes",                [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/livez",                         [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/readyz",                        [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    // Without parameters.
    ("POST",   "/join/username",                 [400, 400, 400,  400,  400,  400,  400,  400,  400]),
    ("POST",   "/login/username",                [400, 400, 400,  400,  400,  400,  400,  400,  400]),
    ("GET",    "/instance",                      [200, 200, 200,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/me",                            [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/me/account",                    [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/me/likes",                      [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("PATCH",  "/me",                            [401, 401, 401,  200,  200,  200,  403,  200,  200]),
    // The password is wrong: a change would end the other sessions, and a deletion all of them.
    ("DELETE", "/me",                            [401, 401, 401,  400,  400,  400,  400,  400,  400]),
    ("PUT",    "/me/password",                   [401, 401, 401,  400,  400,  400,  400,  400,  400]),
    ("GET",    "/me/sessions",                   [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("DELETE", "/me/sessions/0123456789abcdef",  [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("GET",    "/me/recovery-codes",             [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("POST",   "/me/recovery-codes",             [401, 401, 401,  201,  201,  201,  201,  201,  201]),
    ("POST",   "/recover",                       [400, 400, 400,  400,  400,  400,  400,  400,  400]),
    ("POST",   "/me/export",                     [401, 401, 401,  201,  201,  201,  201,  201,  201]),
    ("GET",    "/me/export",                     [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("POST",   "/me/import",                     [401, 401, 401,  400,  400,  400,  403,  400,  400]),
    ("GET",    "/me/import",                     [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("DELETE", "/me/import",                     [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("PUT",    "/me/photo",                      [401, 401, 401,  200,  200,  200,  403,  200,  200]),
    ("DELETE", "/me/photo",                      [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/me/blocks",                     [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("PUT",    "/me/blocks/{third}",             [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("DELETE", "/me/blocks/{third}",             [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/me/hidden-posts",               [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("PUT",    "/me/hidden-posts/{}",            [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("DELETE", "/me/hidden-posts/{}",            [401, 401, 401,  200,  200,  200,  200,  200,  200]),
    ("GET",    "/invitations",                   [401, 401, 401,  200,  200,  200,  403,  200,  200]),
    ("POST",   "/invitations",                   [401, 401, 401,  403,  403,  403,  403,  201,  201]),
    ("DELETE", "/invitations/0123456789abcdef",  [401, 401, 401,  404,  404,  404,  403,  404,  404]),
    ("POST",   "/posts",                         [401, 401, 401,  201,  201,  201,  403,  201,  201]),
    ("OPTIONS", "/posts",                        [204, 204, 204,  204,  204,  204,  204,  204,  204]),
    // There is no such upload.
    ("GET",    "/uploads/{photo}",              [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("PATCH",  "/uploads/{photo}",              [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("DELETE", "/uploads/{photo}",              [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("PUT",    "/posts/{}",                      [401, 401, 401,  200,  403,  403,  403,  403,  403]),
    ("PATCH",  "/posts/{}",                      [401, 401, 401,  200,  403,  403,  403,  403,  403]),
    ("POST",   "/posts/{}/likes",                [401, 401, 401,  201,  201,  403,  403,  201,  201]),
    ("DELETE", "/posts/{}/likes",                [401, 401, 401,  409,  409,  409,  409,  409,  409]),
    ("POST",   "/posts/{}/reports",              [401, 401, 401,  403,  201,  201,  403,  201,  201]),
    ("POST",   "/users/{author}/reports",        [401, 401, 401,  403,  201,  201,  403,  201,  201]),
    ("DELETE", "/posts/{}",                      [401, 401, 401,  200,  403,  403,  403,  200,  200]),
    ("DELETE", "/posts/0",                       [401, 401, 401,  404,  404,  404,  404,  404,  404]),
    ("GET",    "/admin/reports",                 [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("PUT",    "/admin/reports/999999",          [401, 401, 401,  403,  403,  403,  403,  404,  404]),
    ("GET",    "/admin/users",                   [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("GET",    "/admin/users/{third}",           [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("GET",    "/admin/audit",                   [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("GET",    "/admin/invitations",             [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("DELETE", "/admin/invitations/0123456789abcdef",
                                                 [401, 401, 401,  403,  403,  403,  403,  404,  404]),
    ("PUT",    "/admin/users/{third}/suspension",[401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("DELETE", "/admin/users/{third}/suspension",[401, 401, 401,  403,  403,  403,  403,  200,  409]),
    ("PUT",    "/admin/users/{third}/approval",  [401, 401, 401,  403,  403,  403,  403,  409,  409]),
    ("DELETE", "/admin/users/{third}/photo",     [401, 401, 401,  403,  403,  403,  403,  404,  404]),
    ("PUT",    "/admin/users/{third}/role",      [401, 401, 401,  403,  403,  403,  403,  403,  200]),
    ("POST",   "/admin/users/{third}/reset",     [401, 401, 401,  403,  403,  403,  403,  403,  201]),
    ("DELETE", "/admin/users/no-such-user",      [401, 401, 401,  403,  403,  403,  403,  403,  404]),
    ("PATCH",  "/admin/instance",                [401, 401, 401,  403,  403,  403,  403,  403,  200]),
    ("GET",    "/instance/logo",                 [404, 404, 404,  404,  404,  404,  404,  404,  404]),
    ("PUT",    "/admin/instance/logo",           [401, 401, 401,  403,  403,  403,  403,  403,  400]),
    ("DELETE", "/admin/instance/logo",           [401, 401, 401,  403,  403,  403,  403,  403,  200]),
    ("PUT",    "/admin/posts/{}/hidden",         [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("DELETE", "/admin/posts/{}/hidden",         [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    ("DELETE", "/admin/posts/{}",                [401, 401, 401,  403,  403,  403,  403,  200,  200]),
    // Last, because it ends the sessions.
    ("POST",   "/logout",                        [401, 401, 401,  200,  200,  200,  200,  200,  200]),
];

/// `DELETE /me/sessions` would end the session that creates the posts; `security.rs` has it.
const NOT_IN_THE_MATRIX: [(&str, &str); 1] = [("delete", "/me/sessions")];

#[test]
fn the_matrix_has_every_documented_operation() {
    let document = Service::shared().anonymous().get("/openapi.json").expect(200).json();
    let is_same = |documented: &str, path: &str| {
        let (documented, path): (Vec<_>, Vec<_>) =
            (documented.split('/').collect(), path.split('/').collect());
        let fits = |(template, segment): (&&str, &&str)| template.starts_with('{') || template == segment;
        documented.len() == path.len() && documented.iter().zip(&path).all(fits)
    };
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            let is_listed = MATRIX
                .iter()
                .any(|(listed, row, _)| listed.eq_ignore_ascii_case(method) && is_same(path, row));
            let is_excepted = NOT_IN_THE_MATRIX.contains(&(method.as_str(), path.as_str()));
            assert!(is_listed != is_excepted, "{method} {path}");
        }
    }
}

#[test]
fn every_caller_gets_the_status_of_the_matrix() {
    let service = Service::start(&[]);
    let anonymous = service.anonymous();
    // A further session of the author, which creates the post of every case.
    let setup = service.new_user("author");
    let third = service.new_user("third");
    for auth in AuthMethod::BOTH {
        let author = anonymous.login(setup.username()).with_auth(auth);
        let other = service.new_user("other").with_auth(auth);
        let blocked = service.new_user("blocked").with_auth(auth);
        setup.put(&format!("/me/blocks/{}", blocked.username()), Body::none()).expect(200);
        let suspended = service.new_user("suspended").with_auth(auth);
        service.operator(&["user", "suspend", suspended.username(), "--reason", "spam"]);
        let moderator = service.new_user_with_role("moderator").with_auth(auth);
        let owner = service.new_user_with_role("owner").with_auth(auth);
        let ended = anonymous.login(setup.username()).with_auth(auth);
        ended.post("/logout", Body::none()).expect(200);
        let invalid = anonymous.with_session("", auth, &author.token().chars().rev().collect::<String>());
        let callers: [(&str, &Client); 9] = [
            ("no session", &anonymous),
            ("an ended session", &ended),
            ("an invalid token", &invalid),
            ("the author", &author),
            ("another user", &other),
            ("a blocked user", &blocked),
            ("a suspended user", &suspended),
            ("a moderator", &moderator),
            ("an owner", &owner),
        ];
        for (method, path, statuses) in MATRIX {
            let path = path.replace("{third}", third.username());
            for ((caller, client), status) in callers.iter().zip(statuses) {
                assert_case(&setup, client, method, &path, status, &format!("{caller} by {auth:?}"));
            }
        }
    }
}

/// What acts of owners take; others ignore it.
fn confirmation() -> FormData {
    FormData::new().text("current_password", PASSWORD)
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
        ("DELETE", "/me") => FormData::new().text("password", "wrong").body(),
        ("POST", "/me/recovery-codes") => FormData::new().text("password", PASSWORD).body(),
        ("POST", "/recover") => FormData::account(client.username(), PASSWORD).text("code", "x").body(),
        ("POST", "/posts") | ("PUT", "/me/photo") => FormData::photo(&picture::tiny()).body(),
        ("PATCH", "/admin/instance") => FormData::new().text("name", "Birds").body(),
        (_, path) if path.ends_with("/role") => confirmation().text("role", "member").body(),
        (_, path) if path.contains("/admin/") || path.ends_with("/reports") => {
            confirmation().text("reason", "spam").text("resolution", "done").body()
        }
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
