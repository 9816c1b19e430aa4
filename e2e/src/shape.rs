//! Assertions on the exact JSON shape of responses: no member missing, none too many.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::Response;

#[track_caller]
pub fn assert_keys(value: &Value, expected: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value}"));
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    let mut expected = expected.to_vec();
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected, "members of {value}");
}

#[track_caller]
pub fn assert_user(user: &Value) {
    assert_keys(user, &["id", "username", "photo", "created_at"]);
    assert!(user["id"].is_i64(), "{user}");
    assert!(user["username"].is_string(), "{user}");
    assert_timestamp(&user["created_at"]);
    if !user["photo"].is_null() {
        assert_photo(&user["photo"]);
    }
}

#[track_caller]
pub fn assert_photo(photo: &Value) {
    let mut keys = vec!["id", "width", "height", "placeholder"];
    if let Some(alt) = photo.get("alt") {
        keys.push("alt");
        assert!(alt.as_str().is_some_and(|text| !text.is_empty()), "an empty alt must be absent: {photo}");
    }
    if let Some(focus) = photo.get("focus") {
        keys.push("focus");
        assert_keys(focus, &["x", "y"]);
        let is_fraction = |value: &Value| value.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value));
        assert!(is_fraction(&focus["x"]) && is_fraction(&focus["y"]), "{photo}");
    }
    assert_keys(photo, &keys);
    let id = photo["id"].as_str().unwrap();
    let canonical = uuid::Uuid::try_parse(id).map(|uuid| uuid.to_string());
    assert_eq!(canonical.as_deref(), Ok(id), "the id is a hyphenated lower-case UUID");
    assert!(photo["width"].as_i64() > Some(0) && photo["height"].as_i64() > Some(0), "{photo}");
    let placeholder = STANDARD.decode(photo["placeholder"].as_str().unwrap());
    assert!(placeholder.is_ok_and(|bytes| !bytes.is_empty()), "placeholder of {photo}");
}

#[track_caller]
pub fn assert_post(post: &Value) {
    let mut keys = vec!["id", "photo", "user", "created_at", "is_liked", "like_count"];
    if let Some(message) = post.get("message") {
        keys.push("message");
        assert!(
            message.as_str().is_some_and(|text| !text.is_empty()),
            "an empty message must be absent: {post}"
        );
    }
    if let Some(share_original) = post.get("share_original") {
        keys.push("share_original");
        assert_eq!(share_original, true, "an original that is not shared must be absent: {post}");
    }
    assert_keys(post, &keys);
    assert!(post["id"].is_i64(), "{post}");
    assert_photo(&post["photo"]);
    assert_user(&post["user"]);
    assert_timestamp(&post["created_at"]);
    assert!(post["is_liked"].is_boolean(), "{post}");
    assert!(post["like_count"].is_i64(), "{post}");
}

#[track_caller]
pub fn assert_page(page: &Value) {
    assert_keys(page, &["data", "paging"]);
    match page["paging"].get("next") {
        Some(next) => {
            assert_keys(&page["paging"], &["next"]);
            assert!(
                next.as_str().is_some_and(|url| reqwest::Url::parse(url).is_ok()),
                "not an absolute URL: {next}"
            );
        }
        None => assert_keys(&page["paging"], &[]),
    }
    page["data"].as_array().unwrap().iter().for_each(assert_post);
}

/// `YYYY-MM-DDThh:mm:ss+0000`: the offset is numeric, without a colon.
#[track_caller]
pub fn assert_timestamp(value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("not a timestamp: {value}"));
    let pattern: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let (clock, offset) = pattern.split_at_checked(19).unwrap_or(("", ""));
    assert_eq!(clock, "0000-00-00T00:00:00", "{text}");
    assert!(["+0000", "-0000"].contains(&offset), "{text}");
}

/// Asserts an error object with `message` and `field` only.
#[track_caller]
pub fn assert_error_object(body: &Value) {
    assert_keys(body, &["error"]);
    let error = body["error"].as_object().unwrap_or_else(|| panic!("error is not an object: {body}"));
    for (name, value) in error {
        assert!(["message", "field"].contains(&name.as_str()), "unknown member: {body}");
        assert!(value.as_str().is_some_and(|text| !text.is_empty()), "{name} is empty: {body}");
    }
}

impl Response {
    /// Asserts an error of this status that names this parameter in `field`, or none.
    #[track_caller]
    pub fn expect_error_for(self, status: u16, field: Option<&str>) -> Self {
        let response = self.expect_error(status);
        let body = response.json();
        let named = body["error"].get("field").map(|field| field.as_str().unwrap());
        assert_eq!(named, field, "the field of the error: {response}");
        response
    }

    /// Asserts an error of this status, with the error object, `X-Error-Code` and `X-Request-Id`.
    #[track_caller]
    pub fn expect_error(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self}");
        assert_error_object(&self.json());
        let codes: &[&str] = match status {
            400 => &[
                "invalid_parameter",
                "wrong_credentials",
                "wrong_password",
                "wrong_recovery_code",
                "malformed_body",
            ],
            401 => &["unauthorized"],
            403 => &[
                "forbidden",
                "cross_site",
                "account_suspended",
                "account_pending",
                "registration_closed",
                "invitation_required",
            ],
            404 => &["not_found"],
            405 => &["method_not_allowed"],
            408 => &["timeout"],
            409 => &["conflict", "upload_offset_mismatch"],
            413 => &["payload_too_large"],
            415 => &["unsupported_media_type"],
            422 => &["idempotency_key_reused"],
            429 => &["rate_limited", "quota_exceeded"],
            500 => &["internal"],
            503 => &["busy", "unavailable"],
            507 => &["no_space", "quota_exceeded"],
            _ => panic!("no error code is documented for this status: {self}"),
        };
        let code = self.header("x-error-code").unwrap_or("(none)");
        assert!(codes.contains(&code), "X-Error-Code {code}: {self}");
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "{self}");
        self
    }
}
