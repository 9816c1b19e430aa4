//! Who may join, and what the instance says about itself.

use e2e::{Body, Client, FormData, PASSWORD, Response, Service, concurrently, picture, unique};

fn join(service: &Service, name: &str, more: &[(&str, &str)]) -> Response {
    let form =
        more.iter().fold(FormData::account(name, PASSWORD), |form, (key, value)| form.text(key, value));
    service.anonymous().post("/join/username", form)
}

fn set(owner: &Client, values: &[(&str, &str)]) -> Response {
    let form = FormData::new().text("current_password", PASSWORD);
    let form = values.iter().fold(form, |form, (key, value)| form.text(key, value));
    owner.request("PATCH", "/admin/instance").body(form).send()
}

#[test]
fn the_instance_says_who_may_join_and_the_api_obeys() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    let registration = || service.anonymous().get("/instance").expect(200).json()["registration"].clone();
    assert_eq!(registration(), "open");
    join(&service, &unique("a"), &[]).expect(201);

    set(&owner, &[("registration", "closed")]).expect(200);
    assert_eq!(registration(), "closed");
    let refused = join(&service, &unique("a"), &[]).expect_error(403);
    assert_eq!(refused.header("x-error-code"), Some("registration_closed"));

    set(&owner, &[("registration", "invitation")]).expect(200);
    let refused = join(&service, &unique("a"), &[]).expect_error(403);
    assert_eq!(refused.header("x-error-code"), Some("invitation_required"));
    join(&service, &unique("a"), &[("invitation", "abcd-efgh-ijkm-npqr")])
        .expect_error_for(400, Some("invitation"));
    let invite = |form: FormData| owner.post("/invitations", form);
    let invitation = invite(FormData::new().text("uses", "2").text("days", "3")).expect(201).json();
    let (page, code) = invitation["url"].as_str().unwrap().split_once("?invitation=").unwrap();
    assert_eq!(page, format!("{}/join", service.base()));
    for _ in 0..2 {
        join(&service, &unique("a"), &[("invitation", code)]).expect(201);
    }
    join(&service, &unique("a"), &[("invitation", code)]).expect_error_for(400, Some("invitation"));
    for (field, value) in [("uses", "0"), ("uses", "x"), ("days", "0"), ("days", "400"), ("days", "-1")] {
        invite(FormData::new().text(field, value)).expect_error_for(400, Some(field));
    }
    let id = invitation["id"].as_str().unwrap();
    assert_eq!(owner.get("/invitations").expect(200).json()["data"][0]["uses"], 2);
    owner.delete(&format!("/invitations/{id}")).expect(200);
    owner.delete(&format!("/invitations/{id}")).expect_error(404);

    set(&owner, &[("registration", "")]).expect(200);
    assert_eq!(registration(), "open");
}

#[test]
fn who_may_join_is_changed_with_the_password_of_the_owner() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    let edit = |form: FormData| owner.request("PATCH", "/admin/instance").body(form).send();
    let before = service.anonymous().get("/instance").expect(200).json();
    for (key, value, unchanged) in [("registration", "closed", "open"), ("member_invitations", "on", "off")] {
        let form = || FormData::new().text(key, value).text("name", "Birds");
        for (form, reason) in [
            (form(), "password_required"),
            (form().text("current_password", ""), "password_required"),
            (form().text("current_password", "not the password"), "password_wrong"),
        ] {
            let refused = edit(form).expect_error_for(403, Some("current_password"));
            assert_eq!(refused.header("x-error-reason"), Some(reason));
        }
        assert_eq!(service.anonymous().get("/instance").expect(200).json(), before);
        edit(FormData::new().text(key, unchanged)).expect(200);
    }
    edit(FormData::new().text("name", "Birds")).expect(200);
    edit(FormData::new().text("registration", "closed").text("current_password", PASSWORD)).expect(200);
    assert_eq!(service.anonymous().get("/instance").expect(200).json()["registration"], "closed");
}

