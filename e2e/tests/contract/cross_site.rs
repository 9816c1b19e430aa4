//! A page of another site must not write with the cookie its visitor happens to carry.

use e2e::{Body, Carrier, Client, Form, PASSWORD, Service, picture};

/// What a browser says about where a request comes from, and whether a write with a cookie passes.
/// `{own}` is the service's own address.
const CASES: [(&[(&str, &str)], bool); 10] = [
    (&[], true),
    (&[("Sec-Fetch-Site", "same-origin")], true),
    (&[("Sec-Fetch-Site", "none")], true),
    (&[("Sec-Fetch-Site", "cross-site")], false),
    (&[("Origin", "{own}")], true),
    (&[("Origin", "https://evil.example")], false),
    (&[("Origin", "{own}.evil.example")], false),
    (&[("Origin", "null")], false),
    // Sec-Fetch-Site knows better than Origin.
    (&[("Sec-Fetch-Site", "same-origin"), ("Origin", "https://evil.example")], true),
    (&[("Sec-Fetch-Site", "cross-site"), ("Origin", "{own}")], false),
];

#[test]
fn a_write_with_a_cookie_from_another_site_is_refused() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (headers, passes) in CASES {
        for carrier in Carrier::BOTH {
            ada.put(&path, Form::message("before")).expect(200);
            let body = Form::message("after").body();
            let answer = send(service, &ada.by(carrier), headers, "PUT", &path, body);
            // Another site cannot know a bearer token, so who sends one meant to.
            let passes = passes || carrier == Carrier::Bearer;
            if passes {
                answer.expect(200);
            } else {
                let answer = answer.refused_for(403, None);
                assert_eq!(answer.header("x-error-code"), Some("cross_site"), "{headers:?}");
            }
            let message = ada.get(&path).expect(200).json()["message"].clone();
            assert_eq!(message, if passes { "after" } else { "before" }, "{headers:?} by {carrier:?}");
        }
    }
}

#[test]
fn every_write_is_guarded_and_no_read_is() {
    let service = Service::shared();
    let ada = service.newcomer("ada").by(Carrier::Cookie);
    ada.put("/me/photo", Form::photo(&picture::tiny())).expect(200);
    let post = ada.share(&picture::tiny(), "before");
    let path = format!("/posts/{}", post["id"]);
    let likes = format!("{path}/likes");
    let image = format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap());
    let foreign: &[_] = &[("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")];

    for (method, path, body) in [
        ("POST", "/posts", Form::photo(&picture::tiny()).body()),
        ("PUT", "/me/photo", Form::photo(&picture::tiny()).body()),
        ("DELETE", "/me/photo", Body::none()),
        ("PUT", &path, Form::message("after").body()),
        ("PATCH", &path, Form::message("after").body()),
        ("POST", &likes, Body::none()),
        ("DELETE", &likes, Body::none()),
        ("DELETE", &path, Body::none()),
        ("POST", "/logout", Body::none()),
        ("POST", "/login/username", Form::account(ada.username(), PASSWORD).body()),
    ] {
        let answer = send(service, &ada, foreign, method, path, body).refused_for(403, None);
        assert_eq!(answer.header("x-error-code"), Some("cross_site"), "{answer}");
    }
    let (user, posts) = (format!("/users/{}", ada.username()), format!("/users/{}/posts", ada.username()));
    for read in ["/me", "/feed", &path, &image, &user, &posts] {
        send(service, &ada, foreign, "GET", read, Body::none()).expect(200);
    }
    assert_eq!(ada.get(&path).expect(200).json(), post);

    // Without a cookie there is nothing to misuse.
    let form = Form::account(ada.username(), PASSWORD).body();
    send(service, &service.anyone(), foreign, "POST", "/login/username", form).expect(200);
}

#[test]
fn the_public_address_is_home_too() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (origin, status) in [
        ("https://photos.example", 200),
        ("https://photos.example:444", 403),
        ("http://photos.example", 403),
        ("https://evil.example", 403),
    ] {
        let request = service.anyone().request("PUT", &path).body(Form::message("after"));
        let request = request.header("Cookie", format!("__Host-pinhole_session={}", ada.token()));
        let answer = request.header("Origin", origin).send();
        assert_eq!(answer.status, status, "Origin {origin}: {answer}");
    }
}

fn send(
    service: &Service,
    person: &Client,
    headers: &[(&str, &str)],
    method: &str,
    path: &str,
    body: Body,
) -> e2e::Answer {
    let mut request = person.request(method, path).body(body);
    for (name, value) in headers {
        request = request.header(name, value.replace("{own}", service.base()));
    }
    request.send()
}
