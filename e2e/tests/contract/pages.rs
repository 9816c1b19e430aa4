//! The pages as a browser gets them: guarded, small, escaped, and never in the API's way. What they look like
//! and do is told in `e2e/browser`.

use std::io::Read;

use e2e::{Answer, Carrier, Client, Form, Service};
use flate2::read::GzDecoder;

/// As browsers ask when somebody opens a page.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

#[track_caller]
fn open(who: &Client, path: &str) -> Answer {
    who.request("GET", path).header("Accept", BROWSER).send()
}

#[track_caller]
fn html(answer: &Answer) -> String {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{answer}");
    String::from_utf8(answer.bytes.clone()).unwrap()
}

#[test]
fn a_page_comes_with_its_posts_in_it() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada").by(Carrier::Cookie);
    let name = ada.username();
    let post = ada.share(&e2e::picture::tiny(), "First light");
    let (id, photo) = (&post["id"], post["photo"]["id"].as_str().unwrap());
    ada.post(&format!("/posts/{id}/likes"), Form::default()).expect(201);
    for path in
        ["/".to_owned(), format!("/p/{id}"), format!("/@{name}"), format!("/@{}", name.to_uppercase())]
    {
        let page = html(&open(&service.anyone(), &path).expect(200));
        assert!(
            page.contains(&format!("/photos/{photo}/640x640")) || path.starts_with("/@"),
            "{path}: {page}"
        );
        assert!(page.contains(&format!("/photos/{photo}/320x320")), "{path}: {page}");
        assert!(page.contains("data:image/png;base64,"), "{path}: no placeholder");
        assert!(!page.contains("data-me"), "{path} takes a stranger for a member");
        assert!(html(&open(&ada, &path).expect(200)).contains(&format!("data-me=\"{name}\"")), "{path}");
    }
    let feed = html(&open(&ada, "/").expect(200));
    assert!(feed.contains("First light") && feed.contains("aria-pressed=\"true\""), "{feed}");
}

#[test]
fn readers_without_scripts_walk_through_every_post() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let mut posts: Vec<i64> = (0..43).map(|number| ada.share_tiny(&format!("number {number}"))).collect();
    posts.reverse();
    for (start, size) in [("/".to_owned(), 20), (format!("/@{}", ada.username()), 30)] {
        let (mut next, mut seen) = (Some(start.clone()), Vec::new());
        while let Some(path) = next {
            let page = html(&open(&service.anyone(), &path).expect(200));
            let before = seen.len();
            seen.extend(between(&page, "data-post=\"", "\"").filter_map(|id| id.parse::<i64>().ok()));
            assert!(seen.len() - before <= size, "{path}");
            next = between(&page, "href=\"", "\"").find(|link| link.contains("?after=")).map(str::to_owned);
        }
        assert_eq!(seen, posts, "{start}");
    }
}

#[test]
fn nothing_anybody_writes_becomes_markup() {
    let service = Service::start(&[]);
    let ada = service.newcomer("ada");
    let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;</template></title>";
    let form = Form::photo(&e2e::picture::tiny()).text("message", hostile).text("alt", hostile);
    let post = ada.post("/posts", form).expect(201).json();
    for path in ["/".to_owned(), format!("/p/{}", post["id"]), format!("/@{}", ada.username())] {
        let page = html(&open(&service.anyone(), &path).expect(200));
        assert!(!page.contains("<script>") && !page.contains("<img src=x"), "{path}: {page}");
        assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"), "{path}: {page}");
        // The one way out of an attribute.
        assert!(!page.contains("\"'>"), "{path}: {page}");
    }
}

