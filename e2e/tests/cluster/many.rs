//! Many nodes, one service: what is done on one holds on all of them.

use std::sync::LazyLock;
use std::time::Duration;

use e2e::cluster::{Bucket, fresh_database};
use e2e::{Answer, Body, Client, Form, PASSWORD, Service, at_once, eventually, picture, unique};

/// How long an image may outlive its post on other nodes.
const AFTERGLOW: Duration = Duration::from_secs(5);

/// An empty database and an empty bucket, as flags.
fn places() -> [String; 4] {
    let (database, bucket) = (fresh_database(), Bucket::fresh());
    ["--database-url".into(), database, "--blobs-url".into(), bucket.url().into()]
}

/// The three that all stories share which do not count what a node does.
fn nodes() -> &'static [Service; 3] {
    static NODES: LazyLock<[Service; 3]> = LazyLock::new(|| {
        let places = places();
        let flags = places.each_ref().map(String::as_str);
        std::array::from_fn(|_| Service::lasting(&flags))
    });
    &NODES
}

/// The same person at each of the nodes.
fn everywhere(person: &Client) -> [Client; 3] {
    nodes().each_ref().map(|node| person.moved_to(node.base()))
}

#[test]
fn who_leaves_on_one_node_has_left_all_of_them() {
    let [ada, ..] = everywhere(&nodes()[0].newcomer("ada"));
    for leave_on in 0..3 {
        let session = everywhere(&ada.login(ada.username()));
        for node in &session {
            assert_eq!(node.get("/me").expect(200).json()["username"], ada.username());
        }
        session[leave_on].post("/logout", Body::none()).expect(200);
        for node in &session {
            node.get("/me").refused(401);
        }
    }
}

#[test]
fn who_joins_on_one_node_is_known_on_all_of_them() {
    for joined_on in nodes() {
        let ada = joined_on.newcomer("ada");
        for node in everywhere(&ada) {
            node.login(ada.username()).get("/me").expect(200);
        }
    }
}

#[test]
fn a_like_on_one_node_counts_on_all_of_them() {
    let id = nodes()[0].newcomer("ada").share_tiny("seen from everywhere");
    let (path, likes) = (format!("/posts/{id}"), format!("/posts/{id}/likes"));
    let bob = everywhere(&nodes()[1].newcomer("bob"));
    let assert_everywhere = |liked: bool| {
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
        assert_everywhere(true);
        bob[(liked_on + 1) % 3].post(&likes, Body::none()).refused(409);
        bob[(liked_on + 2) % 3].delete(&likes).expect(200);
        assert_everywhere(false);
    }
}

#[test]
fn an_edit_on_one_node_is_read_on_all_of_them() {
    let ada = everywhere(&nodes()[0].newcomer("ada"));
    let id = ada[0].share_tiny("as it was");
    let path = format!("/posts/{id}");
    for edited_on in 0..3 {
        let words = unique("edited");
        ada[edited_on].put(&path, Form::message(&words)).expect(200);
        for node in &ada {
            assert_eq!(node.get(&path).expect(200).json()["message"], *words);
            assert_eq!(node.find_in_feed(id).unwrap()["message"], *words);
        }
    }
}

#[test]
fn a_delete_on_one_node_holds_on_all_of_them() {
    let ada = everywhere(&nodes()[0].newcomer("ada"));
    for deleted_on in 0..3 {
        let post = ada[0].share(&picture::tiny(), "soon gone");
        let id = post["id"].as_i64().unwrap();
        let path = format!("/posts/{id}");
        let image = format!("/photos/{}/64x64", post["photo"]["id"].as_str().unwrap());
        for node in &ada {
            node.get(&image).expect(200);
        }
        ada[deleted_on].delete(&path).expect(200);
        ada[deleted_on].get(&image).refused(404);
        for node in &ada {
            node.get(&path).refused(404);
            assert_eq!(node.find_in_feed(id), None);
        }
        for node in &ada {
            eventually("the image is gone", AFTERGLOW, || {
                Some(node.get(&image)).filter(|answer| answer.status == 404)
            });
        }
    }
}