#[test]
fn members_invite_others_only_where_they_may() {
    let service = Service::start(&[]);
    let (owner, ada, bob) =
        (service.new_user_with_role("owner"), service.new_user("ada"), service.new_user("bob"));
    ada.post("/invitations", Body::none()).expect_error(403);
    set(&owner, &[("registration", "invitation"), ("member_invitations", "on")]).expect(200);
    let made = ada.post("/invitations", Body::none()).expect(201).json();
    let id = made["id"].as_str().unwrap();
    assert_eq!(bob.get("/invitations").expect(200).json()["data"], serde_json::json!([]));
    bob.delete(&format!("/invitations/{id}")).expect_error(404);
    for _ in 0..9 {
        ada.post("/invitations", Body::none()).expect(201);
    }
    ada.post("/invitations", Body::none()).expect_error(409);

    // One that was used counts until it expires; any other makes room.
    let code = made["url"].as_str().unwrap().split_once("?invitation=").unwrap().1;
    join(&service, &unique("a"), &[("invitation", code)]).expect(201);
    ada.delete(&format!("/invitations/{id}")).expect(200);
    ada.delete(&format!("/invitations/{id}")).expect(200);
    join(&service, &unique("a"), &[("invitation", code)]).expect_error_for(400, Some("invitation"));
    ada.post("/invitations", Body::none()).expect_error(409);
    let unused = ada.get("/invitations").expect(200).json();
    let unused =
        unused["data"].as_array().unwrap().iter().find(|other| other["uses"] == 0).unwrap()["id"].clone();
    ada.delete(&format!("/invitations/{}", unused.as_str().unwrap())).expect(200);
    ada.post("/invitations", Body::none()).expect(201);
}

#[test]
fn concurrent_requests_make_no_more_invitations_than_a_member_may_have() {
    let service = Service::start(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    set(&owner, &[("member_invitations", "on")]).expect(200);
    let mut statuses = concurrently(60, |_| ada.post("/invitations", Body::none()).status);
    statuses.sort_unstable();
    assert_eq!(statuses, [&[201; 10][..], &[409; 50]].concat());
    let made = ada.get("/invitations").expect(200).json();
    assert_eq!(made["data"].as_array().unwrap().len(), 10);
}

#[test]
fn an_account_that_needs_approval_can_only_read_until_then() {
    let service = Service::start(&[]);
    let (owner, moderator) = (service.new_user_with_role("owner"), service.new_user_with_role("moderator"));
    set(&owner, &[("registration", "approval")]).expect(200);
    let ada = service.new_user("ada");
    assert_eq!(ada.get("/me/account").expect(200).json()["status"], "pending");
    ada.get("/feed").expect(200);
    let refused = ada.post("/posts", FormData::photo(&e2e::picture::tiny())).expect_error(403);
    assert_eq!(refused.header("x-error-code"), Some("account_pending"));
    service.anonymous().get(&format!("/users/{}", ada.username())).expect_error(404);

    let pending = moderator.get("/admin/users?status=pending").expect(200).json();
    assert_eq!(pending["data"][0]["user"]["username"], ada.username());
    moderator.put(&format!("/admin/users/{}/approval", ada.username()), Body::none()).expect(200);
    ada.share_tiny("at last");
    service.anonymous().get(&format!("/users/{}", ada.username())).expect(200);
    assert_eq!(
        moderator.get("/admin/users?status=pending").expect(200).json()["data"],
        serde_json::json!([])
    );
}

#[test]
fn terms_must_be_accepted_and_texts_are_checked() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner");
    set(&owner, &[("name", "Birds"), ("terms", "Be kind."), ("accent", "#b8442f")]).expect(200);
    let instance = service.anonymous().get("/instance").expect(200).json();
    assert_eq!((&instance["name"], &instance["terms"]), (&"Birds".into(), &"Be kind.".into()));
    assert_eq!(instance["software"]["name"], "pinhole");
    join(&service, &unique("a"), &[]).expect_error_for(400, Some("terms"));
    join(&service, &unique("a"), &[("terms", "no")]).expect_error_for(400, Some("terms"));
    join(&service, &unique("a"), &[("terms", "accepted")]).expect(201);
    for (field, value) in [
        ("name", "x".repeat(61)),
        ("name", "two\nlines".into()),
        ("accent", "red".into()),
        ("accent", "#b8442f;}".into()),
        ("registration", "sometimes".into()),
        ("member_bytes", "-1".into()),
        ("member_invitations", "perhaps".into()),
    ] {
        set(&owner, &[(field, &value)]).expect_error_for(400, Some(field));
    }
    assert_eq!(service.anonymous().get("/instance").expect(200).json(), instance);
    let ada = service.anonymous();
    ada.request("PATCH", "/admin/instance").body(FormData::new().text("name", "x")).send().expect_error(401);
}

