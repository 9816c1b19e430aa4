//! The name, description, colour and logo of the instance, wherever a person or a link preview sees them.

use e2e::{AuthMethod, Client, FormData, Response, Service, picture};
use serde_json::Value;

const NAME: &str = "Birds of the north";
const DESCRIPTION: &str = "Photos of birds, by those who wait for them.";

/// Where the software may be named.
const ALLOWED: [&str; 5] = [
    "Runs on Pinhole",
    "runs on Pinhole",
    "Läuft mit Pinhole",
    "mit Pinhole läuft",
    "<generator>Pinhole</generator>",
];

/// The documentation of the API and the licences, which are those of the software.
const DOCUMENTATION: [&str; 5] = ["/openapi.json", "/docs", "/docs/", "/docs/{*rest}", "/licences"];

/// The paths of the pages and files of the web client, from the route table.
fn web_client() -> Vec<&'static str> {
    let table = include_str!("../../../crates/server/src/http/routes/table.rs");
    let (_, table) = table.split_once("fn web_client()").unwrap();
    let (table, _) = table.split_once("\n}\n").unwrap();
    let routes = table.split("(Method::GET, \"").skip(1).filter_map(|rest| rest.split('"').next());
    routes.filter(|path| !DOCUMENTATION.contains(path)).collect()
}

fn open(client: &Client, path: &str, language: &str) -> Response {
    let request = client.request("GET", path).header("Accept", "text/html,*/*;q=0.8");
    request.header("Accept-Language", language).send()
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.bytes).into_owned()
}

fn set(owner: &Client, values: &[(&str, &str)]) {
    let form = values.iter().fold(FormData::new(), |form, (key, value)| form.text(key, value));
    owner.request("PATCH", "/admin/instance").body(form).send().expect(200);
}

