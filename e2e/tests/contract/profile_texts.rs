//! What users say about themselves: display name, bio and link.

use e2e::{Body, Client, FormData, Response, Service};

fn edit(client: &Client, texts: &[(&str, &str)]) -> Response {
    let form = texts.iter().fold(FormData::new(), |form, (name, text)| form.text(name, text));
    client.request("PATCH", "/me").body(form).send()
}

#[test]
fn a_profile_is_edited_text_by_text_and_shown_wherever_the_user_is() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let id = ada.share_tiny("of a user with a profile");
    let user = || service.anonymous().get(&format!("/users/{}", ada.username())).expect(200).json();
    let before = user();
    for absent in ["display_name", "bio", "link"] {
        assert!(before.get(absent).is_none(), "{before}");
    }

    let edited = edit(&ada, &[("display_name", "Ada \"L\" Lovelace"), ("bio", "Engines,\nmostly. 🦀")])
        .expect(200)
        .json();
    assert_eq!(edited["display_name"], "Ada \"L\" Lovelace");
    let edited = edit(&ada, &[("link", "https://ada.example/x?y=1")]).expect(200).json();
    assert_eq!(edited["bio"], "Engines,\nmostly. 🦀");
    let post = service.anonymous().get(&format!("/posts/{id}")).expect(200).json();
    let listed = service.anonymous().find_in_feed(id).unwrap();
    for shown in [user(), ada.get("/me").expect(200).json(), post["user"].clone(), listed["user"].clone()] {
        assert_eq!(shown, edited);
    }

    let without_name = edit(&ada, &[("display_name", "")]).expect(200).json();
    assert!(
        without_name.get("display_name").is_none() && without_name["link"] == "https://ada.example/x?y=1"
    );
    assert_eq!(edit(&ada, &[]).expect(200).json(), without_name);
    let post = service.anonymous().get(&format!("/posts/{id}")).expect(200).json();
    assert_eq!(post["user"], without_name);
    assert_eq!(edit(&ada, &[("bio", ""), ("link", "")]).expect(200).json(), before);
}

#[test]
fn texts_that_break_a_rule_are_rejected_with_their_field() {
    let ada = Service::shared().new_user("ada");
    let before = edit(&ada, &[("display_name", "Ada")]).expect(200).json();
    for (field, text) in [
        ("display_name", "x".repeat(65)),
        ("display_name", "two\nlines".into()),
        ("display_name", " ".into()),
        ("bio", "ä".repeat(501)),
        ("bio", "a\0b".into()),
        ("link", "javascript:alert(1)".into()),
        ("link", "ada.example".into()),
        ("link", "https://a b".into()),
        ("link", format!("https://{}", "x".repeat(500))),
    ] {
        edit(&ada, &[(field, &text)]).expect_error_for(400, Some(field));
    }
    edit(&ada, &[("bio", &"ä".repeat(500))]).expect(200);
    edit(&ada, &[("bio", "")]).expect(200);
    assert_eq!(ada.get("/me").expect(200).json(), before);
    Service::shared().anonymous().request("PATCH", "/me").body(Body::none()).send().expect_error(401);
}
