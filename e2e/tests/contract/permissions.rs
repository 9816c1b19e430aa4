//! Who may do what: every operation, every kind of caller, both ways to carry a session.

use e2e::{Body, Carrier, Client, Form, Service, picture};

/// Statuses for: nobody, the author, another user, a session that was logged out, a made-up token.
/// `{}` is a fresh post of the author's that nobody has liked.
#[rustfmt::skip]
const MATRIX: [(&str, &str, [u16; 5]); 16] = [
    //                                nobody author other  ended made-up
    ("GET",    "/feed",              [   200,   200,   200,  200,  200]),
    ("GET",    "/posts/{}",          [   200,   200,   200,  200,  200]),
    ("GET",    "/photos/{photo}/8x8",[   200,   200,   200,  200,  200]),
    ("GET",    "/users/{author}",    [   200,   200,   200,  200,  200]),
    ("GET",    "/users/{author}/posts",[ 200,   200,   200,  200,  200]),
    ("GET",    "/me",                [   401,   200,   200,  401,  401]),
    ("PUT",    "/me/photo",          [   401,   200,   200,  401,  401]),
    ("DELETE", "/me/photo",          [   401,   200,   200,  401,  401]),
    ("POST",   "/posts",             [   401,   201,   201,  401,  401]),
    ("PUT",    "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("PATCH",  "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("POST",   "/posts/{}/likes",    [   401,   201,   201,  401,  401]),
    ("DELETE", "/posts/{}/likes",    [   401,   409,   409,  401,  401]),
    ("DELETE", "/posts/{}",          [   401,   200,   403,  401,  401]),
    ("DELETE", "/posts/0",           [   401,   404,   404,  401,  401]),
    // Last, for it ends the sessions.
    ("POST",   "/logout",            [   401,   200,   200,  401,  401]),
];

#[test]
fn everyone_may_do_exactly_what_the_matrix_says() {
    let service = Service::shared();
    let nobody = service.anyone();
    // A session besides those under test, which gives every cell its post.
    let hand = service.newcomer("author");
    for carrier in Carrier::BOTH {
        let author = nobody.login(hand.username()).by(carrier);
        let other = service.newcomer("other").by(carrier);
        let ended = nobody.login(hand.username()).by(carrier);
        ended.post("/logout", Body::none()).expect(200);
        let made_up = nobody.holding("", carrier, &author.token().chars().rev().collect::<String>());
        let callers: [(&str, &Client); 5] = [
            ("nobody", &nobody),
            ("the author", &author),
            ("another user", &other),
            ("an ended session", &ended),
            ("a made-up token", &made_up),
        ];
        for (method, path, statuses) in MATRIX {
            for ((caller, client), status) in callers.iter().zip(statuses) {
                assert_cell(&hand, client, method, path, status, &format!("{caller} by {carrier:?}"));
            }
        }
    }
}

#[track_caller]
fn assert_cell(hand: &Client, client: &Client, method: &str, path: &str, status: u16, caller: &str) {
    let before = hand.share(&picture::tiny(), "before");
    let address = format!("/posts/{}", before["id"]);
    let photo = before["photo"]["id"].as_str().unwrap();
    let path = path.replace("{}", &before["id"].to_string()).replace("{photo}", photo);
    let path = path.replace("{author}", hand.username());
    let body = match (method, path.as_str()) {
        ("POST", "/posts") | ("PUT", "/me/photo") => Form::photo(&picture::tiny()).body(),
        ("PUT" | "PATCH", _) => Form::message("after").body(),
        _ => Body::none(),
    };
    let answer = client.request(method, &path).body(body).send();
    assert_eq!(answer.status, status, "{caller}: {answer}");
    if status >= 400 {
        answer.refused(status);
        assert_eq!(hand.get(&address).expect(200).json(), before, "refused and done all the same: {caller}");
    }
}
