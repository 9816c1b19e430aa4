//! Resumable uploads: `POST /posts` in several requests, which may reach different nodes.

use std::path::PathBuf;
use std::time::Duration;

use e2e::{
    Body, Client, FormData, RawConnection, Response, Service, concurrently, eventually, picture, unique,
};

/// A part of an upload that the service stores before its request ends.
const PART: usize = 512 * 1024;

/// A form with a photo of more than two parts.
fn large_form(message: &str) -> Body {
    let photo = picture::photograph(2400, 1600);
    assert!(photo.len() > 2 * PART + 100_000, "{}", photo.len());
    FormData::photo(&photo).text("message", message).text("alt", "noise").body()
}

fn creation(client: &Client, form: &Body, piece: &[u8]) -> e2e::Request {
    let body = Body { bytes: piece.to_vec(), ..form.clone() };
    client.request("POST", "/posts").header("Upload-Complete", "?0").body(body)
}

/// Starts an upload with its first piece; returns its address.
#[track_caller]
fn start(client: &Client, form: &Body, piece: &[u8]) -> String {
    let started = creation(client, form, piece).send().expect(201);
    assert_eq!(started.header("upload-complete"), Some("?0"), "{started}");
    assert_eq!(started.header("upload-offset"), Some(piece.len().to_string().as_str()), "{started}");
    started.header("location").expect("the address of the upload").to_owned()
}

fn append(client: &Client, upload: &str, offset: usize, piece: &[u8], is_last: bool) -> Response {
    client
        .request("PATCH", upload)
        .header("Upload-Offset", offset.to_string())
        .header("Upload-Complete", if is_last { "?1" } else { "?0" })
        .body(Body::new("application/partial-upload", piece))
        .send()
}

fn offset_of(response: &Response) -> usize {
    response.header("upload-offset").unwrap_or_else(|| panic!("{response}")).parse().unwrap()
}

/// The offset by a request with a wrong one, which does not end an append in progress as HEAD does.
fn probe(client: &Client, upload: &str) -> usize {
    offset_of(&append(client, upload, usize::MAX >> 8, b"", false).expect_error(409))
}

fn posts_of(client: &Client) -> usize {
    let page = client.get(&format!("/users/{}/posts", client.username())).expect(200).json();
    page["data"].as_array().unwrap().len()
}

#[test]
fn an_upload_in_pieces_creates_the_post_of_a_plain_request() {
    let ada = Service::shared().new_user("ada");
    let form = large_form("in pieces");
    let plain = ada.post("/posts", form.clone()).expect(201).json();
    let (first, rest) = form.bytes.split_at(300_000);
    let (second, last) = rest.split_at(700_001);

    let upload = start(&ada, &form, first);
    let stored = append(&ada, &upload, 300_000, second, false).expect(204);
    assert_eq!((offset_of(&stored), stored.header("upload-complete")), (1_000_001, Some("?0")));
    let state = ada.request("HEAD", &upload).send().expect(204);
    assert_eq!((offset_of(&state), state.header("upload-complete")), (1_000_001, Some("?0")));
    assert_eq!(state.header("cache-control"), Some("no-store"));
    let limit = state.header("upload-limit").unwrap();
    assert!(limit.starts_with("max-size=33816576, max-age=8"), "{limit}");

    let created = append(&ada, &upload, 1_000_001, last, true).expect(201);
    assert_eq!(created.header("upload-complete"), Some("?1"), "{created}");
    let post = created.json();
    for field in ["message", "user", "is_liked", "like_count"] {
        assert_eq!(post[field], plain[field], "{field}");
    }
    for field in ["width", "height", "placeholder", "alt"] {
        assert_eq!(post["photo"][field], plain["photo"][field], "{field}");
    }
    let original = |post: &serde_json::Value| {
        ada.get(&format!("/photos/{}/original", post["photo"]["id"].as_str().unwrap())).expect(200).bytes
    };
    assert_eq!(original(&post), original(&plain));
    assert_eq!(posts_of(&ada), 2);
}

