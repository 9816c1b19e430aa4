//! Sessions: login, cookies and bearer tokens, logout.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use e2e::{AuthMethod, Body, Client, FormData, PASSWORD, RawConnection, Response, Service, picture, unique};

#[test]
fn join_and_login_return_the_token_as_header_and_cookie() {
    let anonymous = Service::shared().anonymous();
    let name = unique("ada");
    for (path, status) in [("/join/username", 201), ("/login/username", 200)] {
        let response = anonymous.post(path, FormData::account(&name, PASSWORD)).expect(status);
        assert_eq!(URL_SAFE_NO_PAD.decode(response.token()).unwrap().len(), 32, "256 random bits");
        let (value, attributes) = cookie(&response, "pinhole_session");
        assert_eq!(value, response.token());
        for attribute in ["httponly", "samesite=lax", "path=/"] {
            assert!(attributes.contains(&attribute.into()), "{attribute} is missing: {attributes:?}");
        }
        let forbidden = |attribute: &String| attribute == "secure" || attribute.starts_with("domain=");
        assert!(!attributes.iter().any(forbidden), "plain http, this host only: {attributes:?}");
        for auth in AuthMethod::BOTH {
            let me = anonymous.with_session(&name, auth, &response.token()).get("/me").expect(200);
            assert_eq!(me.json(), response.json());
        }
    }
}

#[test]
fn with_an_https_public_url_the_cookie_is_secure_and_has_the_host_prefix() {
    let service = Service::start(&["--public-url", "https://photos.example"]);
    let response = service.anonymous().post("/join/username", FormData::account("ada", PASSWORD)).expect(201);
    let (value, attributes) = cookie(&response, "__Host-pinhole_session");
    assert_eq!(value, response.token());
    for attribute in ["httponly", "samesite=lax", "path=/", "secure"] {
        assert!(attributes.contains(&attribute.into()), "{attribute} is missing: {attributes:?}");
    }
    assert!(!attributes.iter().any(|attribute| attribute.starts_with("domain=")), "{attributes:?}");

    let me = |cookie: String| service.anonymous().request("GET", "/me").header("Cookie", cookie).send();
    me(format!("theme=dark; __Host-pinhole_session={value}; lang=en")).expect(200);
    // A sibling domain can set a cookie without the __Host- prefix.
    me(format!("pinhole_session={value}")).expect_error(401);
}

#[test]
fn the_cookie_lives_as_long_as_an_unused_session_and_pages_renew_it() {
    let service = Service::start(&["--session-idle", "2d"]);
    let joined = service.anonymous().post("/join/username", FormData::account("ada", PASSWORD)).expect(201);
    let (token, attributes) = cookie(&joined, "pinhole_session");
    assert!(attributes.contains(&"max-age=172800".into()), "{attributes:?}");

    let ada = service.anonymous().with_session("ada", AuthMethod::Cookie, &token);
    assert_eq!(cookie(&ada.get("/").expect(200), "pinhole_session"), (token, attributes));
    assert_eq!(ada.get("/feed").expect(200).header("set-cookie"), None, "the API sets no cookie");
    let fetched = |mode| ada.request("GET", "/new").header("Sec-Fetch-Mode", mode).send().expect(200);
    assert!(fetched("navigate").header("set-cookie").is_some());
    assert_eq!(fetched("cors").header("set-cookie"), None, "may arrive after a logout");
    ada.post("/logout", Body::none()).expect(200);
    assert_eq!(ada.get("/").expect(200).header("set-cookie"), None, "an ended session is not renewed");
}

#[test]
fn with_an_https_public_url_browsers_are_told_to_use_https_only() {
    for (url, expected) in [("https://photos.example", Some("max-age=31536000")), ("http://a.example", None)]
    {
        let service = Service::start(&["--public-url", url]);
        for path in ["/", "/feed", "/me", "/nowhere"] {
            let response = service.anonymous().get(path);
            assert_eq!(response.header("strict-transport-security"), expected, "{url}: {response}");
        }
    }
}

