//! Moderation: suspensions, hidden posts, the queue of reports, roles, and the audit log.

use e2e::{Body, Client, FormData, PASSWORD, Response, Service, picture, shape};
use serde_json::Value;

fn reason(text: &str) -> FormData {
    FormData::new().text("reason", text)
}

fn confirmation() -> FormData {
    FormData::new().text("current_password", PASSWORD)
}

fn delete(client: &Client, path: &str, why: &str) -> Response {
    client.request("DELETE", path).body(reason(why)).send()
}

#[test]
fn a_suspended_user_can_read_and_delete_but_not_write() {
    let service = Service::start(&[]);
    let (moderator, ada, bob) =
        (service.new_user_with_role("moderator"), service.new_user("ada"), service.new_user("bob"));
    let (mine, other) = (ada.share_tiny("mine"), bob.share_tiny("bob's"));
    ada.post(&format!("/posts/{other}/likes"), Body::none()).expect(201);
    let suspension = format!("/admin/users/{}/suspension", ada.username());
    moderator.put(&suspension, Body::none()).expect_error_for(400, Some("reason"));
    moderator
        .put(&suspension, reason("spam").text("hide_posts", "maybe"))
        .expect_error_for(400, Some("hide_posts"));
    moderator.put(&suspension, reason("too many posts")).expect(200);

    let account = ada.get("/me/account").expect(200).json();
    assert_eq!((&account["status"], &account["reason"]), (&"suspended".into(), &"too many posts".into()));
    let photo = || FormData::photo(&picture::tiny());
    for refused in [
        ada.post("/posts", photo()),
        ada.put(&format!("/posts/{mine}"), FormData::message("edited")),
        ada.request("PATCH", "/me").body(FormData::new().text("bio", "x")).send(),
        ada.put("/me/photo", photo()),
        ada.post(&format!("/posts/{mine}/likes"), Body::none()),
        ada.post(&format!("/posts/{other}/reports"), reason("rude")),
        ada.post("/invitations", Body::none()),
    ] {
        let refused = refused.expect_error(403);
        assert_eq!(refused.header("x-error-code"), Some("account_suspended"), "{refused}");
    }
    // The posts stay, and the user can still delete.
    bob.get(&format!("/posts/{mine}")).expect(200);
    ada.get("/feed").expect(200);
    ada.delete(&format!("/posts/{other}/likes")).expect(200);
    ada.delete(&format!("/posts/{mine}")).expect(200);
    let again = service.anonymous().login(ada.username());
    again.get("/me").expect(200);

    moderator.delete(&suspension).expect(200);
    moderator.delete(&suspension).expect_error(409);
    assert_eq!(ada.get("/me/account").expect(200).json()["status"], "active");
    ada.share_tiny("again");
}

#[test]
fn posts_of_a_hidden_user_are_gone_for_others_and_come_back() {
    let service = Service::start(&[]);
    let (moderator, ada, bob) =
        (service.new_user_with_role("moderator"), service.new_user("ada"), service.new_user("bob"));
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let post = ada.share(&picture::tiny(), "mine");
    let (id, avatar) = (post["id"].as_i64().unwrap(), post["user"]["photo"]["id"].as_str().unwrap());
    let photo = post["photo"]["id"].as_str().unwrap();
    let paths = [
        format!("/posts/{id}"),
        format!("/posts/{id}/likes"),
        format!("/users/{}", ada.username()),
        format!("/users/{}/posts", ada.username()),
        format!("/photos/{photo}/8x8"),
        format!("/photos/{avatar}/8x8"),
        format!("/p/{id}"),
        format!("/@{}", ada.username()),
    ];
    let in_feed = |client: &Client| client.find_in_feed(id).is_some();
    let suspension = format!("/admin/users/{}/suspension", ada.username());
    for path in &paths {
        bob.get(path).expect(200);
    }
    assert!(in_feed(&bob) && in_feed(&service.anonymous()));

    moderator.put(&suspension, reason("spam").text("hide_posts", "true")).expect(200);
    for client in [&bob, &service.anonymous()] {
        for path in &paths {
            assert_eq!(client.get(path).status, 404, "{path}");
        }
        assert!(!in_feed(client));
    }
    bob.post(&format!("/posts/{id}/likes"), Body::none()).expect_error(404);
    for client in [&ada, &moderator] {
        client.get(&paths[0]).expect(200);
        client.get(&paths[2]).expect(200);
        let image = client.get(&paths[4]).expect(200);
        assert_eq!(image.header("cache-control"), Some("private, no-store"));
    }

    moderator.delete(&suspension).expect(200);
    for path in &paths {
        bob.get(path).expect(200);
    }
    assert!(in_feed(&bob));
}

