//! A photo as a square of 512: from the cache, and rendered.

use super::bare::Bare;
use super::compare::{Candidate, PER_CPU_SECOND, Pace, RATE, compare};
use super::fill::{Filled, READER};
use super::ipx::Ipx;
use super::load::Requests;
use super::nginx::Nginx;
use super::pictrs::PictRs;
use super::pinhole::Pinhole;
use super::thumbor::Thumbor;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::{Error, write};
use crate::photos::NAMES;
use crate::pictures::PEERS_QUALITY;
use crate::report::{Section, Target};

/// Fewer than there are photos, so that no two requests ask for the same image at the same time: a
/// candidate that coalesces them would be measured by half.
const RENDER_CONNECTIONS: usize = 4;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    Ok(vec![cached(bench)?, rendered(bench)?])
}

fn cached(bench: &Bench) -> Result<Section, Error> {
    let core = Some(bench.cores.server);
    let filled = Filled::with(bench, SMALL)?.copy(bench, "images")?;
    let pinhole = Pinhole::start(bench, &filled.folder, core, &[])?;
    let photo = pinhole.photo(READER, &bench.photo(NAMES[0]))?;
    let square = pinhole.read(&format!("/photos/{photo}/512x512"), None);
    let bytes = pinhole.server.client()?.ask(&square)?.success()?.body;
    let files = bench.fresh("files")?;
    write(&files.join("512.jpg"), &bytes)?;

    let bare = Bare::start(bench, core, &[bytes.len()])?;
    let nginx = Nginx::start(bench, core, &files, &bench.photos, PEERS_QUALITY)?;
    if nginx.server.client()?.ask(&nginx.read("/files/512.jpg"))?.success()?.body != bytes {
        return Err(Error::measure("nginx serves another file"));
    }
    let thumbor = Thumbor::start(bench, core, &bench.photos, PEERS_QUALITY, true)?;
    let pict_rs = pict_rs(bench)?;
    let name = file(NAMES[0]);
    let (filtered, stored) = (nginx.read(&format!("/cached/{name}")), thumbor.read(&name));
    // Rendered before the measurement and by one request: 64 concurrent ones would each render it.
    nginx.server.client()?.ask(&filtered)?.success()?;
    thumbor.server.client()?.ask(&stored)?.success()?;
    let asked = |name, server, request| {
        Candidate::new(name, server, CONNECTIONS, Requests::same(request)).with_load_on(bench.cores.load)
    };
    let mut candidates = vec![
        asked("Pinhole", &pinhole.server, square),
        asked("nginx, the same file", &nginx.server, nginx.read("/files/512.jpg")),
        asked("nginx, open_file_cache", &nginx.server, nginx.read("/open/512.jpg")),
        asked("bare axum", &bare.server, bare.read(bytes.len())),
        asked("nginx image filter, cached", &nginx.server, filtered),
        asked("thumbor, result storage", &thumbor.server, stored),
    ];
    if let Some(pict_rs) = &pict_rs {
        let name = pict_rs.upload(&bench.photo(NAMES[0]))?;
        pict_rs.check(&name)?;
        candidates.push(asked("pict-rs", &pict_rs.server, pict_rs.read(&name)));
    }
    let loads = compare(bench.pace, &candidates)?;
    let mut targets = vec![
        Target::share("a cached 512²: requests/s of nginx", loads[0].against(&loads[1], RATE), 1.0),
        Target::share(
            "a cached 512²: per CPU second of nginx",
            loads[0].against(&loads[1], PER_CPU_SECOND),
            1.0,
        ),
        Target::share(
            "a cached 512²: requests/s of nginx, open_file_cache",
            loads[0].against(&loads[2], RATE),
            1.0,
        ),
        Target::share(
            "a cached 512²: requests/s of nginx's image filter",
            loads[0].against(&loads[4], RATE),
            1.0,
        ),
        Target::share("a cached 512²: requests/s of thumbor", loads[0].against(&loads[5], RATE), 1.0),
    ];
    targets.extend(loads.get(6).map(|pict_rs| {
        Target::share("a cached 512²: requests/s of pict-rs", loads[0].against(pict_rs, RATE), 1.0)
    }));
    let mut section = Section::new("A cached 512² image").note(
        "nginx serves the same bytes from a file by `sendfile`: one process, no access log, once with default settings and \
         once with `open_file_cache`. Pinhole serves from memory. ipx has no cache and is in the next table only.",
    );
    if bench.has_pictrs {
        section = section.note(
            "pict-rs leaves Nagle's algorithm on, so that the end of a response waits about 40 ms for a delayed \
             acknowledgement. That is most of its latency; its CPU time shows the cost.",
        );
    }
    Ok(Section { loads, targets, ..section })
}

