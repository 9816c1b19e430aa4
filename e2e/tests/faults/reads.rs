//! Faults of reads, of the disk cache of images, and of the readiness check.

use std::path::Path;
use std::time::Instant;

use e2e::faults::{Action, Faults, FileCall, FileOperation, Rule, Trace};
use e2e::{Client, FormData, Response, Service, concurrently, eventually, picture};
use rustix::io::Errno;

use FileOperation::{Create, MakeFolder, Open, Read, Rename, Write};

use crate::fixture::{LOG, TIMEOUT, assert_cause_logged};

const IO_ERROR: Action = Action::Fail(Errno::IO);

#[test]
fn a_failed_read_fails_its_request_alone() {
    let faults = Faults::new();
    let service = faults.start(&["--cache-disk", "0", "--image-cache", "0"]);
    let ada = service.new_user("ada");
    let post = ada.share(&picture::png(&picture::plain(64, 64, picture::BLUE)), "");
    let image = format!("/photos/{}/32x32", post["photo"]["id"].as_str().unwrap());
    let photo = [(Open, "photos/*/*/N"), (Read, "photos/*/*/N")];
    inject_everywhere(&faults, &service, &[Open, Read], 500, &photo, |arm| {
        // Reads the rows, so that the next request reads the photo first.
        ada.get(&image).expect(200);
        arm();
        ada.get(&image)
    });

    let post = format!("/posts/{}", post["id"]);
    for path in ["/feed", &post] {
        inject_everywhere(&faults, &service, &[Open, Read], 500, &[(Read, LOG)], |arm| {
            // After a write, a read needs its pages.
            ada.put(&post, FormData::message(&e2e::unique("edited"))).expect(200);
            arm();
            ada.get(path)
        });
    }
}

#[test]
fn a_failed_readiness_check_has_its_cause_in_the_log() {
    let faults = Faults::new();
    let service = faults.start(&["--cache-disk", "0"]);
    let ping = [(Create, "tmp/ping-*"), (Write, "tmp/ping-*"), (Read, "tmp/ping-*")];
    // The first read after the commits of the start reads the log of the database as well.
    service.assert_ready();
    inject_everywhere(&faults, &service, &[Create, Write, Read], 503, &ping, |arm| {
        arm();
        // The first answer of a check that began after that.
        eventually("the next check", TIMEOUT, || {
            let response = service.anonymous().get("/readyz");
            (!faults.trace().calls.is_empty()).then_some(response)
        })
    });
}

#[test]
fn readiness_is_checked_once_a_second_however_many_ask() {
    let faults = Faults::new();
    let service = faults.start(&["--cache-disk", "0"]);
    service.assert_ready();
    faults.arm(&[]);
    let began = Instant::now();
    concurrently(8, |_| {
        for _ in 0..100 {
            service.anonymous().get("/readyz").expect(200);
        }
    });
    let checks =
        |trace: &Trace| trace.calls.iter().filter(|call| call.site().is(Create, "tmp/ping-*")).count();
    let (checks, seconds) = (checks(&faults.trace()), began.elapsed().as_secs());
    assert!(checks as u64 <= seconds + 1, "{checks} checks within {seconds} s");
    eventually("the next check", TIMEOUT, || {
        service.assert_ready();
        faults.trace().calls.iter().any(|call| call.site().is(Create, "tmp/ping-*")).then_some(())
    });
}

/// Sends a request with an I/O error at its first call, its second, and so on, until none is hit. It is
/// served, or it fails with `status` and its cause in the log; the next one is served. `send` gets the
/// function that begins to count.
fn inject_everywhere(
    faults: &Faults,
    service: &Service,
    operations: &'static [FileOperation],
    status: u16,
    sites: &[(FileOperation, &str)],
    send: impl Fn(&dyn Fn()) -> Response,
) {
    let mut hits: Vec<FileCall> = Vec::new();
    for run in 1.. {
        let rule = Rule { operations, path: "", run, call: 1, is_lasting: false, action: IO_ERROR };
        let response = send(&|| faults.arm(&[rule]));
        let trace = faults.disarm();
        let Some(hit) = trace.hits[0] else { break };
        let hit = trace.calls[hit].site();
        if response.status != 200 {
            assert_eq!(response.status, status, "at {hit}: {response}");
            assert_cause_logged(service, &response);
        }
        assert_eq!(send(&|| {}).status, 200, "after an error at {hit}");
        hits.push(hit);
    }
    for (operation, path) in sites {
        assert!(
            hits.iter().any(|hit| hit.is(*operation, path)),
            "{operation:?} {path} was never hit: {hits:?}"
        );
    }
}

#[test]
fn the_image_cache_never_fails_a_request() {
    let faults = Faults::new();
    let service = faults.start(&["--image-cache", "0"]);
    let ada = service.new_user("ada");
    let calls: [(&[FileOperation], u64); 5] =
        [(&[Create], 1), (&[Write], 1), (&[Write], 2), (&[MakeFolder], 1), (&[Rename], 1)];
    let errors = [IO_ERROR, Action::Fail(Errno::NOSPC), Action::Fail(Errno::DQUOT)];
    let failing = calls.into_iter().flat_map(|call| errors.map(|action| (call, action)));
    let short = [1, 2].map(|call| ((&[Write][..], call), Action::ShortWrite));
    for ((operations, call), action) in failing.chain(short) {
        let image = NewImage::share(&ada);
        faults.arm(&[Rule { operations, path: "", run: 1, call, is_lasting: false, action }]);
        image.get(&ada);
        // The cache is written after the response.
        eventually(&format!("{action:?} of {operations:?}"), TIMEOUT, || faults.is_hit().then_some(()));
        faults.arm(&[]);
        eventually("the image is cached", TIMEOUT, || {
            image.get(&ada);
            image.is_cached(&service).then_some(())
        });
        // Now from the disk.
        image.get(&ada);
    }
}

/// An image of a new photo.
struct NewImage {
    photo: String,
}

impl NewImage {
    fn share(ada: &Client) -> Self {
        let post = ada.share(&picture::png(&picture::plain(64, 64, picture::BLUE)), "");
        Self { photo: post["photo"]["id"].as_str().unwrap().to_owned() }
    }

    fn get(&self, ada: &Client) {
        let response = ada.get(&format!("/photos/{}/32x32", self.photo)).expect(200);
        picture::assert_colour(&response.picture(), (50, 50), picture::BLUE, "an image");
    }

    fn is_cached(&self, service: &Service) -> bool {
        let is_own = |path: &Path| path.parent().is_some_and(|folder| folder.ends_with(&self.photo));
        service.files("cache").iter().any(|path| is_own(path))
    }
}
