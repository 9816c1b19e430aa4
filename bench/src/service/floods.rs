//! The goodput of one client while others flood the service from other networks. Addresses 127.0.x.y stand
//! for these.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::fill::{Filled, LIKERS, READER};
use super::load::Requests;
use super::pinhole::{Pinhole, bearer};
use super::wire::{form, head, request};
use super::{Bench, SMALL};
use crate::error::{Error, read};
use crate::photos::NAMES;
use crate::report::{Cell, Section, Table, Target};

/// Requests of the good client, alone and during each flood.
const REQUESTS: u32 = 200;
const TIMEOUT: Duration = Duration::from_secs(20);
/// Between two looks at a connection that is held.
const PAUSE: Duration = Duration::from_millis(50);
const GOOD_CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 2, 1));

/// Users with large exports, one with a small export, and two who have each blocked an author.
const EXPORTERS: Range<u64> = LIKERS.start + 2_000..LIKERS.start + 2_008;
const GOOD_EXPORTER: u64 = EXPORTERS.end;
const BLOCKERS: [u64; 2] = [EXPORTERS.end + 1, EXPORTERS.end + 2];

struct Flood {
    name: &'static str,
    attack: Attack,
    /// The n-th request of the good client.
    good: Box<dyn Fn(u32) -> Vec<u8> + Sync>,
    limit: Limit,
}

#[derive(Clone, Copy)]
enum Limit {
    /// 95 of 100 may take so many times as long as alone.
    P95Ratio(f64),
    /// Half of them.
    MedianRatio(f64),
    /// 95 of 100 may take so long.
    P95(Duration),
}

struct Attack {
    networks: u8,
    connections: usize,
    requests: Arc<Requests>,
    /// Connections that read nothing and stay open until the service closes them, instead of sending the next
    /// request after each response.
    is_held: bool,
}

/// What the good client got.
struct Goodput {
    served: f64,
    p50: Duration,
    p95: Duration,
}

pub(super) fn section(bench: &Bench) -> Result<Section, Error> {
    let this = ("this build".to_owned(), bench.binary.clone());
    let (mut rows, mut targets) = (Vec::new(), Vec::new());
    for (name, binary) in std::iter::once(this).chain(bench.against.iter().cloned()) {
        let bench = Bench { binary, ..bench.clone() };
        let filled = Filled::with(&bench, SMALL)?.copy(&bench, "floods")?;
        let pinhole = Pinhole::start_as("floods", &bench, &filled.folder, None, &[])?;
        for flood in floods(&bench, &pinhole)? {
            let (alone, during) = flood.measure(pinhole.server.address)?;
            let ratio = during.p95.as_secs_f64() / alone.p95.as_secs_f64();
            let millis = |time: Duration| Cell::Text(format!("{:.1}", time.as_secs_f64() * 1e3));
            rows.push([
                Cell::Text(format!("{}, {name}", flood.name)),
                Cell::Text(format!("{:.0} %", during.served * 100.0)),
                millis(alone.p50),
                millis(during.p50),
                millis(alone.p95),
                millis(during.p95),
                Cell::Text(format!("{ratio:.2}×")),
            ]);
            if name == "this build" {
                let what = |figure: &str| format!("{}: {figure} of a good client", flood.name);
                targets.push(Target::at_least(&what("share served"), during.served, 0.95));
                targets.push(match flood.limit {
                    Limit::P95Ratio(limit) => Target::at_most(&what("p95 ÷ alone"), ratio, limit),
                    Limit::MedianRatio(limit) => {
                        let ratio = during.p50.as_secs_f64() / alone.p50.as_secs_f64();
                        Target::at_most(&what("p50 ÷ alone"), ratio, limit)
                    }
                    Limit::P95(limit) => {
                        Target::at_most(&what("p95 s"), during.p95.as_secs_f64(), limit.as_secs_f64())
                    }
                });
            }
        }
    }
    let head = ["flood", "served", "p50 ms alone", "during", "p95 ms alone", "during", "p95 ÷ alone"];
    let section = Section::new("Goodput of a good client during floods").note(format!(
        "{REQUESTS} requests of one address, one after another, while others flood the service; all on all cores, the \
         load as well, at the lowest priority. Rejected requests of the flood are sent again at once."
    ));
    Ok(Section { tables: vec![Table::new(head, rows)], targets, ..section })
}

