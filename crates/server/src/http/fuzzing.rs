//! The properties of form and query parameters, checked by the fuzz target `forms`, and the test that replays
//! the corpora of `forms` and `multipart`.

use http::{HeaderValue, Uri};
use model::{Alt, Cursor, FeedPage, IdempotencyKey, Message, PhotoId, PostId, Size, Username};

use crate::http::form::fuzzing::read_in_any_chunks;
use crate::http::handlers::feed::FeedQuery;

/// Panics if the input breaks a property, as a body and as a query.
pub fn check_forms(input: &[u8]) {
    check_body(input);
    if let Ok(text) = std::str::from_utf8(input) {
        check_query(text);
        check_parameters(text);
    }
}

/// The values are those that the `form_urlencoded` crate reads.
fn check_body(body: &[u8]) {
    let content_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    let form = read_in_any_chunks(&content_type, body).expect("every body is a form");
    let reference = |name: &str| form_urlencoded::parse(body).find(|(key, _)| key == name);
    for (name, text) in form.texts() {
        match (text, reference(name)) {
            (Ok(text), expected) => {
                assert_eq!(text.as_deref(), expected.as_ref().map(|(_, value)| &**value));
            }
            // Not UTF-8, which the crate replaces, or too long.
            (Err(_), Some((_, value))) => {
                assert!(value.contains(char::REPLACEMENT_CHARACTER) || value.len() > 64 << 10);
            }
            (Err(error), None) => panic!("{name}, which was not sent, is rejected: {error}"),
        }
        if let Ok(Some(text)) = text {
            check_parameters(text);
        }
    }
    let photo = form.photo.map(|photo| String::from_utf8_lossy(&photo).into_owned());
    assert_eq!(photo.as_deref(), reference("photo").as_ref().map(|(_, value)| &**value));
}

/// The link to the next page is a URL that leads to the same page size.
fn check_query(query: &str) {
    let Ok(uri) = format!("/feed?{query}").parse::<Uri>() else { return };
    let Ok(parsed) = FeedQuery::parse(uri.query().unwrap_or_default()) else { return };
    let page = FeedPage { posts: Vec::new(), next: Some(Cursor(7)) };
    let link = |query: &FeedQuery| {
        let json = query.encode(&page, "https://example.org", "/feed").bytes();
        let json: serde_json::Value = serde_json::from_slice(&json).expect("valid JSON");
        json["paging"]["next"].as_str().expect("a link").to_owned()
    };
    let next = link(&parsed);
    let uri: Uri = next.parse().expect("the link is a URL");
    let Ok(followed) = FeedQuery::parse(uri.query().expect("a query")) else { panic!("{next} is rejected") };
    assert_eq!(link(&followed), next, "the parameters change from page to page");
}

/// A parameter that is accepted is shown in a form that is accepted as the same value.
fn check_parameters(text: &str) {
    if let Ok(Some(message)) = Message::parse(text.to_owned()) {
        assert!(message.as_str() == text && text.chars().count() <= Message::MAX_CHARS);
    }
    if let Ok(Some(alt)) = Alt::parse(text.to_owned()) {
        assert!(alt.as_str() == text && text.chars().count() <= Alt::MAX_CHARS);
    }
    if let Ok(username) = text.parse::<Username>() {
        assert_eq!(username.as_str(), text);
        assert!(format!("/users/{text}").parse::<Uri>().is_ok(), "a username that no URL can carry");
    }
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string(), text);
    }
    if let Ok(size) = text.parse::<Size>() {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Ok(id) = text.parse::<PostId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(id) = text.parse::<PhotoId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(key) = text.parse::<IdempotencyKey>() {
        assert_eq!(key.into_string(), text);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::http::form::fuzzing::check_multipart;

    #[test]
    fn the_fuzz_corpora_break_no_property() {
        for (target, check) in [("forms", check_forms as fn(&[u8])), ("multipart", check_multipart)] {
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
            let (mut files, mut failed) = (0, Vec::new());
            for entry in fs::read_dir(&corpus).unwrap() {
                let path = entry.unwrap().path();
                let input = fs::read(&path).unwrap();
                let checked = std::panic::catch_unwind(|| check(&input));
                files += 1;
                failed.extend(checked.is_err().then(|| path.display().to_string()));
            }
            assert!(failed.is_empty(), "these inputs break a property:\n{}", failed.join("\n"));
            assert!(files > 5, "the corpus of {target} has only {files} files");
        }
    }
}
