//! Tags in messages: the posts with a tag, their page, and the links to it.

use e2e::shape::assert_page;
use e2e::{Body, Client, FormData, PASSWORD, Service, unique};
use serde_json::json;

use crate::feed::{Pager, ids_of};

/// A tag that no other test uses.
fn unique_tag(prefix: &str) -> String {
    unique(prefix).replace('-', "_")
}

fn tagged(client: &Client, tag: &str) -> Vec<i64> {
    let page = client.get(&format!("/tags/{tag}/posts")).expect(200).json();
    assert_page(&page);
    ids_of(&page)
}

#[test]
fn a_tag_lists_the_posts_that_have_it_in_any_case() {
    let service = Service::shared();
    let (ada, bob) = (service.new_user("ada"), service.new_user("bob"));
    let tag = unique_tag("Sunset");
    let path = format!("/tags/{tag}/posts");
    assert_eq!(bob.get(&path).expect(200).json(), json!({"data": [], "paging": {}}));

    let first = ada.share_tiny(&format!("At the sea. #{tag}"));
    ada.share_tiny(&format!("not {tag}, a#{tag}, #x{tag}, #{tag}x"));
    let second = bob.share_tiny(&format!("(#{}), twice: #{tag}!", tag.to_uppercase()));
    bob.post(&format!("/posts/{first}/likes"), Body::none()).expect(201);
    for (reader, likes) in [(&bob, true), (&ada, false), (&service.anonymous(), false)] {
        for spelling in [&tag, &tag.to_lowercase(), &tag.to_uppercase()] {
            let page = reader.get(&format!("/tags/{spelling}/posts")).expect(200).json();
            assert_page(&page);
            assert_eq!(ids_of(&page), [second, first]);
            for post in page["data"].as_array().unwrap() {
                assert_eq!(*post, reader.get(&format!("/posts/{}", post["id"])).expect(200).json());
                assert_eq!(post["is_liked"], likes && post["id"] == first);
            }
        }
    }
}

#[test]
fn tags_are_words_of_any_script() {
    let service = Service::shared();
    let (ada, suffix) = (service.new_user("ada"), unique_tag("x"));
    let anonymous = service.anonymous();
    let post = ada.share_tiny(&format!(
        "#Österreich_{suffix} #日本語_{suffix}、写真 #हिन्दी_{suffix} #ΟΔΟΣ_{suffix} #{suffix}-more #20 #٢٠"
    ));
    for tag in ["österreich", "ÖSTERREICH", "%C3%B6sterreich", "日本語", "हिन्दी", "οδος"]
    {
        assert_eq!(tagged(&anonymous, &format!("{tag}_{suffix}")), [post], "{tag}");
    }
    assert_eq!(tagged(&anonymous, &suffix), [post]);
    for tag in ["osterreich", "日本", "हिन्द"] {
        assert!(tagged(&anonymous, &format!("{tag}_{suffix}")).is_empty(), "{tag}");
    }
}

#[test]
fn an_invalid_tag_is_an_error_that_says_why() {
    // Directly on a node, because a balancer may rewrite or reject such paths.
    let anonymous = Service::shared().anonymous_on_node();
    let too_long = "a".repeat(65);
    for (tag, rule) in [
        ("2026", "a letter"),
        ("%23sunset", "without its #"),
        ("a-b", "letters, digits and _"),
        ("a%20b", "letters, digits and _"),
        ("a%2Fb", "letters, digits and _"),
        ("%00", "letters, digits and _"),
        ("%F0%9F%99%82", "letters, digits and _"),
        ("%CC%81a", "letters, digits and _"),
        ("%FF", "UTF-8"),
        (&too_long, "at most 64"),
    ] {
        let response = anonymous.get(&format!("/tags/{tag}/posts")).expect_error_for(400, Some("tag"));
        let message = response.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(rule), "{tag}: {message}");
        assert_eq!(anonymous.get(&format!("/tags/{tag}")).status, 404, "{tag}");
    }
    let longest = "a".repeat(64);
    anonymous.get(&format!("/tags/{longest}/posts")).expect(200);
    for (query, field) in [("limit=0", "limit"), ("offset=-1", "offset"), ("after=nonsense", "after")] {
        anonymous.get(&format!("/tags/sunset/posts?{query}")).expect_error_for(400, Some(field));
    }
}

