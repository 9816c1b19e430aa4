//! Links in a message: web addresses, `@usernames` and `#tags`.

use model::{OPENING_PUNCTUATION, Tag, Username, is_web_address};

use crate::links;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) text: String,
    /// Where it leads; `None` for plain text.
    pub(super) href: Option<String>,
    pub(super) is_external: bool,
}

/// Punctuation after an address or a name is not part of it.
const CLOSING: [char; 12] = ['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '“', '”'];

/// The parts of a message, in order: together they are its text.
pub(super) fn segments(message: &str) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for piece in message.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let opened = word.trim_start_matches(OPENING_PUNCTUATION);
        let core = Tag::at_start(opened).unwrap_or_else(|| opened.trim_end_matches(CLOSING));
        let Some(href) = href(core) else {
            push_text(&mut segments, piece);
            continue;
        };
        let start = word.len() - opened.len();
        push_text(&mut segments, &piece[..start]);
        let is_external = !href.starts_with('/');
        segments.push(Segment { text: core.to_owned(), href: Some(href), is_external });
        push_text(&mut segments, &piece[start + core.len()..]);
    }
    segments
}

fn push_text(segments: &mut Vec<Segment>, text: &str) {
    match segments.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.href.is_none() => last.text.push_str(text),
        _ => segments.push(Segment { text: text.to_owned(), href: None, is_external: false }),
    }
}

fn href(word: &str) -> Option<String> {
    if let Some(tag) = word.strip_prefix('#') {
        return Some(links::tag(&tag.parse().ok()?));
    }
    if let Some(name) = word.strip_prefix('@') {
        return name.parse::<Username>().is_ok().then(|| format!("/@{name}"));
    }
    is_web_address(word).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_names_and_tags_are_links_and_the_text_is_unchanged() {
        for (message, links) in [
            ("", &[][..]),
            ("plain text, 3 < 4", &[]),
            ("see https://example.org/a?b=c#d.", &["https://example.org/a?b=c#d"]),
            (
                "(http://example.org), \"HTTPS://Example.org/\"",
                &["http://example.org", "HTTPS://Example.org/"],
            ),
            ("with @ada and (@Bob.B), not ada@example.org", &["/@ada", "/@Bob.B"]),
            ("two\nlines\t@ada", &["/@ada"]),
            ("#One, (#two), #well-known", &["/tags/one", "/tags/two", "/tags/well"]),
            ("#日本語、写真 #a_ö", &["/tags/%E6%97%A5%E6%9C%AC%E8%AA%9E", "/tags/a_%C3%B6"]),
            ("#2024 a#b #<b> # #.", &[]),
            ("@", &[]),
            ("@.. https:// http://. javascript://x ftp://x //x", &[]),
            ("@<script> https://<b>", &[]),
            // The host is behind the @, and what a reader sees is not the host.
            ("https://good.example@evil.example https://good.example:1@evil.example/", &[]),
            ("https://good.example/@ada", &["https://good.example/@ada"]),
            ("https://a.example/\u{202e}gpj.exe https://a\u{200b}b.example", &[]),
            ("für ä🙂 @grüße https://пример.рф/ü", &["https://пример.рф/ü"]),
        ] {
            let segments = segments(message);
            let text: String = segments.iter().map(|segment| &*segment.text).collect();
            assert_eq!(text, message);
            let hrefs: Vec<&str> = segments.iter().filter_map(|segment| segment.href.as_deref()).collect();
            assert_eq!(hrefs, links, "{message}");
        }
    }
}