#[test]
fn the_limits_of_an_upload_are_known_before_it_starts() {
    let limits = Service::shared().anonymous().request("OPTIONS", "/posts").send().expect(204);
    assert_eq!(limits.header("upload-limit"), Some("max-size=33816576, max-age=86400"));
    assert_eq!(limits.header("allow"), Some("OPTIONS, POST"));
}

#[test]
fn a_complete_body_with_the_header_is_a_plain_request() {
    let ada = Service::shared().new_user("ada");
    let form = FormData::photo(&picture::tiny()).body();
    let length = form.bytes.len();
    let request = |length: usize| {
        let request = ada.request("POST", "/posts").header("Upload-Complete", "?1");
        request.header("Upload-Length", length.to_string()).body(form.clone()).send()
    };
    assert_eq!(request(length).expect(201).header("upload-complete"), Some("?1"));
    request(length + 1).expect_error_for(400, Some("Upload-Length"));
    // A malformed value counts as none.
    let plain = ada.request("POST", "/posts").header("Upload-Complete", "no").body(form.clone()).send();
    assert_eq!(plain.expect(201).header("upload-complete"), None);
}

#[test]
fn what_arrived_before_a_cut_is_stored_and_the_rest_follows() {
    let service = Service::shared();
    let ada = service.new_user("ada");
    let form = large_form("cut");
    let upload = start(&ada, &form, b"");
    let head = |piece: &[u8], offset: usize| {
        let body = Body::new("application/partial-upload", piece);
        let head = RawConnection::request_head("PATCH", &upload, ada.token(), &body, piece.len());
        format!("{head}Upload-Offset: {offset}\r\nUpload-Complete: ?1\r\n\r\n")
    };

    // The connection stays open without a further byte, as when the network changes: whole parts are stored.
    let mut silent = RawConnection::connect(service);
    silent.send(head(&form.bytes, 0)).unwrap();
    silent.send(&form.bytes[..PART + 1000]).unwrap();
    let timeout = Duration::from_secs(60);
    eventually("a part is stored", timeout, || (probe(&ada, &upload) == PART).then_some(()));
    // Reading the offset ends that request: what it sends later is refused.
    assert_eq!(offset_of(&ada.request("HEAD", &upload).send().expect(204)), PART);
    silent.send(&form.bytes[PART + 1000..]).unwrap();
    let refused = silent.receive(false).expect("a response");
    assert_eq!(refused.status, 409, "{refused:?}");

    // The connection is closed: all that arrived is stored.
    let mut cut = RawConnection::connect(service);
    cut.send(head(&form.bytes[PART..], PART)).unwrap();
    cut.send(&form.bytes[PART..2 * PART + 5000]).unwrap();
    cut.close();
    let end = 2 * PART + 5000;
    eventually("all that arrived is stored", timeout, || (probe(&ada, &upload) == end).then_some(()));

    let state = ada.request("HEAD", &upload).send().expect(204);
    assert_eq!((offset_of(&state), state.header("upload-complete")), (end, Some("?0")));
    let post = append(&ada, &upload, end, &form.bytes[end..], true).expect(201).json();
    assert_eq!(post["message"], "cut");
    assert_eq!(posts_of(&ada), 1);
}

#[test]
fn a_part_that_is_not_added_leaves_no_file() {
    let service = Service::start(&[]);
    let (owner, ada) = (service.new_user_with_role("owner"), service.new_user("ada"));
    let form = large_form("rejected parts");
    let upload = start(&ada, &form, b"");
    let is_part = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("part");
    let files = || service.files("photos").iter().filter(|path| is_part(path)).count();

    // Of a request that another one has ended.
    let body = Body::new("application/partial-upload", form.bytes.clone());
    let head = RawConnection::request_head("PATCH", &upload, ada.token(), &body, form.bytes.len());
    let mut ended = RawConnection::connect(&service);
    ended.send(format!("{head}Upload-Offset: 0\r\nUpload-Complete: ?1\r\n\r\n")).unwrap();
    ended.send(&form.bytes[..PART + 1000]).unwrap();
    let timeout = Duration::from_secs(60);
    eventually("a part is stored", timeout, || (probe(&ada, &upload) == PART).then_some(()));
    ada.request("HEAD", &upload).send().expect(204);
    ended.send(&form.bytes[PART + 1000..]).unwrap();
    assert_eq!(ended.receive(false).expect("a response").status, 409);
    assert_eq!(files(), 1, "only the part that was added");

    let quota = FormData::new().text("member_bytes", (PART + 1000).to_string());
    owner.request("PATCH", "/admin/instance").body(quota).send().expect(200);
    append(&ada, &upload, PART, &form.bytes[PART..][..1001], false).expect_error(507);
    assert_eq!((files(), probe(&ada, &upload)), (1, PART));
    append(&ada, &upload, PART, &form.bytes[PART..][..1000], false).expect(204);
    assert_eq!(files(), 2);
}

