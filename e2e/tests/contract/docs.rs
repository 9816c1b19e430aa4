//! What the service says about itself: its description, its pages, its health.

use e2e::{Form, Service, picture};
use serde_json::Value;

/// The contract's operations and the statuses it names for each.
const OPERATIONS: [(&str, &str, &[&str]); 18] = [
    ("/join/username", "post", &["201", "400", "409"]),
    ("/login/username", "post", &["200", "400"]),
    ("/logout", "post", &["200", "401"]),
    ("/me", "get", &["200", "401"]),
    ("/me/photo", "put", &["200", "400", "401"]),
    ("/me/photo", "delete", &["200", "401"]),
    ("/users/{username}", "get", &["200", "404"]),
    ("/users/{username}/posts", "get", &["200", "400", "404"]),
    ("/feed", "get", &["200", "400"]),
    ("/posts", "post", &["201", "400", "401"]),
    ("/posts/{post_id}", "get", &["200", "404"]),
    ("/posts/{post_id}", "put", &["200", "400", "401", "403", "404"]),
    ("/posts/{post_id}", "patch", &["200", "400", "401", "403", "404"]),
    ("/posts/{post_id}", "delete", &["200", "401", "403", "404"]),
    ("/posts/{post_id}/likes", "post", &["201", "401", "404", "409"]),
    ("/posts/{post_id}/likes", "delete", &["200", "401", "404", "409"]),
    ("/livez", "get", &["200"]),
    ("/readyz", "get", &["200"]),
];

#[test]
fn the_description_knows_every_operation_and_status() {
    let description = Service::shared().anyone().get("/openapi.json").expect(200).json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3."), "{}", description["openapi"]);
    for (path, method, statuses) in OPERATIONS {
        let operation = &description["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not described");
        for status in statuses {
            assert!(operation["responses"][status].is_object(), "{method} {path} does not tell of {status}");
        }
    }
    let image =
        description["paths"].as_object().unwrap().keys().find(|path| path.starts_with("/photos/{photo_id}/"));
    assert!(image.is_some(), "the image is not described");
}

#[test]
fn the_description_names_nothing_that_is_not_there() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let post = ada.share(&picture::tiny(), "");
    let description = service.anyone().get("/openapi.json").expect(200).json();
    let mut tried = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().keys();
        for method in methods.filter(|key| ["get", "put", "post", "patch", "delete"].contains(&key.as_str()))
        {
            // Asked by nobody: real operations answer 2xx, 400 or 401, but never that they do not exist.
            let answer = service.anyone().request(&method.to_uppercase(), &filled(path, &post)).send();
            assert!(![404, 405].contains(&answer.status) && answer.status < 500, "{answer}");
            tried += 1;
        }
    }
    assert!(tried >= OPERATIONS.len(), "{tried} operations");
    ada.put(&format!("/posts/{}", post["id"]), Form::message("still there")).expect(200);
}

#[test]
fn people_can_read_the_description() {
    let anyone = Service::shared().anyone();
    let mut answer = anyone.get("/docs");
    if let Some(location) = answer.header("location") {
        answer = anyone.get(location);
    }
    let answer = answer.expect(200);
    assert!(answer.header("content-type").unwrap().starts_with("text/html"), "{answer}");
    assert!(!answer.bytes.is_empty());
}

#[test]
fn the_service_tells_that_it_lives_and_is_ready() {
    for path in ["/livez", "/readyz"] {
        Service::shared().anyone().get(path).expect(200);
    }
}

fn filled(path: &str, post: &Value) -> String {
    path.replace("{post_id}", &post["id"].to_string())
        .replace("{photo_id}", post["photo"]["id"].as_str().unwrap())
        .replace("{username}", post["user"]["username"].as_str().unwrap())
        .replace("{width}", "8")
        .replace("{height}", "8")
        .replace("{size}", "8x8")
}
