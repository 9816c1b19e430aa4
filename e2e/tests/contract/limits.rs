//! Rate limits. Each node counts for itself, so these tests use a single node.

use std::time::Duration;

use e2e::{AuthMethod, Client, FormData, PASSWORD, Response, Service, concurrently, eventually};

const OTHER_ADDRESS: &str = "127.0.0.2";

#[test]
fn failed_logins_are_limited_per_username_and_address() {
    let service =
        Service::single_node(&["--rate-limits", "on", "--login-failures", "3", "--login-window", "5m"]);
    let anonymous = service.anonymous();
    let (ada, bob) = (anonymous.join("Ada"), anonymous.join("bob"));

    // Successful logins do not count.
    for _ in 0..6 {
        login(&anonymous, ada.username(), PASSWORD).expect(200);
    }
    for _ in 0..3 {
        login(&anonymous, ada.username(), "guess!").expect_error(400);
    }
    let limited = login(&anonymous, ada.username(), "guess!");
    assert_rate_limited(&limited, 3, 300);
    for name in ["Ada", "ada", "ADA"] {
        // The right password gets the same response as a wrong one.
        login(&anonymous, name, PASSWORD).expect_error_for(429, None);
    }
    login(&anonymous, bob.username(), PASSWORD).expect(200);
    login(&anonymous.with_source_ip(OTHER_ADDRESS), ada.username(), PASSWORD).expect(200);
    // An existing session is not affected.
    ada.get("/me").expect(200);
}

#[test]
fn guesses_at_one_name_are_limited_over_all_addresses_but_not_where_its_owner_logs_in() {
    let service = behind_proxy(&["--name-failures", "3"]);
    let owner = join_from(&service, "203.0.113.1", "Ada");
    for address in ["198.51.100.1", "198.51.100.2", "198.51.100.3"] {
        login_from(&service, address, "ada", "guess!").expect_error(400);
    }
    assert_rate_limited(&login_from(&service, "198.51.100.4", "ADA", "guess!"), 3, 300);
    login_from(&service, "203.0.113.2", "ada", PASSWORD).expect_error_for(429, None);
    // The network of the owner's join has an allowance of its own, and sessions are not affected.
    login_from(&service, "203.0.113.1", "ada", "typo..").expect_error(400);
    login_from(&service, "203.0.113.1", "ada", PASSWORD).expect(200);
    owner.get("/me").expect(200);
    login_from(&service, "198.51.100.1", "bob", "guess!").expect_error(400);
}

#[test]
fn guesses_from_one_address_are_limited_over_all_names() {
    let service = behind_proxy(&["--address-failures", "3"]);
    join_from(&service, "198.51.100.1", "neighbour");
    join_from(&service, "203.0.113.1", "ada");
    // Successful logins do not count.
    for _ in 0..4 {
        login_from(&service, "198.51.100.1", "ada", PASSWORD).expect(200);
    }
    for name in ["bob", "carol", "dave"] {
        login_from(&service, "198.51.100.1", name, "guess!").expect_error(400);
    }
    assert_rate_limited(&login_from(&service, "198.51.100.1", "erin", "guess!"), 3, 300);
    login_from(&service, "198.51.100.2", "erin", "guess!").expect_error(400);
    login_from(&service, "198.51.100.1", "neighbour", PASSWORD).expect(200);
}

#[test]
fn a_login_that_the_service_was_too_busy_for_does_not_count() {
    let flags = ["--rate-limits", "on", "--login-failures", "12", "--login-window", "1d"];
    let service = Service::single_node(&[&flags[..], &["--hash-threads", "1", "--hash-queue", "1"]].concat());
    let anonymous = service.anonymous();
    let guess = || login(&anonymous, "ada", "guess!").status;
    let mut statuses = concurrently(12, |_| guess());
    assert!(statuses.iter().all(|status| [400, 503].contains(status)), "{statuses:?}");
    statuses.extend(std::iter::repeat_with(guess).take_while(|status| *status != 429));
    assert_eq!(statuses.iter().filter(|status| **status == 400).count(), 12, "{statuses:?}");
}

#[test]
fn logins_succeed_again_after_the_window() {
    let service =
        Service::single_node(&["--rate-limits", "on", "--login-failures", "2", "--login-window", "2s"]);
    let anonymous = service.anonymous();
    anonymous.join("ada");
    eventually("logins are rate limited", Duration::from_secs(30), || {
        (login(&anonymous, "ada", "guess!").status == 429).then_some(())
    });
    eventually("the window passes", Duration::from_secs(30), || {
        (login(&anonymous, "ada", PASSWORD).status == 200).then_some(())
    });
}

#[test]
fn joins_are_limited_to_a_burst_and_an_interval() {
    let service =
        Service::single_node(&["--rate-limits", "on", "--join-burst", "3", "--join-interval", "1h"]);
    let join = |client: &Client, name: &str| client.post("/join/username", FormData::account(name, PASSWORD));
    let anonymous = service.anonymous();
    for name in ["ada", "bob", "carol"] {
        join(&anonymous, name).expect(201);
    }
    assert_rate_limited(&join(&anonymous, "dave"), 3, 3600);
    join(&anonymous.with_source_ip(OTHER_ADDRESS), "dave").expect(201);
    login(&anonymous, "ada", PASSWORD).expect(200);

    let slow = Service::single_node(&["--rate-limits", "on", "--join-burst", "1", "--join-interval", "1s"]);
    join(&slow.anonymous(), "ada").expect(201);
    eventually("a further join succeeds", Duration::from_secs(30), || {
        (join(&slow.anonymous(), "bob").status == 201).then_some(())
    });
}

