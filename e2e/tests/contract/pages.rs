//! The web pages as a browser receives them: security headers, escaping, compression, caching, content
//! negotiation. `e2e/browser` tests their looks and behaviour.

use std::io::Read;

use e2e::{AuthMethod, Client, FormData, Response, Service};
use flate2::read::GzDecoder;

/// The `Accept` header of a browser's page request.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8";

#[track_caller]
fn open(client: &Client, path: &str) -> Response {
    client.request("GET", path).header("Accept", BROWSER).send()
}

#[track_caller]
fn html(response: &Response) -> String {
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"), "{response}");
    String::from_utf8(response.bytes.clone()).unwrap()
}

#[test]
fn pages_contain_their_posts_without_scripts() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada").with_auth(AuthMethod::Cookie);
    let name = ada.username();
    let post = ada.share(&e2e::picture::tiny(), "First light");
    let (id, photo) = (&post["id"], post["photo"]["id"].as_str().unwrap());
    ada.post(&format!("/posts/{id}/likes"), FormData::default()).expect(201);
    for path in
        ["/".to_owned(), format!("/p/{id}"), format!("/@{name}"), format!("/@{}", name.to_uppercase())]
    {
        let page = html(&open(&service.anonymous(), &path).expect(200));
        // The page of a post has the whole photo.
        let is_post = path.starts_with("/p/");
        let image = if is_post { "fit/1280" } else { "320x320" };
        assert!(page.contains(&format!("/photos/{photo}/{image}")), "{path}: {page}");
        assert!(is_post || page.contains("data:image/png;base64,"), "{path}: no placeholder");
        assert!(!page.contains("data-me"), "{path} has a session for an anonymous client");
        assert!(html(&open(&ada, &path).expect(200)).contains(&format!("data-me=\"{name}\"")), "{path}");
    }
    let feed = html(&open(&ada, "/").expect(200));
    assert!(feed.contains("First light") && feed.contains("aria-pressed=\"true\""), "{feed}");
}

/// The card of a post on a page.
fn card(page: &str, post: i64) -> Option<&str> {
    let card = page.split_once(&format!("<article class=\"post\" data-post=\"{post}\""))?.1;
    Some(card.split("</article>").next().unwrap())
}

#[test]
fn pages_show_every_acknowledged_change_and_to_each_reader_what_is_theirs() {
    let service = Service::start(&[]);
    let [ada, bob] = ["ada", "bob"].map(|name| service.new_user(name));
    let (owner, guest) = (service.new_user_with_role("owner"), service.anonymous());
    let (first, second) = (ada.share_tiny("number one"), ada.share_tiny("number two"));
    let home = |client: &Client| html(&open(client, "/").expect(200));
    let pressed = |client: &Client| {
        let page = home(client);
        [first, second].map(|post| card(&page, post).unwrap().contains("aria-pressed=\"true\""))
    };
    for (like, own) in [(&bob, first), (&ada, second), (&bob, second)] {
        like.post(&format!("/posts/{own}/likes"), FormData::default()).expect(201);
    }
    for _ in 0..2 {
        assert_eq!((pressed(&ada), pressed(&bob)), ([false, true], [true, true]));
        for (client, name) in [(&ada, Some(ada.username())), (&bob, Some(bob.username())), (&guest, None)] {
            let page = home(client);
            let names: Vec<&str> = between(&page, "data-me=\"", "\"").collect();
            assert_eq!(names, Vec::from_iter(name));
            let counts = [first, second].map(|post| {
                between(card(&page, post).unwrap(), "data-slot=\"likes\">", "<").next().unwrap().to_owned()
            });
            assert_eq!(counts, ["1", "2"]);
        }
    }
    bob.delete(&format!("/posts/{first}/likes")).expect(200);
    assert_eq!(pressed(&bob), [false, true]);

    // What moderators and owners change, and what one reader blocks.
    let profile = format!("/@{}", ada.username());
    let photos = |client: &Client| html(&open(client, &profile).expect(200));
    assert!(photos(&guest).contains("2 photos"));
    ada.request("PATCH", &format!("/posts/{second}"))
        .body(FormData::new().text("message", "edited"))
        .send()
        .expect(200);
    for page in [home(&guest), home(&bob), html(&open(&guest, &format!("/p/{second}")).expect(200))] {
        assert!(page.contains("edited") && !page.contains("number two"));
    }
    bob.put(&format!("/me/blocks/{}", ada.username()), FormData::default()).expect(200);
    assert!(card(&home(&bob), second).is_none() && card(&home(&guest), second).is_some());
    owner.put(&format!("/admin/posts/{first}/hidden"), FormData::new().text("reason", "spam")).expect(200);
    assert!(card(&home(&guest), first).is_none() && photos(&guest).contains("1 photo"));
    owner
        .request("PATCH", "/admin/instance")
        .body(FormData::new().text("name", "Tulips & more"))
        .send()
        .expect(200);
    assert!(home(&guest).contains("<span>Tulips &#38; more</span>"));
    ada.delete(&format!("/posts/{second}")).expect(200);
    assert!(card(&home(&guest), second).is_none());
    open(&guest, &format!("/p/{second}")).expect(404);
}