#[test]
fn a_repeated_completion_returns_the_same_post() {
    let ada = Service::shared().new_user("ada");
    let form = FormData::photo(&picture::tiny()).text("message", "once").body();
    let upload = start(&ada, &form, b"");
    let length = form.bytes.len();
    let post = append(&ada, &upload, 0, &form.bytes, true).expect(201).json();

    let state = ada.request("HEAD", &upload).send().expect(204);
    assert_eq!((offset_of(&state), state.header("upload-complete")), (length, Some("?1")));
    assert_eq!(state.header("upload-length"), Some(&*length.to_string()), "it is known by now");
    let again = append(&ada, &upload, length, b"", true).expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((again.json(), again.header("upload-complete")), (post, Some("?1")));
    // The last piece again, and more than the whole.
    assert_eq!(offset_of(&append(&ada, &upload, 0, &form.bytes, true).expect_error(409)), length);
    append(&ada, &upload, length, b"more", false).expect_error_for(400, Some("Upload-Length"));
    append(&ada, &upload, length, b"", false).expect_error(409);
    assert_eq!(posts_of(&ada), 1);
}

#[test]
fn repetitions_at_the_same_time_create_one_post() {
    let ada = Service::shared().new_user("ada");
    let form = FormData::photo(&picture::tiny()).body();
    let upload = start(&ada, &form, &form.bytes);
    let responses = concurrently(4, |_| append(&ada, &upload, form.bytes.len(), b"", true));
    let ids = responses.into_iter().map(|response| response.expect(201).json()["id"].as_i64());
    let ids: Vec<Option<i64>> = ids.collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(posts_of(&ada), 1);
}

#[test]
fn an_idempotency_key_holds_for_plain_and_resumable_uploads() {
    let ada = Service::shared().new_user("ada");
    let form = FormData::photo(&picture::tiny()).body();
    let key = unique("key");
    let started = creation(&ada, &form, b"").header("Idempotency-Key", &key).send().expect(201);
    let upload = started.header("location").unwrap().to_owned();
    let plain = ada.request("POST", "/posts").header("Idempotency-Key", &key).body(form.clone());
    let post = plain.send().expect(201).json();
    assert_eq!(append(&ada, &upload, 0, &form.bytes, true).expect(201).json(), post);

    // The key is used by now, so whether an upload is a retry is known when all of it has arrived.
    let with_key = |form: &Body| {
        let started = creation(&ada, form, b"").header("Idempotency-Key", &key).send().expect(201);
        let upload = started.header("location").unwrap().to_owned();
        (append(&ada, &upload, 0, &form.bytes, true), upload)
    };
    let (replay, upload) = with_key(&form);
    assert_eq!(
        (replay.header("idempotency-replayed"), replay.header("upload-complete")),
        (Some("true"), Some("?1"))
    );
    assert_eq!(replay.expect(201).json(), post);
    assert_eq!(append(&ada, &upload, form.bytes.len(), b"", true).expect(201).json(), post);

    let other = FormData::photo(picture::STRIPES_AVIF).text("message", "another").body();
    let (refused, upload) = with_key(&other);
    let repeated = append(&ada, &upload, other.bytes.len(), b"", true);
    for refused in [refused, repeated] {
        assert_eq!(refused.header("upload-complete"), Some("?1"));
        refused.expect_error_for(422, Some("Idempotency-Key"));
    }
    ada.delete(&format!("/posts/{}", post["id"])).expect(200);
    creation(&ada, &form, b"").header("Idempotency-Key", &key).send().expect_error(409);
    assert_eq!(posts_of(&ada), 0);
}