fn floods(bench: &Bench, pinhole: &Pinhole) -> Result<Vec<Flood>, Error> {
    let address = pinhole.server.address;
    let send = move |method: &str, path: &str, user: Option<u64>, body: Option<(&str, &[u8])>| {
        let bearer = user.map(bearer);
        let authorization = bearer.as_deref().map(|bearer| ("authorization", bearer));
        let headers: Vec<_> = authorization.into_iter().chain([("connection", "close")]).collect();
        request(method, address, path, &headers, body)
    };
    let get = move |path: &str, user| send("GET", path, user, None);
    let image = move |photo: &str, side: u64| get(&format!("/photos/{photo}/{side}x{side}"), None);
    let fields = move |method: &str, path: &str, user, fields: &str| {
        send(method, path, user, Some(("application/x-www-form-urlencoded", fields.as_bytes())))
    };
    let login = move |username: &str| {
        fields(
            "POST",
            "/login/username",
            None,
            &format!("username={username}&password=correct+horse+battery"),
        )
    };
    let upload = move |user: u64, file: &[u8]| {
        let (kind, form) = form("photo", file);
        send("POST", "/posts", Some(user), Some((&kind, &form)))
    };
    // The path of a post, and its photo.
    let post = |user, file: &[u8]| {
        let post = pinhole.server.client()?.ask(&upload(user, file))?.success()?.json()?;
        let photo = post["photo"]["id"].as_str().ok_or_else(|| Error::measure("a post has no photo"))?;
        Ok::<_, Error>((format!("/posts/{}", post["id"]), photo.to_owned()))
    };
    let ask = |request: Vec<u8>| pinhole.server.client()?.ask(&request)?.success();

    let file = read(&bench.photo(NAMES[0]))?;
    let (flooded, good_photo) = (post(READER, &file)?.1, post(READER, &file)?.1);
    let (large_post, large_photo) = post(READER, &read(&bench.photo("64mp"))?)?;
    let original = move |photo: &str| get(&format!("/photos/{photo}/original"), Some(READER));
    let small = ask(image(&good_photo, 64))?.body;
    pinhole.login("flooded")?;
    post(GOOD_EXPORTER, &small)?;
    for user in EXPORTERS {
        // More than the buffers of a connection take.
        (0..4).try_for_each(|_| post(user, &file).map(drop))?;
    }
    for user in EXPORTERS.chain([GOOD_EXPORTER]) {
        ask(send("POST", "/me/export", Some(user), None))?;
    }
    for user in BLOCKERS {
        ask(send("PUT", "/me/blocks/user-000001", Some(user), None))?;
    }
    let page = move |offset: u64, user| get(&format!("/feed?offset={offset}"), Some(user));
    let feed = move |_| get("/feed", None);
    let small_upload = move |turn: u32| upload(LIKERS.start + 1_000 + u64::from(turn), &small);
    let good_image = good_photo.clone();
    Ok(vec![
        Flood {
            name: "80 connections for large images",
            attack: Attack::of(1, 80, move |turn| image(&flooded, 2048 - turn * 7 % 800)),
            // Each size once, in an order that makes the first and the second half alike.
            good: Box::new(move |turn| image(&good_image, 100 + u64::from(turn) * 197 % 410)),
            limit: Limit::P95Ratio(2.0),
        },
        Flood {
            name: "90 connections that guess passwords",
            attack: Attack::of(2, 90, move |turn| login(&format!("guess-{turn}"))),
            good: Box::new(move |_| login("flooded")),
            limit: Limit::P95(Duration::from_secs(3)),
        },
        Flood {
            name: "16 uploads of 12 MP",
            attack: Attack::of(1, 16, move |_| upload(LIKERS.start, &file)),
            good: Box::new(small_upload.clone()),
            limit: Limit::MedianRatio(3.0),
        },
        Flood {
            name: "128 trickled uploads",
            attack: Attack::of(1, 128, move |turn| {
                let form = [&b"--b\r\n"[..], &[0; 1_000_000]].concat();
                let form = Some(("multipart/form-data; boundary=b", &*form));
                without_end(send("POST", "/posts", Some(LIKERS.start + turn / 16 % 8), form), 1_000_000)
            })
            .held(),
            good: Box::new(small_upload.clone()),
            limit: Limit::MedianRatio(3.0),
        },
        Flood {
            name: "4,096 idle connections",
            attack: Attack::of(4, 4_096, move |_| request("GET", address, "/livez", &[], None)).held(),
            good: Box::new(feed),
            limit: Limit::P95(Duration::from_millis(100)),
        },
        Flood {
            name: "1,000 unfinished forms",
            attack: Attack::of(1, 1_000, move |_| {
                without_end(fields("POST", "/login/username", None, &"x".repeat(255 << 10)), 1_000)
            })
            .held(),
            // Larger than what is not counted.
            good: Box::new(move |_| login(&format!("flooded&unused={}", "x".repeat(60_000)))),
            limit: Limit::MedianRatio(3.0),
        },
        Flood {
            name: "60 connections that do not read originals of 64 MP",
            attack: Attack::of(1, 60, move |_| original(&large_photo)).held(),
            good: Box::new(move |_| original(&good_photo)),
            limit: Limit::MedianRatio(3.0),
        },
        Flood {
            name: "8 exports that are not read",
            attack: Attack::of(2, 8, move |turn| get("/me/export", Some(EXPORTERS.start + turn % 8))).held(),
            good: Box::new(move |_| get("/me/export", Some(GOOD_EXPORTER))),
            limit: Limit::MedianRatio(3.0),
        },
        Flood {
            name: "64 connections for /readyz",
            attack: Attack::of(1, 64, move |_| get("/readyz", None)),
            good: Box::new(feed),
            limit: Limit::P95(Duration::from_millis(100)),
        },
        Flood {
            name: "60 connections for large offsets",
            attack: Attack::of(1, 60, move |_| page(SMALL - 1_000, BLOCKERS[0])),
            good: Box::new(move |_| page(20, BLOCKERS[1])),
            limit: Limit::P95(Duration::from_millis(100)),
        },
        Flood {
            name: "40 connections that move the focus of 64 MP",
            attack: Attack::of(1, 40, move |turn| {
                fields("PUT", &large_post, Some(READER), &format!("focus=0.{:02},0.5", 10 + turn % 80))
            }),
            good: Box::new(small_upload),
            limit: Limit::MedianRatio(3.0),
        },
    ])
}

