//! oEmbed: how other sites show the photo of a post.

use e2e::{FormData, Service, picture};

#[test]
fn a_post_is_described_for_sites_that_embed_it() {
    let service = Service::start(&[]);
    let (ada, base) = (service.new_user("ada"), service.base());
    let wide = picture::png(&picture::stripes(300, 100));
    let post =
        ada.post("/posts", FormData::photo(&wide).text("message", "<b>The ridge</b>")).expect(201).json();
    let (id, photo) = (&post["id"], post["photo"]["id"].as_str().unwrap());
    let link = format!("{base}/p/{id}");
    let anonymous = service.anonymous();
    for (query, width, height) in [
        ("", 300, 100),
        ("&maxwidth=150", 150, 50),
        ("&maxheight=20&maxwidth=999", 61, 20),
        ("&format=json", 300, 100),
    ] {
        let body = anonymous.get(&format!("/oembed?url={link}{query}")).expect(200).json();
        assert_eq!((&body["type"], &body["version"]), (&"photo".into(), &"1.0".into()), "{body}");
        assert_eq!((&body["width"], &body["height"]), (&width.into(), &height.into()), "{query}: {body}");
        assert_eq!(body["title"], format!("<b>The ridge</b> · {}", ada.username()));
        assert_eq!(body["author_url"], format!("{base}/@{}", ada.username()));
        let url = body["url"].as_str().unwrap();
        assert!(url.starts_with(&format!("{base}/photos/{photo}/fit/")), "{url}");
        let image = anonymous.get(url.strip_prefix(base).unwrap()).expect(200).picture();
        assert_eq!((image.width(), image.height()), (width, height));
    }
    let page = String::from_utf8(anonymous.get(&format!("/p/{id}")).expect(200).bytes).unwrap();
    assert!(page.contains("type=\"application/json+oembed\""), "{page}");

    for url in ["", &format!("{base}/p/999999"), &format!("{base}/@ada"), "https://example.org/p/1"] {
        anonymous.get(&format!("/oembed?url={url}")).expect_error(404);
    }
    for query in ["", "?url", &format!("?url={link}&maxwidth=0"), &format!("?url={link}&maxheight=-1")] {
        let status = anonymous.get(&format!("/oembed{query}")).status;
        assert!(matches!(status, 400 | 404), "{query}: {status}");
    }
    assert_eq!(anonymous.get(&format!("/oembed?url={link}&format=xml")).status, 501);
    ada.delete(&format!("/posts/{id}")).expect(200);
    anonymous.get(&format!("/oembed?url={link}")).expect_error(404);
}