#[test]
fn pagination_links_reach_every_post_without_scripts() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let mut posts: Vec<i64> = (0..43).map(|number| ada.share_tiny(&format!("number {number}"))).collect();
    posts.reverse();
    for (start, size) in [("/".to_owned(), 20), (format!("/@{}", ada.username()), 30)] {
        let (mut next, mut seen) = (Some(start.clone()), Vec::new());
        while let Some(path) = next {
            let page = html(&open(&service.anonymous(), &path).expect(200));
            let before = seen.len();
            seen.extend(between(&page, "data-post=\"", "\"").filter_map(|id| id.parse::<i64>().ok()));
            assert!(seen.len() - before <= size, "{path}");
            next = between(&page, "href=\"", "\"").find(|link| link.contains("?after=")).map(str::to_owned);
        }
        assert_eq!(seen, posts, "{start}");
    }
}

#[test]
fn scripts_get_posts_as_pages_have_them() {
    let service = Service::start(&[]);
    let (ada, guest) = (service.new_user("ada"), service.anonymous());
    let posts: Vec<i64> = (0..33).map(|number| ada.share_tiny(&format!("#all {number}"))).collect();
    ada.post(&format!("/posts/{}/likes", posts[31]), FormData::default()).expect(201);
    let ids = |html: &str| -> Vec<i64> {
        between(html, "data-post=\"", "\"").filter_map(|id| id.parse().ok()).collect()
    };
    let newest_first: Vec<i64> = posts.iter().rev().copied().collect();
    for client in [&ada, &guest] {
        let get = |path: &str| html(&open(client, path).expect(200));
        for list in ["/".to_owned(), format!("/@{}", ada.username()), "/tags/all".to_owned()] {
            let page = get(&list);
            let part = get(&format!("{list}?part=posts&limit=31"));
            assert!(!part.contains("<html") && !part.contains("<nav"), "{part}");
            assert_eq!(ids(&part), newest_first[..31]);
            // The second: the first one of a page is loaded at once.
            let second = card(&page, posts[31]);
            assert_eq!(second, card(&part, posts[31]), "{list}");
            let is_liked = second.map(|card| card.contains("aria-pressed=\"true\""));
            assert_eq!(is_liked, (list == "/").then_some(client.username() == ada.username()), "{list}");
            let next = between(&part, "data-next=\"", "\"").next().expect("a next page").to_owned();
            assert_eq!(ids(&get(&format!("{next}&part=posts"))), newest_first[31..], "{next}");
        }
        let own = format!("/p/{}", posts[31]);
        let in_list = get(&format!("{own}?part=posts"));
        assert_eq!(card(&in_list, posts[31]), card(&get("/"), posts[31]));
        let large = get(&format!("{own}?part=post"));
        assert_eq!(card(&large, posts[31]), card(&get(&own), posts[31]));
        assert!(large.contains("/fit/1280") && !in_list.contains("/fit/1280"));
        open(client, "/?part=posts&limit=0").expect(400);
        assert!(get("/?part=unknown").contains("<html"));
    }
    ada.delete(&format!("/posts/{}/likes", posts[31])).expect(200);
    assert!(!html(&open(&ada, "/?part=posts&limit=31").expect(200)).contains("aria-pressed=\"true\""));
}

