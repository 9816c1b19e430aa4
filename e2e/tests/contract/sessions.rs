//! How a session begins, travels and ends.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use e2e::{Answer, Body, Carrier, Form, PASSWORD, Service, unique};

#[test]
fn joining_and_logging_in_start_a_session_told_twice() {
    let anyone = Service::shared().anyone();
    let name = unique("ada");
    for (path, status) in [("/join/username", 201), ("/login/username", 200)] {
        let answer = anyone.post(path, Form::account(&name, PASSWORD)).expect(status);
        assert_eq!(URL_SAFE_NO_PAD.decode(answer.token()).unwrap().len(), 32, "256 random bits");
        let (value, attributes) = cookie(&answer, "pinhole_session");
        assert_eq!(value, answer.token());
        for attribute in ["httponly", "samesite=lax", "path=/"] {
            assert!(attributes.contains(&attribute.into()), "{attribute} is missing: {attributes:?}");
        }
        let forbidden = |attribute: &String| attribute == "secure" || attribute.starts_with("domain=");
        assert!(!attributes.iter().any(forbidden), "plain http, this host only: {attributes:?}");
        for carrier in Carrier::BOTH {
            let me = anyone.holding(&name, carrier, &answer.token()).get("/me").expect(200);
            assert_eq!(me.json(), answer.json());
        }
    }
}

#[test]
fn behind_https_the_cookie_is_secure_and_bound_to_its_host() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let answer = service.anyone().post("/join/username", Form::account("ada", PASSWORD)).expect(201);
    let (value, attributes) = cookie(&answer, "__Host-pinhole_session");
    assert_eq!(value, answer.token());
    for attribute in ["httponly", "samesite=lax", "path=/", "secure"] {
        assert!(attributes.contains(&attribute.into()), "{attribute} is missing: {attributes:?}");
    }
    assert!(!attributes.iter().any(|attribute| attribute.starts_with("domain=")), "{attributes:?}");

    let me = |cookie: String| service.anyone().request("GET", "/me").header("Cookie", cookie).send();
    me(format!("theme=dark; __Host-pinhole_session={value}; lang=en")).expect(200);
    // Without the prefix a sister domain could have planted it.
    me(format!("pinhole_session={value}")).refused(401);
}

#[test]
fn the_scheme_may_be_written_in_any_case() {
    let ada = Service::shared().newcomer("ada");
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = Service::shared().anyone().request("GET", "/me");
        request.header("Authorization", format!("{scheme} {}", ada.token())).send().expect(200);
    }
}

#[test]
fn the_cookies_of_others_do_not_get_in_the_way() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let cookies =
        [b"theme=caf\xe9; =; lone; pinhole_session=".as_slice(), ada.token().as_bytes(), b"; x=\"y\""]
            .concat();
    service.anyone().request("GET", "/me").header("Cookie", cookies).send().expect(200);
}

#[test]
fn each_login_is_a_session_of_its_own() {
    let anyone = Service::shared().anyone();
    let first = anyone.join(&unique("ada"));
    let second = anyone.login(first.username());
    let third = anyone.login(first.username());
    assert_ne!(first.token(), second.token());
    assert_ne!(second.token(), third.token());

    // Leaving ends the session it came with, however it came, and no other.
    for (leaving, carrier) in [(&first, Carrier::Cookie), (&second, Carrier::Bearer)] {
        let goodbye = leaving.by(carrier).post("/logout", Body::none()).expect(200);
        assert_eq!(goodbye.json(), serde_json::json!({}));
        for carrier in Carrier::BOTH {
            leaving.by(carrier).get("/me").refused_for(401, None);
            leaving.by(carrier).post("/logout", Body::none()).refused_for(401, None);
        }
        third.get("/me").expect(200);
    }
    anyone.post("/logout", Body::none()).refused_for(401, None);
}

#[test]
fn a_bad_credential_is_refused_where_one_is_needed_and_nobody_elsewhere() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share(&e2e::picture::tiny(), "liked by its author");
    ada.post(&format!("/posts/{}/likes", post["id"]), Body::none()).expect(201);
    let left = service.anyone().login(ada.username());
    left.post("/logout", Body::none()).expect(200);

    let never_given = URL_SAFE_NO_PAD.encode([7; 32]);
    for token in [left.token(), &never_given, "nonsense", "\"", "=", "null"] {
        for carrier in Carrier::BOTH {
            let stranger = service.anyone().holding("", carrier, token);
            stranger.get("/me").refused_for(401, None);
            let seen = stranger.get(&format!("/posts/{}", post["id"])).expect(200).json();
            assert_eq!(seen["is_liked"], false, "{token} by {carrier:?}");
            let feed = stranger.get("/feed").expect(200).json();
            assert!(feed["data"].as_array().unwrap().iter().all(|post| post["is_liked"] == false));
            stranger.get(&format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap())).expect(200);
        }
    }
    let basic = service.anyone().request("GET", "/me").header("Authorization", "Basic YWRhOnB3");
    basic.send().refused_for(401, None);
}

#[test]
fn a_stolen_disk_gives_no_session_away() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    ada.share_tiny("so that there is something on disk");
    service.assert_nowhere_on_disk(ada.token().as_bytes(), "the token");
    service.assert_nowhere_on_disk(&URL_SAFE_NO_PAD.decode(ada.token()).unwrap(), "the token's bytes");
    service.assert_nowhere_on_disk(PASSWORD.as_bytes(), "the password");
}

/// The value of a cookie the answer sets, and its attributes in lower case.
#[track_caller]
fn cookie(answer: &Answer, name: &str) -> (String, Vec<String>) {
    let header = answer.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {answer}"));
    let mut parts = header.split(';').map(str::trim);
    let (found, value) = parts.next().unwrap().split_once('=').unwrap();
    assert_eq!(found, name);
    (value.to_owned(), parts.map(str::to_ascii_lowercase).collect())
}