/// A request whose last bytes never arrive.
fn without_end(mut request: Vec<u8>, missing: usize) -> Vec<u8> {
    request.truncate(request.len() - missing);
    request
}

impl Flood {
    /// Alone, then during the flood.
    fn measure(&self, address: SocketAddr) -> Result<(Goodput, Goodput), Error> {
        let runtime = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(Error::system("the load"))
        };
        let (good, attack) = (runtime()?, runtime()?);
        // The first requests meet cold caches.
        self.serve(&good, address, 0..5);
        let alone = self.serve(&good, address, 5..5 + REQUESTS);
        let (is_over, sent) = (AtomicBool::new(false), AtomicUsize::new(0));
        let during = std::thread::scope(|scope| {
            scope.spawn(|| {
                // Attackers have machines of their own.
                rustix::process::setpriority_process(None, 19).map_err(Error::measure)?;
                attack.block_on(self.attack.run(address, &is_over, &sent));
                Ok::<_, Error>(())
            });
            while sent.load(Ordering::Relaxed) < self.attack.connections {
                std::thread::sleep(Duration::from_millis(10));
            }
            let during = self.serve(&good, address, 5 + REQUESTS..5 + 2 * REQUESTS);
            is_over.store(true, Ordering::Relaxed);
            during
        });
        Ok((alone, during))
    }

    fn serve(&self, runtime: &Runtime, address: SocketAddr, turns: Range<u32>) -> Goodput {
        let asked = turns.len() as f64;
        let mut times: Vec<Duration> = turns
            .filter_map(|turn| {
                let began = Instant::now();
                let status = runtime.block_on(exchange(GOOD_CLIENT, address, &(self.good)(turn)));
                status.filter(|status| (200..300).contains(status)).map(|_| began.elapsed())
            })
            .collect();
        times.sort();
        let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(TIMEOUT);
        Goodput { served: times.len() as f64 / asked, p50: at(0.5), p95: at(0.95) }
    }
}

impl Attack {
    fn of(
        networks: u8,
        connections: usize,
        request: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let requests = Requests::new(move |turn, out| out.extend(request(turn)));
        Self { networks, connections, requests, is_held: false }
    }

    fn held(self) -> Self {
        Self { is_held: true, ..self }
    }

    /// Ends soon after `is_over`; `sent` counts requests.
    async fn run(&self, address: SocketAddr, is_over: &AtomicBool, sent: &AtomicUsize) {
        let mut connections = JoinSet::new();
        let over = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        for number in 0..self.connections {
            let source =
                IpAddr::V4(Ipv4Addr::new(127, 0, 1, 1 + (number % usize::from(self.networks)) as u8));
            let (requests, is_held) = (self.requests.clone(), self.is_held);
            let (over, count) = (over.clone(), count.clone());
            connections.spawn(async move {
                let mut request = Vec::new();
                while !over.load(Ordering::Relaxed) {
                    requests.next(&mut request);
                    count.fetch_add(1, Ordering::Relaxed);
                    if is_held {
                        let connection = open(source, address, &request).await;
                        while let Some(connection) = &connection
                            && !over.load(Ordering::Relaxed)
                            && is_open(connection).await
                        {
                            tokio::time::sleep(PAUSE).await;
                        }
                    } else {
                        exchange(source, address, &request).await;
                    }
                }
            });
        }
        while !is_over.load(Ordering::Relaxed) {
            sent.store(count.load(Ordering::Relaxed), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        over.store(true, Ordering::Relaxed);
        connections.join_all().await;
    }
}

/// The status of a request on a connection of its own, which the server closes; `None` if it failed.
async fn exchange(source: IpAddr, address: SocketAddr, request: &[u8]) -> Option<u16> {
    let exchange = async {
        let mut stream = open(source, address, request).await?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.ok()?;
        Some(head(&response).ok()??.status)
    };
    tokio::time::timeout(TIMEOUT, exchange).await.ok()?
}

async fn open(source: IpAddr, address: SocketAddr, request: &[u8]) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().ok()?;
    socket.bind((source, 0).into()).ok()?;
    let mut stream = socket.connect(address).await.ok()?;
    stream.write_all(request).await.ok()?;
    Some(stream)
}

/// Whether the server has not closed the connection, whose responses are not read.
async fn is_open(stream: &TcpStream) -> bool {
    match tokio::time::timeout(PAUSE, stream.ready(Interest::READABLE)).await {
        Ok(ready) => ready.is_ok_and(|ready| !ready.is_read_closed()),
        Err(_) => true,
    }
}