#[test]
fn tags_follow_edits_and_deletes() {
    let service = Service::shared();
    let (ada, anonymous) = (service.new_user("ada"), service.anonymous());
    let (old, kept, new) = (unique_tag("old"), unique_tag("kept"), unique_tag("new"));
    let post = ada.share_tiny(&format!("#{old} #{kept}"));
    let path = format!("/posts/{post}");
    ada.put(&path, FormData::message(&format!("#{kept} #{new}"))).expect(200);
    for (tag, posts) in [(&old, &[][..]), (&kept, &[post]), (&new, &[post])] {
        assert_eq!(tagged(&anonymous, tag), posts, "{tag}");
    }
    ada.put(&path, FormData::new().text("alt", "without a message")).expect(200);
    assert_eq!(tagged(&anonymous, &new), [post], "an edit of another text keeps the tags");
    ada.put(&path, FormData::message("")).expect(200);
    assert!(tagged(&anonymous, &kept).is_empty());
    ada.put(&path, FormData::message(&format!("#{new}"))).expect(200);
    assert_eq!(tagged(&anonymous, &new), [post]);
    ada.delete(&path).expect(200);
    assert!(tagged(&anonymous, &new).is_empty());
}

#[test]
fn what_lists_leave_out_is_not_in_those_of_tags() {
    let service = Service::start(&[]);
    let moderator = service.new_user_with_role("moderator");
    let [ada, bob, carol, dora] = ["ada", "bob", "carol", "dora"].map(|name| service.new_user(name));
    let posts = [&bob, &carol, &carol, &dora].map(|user| user.share_tiny("#sea"));
    let shown = || tagged(&ada, "sea");
    assert_eq!(shown(), [posts[3], posts[2], posts[1], posts[0]]);

    ada.put(&format!("/me/blocks/{}", bob.username()), Body::none()).expect(200);
    assert_eq!(shown(), [posts[3], posts[2], posts[1]], "without the posts of a blocked user");
    ada.put(&format!("/me/hidden-posts/{}", posts[2]), Body::none()).expect(200);
    assert_eq!(shown(), [posts[3], posts[1]], "without a post that the viewer has hidden");
    let page = ada.get("/tags/sea/posts?limit=1&offset=1").expect(200).json();
    assert_eq!(
        (ids_of(&page), &page["paging"]),
        (vec![posts[1]], &json!({})),
        "an offset counts what is shown"
    );
    assert_eq!(tagged(&service.anonymous(), "sea").len(), 4, "only for that viewer");

    let reason = || FormData::new().text("reason", "spam");
    moderator.put(&format!("/admin/posts/{}/hidden", posts[1]), reason()).expect(200);
    assert_eq!(shown(), [posts[3]], "without a post that a moderator has hidden");
    let suspension = format!("/admin/users/{}/suspension", carol.username());
    moderator.put(&suspension, reason().text("hide_posts", "true")).expect(200);
    assert_eq!(tagged(&service.anonymous(), "sea"), [posts[3], posts[0]], "without those of a hidden user");
    moderator.delete(&suspension).expect(200);
    assert_eq!(tagged(&service.anonymous(), "sea"), [posts[3], posts[2], posts[0]]);

    dora.request("DELETE", "/me").body(FormData::new().text("password", PASSWORD)).send().expect(200);
    moderator.request("DELETE", &format!("/admin/posts/{}", posts[2])).body(reason()).send().expect(200);
    assert_eq!(tagged(&service.anonymous(), "sea"), [posts[0]], "without those that are deleted");
}