#[test]
fn what_is_hidden_answers_as_what_is_unknown() {
    let service = Service::start(&[]);
    let (moderator, ada, bob, carol) = (
        service.new_user_with_role("moderator"),
        service.new_user("ada"),
        service.new_user("bob"),
        service.new_user("carol"),
    );
    let (by_ada, by_bob) = (ada.share_tiny("ada's"), bob.share_tiny("bob's"));
    for post in [by_ada, by_bob] {
        carol.post(&format!("/posts/{post}/likes"), Body::none()).expect(201);
    }
    let (of_ada, unknown) = (format!("/me/blocks/{}", ada.username()), "/me/blocks/no-such-user");
    carol.put(&of_ada, Body::none()).expect(200);
    let suspension = format!("/admin/users/{}/suspension", ada.username());
    moderator.put(&suspension, reason("spam").text("hide_posts", "true")).expect(200);
    moderator.put(&format!("/admin/posts/{by_bob}/hidden"), reason("rude")).expect(200);

    let answer = |client: &Client, method: &str, path: &str| {
        let response = client.request(method, path).send();
        (response.status, response.header("x-error-code").map(str::to_owned), response.json())
    };
    for (method, path) in [("POST", "likes"), ("DELETE", "likes"), ("GET", "likes")] {
        let missing = answer(&bob, method, &format!("/posts/999999/{path}"));
        assert_eq!(missing.0, 404);
        // Of two who see nothing of it, one has liked the post before it was hidden.
        for (client, post) in [(&bob, by_ada), (&carol, by_ada), (&carol, by_bob)] {
            assert_eq!(answer(client, method, &format!("/posts/{post}/{path}")), missing, "{method} {path}");
        }
    }
    for method in ["PUT", "DELETE"] {
        assert_eq!(answer(&bob, method, &of_ada), answer(&bob, method, unknown), "{method} {of_ada}");
    }
    // The name of a blocked user is in the list of those who have blocked them.
    carol.delete(&of_ada).expect(200);
    assert_eq!(answer(&carol, "DELETE", &of_ada), answer(&carol, "DELETE", unknown));

    moderator.delete(&suspension).expect(200);
    carol.delete(&format!("/posts/{by_ada}/likes")).expect(200);
    bob.delete(&of_ada).expect(200);
}

#[test]
fn a_hidden_post_is_shown_with_its_reason_to_its_author_and_moderators() {
    let service = Service::start(&[]);
    let (moderator, ada, bob) =
        (service.new_user_with_role("moderator"), service.new_user("ada"), service.new_user("bob"));
    let (post, kept) = (ada.share(&picture::tiny(), "rude"), ada.share_tiny("kind"));
    let id = post["id"].as_i64().unwrap();
    let (path, photo) =
        (format!("/posts/{id}"), format!("/photos/{}/8x8", post["photo"]["id"].as_str().unwrap()));
    bob.post(&format!("{path}/likes"), Body::none()).expect(201);
    bob.get(&photo).expect(200);
    let hidden = format!("/admin/posts/{id}/hidden");
    moderator.put(&hidden, reason("against the rules")).expect(200);

    for client in [&bob, &service.anonymous()] {
        client.get(&path).expect_error(404);
        client.get(&photo).expect_error(404);
        client.get(&format!("{path}/likes")).expect_error(404);
        assert!(client.find_in_feed(id).is_none() && client.find_in_feed(kept).is_some());
    }
    bob.post(&format!("{path}/likes"), Body::none()).expect_error(404);
    assert_eq!(bob.get("/me/likes").expect(200).json()["data"], serde_json::json!([]));
    for client in [&ada, &moderator] {
        assert_eq!(client.get(&path).expect(200).json()["hidden_reason"], "against the rules");
        client.get(&photo).expect(200);
        assert!(client.find_in_feed(id).is_none(), "not in lists");
    }
    let account = ada.get("/me/account").expect(200).json();
    assert_eq!(account["hidden_posts"], serde_json::json!([{ "id": id, "reason": "against the rules" }]));

    moderator.delete(&hidden).expect(200);
    let shown = bob.get(&path).expect(200).json();
    assert!(shown.get("hidden_reason").is_none() && shown["like_count"] == 1, "{shown}");
    delete(&moderator, &format!("/admin/posts/{id}"), "spam").expect(200);
    ada.get(&path).expect_error(404);
    moderator.put("/admin/posts/999999/hidden", reason("x")).expect_error(404);
}

