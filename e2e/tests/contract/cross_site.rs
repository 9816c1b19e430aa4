//! CSRF: a page of another origin must not write with the session cookie of its visitor, nor sign it in.

use e2e::{AuthMethod, Body, Client, FormData, PASSWORD, Service, picture, unique};

/// Headers by which a browser declares a request's origin, and whether a write with a cookie is accepted.
/// `{own}` is the service's own origin.
const CASES: [(&[(&str, &str)], bool); 14] = [
    (&[], true),
    (&[("Sec-Fetch-Site", "same-origin")], true),
    (&[("Sec-Fetch-Site", "none")], true),
    (&[("Sec-Fetch-Site", "cross-site")], false),
    (&[("Sec-Fetch-Site", "same-site")], false),
    (&[("Sec-Fetch-Site", "")], false),
    (&[("Origin", "{own}")], true),
    (&[("Origin", "https://evil.example")], false),
    (&[("Origin", "{own}.evil.example")], false),
    (&[("Origin", "null")], false),
    // Sec-Fetch-Site takes precedence over Origin.
    (&[("Sec-Fetch-Site", "same-origin"), ("Origin", "https://evil.example")], true),
    (&[("Sec-Fetch-Site", "cross-site"), ("Origin", "{own}")], false),
    (&[("Sec-Fetch-Site", "same-site"), ("Origin", "{own}")], false),
    (&[("Sec-Fetch-Site", "none"), ("Origin", "null")], true),
];

#[test]
fn a_cross_site_write_with_a_cookie_is_rejected() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (headers, is_accepted) in CASES {
        for auth in AuthMethod::BOTH {
            ada.put(&path, FormData::message("before")).expect(200);
            let body = FormData::message("after").body();
            let response = send(service, &ada.with_auth(auth), headers, "PUT", &path, body);
            // Another site cannot know a bearer token, so a request with one is no forgery.
            let is_accepted = is_accepted || auth == AuthMethod::Bearer;
            if is_accepted {
                response.expect(200);
            } else {
                let response = response.expect_error_for(403, None);
                assert_eq!(response.header("x-error-code"), Some("cross_site"), "{headers:?}");
            }
            let message = ada.get(&path).expect(200).json()["message"].clone();
            assert_eq!(message, if is_accepted { "after" } else { "before" }, "{headers:?} by {auth:?}");
        }
    }
}

#[test]
fn every_write_is_protected_against_csrf_and_no_read_is() {
    let service = Service::shared();
    let ada = service.new_user("ada").with_auth(AuthMethod::Cookie);
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let post = ada.share(&picture::tiny(), "before");
    let path = format!("/posts/{}", post["id"]);
    let likes = format!("{path}/likes");
    let image = format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap());
    let cross_site: &[_] = &[("Sec-Fetch-Site", "cross-site"), ("Origin", "https://evil.example")];

    for (method, path, body) in [
        ("POST", "/posts", FormData::photo(&picture::tiny()).body()),
        ("PUT", "/me/photo", FormData::photo(&picture::tiny()).body()),
        ("DELETE", "/me/photo", Body::none()),
        ("PUT", &path, FormData::message("after").body()),
        ("PATCH", &path, FormData::message("after").body()),
        ("POST", &likes, Body::none()),
        ("DELETE", &likes, Body::none()),
        ("DELETE", &path, Body::none()),
        ("POST", "/logout", Body::none()),
        ("POST", "/login/username", FormData::account(ada.username(), PASSWORD).body()),
    ] {
        let response = send(service, &ada, cross_site, method, path, body).expect_error_for(403, None);
        assert_eq!(response.header("x-error-code"), Some("cross_site"), "{response}");
    }
    let (user, posts) = (format!("/users/{}", ada.username()), format!("/users/{}/posts", ada.username()));
    for read in ["/me", "/feed", &path, &image, &user, &posts] {
        send(service, &ada, cross_site, "GET", read, Body::none()).expect(200);
    }
    assert_eq!(ada.get(&path).expect(200).json(), post);
}

#[test]
fn a_page_of_another_origin_cannot_sign_its_visitor_in() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    for (headers, is_accepted) in CASES {
        let login = ("/login/username", ada.username().to_owned(), 200);
        for (path, name, status) in [login, ("/join/username", unique("new"), 201)] {
            let form = || FormData::account(&name, PASSWORD).body();
            let response = send(service, &service.anonymous(), headers, "POST", path, form());
            if is_accepted {
                response.expect(status);
                continue;
            }
            let response = response.expect_error_for(403, None);
            assert_eq!(response.header("x-error-code"), Some("cross_site"), "{headers:?}");
            assert_eq!((response.header("set-cookie"), response.header("x-auth-token")), (None, None));
            // A page cannot add a bearer token to a form, so such a request is no forgery.
            send(service, &ada, headers, "POST", path, form()).expect(status);
        }
    }
}

#[test]
fn a_page_of_another_origin_cannot_share_into_the_composer() {
    let service = Service::shared();
    for (headers, is_accepted) in CASES {
        for method in ["GET", "POST"] {
            let response = send(service, &service.anonymous(), headers, method, "/share", Body::none());
            if is_accepted {
                let response = response.expect(303);
                assert_eq!(response.header("location"), Some("/new?shared"));
            } else {
                response.expect_error_for(403, None);
            }
        }
    }
}

#[test]
fn the_host_that_a_trusted_proxy_forwards_counts_as_same_origin() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1"]);
    let ada = service.new_user("ada");
    for (origin, status) in [("https://photos.example", 200), ("https://evil.example", 403)] {
        let request = service.anonymous().request("POST", "/login/username");
        let request = request.header("X-Forwarded-Host", "photos.example").header("Origin", origin);
        let response = request.body(FormData::account(ada.username(), PASSWORD)).send();
        assert_eq!(response.status, status, "Origin {origin}: {response}");
    }
}

#[test]
fn the_public_url_counts_as_same_origin() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let ada = service.new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("before"));
    for (origin, status) in [
        ("https://photos.example", 200),
        ("https://photos.example:444", 403),
        ("http://photos.example", 403),
        ("https://evil.example", 403),
    ] {
        let request = service.anonymous().request("PUT", &path).body(FormData::message("after"));
        let request = request.header("Cookie", format!("__Host-pinhole_session={}", ada.token()));
        let response = request.header("Origin", origin).send();
        assert_eq!(response.status, status, "Origin {origin}: {response}");
    }
}

fn send(
    service: &Service,
    client: &Client,
    headers: &[(&str, &str)],
    method: &str,
    path: &str,
    body: Body,
) -> e2e::Response {
    let mut request = client.request(method, path).body(body);
    for (name, value) in headers {
        request = request.header(name, value.replace("{own}", service.base()));
    }
    request.send()
}