#[test]
fn every_page_is_guarded() {
    let service = Service::shared();
    let ada = service.newcomer("ada").by(Carrier::Cookie);
    for path in ["/", "/join", "/login", "/offline", "/p/0", "/no/such/page", "/@nobody-at-all"] {
        let answer = open(&service.anyone(), path);
        let policy = answer.header("content-security-policy").unwrap_or_else(|| panic!("{answer}"));
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.split(';').any(|part| part.trim() == rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{answer}");
        assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{answer}");
        let page = html(&answer);
        assert!(
            between(&page, "<script", ">")
                .all(|tag| tag.contains("src=") || tag.contains("application/json")),
            "{page}"
        );
        let elsewhere = ["=\"http", "=\"//", " style=\"", " onclick=", " onload="];
        let own = page.replace(&format!("=\"{}", service.base()), "=\"");
        assert!(elsewhere.iter().all(|sign| !own.contains(sign)), "{path}: {own}");
    }
    for path in ["/login", "/join"] {
        assert_eq!(open(&ada, path).expect(303).header("location"), Some("/"), "already in");
    }
    assert_eq!(open(&service.anyone(), "/new").expect(303).header("location"), Some("/login?next=/new"));
}

#[test]
fn trouble_on_a_page_is_told_by_a_page_and_on_the_api_by_the_contract() {
    let anyone = Service::shared().anyone();
    for path in ["/p/0", "/p/x", "/@nobody-at-all", "/@a%20b", "/nothing", "/?after=x"] {
        let (page, plain) = (open(&anyone, path), anyone.get(path));
        assert!(html(&page).contains("<h1>"), "{page}");
        assert_eq!(page.status, plain.status, "{path}");
        assert_eq!(page.header("x-error-code"), plain.header("x-error-code"), "{path}");
        assert!(plain.json()["error"]["message"].is_string(), "{path}");
    }
    for path in ["/posts/0", "/users/nobody-at-all", "/me", "/photos/x/8x8", "/feed?limit=x"] {
        assert!(open(&anyone, path).json()["error"].is_object(), "{path} is the API's own");
    }
    let gone = anyone.request("POST", "/").header("Accept", BROWSER).send().expect(405);
    assert!(gone.json()["error"].is_object());
}

#[test]
fn pages_speak_the_reader_s_language() {
    let anyone = Service::shared().anyone();
    for (asked, tag, word) in
        [("de-CH,en;q=0.5", "de", "Mitmachen"), ("fr", "en", "Join"), ("en-GB,de", "en", "Join")]
    {
        for path in ["/", "/p/0"] {
            let answer =
                anyone.request("GET", path).header("Accept", BROWSER).header("Accept-Language", asked).send();
            let page = html(&answer);
            assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{asked}: {page}");
            assert!(path == "/p/0" || page.contains(word), "{asked}: {page}");
            assert!(answer.header("vary").unwrap().contains("Accept-Language"), "{answer}");
        }
    }
}

#[test]
fn files_are_small_and_kept_for_ever() {
    let anyone = Service::shared().anyone();
    let page = html(&open(&anyone, "/").expect(200));
    let mut files: Vec<&str> = between(&page, "\"/web/", "\"").filter(|path| path.contains('.')).collect();
    files.sort_unstable();
    files.dedup();
    assert!(files.len() > 10, "{files:?}");
    for file in &files {
        let path = format!("/web/{file}");
        let plain = anyone.get(&path).expect(200);
        assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"), "{plain}");
        let packed = anyone.request("GET", &path).header("Accept-Encoding", "br, gzip").send().expect(200);
        if file.ends_with(".png") {
            continue;
        }
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{packed}");
        assert_eq!(unpacked(&packed), plain.bytes, "{path}");
        let head = anyone.request("HEAD", &path).send().expect(200);
        assert_eq!(head.header("content-length"), plain.header("content-length"), "{path}");
    }
    let other = files[0].replace(|c: char| c.is_ascii_digit(), "x");
    anyone.get(&format!("/web/{other}")).expect(404);
    anyone.get("/web/../Cargo.toml").expect(404);

    let packed =
        anyone.request("GET", "/").header("Accept", BROWSER).header("Accept-Encoding", "gzip").send();
    assert_eq!(packed.header("content-encoding"), Some("gzip"), "{packed}");
    assert_eq!(unpacked(&packed), page.into_bytes());
    let refused = anyone.request("GET", "/").header("Accept-Encoding", "gzip;q=0").send();
    assert_eq!(refused.header("content-encoding"), None, "{refused}");
}

#[test]
fn an_app_can_be_installed() {
    let anyone = Service::shared().anyone();
    let manifest = anyone.get("/manifest.webmanifest").expect(200);
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"), "{manifest}");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest.bytes).unwrap();
    for icon in manifest["icons"].as_array().unwrap() {
        anyone.get(icon["src"].as_str().unwrap()).expect(200);
    }
    let share = &manifest["share_target"];
    let answer = anyone.post(share["action"].as_str().unwrap(), Form::photo(&e2e::picture::tiny()));
    assert_eq!(
        answer.expect(303).header("location"),
        Some("/new?shared"),
        "without a service worker the composer explains"
    );

    let worker = anyone.get("/sw.js").expect(200);
    assert_eq!(worker.header("cache-control"), Some("no-cache"), "{worker}");
    let worker = String::from_utf8(worker.bytes).unwrap();
    assert!(
        !worker.contains("{files}") && !worker.contains("{version}") && !worker.contains("\"./"),
        "{worker}"
    );
    for path in between(&worker, "\"/web/", "\"").filter(|path| !path.is_empty()) {
        anyone.get(&format!("/web/{path}")).expect(200);
    }
    anyone.get("/robots.txt").expect(200);
    anyone.get("/favicon.ico").expect(200);
}

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(answer.bytes.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

/// Every piece of a text between two marks.
fn between<'a>(text: &'a str, before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split(after).next())
}
