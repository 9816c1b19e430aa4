//! Of several things wrong with one request, the first of 401, 404, 403, 400 and 409 is told.

use e2e::{Body, Client, Form, PASSWORD, Service, picture};

#[test]
fn the_first_thing_wrong_is_the_one_told() {
    let service = Service::shared();
    let (ada, bob, nobody) = (service.newcomer("ada"), service.newcomer("bob"), service.anyone());
    let stale = service.anyone().login(ada.username());
    stale.post("/logout", Body::none()).expect(200);

    let post = ada.share(&picture::tiny(), "unchanged");
    let path = format!("/posts/{}", post["id"]);
    let likes = format!("{path}/likes");
    let endless = || Form::message(&"x".repeat(5_001)).body();
    let nothing = Body::none;
    let taken = |password| Form::account(ada.username(), password).body();
    let unlikely = "/photos/0190a5b2-3c4d-7e6f-8a9b-0c1d2e3f4a5b/0x7";

    type Case<'a> = (&'a Client, &'a str, &'a str, Body, u16, &'a str);
    let cases: Vec<Case> = vec![
        (&nobody, "PUT", "/posts/0", endless(), 401, "no caller, no post, too long"),
        (&stale, "PUT", "/posts/0", endless(), 401, "stale caller, no post, too long"),
        (&nobody, "PATCH", &path, endless(), 401, "no caller, not theirs, too long"),
        (&nobody, "DELETE", "/posts/0", nothing(), 401, "no caller, no post"),
        (&nobody, "POST", "/posts/0/likes", nothing(), 401, "no caller, no post"),
        (&nobody, "DELETE", &likes, nothing(), 401, "no caller, not liked"),
        (&nobody, "POST", "/posts", Form::photo(b"junk").body(), 401, "no caller, no picture"),
        (&nobody, "POST", "/posts", Body::new("application/json", "{}"), 401, "no caller, no form"),
        (&nobody, "PUT", "/me/photo", Form::photo(b"junk").body(), 401, "no caller, no picture"),
        (&nobody, "GET", "/users/nobody.here/posts?limit=0", nothing(), 404, "no user, no limit"),
        (&bob, "PUT", "/posts/0", endless(), 404, "no post, too long"),
        (&bob, "PATCH", "/posts/junk", endless(), 404, "no post, too long"),
        (&bob, "DELETE", "/posts/0/likes", nothing(), 404, "no post, not liked"),
        (&nobody, "GET", unlikely, nothing(), 404, "no photo, no size"),
        (&bob, "PUT", &path, endless(), 403, "not theirs, too long"),
        (&bob, "PATCH", &path, endless(), 403, "not theirs, too long"),
        (&ada, "PUT", &path, endless(), 400, "too long"),
        (&nobody, "POST", "/join/username", taken("short"), 400, "password too short, name taken"),
        (&nobody, "POST", "/join/username", taken(PASSWORD), 409, "name taken"),
        (&bob, "DELETE", &likes, nothing(), 409, "not liked"),
    ];
    for (person, method, path, body, status, wrong) in cases {
        let answer = person.request(method, path).body(body).send();
        assert_eq!(answer.status, status, "{wrong}: {answer}");
        answer.refused(status);
    }
    assert_eq!(service.anyone().get(&path).expect(200).json(), post, "nothing of it left a trace");
}
