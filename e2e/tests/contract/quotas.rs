//! Quotas of a role: what is over them is refused with a clear message.

use std::io::Write;
use std::sync::mpsc;
use std::thread;

use e2e::{Body, Client, FormData, RawConnection, Response, Service, concurrently, picture};

fn set(owner: &Client, values: &[(&str, &str)]) {
    let form = values.iter().fold(FormData::new(), |form, (key, value)| form.text(key, value));
    owner.request("PATCH", "/admin/instance").body(form).send().expect(200);
}

fn upload(client: &Client) -> Response {
    client.post("/posts", FormData::photo(&picture::tiny()))
}

fn usage(client: &Client, key: &str) -> u64 {
    client.get("/me/account").expect(200).json()["usage"][key].as_u64().unwrap()
}

#[test]
fn quotas_limit_posts_bytes_and_likes_of_members() {
    let service = Service::single_node(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let posts = [ada.share_tiny("1"), ada.share_tiny("2")];

    set(&owner, &[("member_posts_per_day", "3"), ("member_likes_per_minute", "1")]);
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

    set(&owner, &[("member_posts_per_day", ""), ("member_likes_per_minute", ""), ("member_bytes", "1")]);
    let refused = upload(&ada).expect_error(507);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    assert!(ada.get("/me/account").expect(200).json()["usage"]["bytes"].as_u64() > Some(100));
    set(&owner, &[("member_bytes", "")]);
    upload(&ada).expect(201);
}

#[test]
fn concurrent_posts_do_not_exceed_a_quota_and_deleting_them_does_not_refund_it() {
    let service = Service::start(&[]);
    let (owner, ada, bob) =
        (service.new_user_with_role("owner"), service.new_user("ada"), service.new_user("bob"));
    // A full queue of uploads may reject some.
    let created = |client: &Client, refused: u16| {
        let statuses: Vec<u16> = concurrently(12, |_| upload(client).status);
        assert!(statuses.iter().all(|status| [201, refused, 503].contains(status)), "{statuses:?}");
        statuses.iter().filter(|status| **status == 201).count()
    };
    set(&owner, &[("member_posts_per_day", "3")]);
    assert_eq!(created(&ada, 429), 3);
    for post in ada.get("/feed").expect(200).json()["data"].as_array().unwrap() {
        ada.delete(&format!("/posts/{}", post["id"])).expect(200);
    }
    upload(&ada).expect_error(429);
    assert_eq!(usage(&ada, "posts_today"), 3);

    set(&owner, &[("member_posts_per_day", "")]);
    upload(&bob).expect(201);
    let max = usage(&bob, "bytes") * 7 / 2;
    set(&owner, &[("member_bytes", &max.to_string())]);
    assert_eq!(created(&bob, 507), 2);
    assert!(usage(&bob, "bytes") <= max);
    let refused = upload(&bob).expect_error(507);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    // What is stored is refunded.
    let newest = bob.get("/feed?limit=1").expect(200).json()["data"][0]["id"].clone();
    bob.delete(&format!("/posts/{newest}")).expect(200);
    upload(&bob).expect(201);
}

#[test]
fn unfinished_uploads_and_profile_photos_count_towards_the_quota_of_bytes() {
    let service = Service::start(&[]);
    let (owner, ada, bob) =
        (service.new_user_with_role("owner"), service.new_user("ada"), service.new_user("bob"));
    let photo = picture::photograph(1200, 800);
    let form = FormData::photo(&photo).body();
    bob.post("/posts", form.clone()).expect(201);
    let size = usage(&bob, "bytes");
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
    let profile_photo = usage(&ada, "bytes");
    assert!(profile_photo > 100, "{profile_photo}");

    let max = profile_photo + size + 10_000;
    set(&owner, &[("member_bytes", &max.to_string())]);
    let start = |piece: &[u8]| {
        let piece = Body { bytes: piece.to_vec(), ..form.clone() };
        ada.request("POST", "/posts").header("Upload-Complete", "?0").body(piece).send()
    };
    let (first, last) = form.bytes.split_at(100_000);
    let started = start(first).expect(201);
    assert_eq!(usage(&ada, "bytes"), profile_photo + 100_000);
    let refused = ada.post("/posts", form.clone()).expect_error(507);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    // The photo of the post takes the place of the parts.
    let piece = Body::new("application/partial-upload", last);
    let completion =
        ada.request("PATCH", started.header("location").unwrap()).header("Upload-Complete", "?1");
    completion.header("Upload-Offset", "100000").body(piece).send().expect(201);
    assert_eq!(usage(&ada, "bytes"), profile_photo + size);

    start(first).expect_error(507);
    ada.put("/me/photo", FormData::photo(&photo)).expect_error(507);
    assert_eq!(usage(&ada, "bytes"), profile_photo + size, "nothing of what was refused is kept");
    ada.put("/me/photo", FormData::photo(&picture::tiny())).expect(200);
}

#[test]
fn what_arrives_counts_towards_the_quota_of_bytes() {
    let service = Service::single_node(&["--max-upload", "1MiB"]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    set(&owner, &[("member_bytes", "1000")]);
    // As much as the largest photo may be on the way, which two of these exceed.
    let form = FormData::photo(&vec![b'x'; 900_000]).body();
    let (sent, rest) = form.bytes.split_at(700_000);
    let (answer, answers) = mpsc::channel();
    let mut writers: Vec<_> = (0..2)
        .map(|number| {
            let (mut connection, answer) = (RawConnection::connect(&service), answer.clone());
            let head = RawConnection::request_head("POST", "/posts", ada.token(), &form, form.bytes.len());
            let (writer, sent) = (connection.writer(), sent.to_vec());
            thread::spawn(move || {
                connection.send(format!("{head}\r\n")).unwrap();
                // The service may refuse it before all is sent.
                connection.send(sent).ok();
                answer.send((number, connection.receive(false).expect("a response")))
            });
            writer
        })
        .collect();
    drop(answer);
    let (number, refused) = answers.recv().unwrap();
    assert_eq!((refused.status, refused.header("x-error-code")), (507, Some("quota_exceeded")));
    writers[1 - number].write_all(rest).unwrap();
    assert_eq!(answers.recv().unwrap().1.status, 400, "the other was not affected");
}