#[test]
fn an_upload_sent_to_three_nodes_at_once_is_one_post() {
    let ada = everywhere(&nodes()[0].newcomer("ada"));
    let file = picture::jpeg(&picture::stripes(300, 300));
    for _ in 0..5 {
        let (key, message) = (unique("key"), unique("message"));
        let answers = at_once(6, |n| {
            let form = Form::photo(&file).text("message", &message);
            ada[n % 3].request("POST", "/posts").header("Idempotency-Key", &key).body(form).send().expect(201)
        });
        let ids: Vec<_> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        for node in &ada {
            let feed = node.get("/feed?limit=100").expect(200).json();
            let twins = feed["data"].as_array().unwrap().iter().filter(|post| post["message"] == *message);
            assert_eq!(twins.count(), 1);
        }
    }
}

#[test]
fn a_name_asked_for_on_three_nodes_at_once_is_given_once() {
    for _ in 0..5 {
        let name = unique("Contested");
        let answers =
            at_once(3, |n| nodes()[n].anyone().post("/join/username", Form::account(&name, PASSWORD)));
        let winner = answers.iter().find(|answer| answer.status == 201).expect("somebody gets it").json();
        assert_eq!(statuses(&answers), [201, 409, 409]);
        for node in nodes() {
            assert_eq!(node.anyone().login(&name).get("/me").expect(200).json(), winner);
        }
    }
}

#[test]
fn everybody_likes_the_same_post_on_every_node() {
    let fans = at_once(24, |n| nodes()[n % 3].newcomer("fan"));
    let path = format!("/posts/{}", fans[0].share_tiny("hot"));
    let likes = format!("{path}/likes");
    assert_eq!(statuses(&at_once(24, |n| fans[n].post(&likes, Body::none()))), [201; 24]);
    assert_liked_by(&fans, &path, 24);

    // Every other one changes their mind, on another node, while the rest insists.
    let changed = at_once(24, |n| match n % 2 {
        0 => everywhere(&fans[n])[(n + 1) % 3].delete(&likes),
        _ => fans[n].post(&likes, Body::none()),
    });
    assert_eq!(statuses(&changed), [[200; 12], [409; 12]].concat());
    assert_liked_by(&fans, &path, 12);
}

#[test]
fn five_nodes_started_at_once_on_nothing_all_become_ready() {
    let places = places();
    let flags = places.each_ref().map(String::as_str);
    let nodes = at_once(5, |_| Service::start(&flags));
    let ada = nodes[0].newcomer("ada");
    let id = ada.share_tiny("hello, all");
    for node in &nodes {
        node.assert_alive();
        assert_eq!(node.anyone().get(&format!("/posts/{id}")).expect(200).json()["message"], "hello, all");
        node.anyone().login(ada.username());
    }
}

#[test]
fn a_picture_asked_of_three_nodes_is_made_once_on_each_and_is_the_same() {
    let places = places();
    let places = places.each_ref().map(String::as_str);
    let flags = [&places[..], &["--admin-listen", "127.0.0.1:0"]].concat();
    let nodes: [Service; 3] = std::array::from_fn(|_| Service::start(&flags));
    let post = nodes[0].newcomer("ada").share(&picture::photograph(800, 600), "the same for all");
    let image = format!("/photos/{}/200x200", post["photo"]["id"].as_str().unwrap());

    let answers = at_once(24, |n| nodes[n % 3].anyone().get(&image).expect(200));
    for answer in &answers {
        assert!(answer.bytes == answers[0].bytes, "two nodes made two different pictures");
        assert_eq!(answer.header("etag"), answers[0].header("etag"));
    }
    for node in &nodes {
        assert_eq!(renders(node), 1.0);
    }
}

/// How many images a node has made.
fn renders(node: &Service) -> f64 {
    let address = node.announced("metrics").expect("the address of the metrics is announced");
    let admin = Client::anonymous(address.trim_end_matches("/metrics"));
    let text = String::from_utf8(admin.get("/metrics").expect(200).bytes).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix("pinhole_image_renders_total ")?.parse().ok());
    value.unwrap_or_else(|| panic!("nothing is said of images made: {text}"))
}

/// What the count says on every node is what the people say.
#[track_caller]
fn assert_liked_by(fans: &[Client], path: &str, expected: usize) {
    for (n, fan) in fans.iter().enumerate() {
        for node in everywhere(fan) {
            let post = node.get(path).expect(200).json();
            assert_eq!(post["like_count"], expected, "seen by fan {n}");
        }
    }
    let likers = fans.iter().filter(|fan| fan.get(path).expect(200).json()["is_liked"] == true);
    assert_eq!(likers.count(), expected);
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}
