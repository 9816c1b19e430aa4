//! Quotas of a role: what is over them is refused with a clear message.

use e2e::{Body, FormData, Service, picture};

#[test]
fn quotas_limit_posts_bytes_and_likes_of_members() {
    let service = Service::single_node(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let set = |values: &[(&str, &str)]| {
        let form = values.iter().fold(FormData::new(), |form, (key, value)| form.text(key, value));
        owner.request("PATCH", "/admin/instance").body(form).send().expect(200);
    };
    let posts = [ada.share_tiny("1"), ada.share_tiny("2")];
    let upload = |client: &e2e::Client| client.post("/posts", FormData::photo(&picture::tiny()));

    set(&[("member_posts_per_day", "3"), ("member_likes_per_minute", "1")]);
    let account = ada.get("/me/account").expect(200).json();
    assert_eq!(
        (&account["quota"]["posts_per_day"], &account["usage"]["posts_today"]),
        (&3.into(), &2.into())
    );
    let settings = String::from_utf8(ada.get("/settings").expect(200).bytes).unwrap();
    assert!(settings.contains("Posted in the last 24 hours: 2 of 3."), "{settings}");
    upload(&ada).expect(201);
    let refused = upload(&ada).expect_error(429);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((80_000..=86_400).contains(&wait), "{refused}");
    upload(&owner).expect(201);
    // Two likes may be in two minutes, three are not in three.
    let likes =
        posts.iter().chain(&posts).map(|post| ada.post(&format!("/posts/{post}/likes"), Body::none()));
    let refused = likes.map(|like| like.status).filter(|status| *status == 429).count();
    assert!(refused >= 1, "more than one like a minute");

    set(&[("member_posts_per_day", ""), ("member_likes_per_minute", ""), ("member_bytes", "1")]);
    let refused = upload(&ada).expect_error(507);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    assert!(ada.get("/me/account").expect(200).json()["usage"]["bytes"].as_u64() > Some(100));
    set(&[("member_bytes", "")]);
    upload(&ada).expect(201);
}