#[test]
fn users_see_why_moderators_have_removed_something() {
    let service = Service::start(&[]);
    let (moderator, ada) = (service.new_user_with_role("moderator"), service.new_user("ada"));
    let removals = |client: &Client| client.get("/me/account").expect(200).json()["removals"].clone();
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let (first, second) = (ada.share_tiny("an advertisement"), ada.share_tiny("another"));
    assert_eq!(removals(&ada), serde_json::json!([]));
    delete(&moderator, &format!("/admin/posts/{first}"), "No advertisements.").expect(200);
    moderator.delete(&format!("/posts/{second}")).expect(200);
    delete(&moderator, &format!("/admin/users/{}/photo", ada.username()), "This is not you.").expect(200);
    let seen = removals(&ada);
    let reasons: Vec<_> =
        seen.as_array().unwrap().iter().map(|r| (r.get("post_id"), r.get("reason"))).collect();
    assert_eq!(
        reasons,
        [
            (None, Some(&"This is not you.".into())),
            (Some(&second.into()), None),
            (Some(&first.into()), Some(&"No advertisements.".into())),
        ]
    );
    let settings = String::from_utf8(ada.get("/settings").expect(200).bytes).unwrap();
    assert!(settings.contains("No advertisements.") && settings.contains("This is not you."), "{settings}");

    // A later user of the name did not post that.
    ada.request("DELETE", "/me").body(FormData::new().text("password", PASSWORD)).send().expect(200);
    let newcomer = service.anonymous().join(ada.username());
    assert_eq!(removals(&newcomer), serde_json::json!([]));
}