#[test]
fn user_content_is_escaped() {
    let service = Service::start(&[]);
    let ada = service.new_user("ada");
    let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;</template></title>";
    let form = FormData::photo(&e2e::picture::tiny()).text("message", hostile).text("alt", hostile);
    let post = ada.post("/posts", form).expect(201).json();
    for path in ["/".to_owned(), format!("/p/{}", post["id"]), format!("/@{}", ada.username())] {
        let page = html(&open(&service.anonymous(), &path).expect(200));
        assert!(!page.contains("<script>") && !page.contains("<img src=x"), "{path}: {page}");
        assert!(page.contains("&#60;script&#62;") || page.contains("&lt;script&gt;"), "{path}: {page}");
        // The sequence that would close an attribute.
        assert!(!page.contains("\"'>"), "{path}: {page}");
    }
}

#[test]
fn every_page_has_security_headers_and_no_inline_code() {
    let service = Service::shared();
    let ada = service.new_user("ada").with_auth(AuthMethod::Cookie);
    for path in ["/", "/join", "/login", "/offline", "/p/0", "/no/such/page", "/@no-such-user"] {
        let response = open(&service.anonymous(), path);
        let policy = response.header("content-security-policy").unwrap_or_else(|| panic!("{response}"));
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
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{response}");
        assert_eq!(response.header("cache-control"), Some("private, no-cache"), "{response}");
        let page = html(&response);
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
        assert_eq!(open(&ada, path).expect(303).header("location"), Some("/"), "already logged in");
    }
    assert_eq!(open(&service.anonymous(), "/new").expect(303).header("location"), Some("/login?next=/new"));
}

#[test]
fn the_licences_of_all_that_the_program_contains_are_linked_and_served() {
    let anonymous = Service::shared().anonymous();
    assert!(html(&open(&anonymous, "/about")).contains("href=\"/licences\""));
    let plain = anonymous.get("/licences").expect(200);
    assert_eq!(plain.header("content-type"), Some("text/plain; charset=utf-8"));
    let printed = std::process::Command::new(e2e::program()).arg("licences").output().unwrap();
    assert!(printed.stdout == plain.bytes);
    let text = String::from_utf8(plain.bytes).unwrap();
    for part in [
        "tokio",
        "SQLite",
        "libwebp-sys",
        "Swagger UI",
        "Bricolage Grotesque",
        "Django Software Foundation",
        "after-the-rain",
    ] {
        assert!(text.contains(part), "{part} is missing");
    }
    let zipped = anonymous.request("GET", "/licences").header("Accept-Encoding", "gzip").send().expect(200);
    assert_eq!(zipped.header("content-encoding"), Some("gzip"));
    assert!(zipped.bytes.len() < text.len() / 5);
}

#[test]
fn page_errors_are_html_and_api_errors_are_json() {
    let anonymous = Service::shared().anonymous();
    for path in ["/p/0", "/p/x", "/@no-such-user", "/@a%20b", "/nothing", "/?after=x"] {
        let (page, plain) = (open(&anonymous, path), anonymous.get(path));
        assert!(html(&page).contains("<h1>"), "{page}");
        assert_eq!(page.status, plain.status, "{path}");
        assert_eq!(page.header("x-error-code"), plain.header("x-error-code"), "{path}");
        assert!(plain.json()["error"]["message"].is_string(), "{path}");
    }
    for path in ["/posts/0", "/users/no-such-user", "/me", "/photos/x/8x8", "/feed?limit=x"] {
        assert!(open(&anonymous, path).json()["error"].is_object(), "{path} is the API's own");
    }
    let member = Service::shared().new_user("ada").with_auth(AuthMethod::Cookie);
    let admin = member.request("GET", "/admin").header("Accept", BROWSER).header("Accept-Language", "de");
    let admin = html(&admin.send().expect(403));
    assert!(admin.contains("<p>Das darf nur die Moderation.</p>"), "{admin}");
    let rejected = anonymous.request("POST", "/").header("Accept", BROWSER).send().expect(405);
    assert!(rejected.json()["error"].is_object());
}

