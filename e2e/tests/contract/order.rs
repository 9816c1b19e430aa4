//! The precedence of errors: of several that apply, the first of 401, 404, 403, 400 and 409 is returned.

use e2e::{Body, Client, FormData, PASSWORD, Service, picture};

#[test]
fn errors_have_a_fixed_precedence() {
    let service = Service::shared();
    let (ada, bob, anonymous) = (service.new_user("ada"), service.new_user("bob"), service.anonymous());
    let ended = service.anonymous().login(ada.username());
    ended.post("/logout", Body::none()).expect(200);

    let post = ada.share(&picture::tiny(), "unchanged");
    let path = format!("/posts/{}", post["id"]);
    let likes = format!("{path}/likes");
    let too_long = || FormData::message(&"x".repeat(5_001)).body();
    let no_body = Body::none;
    let join_taken_name = |password| FormData::account(ada.username(), password).body();
    let invalid_image = "/photos/0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b/0x7";

    type Case<'a> = (&'a Client, &'a str, &'a str, Body, u16, &'a str);
    let cases: Vec<Case> = vec![
        (&anonymous, "PUT", "/posts/0", too_long(), 401, "no session, no post, too long"),
        (&ended, "PUT", "/posts/0", too_long(), 401, "ended session, no post, too long"),
        (&anonymous, "PATCH", &path, too_long(), 401, "no session, another user's post, too long"),
        (&anonymous, "DELETE", "/posts/0", no_body(), 401, "no session, no post"),
        (&anonymous, "POST", "/posts/0/likes", no_body(), 401, "no session, no post"),
        (&anonymous, "DELETE", &likes, no_body(), 401, "no session, not liked"),
        (&anonymous, "POST", "/posts", FormData::photo(b"junk").body(), 401, "no session, no picture"),
        (&anonymous, "POST", "/posts", Body::new("application/json", "{}"), 401, "no session, no form"),
        (&anonymous, "PUT", "/me/photo", FormData::photo(b"junk").body(), 401, "no session, no picture"),
        (&anonymous, "GET", "/users/no.such.user/posts?limit=0", no_body(), 404, "no user, invalid limit"),
        (&bob, "PUT", "/posts/0", too_long(), 404, "no post, too long"),
        (&bob, "PATCH", "/posts/junk", too_long(), 404, "no post, too long"),
        (&bob, "DELETE", "/posts/0/likes", no_body(), 404, "no post, not liked"),
        (&anonymous, "GET", invalid_image, no_body(), 404, "no photo, invalid size"),
        (&bob, "PUT", &path, too_long(), 403, "another user's post, too long"),
        (&bob, "PATCH", &path, too_long(), 403, "another user's post, too long"),
        (&ada, "PUT", &path, too_long(), 400, "too long"),
        (
            &anonymous,
            "POST",
            "/join/username",
            join_taken_name("short"),
            400,
            "password too short, name taken",
        ),
        (&anonymous, "POST", "/join/username", join_taken_name(PASSWORD), 409, "name taken"),
        (&bob, "DELETE", &likes, no_body(), 409, "not liked"),
    ];
    for (client, method, path, body, status, wrong) in cases {
        let response = client.request(method, path).body(body).send();
        assert_eq!(response.status, status, "{wrong}: {response}");
        response.expect_error(status);
    }
    assert_eq!(
        service.anonymous().get(&path).expect(200).json(),
        post,
        "a rejected request has changed the post"
    );
}
