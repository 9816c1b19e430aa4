//! What each operation is sent and answers, by example.

use serde_json::{Value, json};

const ALT: &str = "The sun rises over a harbour";

/// The form of an operation. A file cannot be written down, so an upload has none.
pub(super) fn form(id: &str) -> Option<Value> {
    match id {
        "join" | "login" => Some(json!({"username": "ada", "password": "correct horse"})),
        "edit_post" | "patch_post" => Some(json!({"message": "First light, at last", "alt": ALT})),
        _ => None,
    }
}

/// The JSON an operation answers with when all goes well.
pub(super) fn answer(id: &str) -> Option<Value> {
    match id {
        "join" | "login" | "me" | "user" => Some(user()),
        "set_profile_photo" => Some(user_with_photo()),
        "create_post" => Some(post("First light", 0)),
        "get_post" => Some(post("First light", 3)),
        "edit_post" | "patch_post" => Some(post("First light, at last", 3)),
        "feed" => Some(page("/feed")),
        "user_posts" => Some(page("/users/ada/posts")),
        _ => Some(json!({})),
    }
}

/// An error as the operation would tell it.
pub(super) fn error(id: &str, status: u16, description: &str) -> Value {
    let (message, field) = match (status, id) {
        (400, "join") => ("a username has 1 to 64 characters", Some("username")),
        (400, "login") => ("the username or the password is wrong", None),
        (400, "create_post" | "set_profile_photo") => {
            ("the parameter photo is missing: send an image file", Some("photo"))
        }
        (400, "edit_post" | "patch_post") => ("message is not UTF-8 text", Some("message")),
        (400, "feed" | "user_posts") => ("limit must be a positive whole number", Some("limit")),
        (400, "image") => ("width and height must be equal, as in 512x512", None),
        (409, "join") => ("this username is taken; choose another", Some("username")),
        _ => (description, None),
    };
    match field {
        Some(field) => json!({"error": {"message": message, "field": field}}),
        None => json!({"error": {"message": message}}),
    }
}

fn user() -> Value {
    json!({"id": 1, "username": "ada", "photo": null, "created_at": "2026-11-14T09:30:00+0000"})
}

fn user_with_photo() -> Value {
    let mut user = user();
    user["photo"] = json!({
        "id": "0199b1c5-02f6-7b3c-8d21-6a90c4e1f577",
        "width": 1200,
        "height": 1600,
        "placeholder": "3OcRJYB4d3h/iIeHeEh3eIhw+j2w",
        "alt": "Ada at her desk",
    });
    user
}

fn page(path: &str) -> Value {
    json!({
        "data": [post("First light", 3)],
        "paging": {"next": format!("http://127.0.0.1:8080{path}?limit=1&offset=1&after=AQAAAAAAAAAq")},
    })
}

fn post(message: &str, likes: u32) -> Value {
    json!({
        "id": 42,
        "photo": {
            "id": "0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48",
            "width": 4032,
            "height": 3024,
            "placeholder": "1QcSHQRnh493V4dIh4eXh1h4kJUI",
            "alt": ALT,
        },
        "message": message,
        "user": user(),
        "created_at": "2026-11-14T09:41:07+0000",
        "is_liked": false,
        "like_count": likes,
    })
}