#[test]
fn reports_are_a_queue_and_every_decision_is_in_the_audit_log() {
    let service = Service::start(&[]);
    let (owner, moderator) = (service.new_user_with_role("owner"), service.new_user_with_role("moderator"));
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    bob.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let post = bob.share_tiny("rude");
    ada.post(&format!("/posts/{post}/reports"), reason("rude")).expect(201);
    ada.post(&format!("/users/{}/reports", bob.username()), reason("spam")).expect(201);
    ada.get("/admin/reports").expect_error(403);

    let page = moderator.get("/admin/reports?limit=1").expect(200).json();
    shape::assert_keys(&page["data"][0], &["id", "reporter", "user", "reason", "created_at"]);
    let next = moderator.get(page["paging"]["next"].as_str().unwrap()).expect(200).json();
    let report = &next["data"][0];
    assert_eq!((&report["post_id"], &report["post"]["id"]), (&post.into(), &post.into()));
    assert_eq!(report["reporter"]["username"], ada.username());
    let resolve = format!("/admin/reports/{}", report["id"]);
    let resolution = || FormData::new().text("resolution", "hidden");
    moderator.put(&resolve, Body::none()).expect_error_for(400, Some("resolution"));
    moderator.put(&format!("/admin/posts/{post}/hidden"), reason("rude")).expect(200);
    moderator.put(&resolve, resolution()).expect(200);
    moderator.put(&resolve, resolution()).expect_error(409);
    moderator.put("/admin/reports/999", resolution()).expect_error(404);
    let count = |path: &str| owner.get(path).expect(200).json()["data"].as_array().unwrap().len();
    assert_eq!((count("/admin/reports"), count("/admin/reports?status=resolved")), (1, 1));
    owner.get("/admin/reports?status=x").expect_error_for(400, Some("status"));

    let name = bob.username();
    delete(&moderator, &format!("/admin/users/{name}/photo"), "not you").expect(200);
    delete(&moderator, &format!("/admin/users/{name}/photo"), "not you").expect_error(404);
    owner
        .put(&format!("/admin/users/{name}/role"), confirmation().text("role", "king"))
        .expect_error_for(400, Some("role"));
    owner.put(&format!("/admin/users/{name}/role"), confirmation().text("role", "moderator")).expect(200);
    bob.get("/admin/reports").expect(200);
    // A moderator cannot decide about another one, nor about themselves.
    moderator.put(&format!("/admin/users/{name}/suspension"), reason("x")).expect_error(403);
    moderator
        .put(&format!("/admin/users/{}/suspension", moderator.username()), reason("x"))
        .expect_error(403);
    let record = owner.get(&format!("/admin/users/{name}")).expect(200).json();
    assert_eq!((&record["role"], &record["posts"]), (&"moderator".into(), &1.into()));
    let form = confirmation().text("reason", "left in anger");
    owner.request("DELETE", &format!("/admin/users/{name}")).body(form).send().expect(200);
    bob.get("/me").expect_error(401);
    owner.get(&format!("/admin/users/{name}")).expect_error(404);

    let log = owner.get("/admin/audit?limit=100").expect(200).json();
    let entries: Vec<(&str, &str)> = log["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["action"].as_str().unwrap(), entry["actor"].as_str().unwrap()))
        .collect();
    let (owner_name, moderator_name) = (owner.username(), moderator.username());
    assert_eq!(
        entries,
        [
            ("delete_account", owner_name),
            ("set_role", owner_name),
            ("remove_profile_photo", moderator_name),
            ("resolve_report", moderator_name),
            ("hide_post", moderator_name),
            ("set_role", "operator"),
            ("set_role", "operator"),
        ]
    );
    let entry = &log["data"][4];
    shape::assert_keys(
        entry,
        &["id", "created_at", "actor", "network", "action", "username", "post_id", "detail"],
    );
    assert_eq!((&entry["username"], &entry["detail"]), (&name.into(), &"rude".into()));
    assert_eq!(entry["network"], "127.0.0.0/24");
    ada.get("/admin/audit").expect_error(403);
}

#[test]
fn moderators_do_not_judge_reports_about_themselves_and_owners() {
    let service = Service::start(&[]);
    let (owner, moderator, colleague) = (
        service.new_user_with_role("owner"),
        service.new_user_with_role("moderator"),
        service.new_user_with_role("moderator"),
    );
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    for reported in [&owner, &moderator, &bob] {
        let path = format!("/posts/{}/reports", reported.share_tiny("rude"));
        ada.post(&path, reason(&format!("a post of {}", reported.username()))).expect(201);
        ada.post(&format!("/users/{}/reports", reported.username()), reason("spam")).expect(201);
    }
    let reports = |client: &Client| {
        let page = client.get("/admin/reports").expect(200).json();
        let reports = page["data"].as_array().unwrap().iter();
        let seen = reports.map(|report| (report["id"].clone(), report["user"]["username"].clone()));
        seen.collect::<Vec<_>>()
    };
    let names = |client: &Client| reports(client).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    let [of_owner, of_moderator, of_bob] =
        [&owner, &moderator, &bob].map(|client| Value::from(client.username()));
    assert_eq!(names(&moderator), [of_bob.clone(), of_bob.clone()]);
    assert_eq!(names(&colleague), [&of_bob, &of_bob, &of_moderator, &of_moderator].map(Value::clone));
    let all = reports(&owner);
    assert_eq!(all.len(), 6, "{all:?}");
    let page = String::from_utf8(moderator.get("/admin").expect(200).bytes).unwrap();
    for client in [&owner, &moderator, &bob] {
        let reason = format!("a post of {}", client.username());
        assert_eq!(page.contains(&reason), client.username() == bob.username(), "{reason}");
    }

    // What a moderator does not see, they cannot resolve: it answers as an unknown report.
    let resolve = |client: &Client, id: &Value| {
        client.put(&format!("/admin/reports/{id}"), FormData::new().text("resolution", "nothing"))
    };
    let unknown = resolve(&moderator, &999.into()).expect_error(404).json();
    for (id, name) in all.iter().filter(|(_, name)| *name != of_bob) {
        assert_eq!(resolve(&moderator, id).expect_error(404).json(), unknown, "{name}");
    }
    for (id, name) in &all {
        let judge = if *name == of_owner { &owner } else { &colleague };
        resolve(judge, id).expect(200);
        let entry = &owner.get("/admin/audit?limit=1").expect(200).json()["data"][0];
        assert_eq!((&entry["action"], &entry["username"]), (&"resolve_report".into(), name));
    }
    assert_eq!(names(&owner), [Value::Null; 0]);
    assert_eq!(names(&moderator).len(), 0);
    let resolved = moderator.get("/admin/reports?status=resolved").expect(200).json();
    assert_eq!(resolved["data"].as_array().unwrap().len(), 2, "{resolved}");
}

#[test]
fn roles_resets_and_deletions_need_the_password_of_the_owner() {
    let service = Service::start(&["--rate-limits", "on", "--login-failures", "12"]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let send = |name: &str, (method, path): (&str, &str), password: Option<&str>| {
        let form = FormData::new().text("role", "owner").text("reason", "spam");
        let form = password.iter().fold(form, |form, password| form.text("current_password", password));
        owner.request(method, &format!("/admin/users/{name}{path}")).body(form).send()
    };
    let acts = [("PUT", "/role"), ("POST", "/reset"), ("DELETE", "")];
    for act in acts {
        // Also for the own account: a link for it would be worth the password.
        for name in [ada.username(), owner.username()] {
            for (password, reason) in [
                (None, "password_required"),
                (Some(""), "password_required"),
                (Some("not the password"), "password_wrong"),
            ] {
                if (act.0, name) == ("DELETE", owner.username()) {
                    continue;
                }
                let refused = send(name, act, password).expect_error_for(403, Some("current_password"));
                assert_eq!(refused.header("x-error-code"), Some("forbidden"), "{act:?}");
                assert_eq!(refused.header("x-error-reason"), Some(reason), "{act:?}");
            }
        }
        send("no-such-user", act, None).expect_error(404);
    }
    ada.get("/me").expect(200);
    assert_eq!(ada.get("/me/account").expect(200).json()["role"], "member");
    for (act, status) in acts.into_iter().zip([200, 201, 200]) {
        send(ada.username(), act, Some(PASSWORD)).expect(status);
    }
    // Guesses with a stolen session are limited, five of them were made.
    for _ in 5..12 {
        send("no-such-user", acts[0], Some("not the password")).expect_error(403);
    }
    send("no-such-user", acts[0], Some(PASSWORD)).expect_error(429);
}

#[test]
fn an_owner_resets_a_password_by_a_link_that_works_once() {
    let service = Service::start(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let reset = format!("/admin/users/{}/reset", ada.username());
    ada.post(&reset, confirmation()).expect_error(403);
    let link = owner.post(&reset, confirmation()).expect(201).json();
    let (page, code) = link["url"].as_str().unwrap().split_once('#').unwrap();
    assert_eq!(page, format!("{}/recovery?username={}", service.base(), ada.username()));
    let again = ada.login(ada.username());
    assert_eq!(
        again.get("/me/recovery-codes").expect(200).json()["remaining"],
        0,
        "not one of the user's own"
    );
    let recover = || {
        let form = FormData::account(ada.username(), "a new password").text("code", code);
        service.anonymous().post("/recover", form)
    };
    recover().expect(200);
    recover().expect_error(400);
    again.get("/me").expect_error(401);
    let old = FormData::account(ada.username(), PASSWORD);
    service.anonymous().post("/login/username", old).expect_error(400);
}

/// How a user loses a role, and how they get it back.
const ENDS_OF_AUTHORITY: [(&[&str], &[&str]); 3] = [
    (&["role", "NAME", "member"], &["role", "NAME", "ROLE"]),
    (&["suspend", "NAME", "--reason", "spam"], &["restore", "NAME"]),
    (&["delete", "NAME"], &[]),
];

fn change(service: &Service, user: &Client, role: &str, command: &[&str]) {
    if command.is_empty() {
        return;
    }
    let word = |word: &&str| match *word {
        "NAME" => user.username().to_owned(),
        "ROLE" => role.to_owned(),
        other => other.to_owned(),
    };
    let words: Vec<String> = command.iter().map(word).collect();
    let words: Vec<&str> = ["user"].into_iter().chain(words.iter().map(String::as_str)).collect();
    service.operator(&words);
}

fn reset_code(owner: &Client, user: &Client) -> String {
    let link = owner.post(&format!("/admin/users/{}/reset", user.username()), confirmation()).expect(201);
    link.json()["url"].as_str().unwrap().split_once('#').unwrap().1.to_owned()
}

fn recover(service: &Service, user: &Client, code: &str) -> Response {
    let form = FormData::account(user.username(), "a new password").text("code", code);
    service.anonymous().post("/recover", form)
}

#[test]
fn a_reset_link_ends_for_good_when_its_maker_is_no_owner_any_more() {
    let service = Service::start(&[]);
    let (_stays, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    for (end, back) in ENDS_OF_AUTHORITY {
        let maker = service.new_user_with_role("owner");
        let code = reset_code(&maker, &ada);
        change(&service, &maker, "owner", end);
        recover(&service, &ada, &code).expect_error(400);
        change(&service, &maker, "owner", back);
        recover(&service, &ada, &code).expect_error(400);
    }
    // Of one who becomes a moderator as well.
    let maker = service.new_user_with_role("owner");
    let code = reset_code(&maker, &ada);
    change(&service, &maker, "owner", &["role", "NAME", "moderator"]);
    recover(&service, &ada, &code).expect_error(400);
}

#[test]
fn a_reset_link_ends_when_the_configuration_names_its_maker_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let service = Service::start_in(dir.path(), &[]);
    let (maker, ada) = (service.new_user("maker"), service.new_user("ada"));
    service.kill();
    let named = Service::start_in(dir.path(), &["--admins", maker.username()]);
    let code = reset_code(&maker.with_base(named.base()), &ada);
    named.kill();
    let service = Service::start_in(dir.path(), &[]);
    recover(&service, &ada, &code).expect_error(400);
    service.kill();
    let named = Service::start_in(dir.path(), &["--admins", maker.username()]);
    recover(&named, &ada, &code).expect(200);
}

#[test]
fn an_invitation_ends_when_its_maker_may_not_make_it_any_more() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    let invite = |maker: &Client, uses: &str| {
        let made = maker.post("/invitations", FormData::new().text("uses", uses)).expect(201).json();
        made["url"].as_str().unwrap().split_once("?invitation=").unwrap().1.to_owned()
    };
    let join = |code: &str| {
        let form = FormData::account(&e2e::unique("a"), PASSWORD).text("invitation", code);
        service.anonymous().post("/join/username", form)
    };
    let listed = || owner.get("/admin/invitations").expect(200).json()["data"].as_array().unwrap().len();
    for (end, back) in ENDS_OF_AUTHORITY {
        let maker = service.new_user_with_role("moderator");
        let codes = ["1", "11"].map(|uses| invite(&maker, uses));
        assert_eq!(listed(), 2);
        change(&service, &maker, "moderator", end);
        for code in &codes {
            join(code).expect_error_for(400, Some("invitation"));
        }
        change(&service, &maker, "moderator", back);
        for code in &codes {
            join(code).expect_error_for(400, Some("invitation"));
        }
        assert_eq!(listed(), 0);
    }

    // Where members may invite, those stay that a member may make.
    let members = |may: &str| {
        let form = confirmation().text("member_invitations", may);
        owner.request("PATCH", "/admin/instance").body(form).send().expect(200);
    };
    members("on");
    let maker = service.new_user_with_role("moderator");
    let (small, large) = (invite(&maker, "10"), invite(&maker, "11"));
    change(&service, &maker, "moderator", &["role", "NAME", "member"]);
    join(&large).expect_error_for(400, Some("invitation"));
    join(&small).expect(201);
    assert_eq!(listed(), 1);
    // They are not valid while members may not invite.
    members("off");
    join(&small).expect_error_for(400, Some("invitation"));
    assert_eq!(listed(), 0);
    members("on");
    join(&small).expect(201);
}

#[test]
fn the_only_owner_stays() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    let leave = || owner.request("DELETE", "/me").body(FormData::new().text("password", PASSWORD)).send();
    leave().expect_error(409);
    let role = |name: &str, role: &str| {
        owner.put(&format!("/admin/users/{name}/role"), confirmation().text("role", role))
    };
    role(owner.username(), "member").expect_error(409);
    let ada = service.new_user("ada");
    role(ada.username(), "owner").expect(200);
    leave().expect(200);
    let users: Value = ada.get("/admin/users").expect(200).json();
    assert_eq!(users["data"].as_array().unwrap().len(), 1, "{users}");
    assert_eq!(users["data"][0]["role"], "owner");
}
