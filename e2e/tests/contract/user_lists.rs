//! The list of users for moderators: what it shows, and how it is searched.

use std::fmt::Write;

use e2e::{Body, Client, FormData, PASSWORD, Service, shape, unique};
use serde_json::Value;

/// A new user who joins from this address, as a trusted proxy forwards it.
fn join_from(service: &Service, prefix: &str, address: &str) -> Client {
    let (anonymous, name) = (service.anonymous(), unique(prefix));
    let join = anonymous.request("POST", "/join/username").header("X-Forwarded-For", address);
    join.body(FormData::account(&name, PASSWORD)).send().expect(201);
    anonymous.login(&name)
}

fn names(page: &Value) -> Vec<&str> {
    page["data"].as_array().unwrap().iter().map(|user| user["user"]["username"].as_str().unwrap()).collect()
}

#[test]
fn moderators_search_users_by_name_role_status_network_and_time() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1"]);
    let ada = join_from(&service, "Ada", "198.51.100.7");
    let spam: Vec<Client> = (1..=3).map(|n| join_from(&service, "spam", &format!("203.0.113.{n}"))).collect();
    let six = join_from(&service, "six", "2001:db8:7:8::1");
    let moderator = service.new_user_with_role("moderator");
    let (post, other) = (ada.share_tiny("one"), ada.share_tiny("two"));
    six.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    moderator.post(&format!("/posts/{other}/likes"), Body::none()).expect(201);
    let path = format!("/admin/users/{}/suspension", spam[0].username());
    moderator.put(&path, FormData::new().text("reason", "spam")).expect(200);

    let (one, two, three) = (spam[0].username(), spam[1].username(), spam[2].username());
    let all_spam = &[three, two, one][..];
    let day = &ada.get("/me").expect(200).json()["created_at"].as_str().unwrap()[..10].to_owned();
    let ada_name = ada.username();
    for (query, expected) in [
        ("query=SPAM", all_spam),
        (&format!("query={}", ada_name.to_uppercase()), &[ada_name]),
        ("query=pam", &[]),
        ("query=s_am", &[]),
        ("status=suspended", &[one]),
        ("status=active&query=spam", &[three, two]),
        ("role=moderator", &[moderator.username()]),
        ("role=owner", &[]),
        ("network=203.0.113.99", all_spam),
        ("network=203.0.113.0/24", all_spam),
        ("network=203.0.0.0%2F16&status=active", &[three, two]),
        ("network=203.0.114.0/24", &[]),
        ("network=2001:db8::/32", &[six.username()]),
        (&format!("since={day}&query=spam"), all_spam),
        ("since=2100-01-01T00:00:00Z", &[]),
        ("query=&status=&role=&network=203.0.113.1&since=", all_spam),
    ] {
        let page = moderator.get(&format!("/admin/users?{query}")).expect(200).json();
        assert_eq!(names(&page), expected, "{query}");
    }
    let everyone = moderator.get("/admin/users?status=active").expect(200).json();
    assert_eq!(names(&everyone).len(), 5, "{everyone}");
    for (query, field) in [
        ("status=x", "status"),
        ("role=x", "role"),
        ("network=home", "network"),
        ("network=203.0.113.0/33", "network"),
        ("since=yesterday", "since"),
        ("query=%00", "query"),
    ] {
        moderator.get(&format!("/admin/users?{query}")).expect_error_for(400, Some(field));
    }

    // The next page has the same conditions.
    let first = moderator.get("/admin/users?limit=2&network=203.0.113.0/24&query=spam").expect(200).json();
    assert_eq!(names(&first), all_spam[..2]);
    let next = moderator.get(first["paging"]["next"].as_str().unwrap()).expect(200).json();
    assert_eq!((names(&next), next["paging"].get("next")), (vec![one], None));

    let page = moderator.get(&format!("/admin/users?query={ada_name}")).expect(200).json();
    let record = &page["data"][0];
    shape::assert_keys(record, &["user", "role", "status", "network", "post_count", "like_count"]);
    assert_eq!(
        (&record["network"], &record["post_count"], &record["like_count"]),
        (&"198.51.100.0/24".into(), &2.into(), &0.into())
    );
    let record = moderator.get(&format!("/admin/users/{}", six.username())).expect(200).json();
    assert_eq!((&record["network"], &record["likes"]), (&"2001:db8:7::/48".into(), &1.into()));
    let page = moderator.get("/admin/users?status=suspended").expect(200).json();
    assert_eq!(page["data"][0]["reason"], "spam");
}

#[test]
fn the_network_of_a_user_is_shown_to_moderators_only() {
    let service = Service::start(&["--trusted-proxies", "127.0.0.1"]);
    let (ada, bob) = (join_from(&service, "ada", "203.0.113.7"), join_from(&service, "bob", "198.51.100.7"));
    let post = ada.share_tiny("mine");
    bob.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    let mut seen = String::new();
    for path in [
        "/feed".to_owned(),
        format!("/posts/{post}"),
        format!("/posts/{post}/likes"),
        format!("/users/{}", ada.username()),
        format!("/@{}", ada.username()),
    ] {
        let shown = bob.get(&path).expect(200);
        write!(seen, "{}", String::from_utf8(shown.bytes).unwrap()).unwrap();
    }
    assert!(seen.contains(ada.username()) && !seen.contains("203.0.113"), "{seen}");
    bob.get("/admin/users").expect_error(403);
}

#[test]
fn owners_by_the_configuration_are_listed_as_owners() {
    let service = Service::start(&["--admins", "grace,heidi"]);
    service.operator(&["user", "add", "grace", "--moderator"]);
    service.operator(&["user", "add", "grac"]);
    let owner = service.new_user_with_role("owner");
    let list = |query: &str| owner.get(&format!("/admin/users?{query}")).expect(200).json();
    let owners = list("role=owner");
    assert_eq!(names(&owners), [owner.username(), "grace"]);
    assert_eq!(owners["data"][1]["role"], "owner");
    assert_eq!(names(&list("role=moderator")), [""; 0]);
    assert_eq!(names(&list("role=member")), ["grac"]);
    assert!(list("query=grace")["data"][0].get("network").is_none(), "no request made the account");
}
