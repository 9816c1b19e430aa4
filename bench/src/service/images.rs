//! A photo as a square of 512: one that was made before, and one that was not.

use super::bare::Bare;
use super::fill::{Filled, READER};
use super::ipx::Ipx;
use super::load::Requests;
use super::nginx::Nginx;
use super::ours::Ours;
use super::pictrs::PictRs;
use super::race::{Contender, Pace, RATE, THRIFT, race};
use super::thumbor::Thumbor;
use super::{Bench, CONNECTIONS, SMALL};
use crate::error::{Error, write};
use crate::photos::NAMES;
use crate::pictures::PEERS_QUALITY;
use crate::report::{Bar, Section};

/// Fewer than there are photos, so that no two ask for the same picture at the same time: who makes it once
/// for both would be measured by half.
const MAKERS: usize = 4;

pub(super) fn sections(bench: &Bench) -> Result<Vec<Section>, Error> {
    Ok(vec![kept(bench)?, made(bench)?])
}

fn kept(bench: &Bench) -> Result<Section, Error> {
    let core = Some(bench.cores.server);
    let filled = Filled::with(bench, SMALL)?.copy(bench, "images")?;
    let ours = Ours::start(bench, &filled.folder, core, &[])?;
    let photo = ours.photo(READER, &bench.photo(NAMES[0]))?;
    let square = ours.read(&format!("/photos/{photo}/512x512"), None);
    let bytes = ours.server.talk()?.ask(&square)?.fine()?.body;
    let files = bench.fresh("files")?;
    write(&files.join("512.jpg"), &bytes)?;

    let bare = Bare::start(bench, core, &[bytes.len()])?;
    let nginx = Nginx::start(bench, core, &files, &bench.photos, PEERS_QUALITY)?;
    if nginx.server.talk()?.ask(&nginx.read("/files/512.jpg"))?.fine()?.body != bytes {
        return Err(Error::measure("nginx serves another file"));
    }
    let thumbor = Thumbor::start(bench, core, &bench.photos, PEERS_QUALITY, true)?;
    let pict_rs = pict_rs(bench)?;
    let name = file(NAMES[0]);
    let (filtered, stored) = (nginx.read(&format!("/kept/{name}")), thumbor.read(&name));
    // Made before anybody is measured, and by one request: 64 at once would each make it.
    nginx.server.talk()?.ask(&filtered)?.fine()?;
    thumbor.server.talk()?.ask(&stored)?.fine()?;
    let asked = |name, server, request| {
        Contender::new(name, server, CONNECTIONS, Requests::same(request)).loaded_from(bench.cores.load)
    };
    let mut contenders = vec![
        asked("ours", &ours.server, square),
        asked("nginx, the same file", &nginx.server, nginx.read("/files/512.jpg")),
        asked("nginx that keeps files open", &nginx.server, nginx.read("/open/512.jpg")),
        asked("bare axum", &bare.server, bare.read(bytes.len())),
        asked("nginx image filter, cached", &nginx.server, filtered),
        asked("thumbor, result storage", &thumbor.server, stored),
    ];
    if let Some(pict_rs) = &pict_rs {
        let name = pict_rs.upload(&bench.photo(NAMES[0]))?;
        pict_rs.check(&name)?;
        contenders.push(asked("pict-rs", &pict_rs.server, pict_rs.read(&name)));
    }
    let loads = race(bench.pace, &contenders)?;
    let mut bars = vec![
        Bar::share("a cached 512²: requests/s of nginx", loads[0].against(&loads[1], RATE), 1.0),
        Bar::share("a cached 512²: per CPU second of nginx", loads[0].against(&loads[1], THRIFT), 1.0),
        Bar::share(
            "a cached 512²: requests/s of nginx that keeps files open",
            loads[0].against(&loads[2], RATE),
            1.0,
        ),
        Bar::share(
            "a cached 512²: requests/s of nginx's image filter",
            loads[0].against(&loads[4], RATE),
            1.0,
        ),
        Bar::share("a cached 512²: requests/s of thumbor", loads[0].against(&loads[5], RATE), 1.0),
    ];
    bars.extend(loads.get(6).map(|pict_rs| {
        Bar::share("a cached 512²: requests/s of pict-rs", loads[0].against(pict_rs, RATE), 1.0)
    }));
    let mut section = Section::new("A 512² photo that was made before").note(
        "nginx sends the very bytes of ours from a file by `sendfile`, one process without a log, once as it comes and once \
         with its cache of open files. Ours are served from memory, and by `sendfile` as well once they have been asked \
         for often. ipx keeps nothing and is in the next table only.",
    );
    if bench.has_pictrs {
        section = section.note(
            "pict-rs leaves Nagle's algorithm on, so that the end of an answer waits about 40 ms for a delayed \
             acknowledgement. That is most of its latency; for what an answer costs it, see its CPU time.",
        );
    }
    Ok(Section { loads, bars, ..section })
}

