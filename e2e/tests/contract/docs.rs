//! The OpenAPI document, the docs page, and the health endpoints.

use e2e::{FormData, Service, picture};
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
fn openapi_documents_every_operation_and_status() {
    let document = Service::shared().anonymous().get("/openapi.json").expect(200).json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3."), "{}", document["openapi"]);
    for (path, method, statuses) in OPERATIONS {
        let operation = &document["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not documented");
        for status in statuses {
            assert!(operation["responses"][status].is_object(), "{method} {path} does not document {status}");
        }
    }
    let image =
        document["paths"].as_object().unwrap().keys().find(|path| path.starts_with("/photos/{photo_id}/"));
    assert!(image.is_some(), "the image is not documented");
}

#[test]
fn every_operation_in_openapi_exists() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let post = ada.share(&picture::tiny(), "");
    let document = service.anonymous().get("/openapi.json").expect(200).json();
    let mut tried = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().keys();
        for method in methods.filter(|key| ["get", "put", "post", "patch", "delete"].contains(&key.as_str()))
        {
            // Without a session, an operation that exists returns 2xx, 400 or 401; 404 only for what may be
            // absent.
            let response =
                service.anonymous().request(&method.to_uppercase(), &with_parameters(path, &post)).send();
            let is_missing = response.status == 404 && path != "/instance/logo";
            assert!(!is_missing && response.status != 405 && response.status < 500, "{response}");
            tried += 1;
        }
    }
    assert!(tried >= OPERATIONS.len(), "{tried} operations");
    ada.put(&format!("/posts/{}", post["id"]), FormData::message("still there")).expect(200);
}

/// Client generators make a parameter with a default a required one.
#[test]
fn no_parameter_of_a_form_has_a_default() {
    let document = Service::shared().anonymous().get("/openapi.json").expect(200).json();
    let mut properties = 0;
    for operation in operations(&document) {
        for (_, content) in operation["requestBody"]["content"].as_object().into_iter().flatten() {
            let Some(name) = content["schema"]["$ref"].as_str() else { continue };
            let schema = document.pointer(name.trim_start_matches('#')).expect("the schema of a form");
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert_eq!(property.get("default"), None, "{}: {name}", operation["operationId"]);
                properties += 1;
            }
        }
    }
    assert!(properties > 30, "{properties} properties");
}

/// What a description calls required, or a number, is so for a generated client too.
#[test]
fn headers_have_types() {
    let document = Service::shared().anonymous().get("/openapi.json").expect(200).json();
    let append = &document["paths"]["/uploads/{upload_id}"]["patch"];
    let parameters = append["parameters"].as_array().unwrap();
    let parameter = |name: &str| parameters.iter().find(|parameter| parameter["name"] == name).unwrap();
    for (name, is_required, kind) in [
        ("Upload-Offset", true, "integer"),
        ("Upload-Complete", true, "string"),
        ("Upload-Length", false, "integer"),
    ] {
        assert_eq!(parameter(name)["required"], is_required, "{name}");
        assert_eq!(parameter(name)["schema"]["type"], kind, "{name}");
    }
    assert_eq!(parameter("Upload-Complete")["schema"]["pattern"], r"^\?[01]$");
    assert_eq!(append["responses"]["204"]["headers"]["Upload-Offset"]["schema"]["type"], "integer");
    assert_eq!(append["responses"]["429"]["headers"]["Retry-After"]["schema"]["type"], "integer");
    let replayed =
        &document["paths"]["/posts"]["post"]["responses"]["201"]["headers"]["Idempotency-Replayed"];
    assert_eq!(replayed["schema"]["type"], "boolean");
    for form in ["NewPost", "PostEdit"] {
        let focus = &document["components"]["schemas"][form]["properties"]["focus"];
        assert!(focus["pattern"].as_str().is_some_and(|pattern| pattern.contains("),(")), "{focus}");
    }
    let feed = document["paths"]["/feed"]["get"]["parameters"].as_array().unwrap();
    let after = feed.iter().find(|parameter| parameter["name"] == "after").unwrap();
    assert_eq!(after["schema"]["pattern"], "^[A-Za-z0-9_-]{12}$");
    assert!(
        !document.to_string().contains("(required)"),
        "a schema says what is required, not a description"
    );
}

#[test]
fn the_docs_page_is_html() {
    let anonymous = Service::shared().anonymous();
    let mut response = anonymous.get("/docs");
    if let Some(location) = response.header("location") {
        response = anonymous.get(location);
    }
    let response = response.expect(200);
    assert!(response.header("content-type").unwrap().starts_with("text/html"), "{response}");
    assert!(!response.bytes.is_empty());
}

#[test]
fn livez_and_readyz_return_200() {
    for path in ["/livez", "/readyz"] {
        Service::shared().anonymous().get(path).expect(200);
    }
}

fn operations(document: &Value) -> impl Iterator<Item = &Value> {
    document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
}

fn with_parameters(path: &str, post: &Value) -> String {
    path.replace("{post_id}", &post["id"].to_string())
        .replace("{photo_id}", post["photo"]["id"].as_str().unwrap())
        .replace("{username}", post["user"]["username"].as_str().unwrap())
        .replace("{width}", "8")
        .replace("{height}", "8")
        .replace("{size}", "8x8")
}