#[test]
fn the_posts_with_a_tag_are_paginated_like_the_feed() {
    let service = Service::shared();
    let (ada, anonymous) = (service.new_user("ada"), service.anonymous());
    let tag = unique_tag("ü");
    let message = format!("#{tag}");
    let mut posts: Vec<i64> = (0..12).map(|_| ada.share_tiny(&message)).collect();
    posts.reverse();
    let path = format!("/tags/{}/posts", tag.replace('ü', "%C3%BC"));
    for (query, expected) in [
        ("", 0..12),
        ("?limit=5", 0..5),
        ("?limit=5&offset=5", 5..10),
        ("?offset=11", 11..12),
        ("?offset=12", 12..12),
        ("?offset=1001", 12..12),
    ] {
        let page = anonymous.get(&format!("{path}{query}")).expect(200).json();
        assert_page(&page);
        assert_eq!(ids_of(&page), posts[expected], "{query}");
    }
    let mut pager = Pager::new(&anonymous, &format!("/tags/{}/posts", tag.to_uppercase()), 3);
    while pager.read_page() {
        let next = pager.next.clone().unwrap();
        assert!(next.starts_with(&format!("{}{path}?limit=3&offset=", service.base())), "{next}");
        ada.share_tiny(&message);
        // The post that is the cursor of the next page.
        ada.delete(&format!("/posts/{}", pager.seen.last().unwrap())).expect(200);
    }
    assert_eq!((pager.seen, pager.pages), (posts, 4));
}

#[test]
fn thirty_tags_of_a_post_are_indexed() {
    let service = Service::shared();
    let (ada, tag) = (service.new_user("ada"), unique_tag("many"));
    // A repeated tag counts once.
    let message: String = (0..31).map(|number| format!("#{tag}_{number} #{tag}_0 ")).collect();
    let post = ada.share_tiny(&message);
    for (number, posts) in [(0, &[post][..]), (29, &[post]), (30, &[])] {
        assert_eq!(tagged(&service.anonymous(), &format!("{tag}_{number}")), posts, "{number}");
    }
}

#[test]
fn an_import_keeps_tags() {
    let service = Service::shared();
    let (ada, eve, tag) = (service.new_user("ada"), service.new_user("eve"), unique_tag("moved"));
    let post = ada.share_tiny(&format!("#{tag}"));
    let archive = ada.export_account();
    ada.delete(&format!("/posts/{post}")).expect(200);
    assert_eq!(eve.import_account(&archive)["imported"], 1);
    let page = service.anonymous().get(&format!("/tags/{tag}/posts")).expect(200).json();
    assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page}");
    assert_eq!(page["data"][0]["user"]["username"], eve.username());
}

#[test]
fn messages_link_to_the_page_of_a_tag() {
    let service = Service::shared();
    let (ada, anonymous) = (service.new_user("ada"), service.anonymous());
    let tag = unique_tag("Überblick");
    let encoded = tag.to_lowercase().replace('ü', "%C3%BC");
    let posts: Vec<i64> = (0..31).map(|_| ada.share_tiny(&format!("(#{tag}), <b>"))).collect();
    let html = |path: &str| {
        let response = anonymous.request("GET", path).header("Accept", "text/html").send().expect(200);
        String::from_utf8(response.bytes.clone()).unwrap()
    };
    let post = html(&format!("/p/{}", posts[0]));
    assert!(post.contains(&format!("(<a href=\"/tags/{encoded}\">#{tag}</a>), ")), "{post}");

    let page = html(&format!("/tags/{}", encoded.to_uppercase()));
    let heading = tag.to_lowercase();
    for text in [
        format!("<title>#{heading} · Pinhole</title>"),
        format!("<link rel=\"canonical\" href=\"{}/tags/{encoded}\">", service.base()),
        format!("<h1>#{heading}</h1>"),
        format!("data-next=\"/tags/{encoded}?after="),
        format!("href=\"/p/{}\"", posts[30]),
        format!("href=\"/p/{}\"", posts[1]),
    ] {
        assert!(page.contains(&text), "{text} in {page}");
    }
    assert!(!page.contains(&format!("href=\"/p/{}\"", posts[0])), "30 posts on a page");
    let link = format!("href=\"/tags/{encoded}?after=");
    let cursor = page.split_once(&link).expect("a link to the next page").1.split('"').next().unwrap();
    let older = html(&format!("/tags/{encoded}?after={cursor}"));
    assert!(older.contains(&format!("href=\"/p/{}\"", posts[0])) && older.contains("noindex"), "{older}");
    let unknown = unique_tag("none");
    assert!(html(&format!("/tags/{unknown}")).contains(&format!("There are no photos with #{unknown} yet.")));
}
