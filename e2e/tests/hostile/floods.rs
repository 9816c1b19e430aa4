//! Floods of one client network: another network is served meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use e2e::{Body, FormData, PASSWORD, RawConnection, Service, picture};
use rusqlite::Connection;

/// Generous, for a machine that runs other tests at the same time; the benchmark measures the delay.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// Runs `attack` again and again on `attackers` threads, until `serve` ends. An attack gets the number of its
/// thread and of its round.
fn during<T: Send>(attackers: usize, attack: impl Fn(usize, usize) + Sync, serve: impl FnOnce() -> T) -> T {
    let (done, rounds) = (&AtomicBool::new(false), &AtomicUsize::new(0));
    let attack = &attack;
    std::thread::scope(|scope| {
        let _done_on_unwind = SetOnDrop(done);
        for attacker in 0..attackers {
            scope.spawn(move || {
                for round in (0..100_000).take_while(|_| !done.load(Ordering::Relaxed)) {
                    attack(attacker, round);
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        e2e::eventually("the flood has begun", SERVED_WITHIN, || {
            (rounds.load(Ordering::Relaxed) > attackers / 2).then_some(())
        });
        serve()
    })
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn renders_of_one_network_do_not_block_those_of_another() {
    let service = Service::start(&["--pixel-queue", "16"]);
    let eve = service.new_user("eve");
    let photo = |client: &e2e::Client| {
        client.share(&picture::photograph(2048, 2048), "")["photo"]["id"].as_str().unwrap().to_owned()
    };
    let (flooded, wanted) = (photo(&eve), photo(&eve));
    let rejected = AtomicUsize::new(0);
    let attacker = service.anonymous().with_source_ip("127.0.1.1");
    let flood = |thread: usize, round: usize| {
        let side = 2048 - (round * 40 + thread) % 1000;
        let response = attacker.request("GET", &format!("/photos/{flooded}/{side}x{side}")).try_send();
        let is_rejected = response.is_ok_and(|response| response.status == 503);
        rejected.fetch_add(usize::from(is_rejected), Ordering::Relaxed);
    };
    let reader = service.anonymous().with_source_ip("127.0.2.1");
    during(40, flood, || {
        for side in 300..310 {
            let began = Instant::now();
            reader.get(&format!("/photos/{wanted}/{side}x{side}")).expect(200);
            assert!(began.elapsed() < SERVED_WITHIN, "{side}: after {:?}", began.elapsed());
        }
    });
    assert!(rejected.load(Ordering::Relaxed) > 0, "the queue was never full");
}

/// Posts of the first two users, one of ten by the second, written into the database of a stopped service.
fn fill_with_posts(folder: &Path, count: u32) {
    let posts = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO photos (id, width, height, placeholder, bytes, created_at)
             SELECT randomblob(16), 1, 1, x'01', 1, i FROM n;
         INSERT INTO posts (user_id, photo_id, width, height, placeholder, like_count, created_at)
             SELECT 1 + (created_at % 10 = 0), id, 1, 1, x'01', 0, created_at FROM photos ORDER BY created_at"
    );
    let mut database = Connection::open(folder.join("pinhole.db")).unwrap();
    let transaction = database.transaction().unwrap();
    transaction.execute_batch(&posts).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn deep_offsets_of_one_network_do_not_block_the_pages_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    let (_ada, spammer) = (service.new_user("ada"), service.new_user("spammer"));
    service.terminate();
    service.assert_clean_exit();
    fill_with_posts(folder.path(), 200_000);
    let service = Service::start_in(folder.path(), &[]);
    // Lists leave out the posts of a suspended user, so an offset is counted row by row.
    service.operator(&["user", "suspend", spammer.username(), "--reason", "spam"]);

    let rejected = AtomicUsize::new(0);
    let attacker = service.anonymous().with_source_ip("127.0.1.1");
    let flood = |_, _| {
        let response = attacker.request("GET", "/feed?offset=179000").try_send();
        rejected
            .fetch_add(usize::from(response.is_ok_and(|response| response.status == 503)), Ordering::Relaxed);
    };
    let reader = service.anonymous().with_source_ip("127.0.2.1");
    during(60, flood, || {
        // The last one is a long read itself.
        for offset in std::iter::repeat_n(20, 50).chain([2_000]) {
            let began = Instant::now();
            let page = reader.get(&format!("/feed?offset={offset}")).expect(200).json();
            assert_eq!(page["data"].as_array().unwrap().len(), 20, "{page}");
            assert!(began.elapsed() < SERVED_WITHIN, "{offset}: after {:?}", began.elapsed());
        }
    });
    assert!(rejected.load(Ordering::Relaxed) > 0, "the queue was never full");
}

#[test]
fn long_decodes_of_one_user_do_not_block_the_small_photo_of_another() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let large = picture::png(&picture::plain(7_000, 7_000, picture::BLUE));
    let uploaded = &AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            let (ada, large) = (&ada, &large);
            scope.spawn(move || {
                ada.share(large, "large");
                uploaded.fetch_add(1, Ordering::Relaxed);
            });
        }
        e2e::eventually("the first decode is done", Duration::from_secs(60), || {
            (uploaded.load(Ordering::Relaxed) > 0).then_some(())
        });
        // Both have the same address, so only the user tells them apart.
        for _ in 0..3 {
            bob.share_tiny("small");
        }
        let waiting = 12 - uploaded.load(Ordering::Relaxed);
        assert!(waiting >= 4, "only {waiting} uploads were still waiting");
    });
}

