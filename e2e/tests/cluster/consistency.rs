//! Consistency between nodes: a write acknowledged by one node is visible on all of them.

use std::sync::LazyLock;

use e2e::cluster::{Bucket, fresh_database};
use e2e::{Body, Client, FormData, PASSWORD, Response, Service, concurrently, picture, unique};

/// An empty database and an empty bucket, as flags.
fn fresh_stores() -> [String; 4] {
    let (database, bucket) = (fresh_database(), Bucket::fresh());
    ["--database-url".into(), database, "--blobs-url".into(), bucket.url().into()]
}

/// Three nodes shared by all tests that do not read metrics.
fn nodes() -> &'static [Service; 3] {
    static NODES: LazyLock<[Service; 3]> = LazyLock::new(|| {
        let stores = fresh_stores();
        let flags = stores.each_ref().map(String::as_str);
        std::array::from_fn(|_| Service::start_static(&flags))
    });
    &NODES
}

/// The same session on each of the nodes.
fn on_every_node(client: &Client) -> [Client; 3] {
    nodes().each_ref().map(|node| client.with_base(node.base()))
}

#[test]
fn logging_out_on_one_node_ends_the_session_on_all() {
    let [ada, ..] = on_every_node(&nodes()[0].new_user("ada"));
    for logout_on in 0..3 {
        let session = on_every_node(&ada.login(ada.username()));
        for node in &session {
            assert_eq!(node.get("/me").expect(200).json()["username"], ada.username());
        }
        session[logout_on].post("/logout", Body::none()).expect(200);
        for node in &session {
            node.get("/me").expect_error(401);
        }
    }
}

#[test]
fn a_new_password_on_one_node_ends_the_sessions_on_all() {
    const NEW: &str = "a better horse";
    let ada = nodes()[0].new_user("ada");
    let session = on_every_node(&ada.login(ada.username()));
    for node in &session {
        node.get("/me").expect(200);
    }
    let form = FormData::new().text("current_password", PASSWORD).text("password", NEW);
    ada.put("/me/password", form).expect(200);
    for node in &session {
        node.get("/me").expect_error(401);
        node.post("/login/username", FormData::account(ada.username(), PASSWORD)).expect_error(400);
        node.post("/login/username", FormData::account(ada.username(), NEW)).expect(200);
    }
}

#[test]
fn a_user_who_joins_on_one_node_can_log_in_on_all() {
    for joined_on in nodes() {
        let ada = joined_on.new_user("ada");
        for node in on_every_node(&ada) {
            node.login(ada.username()).get("/me").expect(200);
        }
    }
}

#[test]
fn a_like_on_one_node_is_visible_on_all() {
    let id = nodes()[0].new_user("ada").share_tiny("liked on every node");
    let (path, likes) = (format!("/posts/{id}"), format!("/posts/{id}/likes"));
    let bob = on_every_node(&nodes()[1].new_user("bob"));
    let assert_liked = |liked: bool| {
        for node in &bob {
            for post in [node.get(&path).expect(200).json(), node.find_in_feed(id).unwrap()] {
                assert_eq!(
                    (&post["is_liked"], &post["like_count"]),
                    (&liked.into(), &i64::from(liked).into())
                );
            }
        }
    };
    for liked_on in 0..3 {
        bob[liked_on].post(&likes, Body::none()).expect(201);
        assert_liked(true);
        bob[(liked_on + 1) % 3].post(&likes, Body::none()).expect_error(409);
        bob[(liked_on + 2) % 3].delete(&likes).expect(200);
        assert_liked(false);
    }
}

#[test]
fn an_edit_on_one_node_is_visible_on_all() {
    let ada = on_every_node(&nodes()[0].new_user("ada"));
    let id = ada[0].share_tiny("before");
    let path = format!("/posts/{id}");
    for edited_on in 0..3 {
        let text = unique("edited");
        ada[edited_on].put(&path, FormData::message(&text)).expect(200);
        for node in &ada {
            assert_eq!(node.get(&path).expect(200).json()["message"], *text);
            assert_eq!(node.find_in_feed(id).unwrap()["message"], *text);
        }
    }
}

#[test]
fn a_delete_on_one_node_removes_the_post_on_all() {
    let ada = on_every_node(&nodes()[0].new_user("ada"));
    for deleted_on in 0..3 {
        let post = ada[0].share(&picture::tiny(), "to be deleted");
        let id = post["id"].as_i64().unwrap();
        let path = format!("/posts/{id}");
        let image = format!("/photos/{}/64x64", post["photo"]["id"].as_str().unwrap());
        for node in &ada {
            node.get(&image).expect(200);
        }
        ada[deleted_on].delete(&path).expect(200);
        for node in &ada {
            node.get(&image).expect_error(404);
            node.get(&path).expect_error(404);
            assert_eq!(node.find_in_feed(id), None);
        }
    }
}