#[test]
fn of_two_appends_at_the_same_offset_one_is_stored() {
    let ada = Service::shared().new_user("ada");
    let form = large_form("concurrent");
    let upload = start(&ada, &form, b"");
    let mut offset = 0;
    for piece in form.bytes.chunks(PART / 2) {
        let responses = concurrently(3, |_| append(&ada, &upload, offset, piece, false));
        let mut statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [204, 409, 409], "{responses:?}");
        offset += piece.len();
        assert_eq!(probe(&ada, &upload), offset);
    }
    let post = append(&ada, &upload, offset, b"", true).expect(201).json();
    assert_eq!(post["message"], "concurrent", "the photo and the text behind it are intact");
}

#[test]
fn a_wrong_request_is_refused_and_changes_nothing() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let form = FormData::photo(&picture::tiny()).body();
    let length = form.bytes.len();
    creation(&ada, &form, b"")
        .header("Upload-Length", "33816577")
        .send()
        .expect_error_for(400, Some("photo"));
    creation(&ada, &Body::new("text/plain", ""), b"x").send().expect_error(415);
    let started = creation(&ada, &form, &form.bytes[..40]).header("Upload-Length", length.to_string()).send();
    let upload = started.expect(201).header("location").unwrap().to_owned();

    for offset in [0, 39, 41] {
        let refused = append(&ada, &upload, offset, &form.bytes[40..], true).expect_error(409);
        assert_eq!((offset_of(&refused), refused.header("upload-complete")), (40, Some("?0")));
        assert_eq!(refused.header("x-error-code"), Some("upload_offset_mismatch"));
    }
    let patch = |headers: &[(&str, &str)], body: Body| {
        let request = ada.request("PATCH", &upload).body(body);
        headers.iter().fold(request, |request, (name, value)| request.header(name, value)).send()
    };
    let piece = || Body::new("application/partial-upload", "x");
    let offset = ("Upload-Offset", "40");
    patch(&[offset], piece()).expect_error_for(400, Some("Upload-Complete"));
    patch(&[("Upload-Complete", "?0")], piece()).expect_error_for(400, Some("Upload-Offset"));
    patch(&[("Upload-Complete", "?0"), ("Upload-Offset", "-40")], piece())
        .expect_error_for(400, Some("Upload-Offset"));
    patch(&[offset, ("Upload-Complete", "?0")], Body::new("text/plain", "x")).expect_error(415);
    patch(&[offset, ("Upload-Complete", "?1")], piece()).expect_error_for(400, Some("Upload-Length"));
    patch(&[offset, ("Upload-Complete", "?0"), ("Upload-Length", "41")], piece())
        .expect_error_for(400, Some("Upload-Length"));

    for (client, status) in [(&bob, 404), (&service.anonymous(), 401)] {
        append(client, &upload, 40, &form.bytes[40..], true).expect_error(status);
        assert_eq!(client.request("HEAD", &upload).send().status, status);
        client.delete(&upload).expect_error(status);
    }
    ada.get("/uploads/0199b1c4-7e2a-7d10-9a55-3f1e6c0d2b48").expect_error(404);
    ada.get("/uploads/1").expect_error(404);
    append(&ada, &upload, 40, &form.bytes[40..], true).expect(201);
}

#[test]
fn a_body_that_is_no_post_gets_the_error_of_a_plain_request() {
    let ada = Service::shared().new_user("ada");
    for (form, field) in [
        (FormData::photo(b"no picture"), "photo"),
        (FormData::message("without a photo").encoded(e2e::Encoding::Multipart), "photo"),
        (FormData::photo(&picture::tiny()).text("focus", "2,2"), "focus"),
    ] {
        let form = form.body();
        let plain = ada.post("/posts", form.clone()).expect_error_for(400, Some(field));
        let upload = start(&ada, &form, b"");
        let first = append(&ada, &upload, 0, &form.bytes, true).expect_error_for(400, Some(field));
        let again = append(&ada, &upload, form.bytes.len(), b"", true).expect_error_for(400, Some(field));
        for refused in [first, again] {
            assert_eq!((refused.json(), refused.header("upload-complete")), (plain.json(), Some("?1")));
        }
        ada.delete(&upload).expect(204);
    }
}

