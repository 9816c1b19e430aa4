//! Many at once: whatever the order, the books balance.

use e2e::{Answer, Body, Client, Form, PASSWORD, Service, at_once, picture, unique};

#[test]
fn of_16_equal_likes_one_counts_and_of_16_unlikes_one_takes_it_back() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("liked in a hurry"));
    let likes = format!("{path}/likes");
    for _ in 0..5 {
        let liked = statuses(at_once(16, |_| ada.post(&likes, Body::none())));
        assert_eq!(liked, [&[201][..], &[409; 15]].concat());
        assert_eq!(ada.get(&path).expect(200).json()["like_count"], 1);
        let unliked = statuses(at_once(16, |_| ada.delete(&likes)));
        assert_eq!(unliked, [&[200][..], &[409; 15]].concat());
        assert_eq!(ada.get(&path).expect(200).json()["like_count"], 0);
    }
}

#[test]
fn thirty_two_people_like_one_post() {
    let service = Service::shared();
    let people: Vec<Client> = (0..32).map(|_| service.newcomer("fan")).collect();
    let path = format!("/posts/{}", people[0].share_tiny("popular"));
    let likes = format!("{path}/likes");
    assert_eq!(statuses(at_once(32, |n| people[n].post(&likes, Body::none()))), [201; 32]);
    assert_balanced(&people, &path, 32);

    // Half of them change their minds while the other half insists.
    let changed =
        at_once(
            32,
            |n| if n % 2 == 0 { people[n].delete(&likes) } else { people[n].post(&likes, Body::none()) },
        );
    assert_eq!(statuses(changed), [[200; 16], [409; 16]].concat());
    assert_balanced(&people, &path, 16);
}

#[test]
fn one_name_goes_to_one_of_eight() {
    let service = Service::shared();
    for _ in 0..3 {
        let name = unique("Contested");
        let spellings = [name.clone(), name.to_lowercase(), name.to_uppercase(), name.clone()];
        let answers = at_once(8, |n| {
            service.anyone().post("/join/username", Form::account(&spellings[n % 4], PASSWORD))
        });
        let winner =
            answers.iter().find(|answer| answer.status == 201).expect("somebody gets the name").json();
        assert_eq!(statuses(answers), [&[201][..], &[409; 7]].concat());
        let user = service.anyone().login(&name).get("/me").expect(200).json();
        assert_eq!(user, winner, "the name belongs to who was told so");
    }
}

#[test]
fn a_like_that_races_a_delete_finds_the_post_or_does_not() {
    let service = Service::shared();
    let (ada, bob) = (service.newcomer("ada"), service.newcomer("bob"));
    for _ in 0..30 {
        let path = format!("/posts/{}", ada.share_tiny("contested"));
        let likes = format!("{path}/likes");
        let answers = at_once(2, |n| if n == 0 { bob.post(&likes, Body::none()) } else { ada.delete(&path) });
        assert!([201, 404].contains(&answers[0].status), "{}", answers[0]);
        assert_eq!(answers[1].status, 200, "{}", answers[1]);
        service.anyone().get(&path).refused(404);
        bob.post(&likes, Body::none()).refused(404);
        bob.delete(&likes).refused(404);
    }
}

#[test]
fn an_upload_sent_twice_at_once_is_one_post() {
    let service = Service::shared();
    let ada = service.newcomer("ada");
    let picture = picture::jpeg(&picture::stripes(600, 600));
    for _ in 0..5 {
        let key = unique("key");
        let message = unique("message");
        let answers = at_once(4, |_| {
            let form = Form::photo(&picture).text("message", &message);
            ada.request("POST", "/posts").header("Idempotency-Key", &key).body(form).send().expect(201)
        });
        let ids: Vec<_> = answers.iter().map(|answer| answer.json()["id"].clone()).collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
        let feed = ada.get("/feed?limit=100").expect(200).json();
        let twins = feed["data"].as_array().unwrap().iter().filter(|post| post["message"] == *message);
        assert_eq!(twins.count(), 1);
    }
}

#[test]
fn of_eight_deletes_one_deletes() {
    let ada = Service::shared().newcomer("ada");
    for _ in 0..5 {
        let path = format!("/posts/{}", ada.share_tiny("deleted in a hurry"));
        assert_eq!(statuses(at_once(8, |_| ada.delete(&path))), [&[200][..], &[404; 7]].concat());
    }
}

#[test]
fn edits_at_once_leave_one_of_them() {
    let ada = Service::shared().newcomer("ada");
    let path = format!("/posts/{}", ada.share_tiny("edited in a hurry"));
    let texts: Vec<String> = (0..8).map(|n| format!("edit {n} ").repeat(200)).collect();
    let answers = at_once(8, |n| ada.put(&path, Form::message(&texts[n])).expect(200));
    for (answer, text) in answers.iter().zip(&texts) {
        assert_eq!(answer.json()["message"], **text, "each is told their own words");
    }
    let message = ada.get(&path).expect(200).json()["message"].clone();
    assert!(texts.iter().any(|text| message == **text), "{message}");
}

fn statuses(answers: Vec<Answer>) -> Vec<u16> {
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}

/// What the count says is what the people say.
#[track_caller]
fn assert_balanced(people: &[Client], path: &str, expected: usize) {
    let seen: Vec<_> = people.iter().map(|person| person.get(path).expect(200).json()).collect();
    assert!(seen.iter().all(|post| post["like_count"] == expected), "{:?}", seen[0]);
    assert_eq!(seen.iter().filter(|post| post["is_liked"] == true).count(), expected);
}
