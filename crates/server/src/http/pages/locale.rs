//! The words of the pages in every language we speak: one file each in `web/words`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use app::InputFormat;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use serde::Deserialize;

/// The first is for those who asked for none of them.
static LOCALES: LazyLock<Vec<Words>> = LazyLock::new(|| {
    FILES.map(|file| serde_json::from_str(&with_formats(file)).expect("a test reads every language")).into()
});

/// A language: add its file here, and it is spoken.
const FILES: [&str; 2] =
    [include_str!("../../../../../web/words/en.json"), include_str!("../../../../../web/words/de.json")];

/// Sentences by their names.
type Sentences = BTreeMap<String, String>;

/// One language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// As in `lang="…"`.
    pub(super) tag: String,
    pub(super) page: Page,
    /// What scripts say.
    script: Sentences,
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

/// Declares the words that pages use by name. They are read from a map: the derived reader of so many fields
/// would take longer to compile than any other function of the service.
macro_rules! page {
    ($($word:ident),* $(,)?) => {
        /// What stands on the pages themselves.
        #[derive(Debug, Deserialize)]
        #[serde(try_from = "Sentences")]
        pub(super) struct Page { $(pub(super) $word: String),* }

        impl TryFrom<Sentences> for Page {
            type Error = String;

            fn try_from(mut sentences: Sentences) -> Result<Self, String> {
                let names = BTreeSet::from([$(stringify!($word)),*]);
                if !sentences.keys().eq(&names) {
                    return Err(format!("a page has exactly these words: {names:?}"));
                }
                let mut take = |name| sentences.remove(name).unwrap_or_default();
                Ok(Self { $($word: take(stringify!($word))),* })
            }
        }
    };
}

page! {
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
        let (first, others) = (sentences(FILES[0]), &FILES[1..]);
        assert_eq!(LOCALES.len(), FILES.len());
        for file in others {
            let other = sentences(file);
            assert!(
                first.keys().eq(other.keys()),
                "not the same words: {:?}, {:?}",
                first.keys(),
                other.keys()
            );
            for (key, text) in &first {
                assert!(!other[key].is_empty(), "{key} is empty");
                assert_eq!(gaps(text), gaps(&other[key]), "{key}");
            }
        }
    }

    /// Everything a language says, on pages and in scripts, by `page.name` or `script.name`.
    fn sentences(file: &str) -> Sentences {
        let file: serde_json::Value = serde_json::from_str(&with_formats(file)).unwrap();
        let of = |part: &str| serde_json::from_value::<Sentences>(file[part].clone()).unwrap();
        ["page", "script"]
            .into_iter()
            .flat_map(|part| of(part).into_iter().map(move |(name, text)| (format!("{part}.{name}"), text)))
            .collect()
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
        let words = sentences(FILES[0]);
        for word in words.keys().filter_map(|key| key.strip_prefix("page.")) {
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
        for word in words.keys().filter_map(|key| key.strip_prefix("script.")) {
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