#[test]
fn trickled_uploads_of_one_network_leave_permits_to_others() {
    let service = Service::start(&["--join-burst", "200"]);
    let body = Body::new("multipart/form-data; boundary=b", "");
    let ada = service.new_user("ada").with_source_ip("127.0.2.1");
    let held: Vec<RawConnection> = (0..8)
        .flat_map(|_| {
            let user = service.new_user("eve");
            let head = RawConnection::request_head("POST", "/posts", user.token(), &body, 1_000_000);
            (0..16)
                .map(|_| {
                    let mut connection = RawConnection::connect_from(&service, "127.0.1.1").unwrap();
                    connection.send(format!("{head}Expect: 100-continue\r\n\r\n")).unwrap();
                    assert_eq!(connection.receive(false).expect("100 Continue").status, 100);
                    connection
                })
                .collect::<Vec<_>>()
        })
        .collect();
    // All 128 permits are taken.
    for _ in 0..15 {
        ada.share_tiny("from another network");
    }
    drop(held);
}

#[test]
fn an_upload_below_the_minimum_throughput_is_ended() {
    let service = Service::start(&["--body-timeout", "2s"]);
    let eve = service.new_user("eve");
    let body = Body::new("multipart/form-data; boundary=b", "");
    let head = RawConnection::request_head("POST", "/posts", eve.token(), &body, 1_000_000);
    let mut connection = RawConnection::connect(&service);
    connection.send(format!("{head}\r\n--b\r\n")).unwrap();
    // A byte arrives well before every timeout between reads.
    let (took, response) = connection.drip_until_closed(b"x");
    assert!(took < SERVED_WITHIN, "ended only after {took:?}");
    assert!(response.is_none_or(|response| response.status == 408));
}

#[test]
fn logins_are_served_while_other_networks_guess() {
    let proxied = ["--trusted-proxies", "127.0.0.1/32"];
    for (flags, attackers, owner) in [
        (&[][..], ["127.0.1.1", "127.0.1.2"], "127.0.2.1"),
        // Addresses of one IPv6 /64 are one network.
        (&proxied[..], ["2001:db8:0:1::", "2001:db8:0:2::"], "2001:db8:0:3::1"),
    ] {
        let flags = [&["--hash-threads", "1", "--hash-queue", "16"], flags].concat();
        let service = Service::start(&flags);
        let ada = service.new_user("ada");
        // A client per IPv4 address; an IPv6 address is that of the proxy's header.
        let client = |source: &str| match source.contains(':') {
            true => service.anonymous(),
            false => service.anonymous().with_source_ip(source),
        };
        let log_in = |client: &e2e::Client, source: &str, username: &str| {
            let request = client.request("POST", "/login/username");
            request.header("x-forwarded-for", source).body(FormData::account(username, PASSWORD))
        };
        let clients = attackers.map(client);
        let guess = |thread: usize, round: usize| {
            let network = attackers[thread % 2];
            let source = if network.contains(':') { format!("{network}{round:x}") } else { network.into() };
            // The flood goes on after a connection that failed.
            drop(log_in(&clients[thread % 2], &source, &format!("guess-{thread}-{round}")).try_send());
        };
        let owner_client = client(owner);
        during(40, guess, || {
            for _ in 0..8 {
                let began = Instant::now();
                log_in(&owner_client, owner, ada.username()).send().expect(200);
                assert!(began.elapsed() < SERVED_WITHIN, "{owner}: after {:?}", began.elapsed());
            }
        });
    }
}