#[test]
fn requests_are_limited_per_address() {
    let flags = ["--rate-limits", "on", "--request-burst", "20", "--request-rate", "1"];
    let service = Service::single_node(&flags);
    let anonymous = service.anonymous();
    let responses: Vec<Response> = (0..60).map(|_| anonymous.get("/feed")).collect();
    let served = responses.iter().filter(|response| response.status == 200).count();
    assert!((20..60).contains(&served), "{served} of 60 served");
    let limited = responses.iter().find(|response| response.status != 200).unwrap();
    assert_rate_limited(limited, 20, 60);
    anonymous.with_source_ip(OTHER_ADDRESS).get("/feed").expect(200);
    // Health checks are exempt, so overload does not look like an outage.
    for path in ["/livez", "/readyz"] {
        anonymous.get(path).expect(200);
    }
    eventually("the address is served again", Duration::from_secs(30), || {
        (anonymous.get("/feed").status == 200).then_some(())
    });
}

#[test]
fn the_default_limits_are_100_joins_and_30_failed_logins() {
    let service = Service::single_node(&["--rate-limits", "on"]);
    let anonymous = service.anonymous();
    for _ in 0..300 {
        anonymous.get("/feed").expect(200);
    }
    for number in 0..100 {
        anonymous.join(&format!("user-{number}"));
    }
    // The burst is refilled by one join every ten seconds.
    let further = (100..130).map(|number| FormData::account(&format!("user-{number}"), PASSWORD));
    assert!(
        further.map(|form| anonymous.post("/join/username", form)).any(|response| response.status == 429)
    );
    for _ in 0..30 {
        login(&anonymous, "user-0", "guess!").expect_error(400);
    }
    login(&anonymous, "user-0", "guess!").expect_error(429);
}

#[test]
fn rate_limits_off_disables_all_limits() {
    let tight = ["--login-failures", "1", "--join-burst", "1", "--request-burst", "1", "--request-rate", "1"];
    let service = Service::single_node(&[&["--rate-limits", "off"][..], &tight].concat());
    let anonymous = service.anonymous();
    for name in ["ada", "bob", "carol"] {
        anonymous.join(name);
        login(&anonymous, "ada", "guess!").expect_error(400);
    }
    login(&anonymous, "ada", PASSWORD).expect(200);
}

#[test]
fn behind_trusted_proxies_the_rightmost_untrusted_address_is_the_client() {
    let flags = ["--rate-limits", "on", "--login-failures", "2", "--trusted-proxies", "127.0.0.1,10.0.0.0/8"];
    let service = Service::single_node(&flags);
    service.anonymous().join("ada");
    let guess = |chain: &str| {
        let request = service.anonymous().request("POST", "/login/username");
        let request = request.body(FormData::account("ada", "guess!"));
        request.header("X-Forwarded-For", chain).send().status
    };
    assert_eq!([guess("198.51.100.1"), guess("198.51.100.1")], [400, 400]);
    for (chain, status) in [
        ("198.51.100.1", 429),
        // Addresses that the client has put before it are ignored, and so are trusted proxies after it.
        ("203.0.113.9, 198.51.100.1", 429),
        ("198.51.100.1, 10.1.2.3", 429),
        ("203.0.113.9, 198.51.100.1, 10.1.2.3, 127.0.0.1", 429),
        ("198.51.100.2", 400),
        ("198.51.100.1, 198.51.100.3", 400),
    ] {
        assert_eq!(guess(chain), status, "{chain}");
    }
}

/// A service with rate limits that believes the addresses of `X-Forwarded-For`.
fn behind_proxy(limits: &[&str]) -> Service {
    Service::single_node(&[&["--rate-limits", "on", "--trusted-proxies", "127.0.0.1"], limits].concat())
}

fn join_from(service: &Service, address: &str, name: &str) -> Client {
    let request = service.anonymous().request("POST", "/join/username").header("X-Forwarded-For", address);
    let token = request.body(FormData::account(name, PASSWORD)).send().expect(201).token();
    service.anonymous().with_session(name, AuthMethod::Bearer, &token)
}

fn login_from(service: &Service, address: &str, name: &str, password: &str) -> Response {
    let request = service.anonymous().request("POST", "/login/username").header("X-Forwarded-For", address);
    request.body(FormData::account(name, password)).send()
}

fn login(client: &Client, name: &str, password: &str) -> Response {
    client.post("/login/username", FormData::account(name, password))
}

/// Asserts a 429 with `Retry-After`, `RateLimit` and `RateLimit-Policy`.
#[track_caller]
fn assert_rate_limited(response: &Response, quota: u64, longest: u64) {
    let response = response.clone().expect_error_for(429, None);
    let wait: u64 = response.header("retry-after").expect("Retry-After").parse().expect("whole seconds");
    assert!((1..=longest).contains(&wait), "Retry-After is {wait}: {response}");
    let message = format!("rate limit exceeded; retry after {wait} s");
    assert_eq!(response.json()["error"]["message"], message.as_str(), "{response}");
    let (name, left) = structured(response.header("ratelimit").expect("RateLimit"), "r");
    assert_eq!(left, 0, "{response}");
    assert_eq!(
        structured(response.header("ratelimit-policy").expect("RateLimit-Policy"), "q"),
        (name, quota)
    );
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