#[test]
fn the_language_follows_accept_language() {
    let anonymous = Service::shared().anonymous();
    for (accepted, tag, word) in
        [("de-CH,en;q=0.5", "de", "Mitmachen"), ("fr", "en", "Join"), ("en-GB,de", "en", "Join")]
    {
        for path in ["/", "/p/0"] {
            let response = anonymous
                .request("GET", path)
                .header("Accept", BROWSER)
                .header("Accept-Language", accepted)
                .send();
            let page = html(&response);
            assert!(page.contains(&format!("<html lang=\"{tag}\">")), "{accepted}: {page}");
            assert!(path == "/p/0" || page.contains(word), "{accepted}: {page}");
            assert!(response.header("vary").unwrap().contains("Accept-Language"), "{response}");
        }
    }
}

#[test]
fn static_files_are_compressed_and_immutable() {
    let anonymous = Service::shared().anonymous();
    let page = html(&open(&anonymous, "/").expect(200));
    let mut files: Vec<&str> = between(&page, "\"/web/", "\"").filter(|path| path.contains('.')).collect();
    files.sort_unstable();
    files.dedup();
    assert!(files.len() > 10, "{files:?}");
    for file in &files {
        let path = format!("/web/{file}");
        let plain = anonymous.get(&path).expect(200);
        assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"), "{plain}");
        let compressed =
            anonymous.request("GET", &path).header("Accept-Encoding", "br, gzip").send().expect(200);
        if file.ends_with(".png") || file.ends_with(".woff2") {
            continue;
        }
        assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{compressed}");
        assert_eq!(gunzip(&compressed), plain.bytes, "{path}");
        let head = anonymous.request("HEAD", &path).send().expect(200);
        assert_eq!(head.header("content-length"), plain.header("content-length"), "{path}");
    }
    let other = files[0].replace(|c: char| c.is_ascii_digit(), "x");
    anonymous.get(&format!("/web/{other}")).expect(404);
    anonymous.get("/web/../Cargo.toml").expect(404);

    let compressed =
        anonymous.request("GET", "/").header("Accept", BROWSER).header("Accept-Encoding", "gzip").send();
    assert_eq!(compressed.header("content-encoding"), Some("gzip"), "{compressed}");
    assert_eq!(gunzip(&compressed), page.into_bytes());
    let identity = anonymous.request("GET", "/").header("Accept-Encoding", "gzip;q=0").send();
    assert_eq!(identity.header("content-encoding"), None, "{identity}");
}

#[test]
fn the_web_app_is_installable() {
    let anonymous = Service::shared().anonymous();
    let manifest = anonymous.get("/manifest.webmanifest").expect(200);
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"), "{manifest}");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest.bytes).unwrap();
    for icon in manifest["icons"].as_array().unwrap() {
        anonymous.get(icon["src"].as_str().unwrap()).expect(200);
    }
    let share = &manifest["share_target"];
    let response = anonymous.post(share["action"].as_str().unwrap(), FormData::photo(&e2e::picture::tiny()));
    assert_eq!(
        response.expect(303).header("location"),
        Some("/new?shared"),
        "without a service worker the upload page explains"
    );

    let worker = anonymous.get("/sw.js").expect(200);
    assert_eq!(worker.header("cache-control"), Some("no-cache"), "{worker}");
    let worker = String::from_utf8(worker.bytes).unwrap();
    assert!(
        !worker.contains("{files}") && !worker.contains("{version}") && !worker.contains("\"./"),
        "{worker}"
    );
    for path in between(&worker, "\"/web/", "\"").filter(|path| !path.is_empty()) {
        anonymous.get(&format!("/web/{path}")).expect(200);
    }
    anonymous.get("/robots.txt").expect(200);
    anonymous.get("/favicon.ico").expect(200);
}

fn gunzip(response: &Response) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(response.bytes.as_slice()).read_to_end(&mut plain).unwrap();
    plain
}

/// Every part of a text between two delimiters.
fn between<'a>(text: &'a str, before: &'a str, after: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| rest.split(after).next())
}
