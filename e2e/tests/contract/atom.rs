//! Atom feeds of the instance and of users.

use e2e::{FormData, Service, picture};
use quick_xml::Reader;
use quick_xml::events::Event;

/// The texts of all elements with this name. Fails if the feed is not well-formed.
#[track_caller]
fn texts(xml: &str, name: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    let (mut texts, mut current) = (Vec::new(), None);
    loop {
        match reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}")) {
            Event::Start(start) if start.name().as_ref() == name.as_bytes() => current = Some(String::new()),
            Event::End(end) if end.name().as_ref() == name.as_bytes() => texts.extend(current.take()),
            Event::Text(text) => {
                if let Some(current) = &mut current {
                    current.push_str(&text.decode().unwrap());
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(current) = &mut current {
                    let character = reference.resolve_char_ref().unwrap();
                    let name = reference.decode().unwrap();
                    let entity = quick_xml::escape::resolve_predefined_entity(&name);
                    current.push_str(&character.map(String::from).or(entity.map(str::to_owned)).unwrap());
                }
            }
            Event::Eof => return texts,
            _ => {}
        }
    }
}

#[test]
fn feeds_have_the_newest_posts_with_their_whole_photos() {
    let service = Service::start(&[]);
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let hostile = "]]> & <b>\u{1}\u{fffe}\"'";
    let wide = picture::png(&picture::stripes(300, 100));
    let post = ada.post("/posts", FormData::photo(&wide).text("message", hostile).text("alt", hostile));
    let post = post.expect(201).json();
    let other = bob.share_tiny("from bob");
    let anonymous = service.anonymous();
    let base = service.base();
    for (path, ids) in [
        ("/feed.atom".to_owned(), vec![other.to_string(), post["id"].to_string()]),
        (format!("/@{}/feed.atom", ada.username()), vec![post["id"].to_string()]),
    ] {
        let response = anonymous.get(&path).expect(200);
        assert_eq!(response.header("content-type"), Some("application/atom+xml; charset=utf-8"));
        assert_eq!(response.header("cache-control"), Some("no-cache"));
        let xml = String::from_utf8(response.bytes.clone()).unwrap();
        let expected: Vec<String> = ids.iter().map(|id| format!("{base}/p/{id}")).collect();
        assert_eq!(texts(&xml, "id")[1..], expected, "{xml}");
        for time in texts(&xml, "updated").iter().chain(&texts(&xml, "published")) {
            assert!(time.len() == 20 && time.ends_with('Z'), "{time}");
        }
        let photo = format!("{base}/photos/{}/fit/1280", post["photo"]["id"].as_str().unwrap());
        assert!(xml.contains(&format!("rel=\"enclosure\" type=\"image/jpeg\" href=\"{photo}\"")), "{xml}");
        let content = texts(&xml, "content").pop().unwrap();
        assert!(
            content.contains(&format!("src=\"{photo}\"")) && content.contains("width=\"300\""),
            "{content}"
        );
        assert!(!content.contains("<b>"), "markup in a message is text: {content}");

        let etag = response.header("etag").unwrap();
        let unchanged = anonymous.request("GET", &path).header("If-None-Match", etag).send();
        assert_eq!((unchanged.status, unchanged.bytes.len()), (304, 0));
        assert_eq!(anonymous.request("HEAD", &path).send().expect(200).header("etag"), Some(etag));
    }
    ada.delete(&format!("/posts/{}", post["id"])).expect(200);
    let xml = String::from_utf8(anonymous.get("/feed.atom").expect(200).bytes).unwrap();
    assert_eq!(texts(&xml, "id").len(), 2, "the deleted post is gone");
    anonymous.get("/@no-such-user/feed.atom").expect_error(404);
    for (path, feed) in [
        ("/".to_owned(), "/feed.atom".to_owned()),
        (format!("/@{0}", ada.username()), format!("/@{}/feed.atom", ada.username())),
    ] {
        let page = anonymous.request("GET", &path).header("Accept", "text/html").send().expect(200);
        let page = String::from_utf8(page.bytes).unwrap();
        assert!(page.contains(&format!("type=\"application/atom+xml\" href=\"{feed}\"")), "{path}");
    }
}
