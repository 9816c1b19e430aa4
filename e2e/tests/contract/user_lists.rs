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

#[test]
fn moderators_revoke_the_invitations_of_members_and_owners_all() {
    let service = Service::start(&[]);
    let (owner, moderator, ada, bob) = (
        service.new_user_with_role("owner"),
        service.new_user_with_role("moderator"),
        service.new_user("ada"),
        service.new_user("bob"),
    );
    let edit = FormData::new().text("member_invitations", "on").text("registration", "invitation");
    let edit = edit.text("current_password", PASSWORD);
    owner.request("PATCH", "/admin/instance").body(edit).send().expect(200);
    let invite = |client: &Client, uses: &str| {
        let made = client.post("/invitations", FormData::new().text("uses", uses)).expect(201).json();
        let (_, code) = made["url"].as_str().unwrap().split_once("?invitation=").unwrap();
        (made["id"].as_str().unwrap().to_owned(), code.to_owned())
    };
    let join = |code: &str| {
        let form = FormData::account(&unique("new"), PASSWORD).text("invitation", code);
        service.anonymous().post("/join/username", form)
    };
    let (of_ada, code) = invite(&ada, "3");
    let (of_bob, _) = invite(&bob, "1");
    let (of_moderator, _) = invite(&moderator, "1");
    let (of_owner, _) = invite(&owner, "1");
    let operators = service.operator(&["invite", "--role", "moderator", "--uses", "2"]);
    assert_eq!(operators["role"], "moderator");
    join(&code).expect(201);

    let list = |client: &Client| {
        let list = client.get("/admin/invitations").expect(200).json();
        let text =
            |row: &Value, key: &str| row.get(key).map_or("-", |text| text.as_str().unwrap()).to_owned();
        let row =
            |row: &Value| (text(row, "username"), text(row, "role"), row["uses_left"].as_u64().unwrap());
        let mut rows: Vec<_> = list["data"].as_array().unwrap().iter().map(row).collect();
        rows.sort();
        rows
    };
    let row = |maker: &str, role: &str, left| (maker.to_owned(), role.to_owned(), left);
    let (a, b, m, o) = (ada.username(), bob.username(), moderator.username(), owner.username());
    let mut expected = vec![
        row("-", "moderator", 2),
        row(a, "member", 2),
        row(b, "member", 1),
        row(m, "member", 1),
        row(o, "member", 1),
    ];
    expected.sort();
    assert_eq!(list(&owner), expected);
    expected.retain(|(_, role, _)| role == "member");
    assert_eq!(list(&moderator), expected, "not those that make moderators");
    let whole = owner.get("/admin/invitations").expect(200).json();
    assert!(!whole.to_string().contains(&code), "the code is not stored");

    let revoke = |client: &Client, id: &str| client.delete(&format!("/admin/invitations/{id}"));
    revoke(&ada, &of_bob).expect_error(403);
    revoke(&moderator, &of_owner).expect_error(403);
    revoke(&moderator, &of_ada).expect(200);
    revoke(&moderator, &of_ada).expect_error(404);
    revoke(&moderator, &of_moderator).expect(200);
    join(&code).expect_error_for(400, Some("invitation"));
    assert!(ada.get("/invitations").expect(200).json()["data"].as_array().unwrap().is_empty());
    revoke(&owner, &of_owner).expect(200);
    let of_operator =
        whole["data"].as_array().unwrap().iter().find(|row| row["role"] == "moderator").unwrap();
    let of_operator = of_operator["id"].as_str().unwrap();
    revoke(&moderator, of_operator).expect_error(403);
    revoke(&owner, of_operator).expect(200);
    let audit = owner.get("/admin/audit").expect(200).json();
    let revoked: Vec<_> = audit["data"].as_array().unwrap()[..4]
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["actor"].as_str().unwrap()))
        .collect();
    assert_eq!(revoked, [o, o, m, m].map(|actor| ("delete_invitation", actor)));
    assert_eq!(audit["data"][3]["username"], a);

    // The link of a suspended user does not work, so it is not in the list.
    let reason = FormData::new().text("reason", "spam");
    moderator.put(&format!("/admin/users/{b}/suspension"), reason).expect(200);
    assert!(list(&owner).is_empty());
}
