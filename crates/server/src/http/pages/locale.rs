//! The words of the pages in every language we speak: one file each in `web/words`.

use std::sync::LazyLock;

use app::InputFormat;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use serde::{Deserialize, Serialize};

/// A language: add its file here, and it is spoken. The first is for those who asked for none of them.
static LOCALES: LazyLock<Vec<Words>> = LazyLock::new(|| {
    [include_str!("../../../../../web/words/en.json"), include_str!("../../../../../web/words/de.json")]
        .map(|file| serde_json::from_str(&with_formats(file)).expect("a test reads every language"))
        .into()
});

/// One language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// As in `lang="…"`.
    pub(super) tag: String,
    pub(super) page: Page,
    script: Script,
}

impl Words {
    /// The language the reader likes best among ours.
    pub(super) fn for_reader(headers: &HeaderMap) -> &'static Self {
        let asked = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        let mut wishes: Vec<(f32, &str)> = asked.flat_map(|value| value.split(',')).map(wish).collect();
        // Stable: of equal wishes the first counts.
        wishes.sort_by(|one, other| other.0.total_cmp(&one.0));
        let speak = |tag: &str| LOCALES.iter().find(|words| words.tag.eq_ignore_ascii_case(tag));
        let found =
            wishes.iter().filter(|(weight, _)| *weight > 0.0).find_map(|(_, tag)| speak(primary(tag)));
        found.unwrap_or(&LOCALES[0])
    }

    /// What scripts say, to be put into a page: no `<` can end the element it stands in.
    pub(super) fn script_json(&self) -> String {
        serde_json::to_string(&self.script).unwrap_or_default().replace('<', "\\u003c")
    }
}

/// Replaces `{formats or}` by the list of accepted formats, with the conjunction that is given there.
fn with_formats(file: &str) -> String {
    let (first, rest) = file.split_once("{formats ").unwrap_or((file, ""));
    let rest = rest.split("{formats ").filter_map(|part| part.split_once('}'));
    rest.fold(first.to_owned(), |text, (conjunction, rest)| text + &InputFormat::list(conjunction) + rest)
}

/// Fills the one gap of a sentence.
pub(super) fn fill(sentence: &str, gap: &str, value: &str) -> String {
    sentence.replace(&format!("{{{gap}}}"), value)
}

/// `de-CH;q=0.8` as a weight and a tag.
fn wish(range: &str) -> (f32, &str) {
    let (tag, rest) = range.split_once(';').unwrap_or((range, ""));
    let weight = rest.trim().strip_prefix("q=").map_or(1.0, |q| q.parse().unwrap_or(0.0));
    (weight, tag.trim())
}

fn primary(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($word:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name { $(pub(super) $word: String),* }

        #[cfg(test)]
        impl $name {
            fn all(&self) -> Vec<(&'static str, &str)> {
                vec![$((stringify!($word), self.$word.as_str())),*]
            }
        }
    };
}

words! {
    /// What stands on the pages themselves.
    Page {
        tagline, about, skip, main, home, login, logout, join, new, newest, to_newest, older,
        end, photo_by, profile_photo, like, more, cancel, save, edit, delete, copy_link,
        share, edit_title, delete_title, delete_text, menu_title, message, message_hint, alt,
        alt_hint, empty_title, empty_text, empty_join, empty_post, person_empty, person_empty_own,
        since, posts_of, change_photo, remove_photo, username, username_hint, password,
        password_hint, show_password, join_title, join_lead, login_title, login_lead, have_account,
        no_account, needs_script, choose, camera, drop, formats, post, draft_remove,
        retry, not_found_title, not_found_text, error_title, error_text, error_id, slow_down_title,
        slow_down_text, to_home, offline_title, offline_text,
    }
}

words! {
    /// What scripts say.
    Script {
        offline, no_network, busy, rate_limited, failed, broken, signed_out,
        like_failed, unlike_failed, feed_failed, try_again, loading, end, link_copied, link_here,
        saved, deleted, gone, not_yours, cross_site, wrong_credentials, name_taken, name_rule,
        name_missing, password_missing, password_short, not_an_image, too_large, no_preview,
        waiting, sending, processing, all_posted, removed_location, queued,         refused, cancelled, shared_lost, photo_changed, photo_removed, photo_by, profile_photo,
        draft,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use http::HeaderValue;

    use super::*;

    #[test]
    fn every_language_says_everything_with_the_same_gaps() {
        let gaps = |text: &str| {
            let mut gaps: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
                .map(str::to_owned)
                .collect();
            gaps.sort();
            gaps
        };
        let (first, others) = LOCALES.split_first().unwrap();
        for words in others {
            let (ours, theirs) = (
                [first.page.all(), first.script.all()].concat(),
                [words.page.all(), words.script.all()].concat(),
            );
            for ((key, text), (_, other)) in ours.into_iter().zip(theirs) {
                assert!(!other.is_empty(), "{key} is empty in {}", words.tag);
                assert_eq!(gaps(text), gaps(other), "{key} in {}", words.tag);
            }
        }
    }

    #[test]
    fn every_word_is_said_somewhere() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |folder: &Path| -> String {
            let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect()
        };
        let web = folder.join("../../web");
        let pages = [web.join("pages"), web.join("pages/parts"), folder.join("src/http/pages")];
        let pages: String = pages.iter().map(|folder| read(folder)).collect();
        let scripts = read(&web.join("script"));
        for (word, _) in LOCALES[0].page.all() {
            // Whatever follows it is no part of the name.
            let said = |place: &str| {
                let name = format!("{place}.{word}");
                pages
                    .split(&name)
                    .skip(1)
                    .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            assert!(said("page") || said("words"), "no page says {word}");
        }
        for (word, _) in LOCALES[0].script.all() {
            assert!(scripts.contains(&format!("\"{word}\"")), "no script says {word}");
        }
    }

    #[test]
    fn readers_get_the_language_they_like_best_among_ours() {
        for (asked, tag) in [
            ("", "en"),
            ("de", "de"),
            ("de-CH, fr;q=0.9, en;q=0.8", "de"),
            ("fr-FR, fr;q=0.9, de;q=0.5, en;q=0.4", "de"),
            ("en-GB, de;q=0.9", "en"),
            ("de;q=0, en;q=0.1", "en"),
            ("DE-at", "de"),
            ("ja", "en"),
            ("*", "en"),
            (";;;q=x", "en"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(asked));
            assert_eq!(Words::for_reader(&headers).tag, tag, "{asked}");
        }
    }
}