const FEW_CONNECTIONS: [&str; 4] = ["--max-connections", "32", "--max-connections-per-address", "8"];
const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: e2e\r\n\r\n";

/// Opens all connections that the limits allow, from four addresses.
fn open_connections(service: &Service, request: &str) -> Vec<RawConnection> {
    let sources = (0..32).map(|n| format!("127.0.1.{}", 1 + n % 4));
    let open = |source: String| {
        let mut connection = RawConnection::connect_from(service, &source).unwrap();
        connection.send(request).unwrap();
        connection
    };
    sources.map(open).collect()
}

#[test]
fn idle_connections_are_closed_in_favour_of_new_ones() {
    let service = Service::start(&FEW_CONNECTIONS);
    let mut held = open_connections(&service, LIVEZ);
    for connection in &mut held {
        assert_eq!(connection.receive(false).expect("a response on each").status, 200);
    }
    let mut new = Vec::new();
    for _ in 0..4 {
        let mut connection = RawConnection::connect_from(&service, "127.0.2.1").unwrap();
        connection.send("GET /feed HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
        assert_eq!(connection.receive(false).expect("a response").status, 200);
        new.push(connection);
    }
    let still_open = held.into_iter().filter_map(|mut connection| {
        connection.send(LIVEZ).ok()?;
        connection.receive(false)
    });
    assert_eq!(still_open.count(), 28, "one idle connection is closed for each new one");
}

/// Connections whose clients do not send the rest of a form.
fn open_slow_connections(service: &Service) -> Vec<RawConnection> {
    let form = "POST /login/username HTTP/1.1\r\nHost: e2e\r\nContent-Length: 9\r\n\
        Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n\r\n";
    let mut held = open_connections(service, form);
    for connection in &mut held {
        assert_eq!(connection.receive(false).expect("100 Continue").status, 100);
    }
    held
}

#[test]
fn a_network_that_holds_most_connections_loses_one_to_another() {
    let service = Service::start(&FEW_CONNECTIONS);
    let held = open_slow_connections(&service);
    for host in 1..=4 {
        let mut connection = RawConnection::connect_from(&service, &format!("127.0.2.{host}")).unwrap();
        connection.send("GET /feed HTTP/1.1\r\nHost: e2e\r\n\r\n").unwrap();
        assert_eq!(connection.receive(false).expect("a response").status, 200);
    }
    drop(held);
}

#[test]
fn health_probes_are_served_beyond_the_connection_limit() {
    let service = Service::start(&FEW_CONNECTIONS);
    let held = open_slow_connections(&service);
    // An address that has all connections which it may have.
    let request_once = |path: &str| {
        let mut connection = RawConnection::connect_from(&service, "127.0.1.1").unwrap();
        connection.send(format!("GET {path} HTTP/1.1\r\nHost: e2e\r\n\r\n")).unwrap();
        let response = connection.receive(false).unwrap_or_else(|| panic!("{path}: no response"));
        assert_eq!(response.header("connection"), Some("close"), "{path}");
        response
    };
    for _ in 0..20 {
        assert_eq!(request_once("/livez").status, 200);
        assert_eq!(request_once("/readyz").status, 200);
    }
    let refused = request_once("/feed");
    assert_eq!((refused.status, refused.header("x-error-code")), (503, Some("busy")));
    e2e::shape::assert_error_object(&refused.json());
    drop(held);
}