fn rendered(bench: &Bench) -> Result<Section, Error> {
    let core = Some(bench.cores.server);
    let filled = Filled::with(bench, SMALL)?.copy(bench, "images")?;
    let pinhole = Pinhole::start(bench, &filled.folder, core, &["--image-cache", "0", "--cache-disk", "0"])?;
    let ids = NAMES.iter().map(|name| pinhole.photo(READER, &bench.photo(name)));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let nginx = Nginx::start(bench, core, &bench.photos, &bench.photos, PEERS_QUALITY)?;
    let thumbor = Thumbor::start(bench, core, &bench.photos, PEERS_QUALITY, false)?;
    let ipx = Ipx::start(bench, core, &bench.photos, PEERS_QUALITY)?;
    let pict_rs = pict_rs(bench)?;
    let asked = |name, server, requests| {
        Candidate::new(name, server, RENDER_CONNECTIONS, requests).with_load_on(bench.cores.load)
    };
    let each = |request: &dyn Fn(&str) -> Vec<u8>| {
        Requests::cycle(NAMES.iter().map(|name| request(&file(name))).collect())
    };
    let pinhole_reads = ids.iter().map(|id| pinhole.read(&format!("/photos/{id}/512x512"), None)).collect();
    let mut candidates = vec![
        asked("Pinhole", &pinhole.server, Requests::cycle(pinhole_reads)),
        asked("ipx", &ipx.server, each(&|name| ipx.read(name))),
        asked("thumbor", &thumbor.server, each(&|name| thumbor.read(name))),
        asked("nginx image filter", &nginx.server, each(&|name| nginx.read(&format!("/made/{name}")))),
    ];
    if let Some(pict_rs) = &pict_rs {
        let names = NAMES.iter().map(|name| pict_rs.upload(&bench.photo(name)));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        pict_rs.check(&names[0])?;
        candidates.push(asked("pict-rs", &pict_rs.server, pict_rs.read_new(&names)));
    }
    // Some peers take a third of a second per image.
    let pace = bench.pace.in_longer_turns();
    let pace = Pace { window: pace.window * 4, ..pace };
    let loads = compare(pace, &candidates)?;
    let peers = ["ipx", "thumbor", "nginx's image filter", "pict-rs"];
    let targets = peers.into_iter().zip(&loads[1..]).map(|(name, peer)| {
        Target::share(
            &format!("a 512² on a cache miss: requests/s of {name}"),
            loads[0].against(peer, RATE),
            1.0,
        )
    });
    let targets = targets.collect();
    let mut section = Section::new("A 512² image on a cache miss").note(format!(
        "{} photos of 12 MP in turn, {RENDER_CONNECTIONS} connections, caches off. Pinhole renders from the 1024² master \
         made at the upload; the peers decode the photo, whole or scaled. `bench -- pictures` compares the engines \
         on the same pixels.",
        NAMES.len()
    ));
    if bench.has_pictrs {
        section = section.note(
            "pict-rs has no setting to turn its cache off, so every request has a new URL: the same square with a second, \
             larger `resize` that changes no byte. Its time includes starting ImageMagick, ffprobe and exiftool, and \
             storing the result.",
        );
    }
    Ok(Section { loads, targets, ..section })
}

/// Only in a full run: building it takes long.
fn pict_rs(bench: &Bench) -> Result<Option<PictRs>, Error> {
    bench.has_pictrs.then(|| PictRs::start(bench, Some(bench.cores.server), PEERS_QUALITY)).transpose()
}

fn file(name: &str) -> String {
    format!("{name}.jpg")
}