#[test]
fn a_user_has_eight_unfinished_uploads_at_most() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let form = FormData::photo(&picture::tiny()).body();
    let uploads: Vec<String> = (0..8).map(|_| start(&ada, &form, b"")).collect();
    let refused = creation(&ada, &form, b"").send().expect_error(429);
    assert_eq!(refused.header("x-error-code"), Some("quota_exceeded"));
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((3000..=3600).contains(&wait), "{refused}");
    ada.post("/posts", form.clone()).expect(201);
    start(&bob, &form, b"");

    append(&ada, &uploads[0], 0, &form.bytes, true).expect(201);
    start(&ada, &form, b"");
    creation(&ada, &form, b"").send().expect_error(429);
    ada.delete(&uploads[1]).expect(204);
    assert_eq!(ada.request("HEAD", &uploads[1]).send().status, 404);
    append(&ada, &uploads[1], 0, &form.bytes, true).expect_error(404);
    ada.delete(&uploads[1]).expect_error(404);
    start(&ada, &form, b"");
}

#[test]
fn an_upload_beyond_its_limit_is_deleted() {
    let service = Service::start(&["--max-upload", "1MiB"]);
    let ada = service.new_user("ada");
    let form = FormData::photo(&vec![7; 3 << 20]).body();
    let upload = start(&ada, &form, &form.bytes[..1 << 20]);
    assert!(part_count(&service) >= 2, "parts are stored");
    let refused = append(&ada, &upload, 1 << 20, &form.bytes[1 << 20..2 << 20], false);
    assert!(
        refused.expect_error_for(400, Some("photo")).json()["error"]["message"].to_string().contains("1 MB")
    );
    assert_eq!(ada.request("HEAD", &upload).send().status, 404);
    assert_eq!(part_count(&service), 0);

    let upload = start(&ada, &form, &form.bytes[..PART]);
    ada.delete(&upload).expect(204);
    assert_eq!(part_count(&service), 0);
    let upload = start(&ada, &form, &form.bytes[..PART]);
    ada.request("DELETE", "/me").body(FormData::new().text("password", e2e::PASSWORD)).send().expect(200);
    eventually("the parts of a deleted account are deleted", Duration::from_secs(60), || {
        (part_count(&service) == 0).then_some(())
    });
    assert_eq!(ada.request("HEAD", &upload).send().status, 401);
}

/// The files of unfinished uploads.
fn part_count(service: &Service) -> usize {
    let files = service.files("photos");
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().filter(|path| name(path).starts_with("part")).count()
}

#[test]
fn an_upload_survives_a_crash_of_the_service() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start_in(folder.path(), &[]);
    let ada = service.new_user("ada");
    let form = large_form("before and after");
    let upload = start(&ada, &form, &form.bytes[..PART]);
    append(&ada, &upload, PART, &form.bytes[PART..2 * PART], false).expect(204);
    service.kill();

    let service = Service::start_in(folder.path(), &[]);
    let ada = ada.with_base(service.base());
    let state = ada.request("HEAD", &upload).send().expect(204);
    assert_eq!(offset_of(&state), 2 * PART);
    append(&ada, &upload, 2 * PART, &form.bytes[2 * PART..], false).expect(204);
    service.kill();

    let service = Service::start_in(folder.path(), &[]);
    let ada = ada.with_base(service.base());
    let post = append(&ada, &upload, form.bytes.len(), b"", true).expect(201).json();
    assert_eq!(post["message"], "before and after");
    assert_eq!(part_count(&service), 0, "the parts are deleted");
    service.kill();

    // The response may have been lost in the crash.
    let service = Service::start_in(folder.path(), &[]);
    let ada = ada.with_base(service.base());
    let again = append(&ada, &upload, form.bytes.len(), b"", true).expect(201).json();
    assert_eq!(again, post);
    assert_eq!(posts_of(&ada), 1);
}