#[test]
fn the_bearer_scheme_is_case_insensitive() {
    let ada = Service::shared().new_user("ada");
    for scheme in ["Bearer", "bearer", "BEARER"] {
        let request = Service::shared().anonymous().request("GET", "/me");
        request.header("Authorization", format!("{scheme} {}", ada.token())).send().expect(200);
    }
}

#[test]
fn malformed_cookies_of_other_applications_are_ignored() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let cookies =
        [b"theme=caf\xe9; =; lone; pinhole_session=".as_slice(), ada.token().as_bytes(), b"; x=\"y\""]
            .concat();
    service.anonymous().request("GET", "/me").header("Cookie", cookies).send().expect(200);
}

#[test]
fn logging_out_ends_only_the_session_of_the_request() {
    let anonymous = Service::shared().anonymous();
    let first = anonymous.join(&unique("ada"));
    let second = anonymous.login(first.username());
    let third = anonymous.login(first.username());
    assert_ne!(first.token(), second.token());
    assert_ne!(second.token(), third.token());

    // For both auth methods.
    for (client, auth) in [(&first, AuthMethod::Cookie), (&second, AuthMethod::Bearer)] {
        let response = client.with_auth(auth).post("/logout", Body::none()).expect(200);
        assert_eq!(response.json(), serde_json::json!({}));
        for auth in AuthMethod::BOTH {
            client.with_auth(auth).get("/me").expect_error_for(401, None);
            client.with_auth(auth).post("/logout", Body::none()).expect_error_for(401, None);
        }
        third.get("/me").expect(200);
    }
    anonymous.post("/logout", Body::none()).expect_error_for(401, None);
}

#[test]
fn an_invalid_token_returns_401_where_a_session_is_required_and_is_ignored_elsewhere() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&e2e::picture::tiny(), "liked by its author");
    ada.post(&format!("/posts/{}/likes", post["id"]), Body::none()).expect(201);
    let ended = service.anonymous().login(ada.username());
    ended.post("/logout", Body::none()).expect(200);

    let never_issued = URL_SAFE_NO_PAD.encode([7; 32]);
    for token in [ended.token(), &never_issued, "nonsense", "\"", "=", "null"] {
        for auth in AuthMethod::BOTH {
            let client = service.anonymous().with_session("", auth, token);
            client.get("/me").expect_error_for(401, None);
            let seen = client.get(&format!("/posts/{}", post["id"])).expect(200).json();
            assert_eq!(seen["is_liked"], false, "{token} by {auth:?}");
            let feed = client.get("/feed").expect(200).json();
            assert!(feed["data"].as_array().unwrap().iter().all(|post| post["is_liked"] == false));
            client.get(&format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap())).expect(200);
        }
    }
    let basic = service.anonymous().request("GET", "/me").header("Authorization", "Basic YWRhOnB3");
    basic.send().expect_error_for(401, None);
}

/// Operations with a body that need no session.
const WITHOUT_SESSION: [&str; 3] = ["/join/username", "/login/username", "/recover"];