fn made(bench: &Bench) -> Result<Section, Error> {
    let core = Some(bench.cores.server);
    let filled = Filled::with(bench, SMALL)?.copy(bench, "images")?;
    let ours = Ours::start(bench, &filled.folder, core, &["--image-cache", "0", "--cache-disk", "0"])?;
    let ids = NAMES.iter().map(|name| ours.photo(READER, &bench.photo(name)));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let nginx = Nginx::start(bench, core, &bench.photos, &bench.photos, PEERS_QUALITY)?;
    let thumbor = Thumbor::start(bench, core, &bench.photos, PEERS_QUALITY, false)?;
    let ipx = Ipx::start(bench, core, &bench.photos, PEERS_QUALITY)?;
    let pict_rs = pict_rs(bench)?;
    let asked =
        |name, server, requests| Contender::new(name, server, MAKERS, requests).loaded_from(bench.cores.load);
    let each = |request: &dyn Fn(&str) -> Vec<u8>| {
        Requests::cycle(NAMES.iter().map(|name| request(&file(name))).collect())
    };
    let ours_read = ids.iter().map(|id| ours.read(&format!("/photos/{id}/512x512"), None)).collect();
    let mut contenders = vec![
        asked("ours", &ours.server, Requests::cycle(ours_read)),
        asked("ipx", &ipx.server, each(&|name| ipx.read(name))),
        asked("thumbor", &thumbor.server, each(&|name| thumbor.read(name))),
        asked("nginx image filter", &nginx.server, each(&|name| nginx.read(&format!("/made/{name}")))),
    ];
    if let Some(pict_rs) = &pict_rs {
        let names = NAMES.iter().map(|name| pict_rs.upload(&bench.photo(name)));
        let names = names.collect::<Result<Vec<_>, _>>()?;
        pict_rs.check(&names[0])?;
        contenders.push(asked("pict-rs", &pict_rs.server, pict_rs.read_new(&names)));
    }
    // Some of them need a third of a second for one.
    let pace = bench.pace.in_longer_turns();
    let pace = Pace { window: pace.window * 4, ..pace };
    let loads = race(pace, &contenders)?;
    let peers = ["ipx", "thumbor", "nginx's image filter", "pict-rs"];
    let bars = peers.into_iter().zip(&loads[1..]).map(|(name, peer)| {
        Bar::share(&format!("a 512² to be made: requests/s of {name}"), loads[0].against(peer, RATE), 1.0)
    });
    let bars = bars.collect();
    let mut section = Section::new("A 512² photo that has to be made").note(format!(
        "Of {} photos of 12 MP in turn, {MAKERS} connections, caches turned off. Ours starts from the square of 1024 that \
         it made at the upload; the others have the photo only, and read it whole or at a fraction of its size. How \
         the engines compare on the same pixels is told by `bench -- pictures`.",
        NAMES.len()
    ));
    if bench.has_pictrs {
        section = section.note(
            "pict-rs cannot be told to keep nothing, so every request asks for something new: the same square with a \
             second, larger limit to its size, which changes no byte of it. Its time includes ImageMagick, ffprobe and \
             exiftool, which it calls for each, and a file and a record of it in its database.",
        );
    }
    Ok(Section { loads, bars, ..section })
}

/// It takes long to build, so a quick run does without.
fn pict_rs(bench: &Bench) -> Result<Option<PictRs>, Error> {
    bench.has_pictrs.then(|| PictRs::start(bench, Some(bench.cores.server), PEERS_QUALITY)).transpose()
}

fn file(name: &str) -> String {
    format!("{name}.jpg")
}