#[test]
fn every_page_shows_the_name_the_description_and_the_logo_of_the_instance() {
    let service = Service::start(&[]);
    let owner = service.new_user_with_role("owner").with_auth(AuthMethod::Cookie);
    let (member, guest) = (service.new_user("ada").with_auth(AuthMethod::Cookie), service.anonymous());
    let post = member.share(&picture::tiny(), "A #wren");
    let substitutes = [
        ("{post_id}", post["id"].to_string()),
        ("{username}", member.username().to_owned()),
        ("{tag}", "wren".to_owned()),
        ("{size}", "192x192".to_owned()),
    ];
    let oembed = format!("/oembed?url={}/p/{}", service.base(), post["id"]);
    let mut paths: Vec<String> = web_client()
        .into_iter()
        .filter(|path| !path.contains("{file}"))
        .map(|path| substitutes.iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value)))
        .map(|path| if path == "/oembed" { oembed.clone() } else { path })
        .collect();
    paths
        .extend(["/p/0", "/@no-such-user", "/nothing", "/?after=x", "/join?invitation=x"].map(str::to_owned));
    assert!(paths.len() > 20 && !paths.iter().any(|path| path.contains('{')), "{paths:?}");
    let walk = |check: &mut dyn FnMut(&str, &Response)| {
        for client in [&guest, &member, &owner] {
            for path in &paths {
                for language in ["en", "de"] {
                    check(path, &open(client, path, language));
                }
            }
        }
    };
    // Fills every cache with what the software says without an owner's settings.
    let mut pages = 0;
    walk(&mut |_, response| pages += usize::from(text(response).contains("<title>")));
    assert!(pages > 60, "{pages}");
    let worker = text(&guest.get("/sw.js").expect(200));

    set(&owner, &[("name", NAME), ("description", DESCRIPTION), ("accent", "#0057b7")]);
    let logo = FormData::new().file("logo", &picture::png(&picture::half_transparent(600)));
    owner.put("/admin/instance/logo", logo).expect(200);
    walk(&mut |path, response| {
        let body = text(response);
        let rest = ALLOWED.iter().fold(body.clone(), |rest, allowed| rest.replace(allowed, ""));
        assert!(!rest.contains("Pinhole"), "{path}: {body}");
        if !body.contains("<title>") || body.starts_with("<?xml") {
            return;
        }
        let (head, page) = body.split_once("</head>").unwrap();
        for element in [
            format!("<meta property=\"og:site_name\" content=\"{NAME}\">"),
            format!("<meta name=\"application-name\" content=\"{NAME}\">"),
            format!("<meta name=\"apple-mobile-web-app-title\" content=\"{NAME}\">"),
            "<link rel=\"stylesheet\" href=\"/accent.css?colour=0057b7\">".to_owned(),
            "<link rel=\"icon\" href=\"/logo/96x96?v=".to_owned(),
            "<link rel=\"apple-touch-icon\" href=\"/logo/180x180?v=".to_owned(),
        ] {
            assert!(head.contains(&element), "{path} lacks {element}: {head}");
        }
        let title = head.split_once("<title>").unwrap().1.split_once("</title>").unwrap().0;
        assert!(title.contains(NAME), "{path}: {title}");
        assert!(!head.contains("/icon"), "{path}: {head}");
        assert!(page.contains("<img class=\"logo\" src=\"/logo/96x96?v="), "{path}: {page}");
    });

    for path in ["/", "/join", "/join?invitation=x", "/about", "/login"] {
        let page = text(&open(&guest, path, "en").expect(200));
        for element in [
            format!("<meta name=\"description\" content=\"{DESCRIPTION}\">"),
            format!("<meta property=\"og:title\" content=\"{NAME}\">"),
            format!("<meta property=\"og:description\" content=\"{DESCRIPTION}\">"),
            format!("<meta property=\"og:image\" content=\"{}/logo/512x512?v=", service.base()),
        ] {
            assert!(page.contains(&element), "{path} lacks {element}: {page}");
        }
    }
    let home = text(&open(&guest, "/", "en"));
    assert!(home.contains(&format!("<h1>{NAME}</h1>")), "{home}");
    assert!(home.contains(&format!("<p class=\"lead prose\">{DESCRIPTION}</p>")), "{home}");

    let json = |path: &str| serde_json::from_slice::<Value>(&guest.get(path).expect(200).bytes).unwrap();
    let manifest = json("/manifest.webmanifest");
    assert_eq!((&manifest["name"], &manifest["short_name"]), (&NAME.into(), &NAME.into()));
    assert_eq!(manifest["description"], DESCRIPTION);
    let icons = manifest["icons"].as_array().unwrap();
    assert!(icons.iter().any(|icon| icon["purpose"] == "maskable"), "{manifest}");
    for icon in icons {
        let image = guest.get(icon["src"].as_str().unwrap()).expect(200);
        assert_eq!(image.header("content-type"), Some("image/png"), "{image}");
        assert_eq!(image.header("cache-control"), Some("public, max-age=86400"), "{image}");
        let image = image.picture();
        assert_eq!(icon["sizes"], format!("{0}x{0}", image.width()), "{manifest}");
        assert_eq!(image.width(), image.height());
        let is_maskable = icon["purpose"] == "maskable";
        assert_eq!(image.color().has_alpha(), !is_maskable, "{icon}");
    }
    assert_eq!(json(&oembed)["provider_name"], NAME);
    let atom = text(&guest.get("/feed.atom").expect(200));
    for element in [format!("<title>{NAME}</title>"), format!("<subtitle>{DESCRIPTION}</subtitle>")] {
        assert!(atom.contains(&element), "{atom}");
    }
    assert!(atom.contains(&format!("<icon>{}/logo/192x192?v=", service.base())), "{atom}");
    let favicon = guest.get("/favicon.ico").expect(307);
    assert!(favicon.header("location").unwrap().starts_with("/logo/48x48?v="), "{favicon}");

    // Another worker: browsers install it, and with it the offline page of the new name.
    let branded = text(&guest.get("/sw.js").expect(200));
    assert!(branded.contains("/logo/96x96?v=") && branded.contains("/accent.css?colour=0057b7"), "{branded}");
    set(&owner, &[("name", "Birds of the south")]);
    let renamed = text(&guest.get("/sw.js").expect(200));
    assert!(renamed != branded, "{renamed}");
    owner.delete("/admin/instance/logo").expect(200);
    set(&owner, &[("name", ""), ("description", ""), ("accent", "")]);
    assert_eq!(text(&guest.get("/sw.js").expect(200)), worker);
    assert!(text(&open(&guest, "/p/0", "en").expect(404)).contains(" · Pinhole</title>"));
}

#[test]
fn the_logo_has_every_size_up_to_its_own_and_an_address_that_changes_with_it() {
    let service = Service::start(&[]);
    let (owner, guest) = (service.new_user_with_role("owner"), service.anonymous());
    guest.get("/logo/64x64").expect_error(404);
    let set_logo = |colour| {
        let logo = picture::png(&picture::plain(300, 200, colour));
        owner.put("/admin/instance/logo", FormData::new().file("logo", &logo)).expect(200);
    };
    set_logo([200, 0, 0]);
    for side in [1, 2, 3, 47, 512] {
        let image = guest.get(&format!("/logo/{side}x{side}")).expect(200);
        assert_eq!(image.header("cache-control"), Some("no-store"), "its address has no version: {image}");
        let image = image.picture();
        assert_eq!((image.width(), image.height()), (side, side));
        picture::assert_colour(&image, (50, 50), [200, 0, 0], "the middle");
        let framed = guest.get(&format!("/logo/{side}x{side}?&maskable")).expect(200).picture();
        assert_eq!((framed.width(), framed.height()), (side, side));
    }
    let framed = guest.get("/logo/512x512?&maskable").expect(200).picture();
    picture::assert_colour(&framed, (8, 8), [255, 255, 255], "the margin");
    picture::assert_colour(&framed, (50, 50), [200, 0, 0], "the middle");
    guest.get("/logo/513x513").expect_error(404);
    for wrong in ["0x0", "64x65", "64", "x", "9999x9999"] {
        guest.get(&format!("/logo/{wrong}")).expect_error(400);
    }
    set_logo([0, 0, 200]);
    let image = guest.get("/logo/64x64").expect(200).picture();
    picture::assert_colour(&image, (50, 50), [0, 0, 200], "another logo");
}