#[test]
fn concurrent_uploads_with_one_idempotency_key_on_three_nodes_create_one_post() {
    let ada = on_every_node(&nodes()[0].new_user("ada"));
    let file = picture::jpeg(&picture::stripes(300, 300));
    for _ in 0..5 {
        let (key, message) = (unique("key"), unique("message"));
        let responses = concurrently(6, |n| {
            let form = FormData::photo(&file).text("message", &message);
            ada[n % 3].request("POST", "/posts").header("Idempotency-Key", &key).body(form).send().expect(201)
        });
        let ids: Vec<_> = responses.iter().map(|response| response.json()["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        for node in &ada {
            let feed = node.get("/feed?limit=100").expect(200).json();
            let matching = feed["data"].as_array().unwrap().iter().filter(|post| post["message"] == *message);
            assert_eq!(matching.count(), 1);
        }
    }
}

#[test]
fn concurrent_joins_with_one_name_on_three_nodes_create_one_user() {
    for _ in 0..5 {
        let name = unique("Contested");
        let responses = concurrently(3, |n| {
            nodes()[n].anonymous().post("/join/username", FormData::account(&name, PASSWORD))
        });
        let winner =
            responses.iter().find(|response| response.status == 201).expect("one join succeeds").json();
        assert_eq!(statuses(&responses), [201, 409, 409]);
        for node in nodes() {
            assert_eq!(node.anonymous().login(&name).get("/me").expect(200).json(), winner);
        }
    }
}

#[test]
fn concurrent_likes_and_unlikes_on_every_node_are_counted_exactly() {
    let fans = concurrently(24, |n| nodes()[n % 3].new_user("fan"));
    let path = format!("/posts/{}", fans[0].share_tiny("hot"));
    let likes = format!("{path}/likes");
    assert_eq!(statuses(&concurrently(24, |n| fans[n].post(&likes, Body::none()))), [201; 24]);
    assert_liked_by(&fans, &path, 24);

    // Every other user unlikes on another node while the rest like a second time.
    let changed = concurrently(24, |n| match n % 2 {
        0 => on_every_node(&fans[n])[(n + 1) % 3].delete(&likes),
        _ => fans[n].post(&likes, Body::none()),
    });
    assert_eq!(statuses(&changed), [[200; 12], [409; 12]].concat());
    assert_liked_by(&fans, &path, 12);
}

#[test]
fn wrong_passwords_count_on_every_node_and_a_known_network_keeps_its_own_allowance() {
    let stores = fresh_stores();
    let stores = stores.each_ref().map(String::as_str);
    let limits = ["--rate-limits", "on", "--login-failures", "2", "--name-failures", "4"];
    let limits = [&limits[..], &["--trusted-proxies", "127.0.0.1/32"]].concat();
    let nodes: [Service; 3] = std::array::from_fn(|_| Service::start(&[&stores[..], &limits].concat()));
    let login = |node: usize, name: &str, password: &str, address: &str| {
        let request = nodes[node].anonymous().request("POST", "/login/username");
        request.header("X-Forwarded-For", address).body(FormData::account(name, password)).send()
    };
    // The pair of a name and an address.
    let ada = nodes[0].new_user("ada");
    for node in [0, 1] {
        login(node, ada.username(), "a wrong guess", "192.0.2.1").expect_error(400);
    }
    for node in 0..3 {
        login(node, ada.username(), PASSWORD, "192.0.2.1").expect_error(429);
    }
    // The name over all addresses.
    let bob = nodes[1].new_user("bob");
    login(2, bob.username(), PASSWORD, "192.0.2.9").expect(200);
    for guess in 0..4 {
        login(guess % 3, bob.username(), "a wrong guess", &format!("198.51.100.{guess}")).expect_error(400);
    }
    for node in 0..3 {
        login(node, bob.username(), "a wrong guess", "203.0.113.1").expect_error(429);
        login(node, bob.username(), PASSWORD, "192.0.2.9").expect(200);
    }
}

#[test]
fn five_nodes_that_start_together_on_an_empty_database_all_become_ready() {
    let stores = fresh_stores();
    let flags = stores.each_ref().map(String::as_str);
    let nodes = concurrently(5, |_| Service::start(&flags));
    let ada = nodes[0].new_user("ada");
    let id = ada.share_tiny("hello, all");
    for node in &nodes {
        node.assert_ready();
        assert_eq!(node.anonymous().get(&format!("/posts/{id}")).expect(200).json()["message"], "hello, all");
        node.anonymous().login(ada.username());
    }
}

#[test]
fn each_node_renders_an_image_once_and_all_render_the_same_bytes() {
    let stores = fresh_stores();
    let stores = stores.each_ref().map(String::as_str);
    let flags = [&stores[..], &["--admin-listen", "127.0.0.1:0"]].concat();
    let nodes: [Service; 3] = std::array::from_fn(|_| Service::start(&flags));
    let post = nodes[0].new_user("ada").share(&picture::photograph(800, 600), "the same for all");
    let image = format!("/photos/{}/200x200", post["photo"]["id"].as_str().unwrap());

    let responses = concurrently(24, |n| nodes[n % 3].anonymous().get(&image).expect(200));
    for response in &responses {
        assert!(response.bytes == responses[0].bytes, "two nodes rendered different bytes");
        assert_eq!(response.header("etag"), responses[0].header("etag"));
    }
    for node in &nodes {
        assert_eq!(renders(node), 1.0);
    }
}

/// How many images a node has rendered.
fn renders(node: &Service) -> f64 {
    let address = node.ready_field("metrics").expect("the ready event has the address of the metrics");
    let admin = Client::anonymous(address.trim_end_matches("/metrics"));
    let text = String::from_utf8(admin.get("/metrics").expect(200).bytes).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix("pinhole_image_renders_total ")?.parse().ok());
    value.unwrap_or_else(|| panic!("no metric of rendered images: {text}"))
}

/// Asserts the same `like_count` on every node, and that as many users see `is_liked`.
#[track_caller]
fn assert_liked_by(fans: &[Client], path: &str, expected: usize) {
    for (n, fan) in fans.iter().enumerate() {
        for node in on_every_node(fan) {
            let post = node.get(path).expect(200).json();
            assert_eq!(post["like_count"], expected, "seen by fan {n}");
        }
    }
    let likers = fans.iter().filter(|fan| fan.get(path).expect(200).json()["is_liked"] == true);
    assert_eq!(likers.count(), expected);
}

fn statuses(responses: &[Response]) -> Vec<u16> {
    let mut statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    statuses
}
