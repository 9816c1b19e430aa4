//! Concurrent requests: each change is applied exactly once, and counts are exact.

use e2e::{Body, Client, FormData, PASSWORD, Response, Service, concurrently, picture, unique};

#[test]
fn concurrent_likes_and_unlikes_of_one_user_count_once() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("liked concurrently"));
    let likes = format!("{path}/likes");
    for _ in 0..5 {
        let liked = statuses(concurrently(16, |_| ada.post(&likes, Body::none())));
        assert_eq!(liked, [&[201][..], &[409; 15]].concat());
        assert_eq!(ada.get(&path).expect(200).json()["like_count"], 1);
        let unliked = statuses(concurrently(16, |_| ada.delete(&likes)));
        assert_eq!(unliked, [&[200][..], &[409; 15]].concat());
        assert_eq!(ada.get(&path).expect(200).json()["like_count"], 0);
    }
}

#[test]
fn concurrent_likes_of_32_users_are_counted_exactly() {
    let service = Service::shared();
    let users: Vec<Client> = (0..32).map(|_| service.new_user("fan")).collect();
    let path = format!("/posts/{}", users[0].share_tiny("popular"));
    let likes = format!("{path}/likes");
    assert_eq!(statuses(concurrently(32, |n| users[n].post(&likes, Body::none()))), [201; 32]);
    assert_liked_by(&users, &path, 32);

    // Half of them unlike while the other half like a second time.
    let changed = concurrently(32, |n| {
        if n % 2 == 0 { users[n].delete(&likes) } else { users[n].post(&likes, Body::none()) }
    });
    assert_eq!(statuses(changed), [[200; 16], [409; 16]].concat());
    assert_liked_by(&users, &path, 16);
}

#[test]
fn of_eight_concurrent_joins_with_one_name_one_succeeds() {
    let service = Service::shared();
    for _ in 0..3 {
        let name = unique("Contested");
        let spellings = [name.clone(), name.to_lowercase(), name.to_uppercase(), name.clone()];
        let responses = concurrently(8, |n| {
            service.anonymous().post("/join/username", FormData::account(&spellings[n % 4], PASSWORD))
        });
        let winner =
            responses.iter().find(|response| response.status == 201).expect("one join succeeds").json();
        assert_eq!(statuses(responses), [&[201][..], &[409; 7]].concat());
        let user = service.anonymous().login(&name).get("/me").expect(200).json();
        assert_eq!(user, winner, "the name belongs to the join that succeeded");
    }
}

#[test]
fn a_like_that_races_a_delete_returns_201_or_404() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    for _ in 0..30 {
        let path = format!("/posts/{}", ada.share_tiny("contested"));
        let likes = format!("{path}/likes");
        let responses =
            concurrently(2, |n| if n == 0 { bob.post(&likes, Body::none()) } else { ada.delete(&path) });
        assert!([201, 404].contains(&responses[0].status), "{}", responses[0]);
        assert_eq!(responses[1].status, 200, "{}", responses[1]);
        service.anonymous().get(&path).expect_error(404);
        bob.post(&likes, Body::none()).expect_error(404);
        bob.delete(&likes).expect_error(404);
    }
}

#[test]
fn concurrent_uploads_with_one_idempotency_key_create_one_post() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let picture = picture::jpeg(&picture::stripes(600, 600));
    for _ in 0..5 {
        let key = unique("key");
        let message = unique("message");
        let responses = concurrently(4, |_| {
            let form = FormData::photo(&picture).text("message", &message);
            ada.request("POST", "/posts").header("Idempotency-Key", &key).body(form).send().expect(201)
        });
        let ids: Vec<_> = responses.iter().map(|response| response.json()["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let feed = ada.get("/feed?limit=100").expect(200).json();
        let matching = feed["data"].as_array().unwrap().iter().filter(|post| post["message"] == *message);
        assert_eq!(matching.count(), 1);
    }
}

#[test]
fn of_eight_concurrent_deletes_one_succeeds() {
    let ada = Service::shared().new_user("ada");
    for _ in 0..5 {
        let path = format!("/posts/{}", ada.share_tiny("deleted concurrently"));
        assert_eq!(statuses(concurrently(8, |_| ada.delete(&path))), [&[200][..], &[404; 7]].concat());
    }
}

#[test]
fn the_result_of_concurrent_edits_is_one_of_them() {
    let ada = Service::shared().new_user("ada");
    let path = format!("/posts/{}", ada.share_tiny("edited concurrently"));
    let texts: Vec<String> = (0..8).map(|n| format!("edit {n} ").repeat(200)).collect();
    let responses = concurrently(8, |n| ada.put(&path, FormData::message(&texts[n])).expect(200));
    for (response, text) in responses.iter().zip(&texts) {
        assert_eq!(response.json()["message"], **text, "each response has its own edit");
    }
    let message = ada.get(&path).expect(200).json()["message"].clone();
    assert!(texts.iter().any(|text| message == **text), "{message}");
}

fn statuses(responses: Vec<Response>) -> Vec<u16> {
    let mut statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
    statuses.sort_unstable();
    statuses
}

/// Asserts that every user sees this `like_count`, and that as many users see `is_liked`.
#[track_caller]
fn assert_liked_by(users: &[Client], path: &str, expected: usize) {
    let seen: Vec<_> = users.iter().map(|client| client.get(path).expect(200).json()).collect();
    assert!(seen.iter().all(|post| post["like_count"] == expected), "{:?}", seen[0]);
    assert_eq!(seen.iter().filter(|post| post["is_liked"] == true).count(), expected);
}