/// All operations with a body, from the API document.
#[test]
fn a_request_whose_body_arrives_after_its_session_was_ended_is_not_carried_out() {
    let service = Service::start(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let (own, hers) = (owner.share_tiny("own"), ada.share_tiny("hers"));
    owner.post(&format!("/posts/{hers}/reports"), FormData::new().text("reason", "rude")).expect(201);
    let reports = owner.get("/admin/reports").expect(200).json();
    let document = owner.get("/openapi.json").expect(200).json();
    let mut count = 0;
    for (template, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation.get("requestBody").is_none() || WITHOUT_SESSION.contains(&template.as_str()) {
                continue;
            }
            let post = if template == "/posts/{post_id}" { own } else { hers };
            let mut path = template
                .replace("{post_id}", &post.to_string())
                .replace("{report_id}", &reports["data"][0]["id"].to_string())
                .replace("{username}", ada.username());
            let (mut body, mut fields) = (every_parameter(), "");
            if template == "/uploads/{upload_id}" {
                path = format!("/uploads/{}", start_upload(&owner));
                body = Body::new("application/partial-upload", "abc");
                fields = "Upload-Offset: 0\r\nUpload-Complete: ?0\r\n";
            }
            assert_unauthorized_when_the_session_ends(&service, &owner, method, &path, &body, fields);
            count += 1;
        }
    }
    assert!(count >= 22, "{count}");
    // The first piece of a resumable upload.
    let fields = "Upload-Complete: ?0\r\n";
    assert_unauthorized_when_the_session_ends(&service, &owner, "post", "/posts", &every_parameter(), fields);
    let page = owner.get("/feed").expect(200).json();
    assert_eq!(page["data"].as_array().unwrap().len(), 2, "{page}");
}

fn every_parameter() -> Body {
    let texts = [
        ("message", "late"),
        ("bio", "late"),
        ("name", "late"),
        ("reason", "late"),
        ("resolution", "late"),
        ("role", "member"),
        ("current_password", PASSWORD),
        ("password", PASSWORD),
    ];
    let form = texts.iter().fold(FormData::new(), |form, (name, value)| form.text(name, value));
    ["photo", "logo", "archive"].iter().fold(form, |form, name| form.file(name, &picture::tiny())).body()
}

/// Starts a resumable upload without a piece; returns its id.
fn start_upload(client: &Client) -> String {
    let request = client.request("POST", "/posts").header("Upload-Complete", "?0");
    let started = request.body(Body::new("multipart/form-data; boundary=b", "")).send().expect(201);
    started.header("location").unwrap().rsplit('/').next().unwrap().to_owned()
}

#[track_caller]
fn assert_unauthorized_when_the_session_ends(
    service: &Service,
    user: &Client,
    method: &str,
    path: &str,
    body: &Body,
    fields: &str,
) {
    let session = user.login(user.username());
    let method = method.to_uppercase();
    let head = RawConnection::request_head(&method, path, session.token(), body, body.bytes.len());
    let mut connection = RawConnection::connect(service);
    connection.send(format!("{head}{fields}Expect: 100-continue\r\n\r\n")).unwrap();
    let reads = connection.receive(false).expect("100 Continue");
    assert_eq!(reads.status, 100, "{method} {path}: {reads:?}");
    let (begin, end) = body.bytes.split_at(body.bytes.len() / 2);
    connection.send(begin).unwrap();
    session.post("/logout", Body::none()).expect(200);
    connection.send(end).unwrap();
    let response = connection.receive(false).expect("a response");
    assert_eq!(response.status, 401, "{method} {path}: {}", String::from_utf8_lossy(&response.body));
}

#[test]
fn tokens_and_passwords_are_not_stored_in_plain_text() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    ada.share_tiny("so that there is something on disk");
    service.assert_nowhere_on_disk(ada.token().as_bytes(), "the token");
    service.assert_nowhere_on_disk(&URL_SAFE_NO_PAD.decode(ada.token()).unwrap(), "the token's bytes");
    service.assert_nowhere_on_disk(PASSWORD.as_bytes(), "the password");
}

/// The value of a cookie that the response sets, and its attributes in lower case.
#[track_caller]
fn cookie(response: &Response, name: &str) -> (String, Vec<String>) {
    let header = response.header("set-cookie").unwrap_or_else(|| panic!("no cookie: {response}"));
    let mut parts = header.split(';').map(str::trim);
    let (found, value) = parts.next().unwrap().split_once('=').unwrap();
    assert_eq!(found, name);
    (value.to_owned(), parts.map(str::to_ascii_lowercase).collect())
}
