//! Rate limits: generous, only on what hurts, and off with one setting. Each node counts for itself.

use std::time::Duration;

use e2e::{Answer, Client, Form, PASSWORD, Service, eventually};

const ELSEWHERE: &str = "127.0.0.2";

#[test]
fn failed_logins_are_counted_per_name_and_address() {
    let service = Service::alone(&["--rate-limits", "on", "--login-failures", "3", "--login-window", "5m"]);
    let anyone = service.anyone();
    let (ada, bob) = (anyone.join("Ada"), anyone.join("bob"));

    // Who knows the password may come as often as they like.
    for _ in 0..6 {
        login(&anyone, ada.username(), PASSWORD).expect(200);
    }
    for _ in 0..3 {
        login(&anyone, ada.username(), "guess!").refused(400);
    }
    let refused = login(&anyone, ada.username(), "guess!");
    assert_told(&refused, 3, 300);
    for name in ["Ada", "ada", "ADA"] {
        // Not even the right guess is told from a wrong one now.
        login(&anyone, name, PASSWORD).refused_for(429, None);
    }
    login(&anyone, bob.username(), PASSWORD).expect(200);
    login(&anyone.at(ELSEWHERE), ada.username(), PASSWORD).expect(200);
    // The session she has goes on.
    ada.get("/me").expect(200);
}

#[test]
fn after_the_window_the_right_password_is_welcome_again() {
    let service = Service::alone(&["--rate-limits", "on", "--login-failures", "2", "--login-window", "2s"]);
    let anyone = service.anyone();
    anyone.join("ada");
    eventually("guessing is stopped", Duration::from_secs(30), || {
        (login(&anyone, "ada", "guess!").status == 429).then_some(())
    });
    eventually("the window passes", Duration::from_secs(30), || {
        (login(&anyone, "ada", PASSWORD).status == 200).then_some(())
    });
}

#[test]
fn joins_come_in_a_burst_and_then_slowly() {
    let service = Service::alone(&["--rate-limits", "on", "--join-burst", "3", "--join-interval", "1h"]);
    let join = |who: &Client, name: &str| who.post("/join/username", Form::account(name, PASSWORD));
    let anyone = service.anyone();
    for name in ["ada", "bob", "carol"] {
        join(&anyone, name).expect(201);
    }
    assert_told(&join(&anyone, "dave"), 3, 3600);
    join(&anyone.at(ELSEWHERE), "dave").expect(201);
    login(&anyone, "ada", PASSWORD).expect(200);

    let patient = Service::alone(&["--rate-limits", "on", "--join-burst", "1", "--join-interval", "1s"]);
    join(&patient.anyone(), "ada").expect(201);
    eventually("the next join", Duration::from_secs(30), || {
        (join(&patient.anyone(), "bob").status == 201).then_some(())
    });
}

#[test]
fn one_address_cannot_take_everything() {
    let flags = ["--rate-limits", "on", "--request-burst", "20", "--request-rate", "1"];
    let service = Service::alone(&flags);
    let anyone = service.anyone();
    let answers: Vec<Answer> = (0..60).map(|_| anyone.get("/feed")).collect();
    let served = answers.iter().filter(|answer| answer.status == 200).count();
    assert!((20..60).contains(&served), "{served} of 60 served");
    let refused = answers.iter().find(|answer| answer.status != 200).unwrap();
    assert_told(refused, 20, 60);
    anyone.at(ELSEWHERE).get("/feed").expect(200);
    // Whoever watches over the service does not take a crowd for an outage.
    for path in ["/livez", "/readyz"] {
        anyone.get(path).expect(200);
    }
    eventually("the address is served again", Duration::from_secs(30), || {
        (anyone.get("/feed").status == 200).then_some(())
    });
}

#[test]
fn by_default_a_hundred_join_at_once_and_thirty_guesses_are_forgiven() {
    let service = Service::alone(&["--rate-limits", "on"]);
    let anyone = service.anyone();
    for _ in 0..300 {
        anyone.get("/feed").expect(200);
    }
    for number in 0..100 {
        anyone.join(&format!("visitor-{number}"));
    }
    // One more comes with every ten seconds that went by meanwhile.
    let further = (100..130).map(|number| Form::account(&format!("visitor-{number}"), PASSWORD));
    assert!(further.map(|form| anyone.post("/join/username", form)).any(|answer| answer.status == 429));
    for _ in 0..30 {
        login(&anyone, "visitor-0", "guess!").refused(400);
    }
    login(&anyone, "visitor-0", "guess!").refused(429);
}

#[test]
fn one_setting_turns_them_all_off() {
    let tight = ["--login-failures", "1", "--join-burst", "1", "--request-burst", "1", "--request-rate", "1"];
    let service = Service::alone(&[&["--rate-limits", "off"][..], &tight].concat());
    let anyone = service.anyone();
    for name in ["ada", "bob", "carol"] {
        anyone.join(name);
        login(&anyone, "ada", "guess!").refused(400);
    }
    login(&anyone, "ada", PASSWORD).expect(200);
}

#[test]
fn behind_a_trusted_proxy_the_right_most_stranger_is_the_client() {
    let limited =
        ["--rate-limits", "on", "--login-failures", "2", "--trusted-proxies", "127.0.0.1,10.0.0.0/8"];
    let service = Service::alone(&limited);
    service.anyone().join("ada");
    let guess = |chain: &str| {
        let request = service.anyone().request("POST", "/login/username");
        let request = request.body(Form::account("ada", "guess!"));
        request.header("X-Forwarded-For", chain).send().status
    };
    assert_eq!([guess("198.51.100.1"), guess("198.51.100.1")], [400, 400]);
    for (chain, status) in [
        ("198.51.100.1", 429),
        // What the client itself put in front changes nothing, nor do our own proxies behind it.
        ("203.0.113.9, 198.51.100.1", 429),
        ("198.51.100.1, 10.1.2.3", 429),
        ("203.0.113.9, 198.51.100.1, 10.1.2.3, 127.0.0.1", 429),
        ("198.51.100.2", 400),
        ("198.51.100.1, 198.51.100.3", 400),
    ] {
        assert_eq!(guess(chain), status, "{chain}");
    }
}

fn login(person: &Client, name: &str, password: &str) -> Answer {
    person.post("/login/username", Form::account(name, password))
}

/// 429, when to come back, and the limit in the words of the `RateLimit` fields.
#[track_caller]
fn assert_told(answer: &Answer, quota: u64, longest: u64) {
    let answer = answer.clone().refused_for(429, None);
    let wait: u64 = answer.header("retry-after").expect("Retry-After").parse().expect("whole seconds");
    assert!((1..=longest).contains(&wait), "come back in {wait} s: {answer}");
    let (name, left) = structured(answer.header("ratelimit").expect("RateLimit"), "r");
    assert_eq!(left, 0, "{answer}");
    assert_eq!(structured(answer.header("ratelimit-policy").expect("RateLimit-Policy"), "q"), (name, quota));
}

/// The name and one parameter of an item such as `"login";q=30;w=300`.
#[track_caller]
fn structured(header: &str, parameter: &str) -> (String, u64) {
    let mut parts = header.split(';').map(str::trim);
    let name = parts.next().and_then(|name| name.strip_prefix('"')?.strip_suffix('"'));
    let value = parts.find_map(|part| part.strip_prefix(parameter)?.strip_prefix('=')?.parse().ok());
    match (name, value) {
        (Some(name), Some(value)) => (name.to_owned(), value),
        _ => panic!("not a structured field with {parameter}: {header}"),
    }
}
