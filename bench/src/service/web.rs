//! The pages of the web client, beside nginx with the same bytes as a file.

use super::compare::{Candidate, RATE, compare};
use super::fill::{Filled, READER};
use super::load::Requests;
use super::nginx::Nginx;
use super::pinhole::{Pinhole, bearer};
use super::wire::get;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::{Error, write};
use crate::pictures::PEERS_QUALITY;
use crate::report::{Section, Target};

/// A page, for whom, how it is compressed, and which share of nginx is wanted.
struct Case {
    name: &'static str,
    path: &'static str,
    user: Option<u64>,
    coding: &'static str,
    least: f64,
}

const fn guest(name: &'static str, path: &'static str, coding: &'static str) -> Case {
    Case { name, path, user: None, coding, least: 0.5 }
}

const fn member(name: &'static str, coding: &'static str, least: f64) -> Case {
    Case { name, path: "/", user: Some(READER), coding, least }
}

const CASES: [Case; 8] = [
    guest("home, guest", "/", "identity"),
    guest("home, guest, gzip", "/", "gzip"),
    guest("profile, guest", "/@user-000007", "identity"),
    guest("profile, guest, zstd", "/@user-000007", "zstd"),
    guest("post, guest", "/p/77", "identity"),
    guest("post, guest, gzip", "/p/77", "gzip"),
    member("home, signed in, gzip", "gzip", 0.12),
    member("home, signed in, zstd", "zstd", 0.15),
];

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    let core = Some(bench.cores.server);
    let filled = Filled::with(bench, SMALL)?;
    let pinhole = Pinhole::start(bench, &filled.folder, core, &[])?;
    let files = bench.fresh("pages")?;
    let mut requests = Vec::with_capacity(CASES.len());
    for (number, case) in CASES.iter().enumerate() {
        let token = case.user.map(bearer);
        let mut headers = vec![("accept-encoding", case.coding)];
        headers.extend(token.as_deref().map(|token| ("authorization", token)));
        let request = get(pinhole.server.address, case.path, &headers);
        let page = pinhole.server.client()?.ask(&request)?.success()?.body;
        write(&files.join(format!("{number}.html")), &page)?;
        requests.push((request, page.len()));
    }
    let nginx = Nginx::start(bench, core, &files, &bench.photos, PEERS_QUALITY)?;
    let sections = CASES.iter().zip(requests).enumerate().map(|(number, (case, (request, length)))| {
        let asked = |name, server, request| {
            Candidate::new(name, server, CONNECTIONS, Requests::same(request)).with_load_on(bench.cores.load)
        };
        let candidates = [
            asked("Pinhole", &pinhole.server, request),
            asked("nginx, the same file", &nginx.server, nginx.read(&format!("/files/{number}.html"))),
        ];
        let loads = compare(bench.pace, &candidates)?;
        let share = Target::share(
            &format!("{}: requests/s of nginx", case.name),
            loads[0].against(&loads[1], RATE),
            case.least,
        );
        let note = format!("{length} bytes in this encoding.");
        let section = Section::new(format!("Pages: {}", case.name)).note(note);
        Ok(Section { loads, targets: vec![share], ..section })
    });
    sections.collect()
}