#[test]
fn owners_give_the_instance_a_logo_and_an_accent_colour() {
    let service = Service::start(&[]);
    let (owner, anonymous) = (service.new_user_with_role("owner"), service.anonymous());
    let page = || String::from_utf8(anonymous.get("/").expect(200).bytes).unwrap();
    let logo = |picture: &[u8]| owner.put("/admin/instance/logo", FormData::new().file("logo", picture));
    assert!(!page().contains("accent.css") && !page().contains("/logo/"));
    anonymous.get("/accent.css").expect_error(404);
    logo(b"text").expect_error_for(400, Some("logo"));
    owner.put("/admin/instance/logo", FormData::new()).expect_error_for(400, Some("logo"));

    let instance = logo(&picture::png(&picture::half_transparent(600))).expect(200).json();
    let url = instance["logo"].as_str().unwrap();
    let path = url.strip_prefix(service.base()).unwrap();
    assert_eq!(anonymous.get("/instance").expect(200).json()["logo"], url);
    let image = anonymous.get(path).expect(200);
    assert_eq!(image.header("content-type"), Some("image/webp"));
    let image = image.picture();
    assert_eq!((image.width(), image.height(), image.color().has_alpha()), (512, 512, true));
    let version = path.split_once('?').unwrap().1;
    assert!(page().contains(&format!("/logo/96x96?{version}")), "{}", page());
    let other = logo(&picture::tiny()).expect(200).json();
    assert_ne!(other["logo"], url, "its address changes with it");
    owner.delete("/admin/instance/logo").expect(200);
    anonymous.get(path).expect_error(404);
    assert!(anonymous.get("/instance").expect(200).json().get("logo").is_none());

    set(&owner, &[("accent", "#B8442F")]).expect(200);
    assert!(page().contains("/accent.css?colour=b8442f"), "{}", page());
    let style = anonymous.get("/accent.css?colour=b8442f").expect(200);
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert!(String::from_utf8(style.bytes).unwrap().contains("--accent: #B8442F; --on-accent: #ffffff"));
    set(&owner, &[("accent", "")]).expect(200);
    assert!(!page().contains("accent.css"));
    let audit = owner.get("/admin/audit").expect(200).json();
    assert!(audit["data"].as_array().unwrap().iter().any(|entry| entry["detail"] == "logo"), "{audit}");
}

#[test]
fn the_first_start_prints_a_link_that_makes_the_owner_once() {
    let dir = tempfile::tempdir().unwrap();
    let link = |service: &Service| {
        let is_link = |line: &String| line.contains("join?invitation=");
        let line = service.log().into_iter().find(is_link)?;
        let (_, rest) = line.split_once("invitation=")?;
        Some(rest[..19].to_owned())
    };
    let service = Service::start_in(dir.path(), &[]);
    let first = link(&service).expect("a link in the log");
    service.kill();
    let service = Service::start_in(dir.path(), &[]);
    let second = link(&service).expect("another link after a restart");
    let joined = join(&service, "ada", &[("invitation", &first)]).expect(201);
    let owner = service.anonymous().with_session("ada", e2e::AuthMethod::Bearer, &joined.token());
    assert_eq!(owner.get("/me/account").expect(200).json()["role"], "owner");
    join(&service, "bob", &[("invitation", &second)]).expect_error_for(400, Some("invitation"));
    service.kill();
    let service = Service::start_in(dir.path(), &[]);
    assert_eq!(link(&service), None, "an instance with an owner prints no link");
}
