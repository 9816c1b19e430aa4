//! Translations of the web client: one file per locale in `web/locales`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use app::InputFormat;
use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use model::Role;
use serde::Deserialize;

/// The first locale is the fallback.
static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    FILES.map(|file| serde_json::from_str(&with_formats(file)).expect("tests parse every locale file")).into()
});

/// Adding a locale means adding its file here.
const FILES: [&str; 2] =
    [include_str!("../../../../../web/locales/en.json"), include_str!("../../../../../web/locales/de.json")];

/// Translated messages by key.
type Messages = BTreeMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Locale {
    /// The BCP 47 language tag, for `lang="…"`.
    pub(super) tag: String,
    /// The language's name in itself.
    pub(super) name: String,
    pub(super) page: PageMessages,
    /// The messages that scripts show.
    script: Messages,
    /// Sentences for the codes and refusals of the API, for scripts as well.
    errors: Messages,
    /// What was done, by the action in the audit log.
    audit: Messages,
}

impl Locale {
    /// The locale of a tag such as `de`.
    pub(super) fn by_tag(tag: &str) -> Option<&'static Self> {
        LOCALES.iter().find(|locale| locale.tag.eq_ignore_ascii_case(tag))
    }

    pub(super) fn all() -> &'static [Self] {
        &LOCALES
    }

    /// Content negotiation by `Accept-Language` (RFC 9110, section 12.5.4), by primary subtag only.
    pub(super) fn negotiate(headers: &HeaderMap) -> &'static Self {
        let values = headers.get_all(ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        let mut ranges: Vec<(f32, &str)> =
            values.flat_map(|value| value.split(',')).map(weighted_range).collect();
        // A stable sort: of equal weights the first range wins.
        ranges.sort_by(|one, other| other.0.total_cmp(&one.0));
        let mut accepted = ranges.iter().filter(|(weight, _)| *weight > 0.0);
        accepted.find_map(|(_, tag)| Self::by_tag(primary_subtag(tag))).unwrap_or(&LOCALES[0])
    }

    /// A size as people write it, such as `1.5 GB`, which is 1.5 billion bytes.
    pub(super) fn size(&self, bytes: u64) -> String {
        let units = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB")];
        let (unit, name) = units.into_iter().find(|(unit, _)| bytes as f64 >= *unit).unwrap_or((1e3, "kB"));
        let number = format!("{:.1}", bytes as f64 / unit);
        format!("{} {name}", number.trim_end_matches(".0").replace('.', &self.page.decimal_point))
    }

    /// The scripts' messages as JSON.
    pub(super) fn script_messages_json(&self) -> String {
        let errors = self.errors.iter().map(|(word, text)| (format!("error.{word}"), text));
        let messages: BTreeMap<String, &String> =
            self.script.iter().map(|(key, text)| (key.clone(), text)).chain(errors).collect();
        serde_json::to_string(&messages).expect("strings serialize to JSON")
    }

    /// The sentence of an error, by its refusal or its code.
    pub(super) fn error(&self, word: &str) -> &str {
        self.errors.get(word).unwrap_or(&self.page.error_text)
    }

    /// What an action in the audit log did; `None` for one of a newer version.
    pub(super) fn audit(&self, action: &str) -> Option<&str> {
        self.audit.get(action).map(String::as_str)
    }

    pub(super) fn role(&self, role: Role) -> &str {
        match role {
            Role::Member => &self.page.role_member,
            Role::Moderator => &self.page.role_moderator,
            Role::Owner => &self.page.role_owner,
        }
    }
}

/// Replaces `{formats or}` by the list of accepted image formats; the second word is the conjunction.
fn with_formats(file: &str) -> String {
    let (first, rest) = file.split_once("{formats ").unwrap_or((file, ""));
    let rest = rest.split("{formats ").filter_map(|part| part.split_once('}'));
    rest.fold(first.to_owned(), |text, (conjunction, rest)| text + &InputFormat::list(conjunction) + rest)
}

/// Replaces `{parameter}` in a message.
pub(super) fn interpolate(message: &str, parameter: &str, value: &str) -> String {
    message.replace(&format!("{{{parameter}}}"), value)
}

/// Splits a language range such as `de-CH;q=0.8` into its weight and its tag.
fn weighted_range(range: &str) -> (f32, &str) {
    let (tag, rest) = range.split_once(';').unwrap_or((range, ""));
    let weight = rest.trim().strip_prefix("q=").map_or(1.0, |q| q.parse().unwrap_or(0.0));
    (weight, tag.trim())
}

fn primary_subtag(tag: &str) -> &str {
    tag.split('-').next().unwrap_or(tag)
}

/// Declares the messages of the templates as fields, so that a missing one fails the build. They are
/// deserialized through a map, because deriving so many fields would be the slowest function to compile.
macro_rules! page_messages {
    ($($key:ident),* $(,)?) => {
        /// The messages of the page templates.
        #[derive(Debug, Deserialize)]
        #[serde(try_from = "Messages")]
        pub(super) struct PageMessages { $(pub(super) $key: String),* }

        impl TryFrom<Messages> for PageMessages {
            type Error = String;

            fn try_from(mut messages: Messages) -> Result<Self, String> {
                let keys = BTreeSet::from([$(stringify!($key)),*]);
                if !messages.keys().eq(&keys) {
                    return Err(format!("`page` must have exactly these keys: {keys:?}"));
                }
                let mut take = |key| messages.remove(key).unwrap_or_default();
                Ok(Self { $($key: take(stringify!($key))),* })
            }
        }
    };
}

page_messages! {
    tagline, about, skip, main, home, login, logout, join, new, newest, to_newest, older,
    square, share_original, download_original, drop_here, read_more, uploading, end, photo_by,
    profile_photo, like, more, cancel, save, edit, delete, copy_link, share, edit_title,
    menu_title, message, message_hint, alt, alt_hint, empty_title, empty_text, empty_join,
    empty_post, profile_empty, profile_empty_own, posts_with_tag, tag_empty, since, posts_of,
    change_photo, remove_photo, username, username_hint, password, password_hint, show_password,
    join_title, join_lead, login_title, login_lead, have_account, no_account, needs_script,
    choose, camera, drop, formats, post, draft_remove, retry, forbidden_title, left_out_title,
    left_out_text, left_out_link, blocked_title, blocked_text, moderated_title, moderated_text,
    unreachable_title, unreachable_text, report_user, hidden_posts_title, hidden_posts_text,
    hidden_posts_none, hidden_by_reader, show_again, not_found_title, not_found_text,
    error_title, error_text, error_id, slow_down_title, slow_down_text, to_home, offline_title,
    offline_text, settings, forgot, recovery_title, recovery_lead, recovery_submit,
    recovery_code, recovery_code_hint, recovery_help, new_password, current_password,
    password_title, password_text, change_password, sessions_title, sessions_text,
    session_current, session_unknown, session_browser, session_used, session_end,
    sessions_end_others, recovery_codes, recovery_text, codes_none, codes_left, recovery_make,
    recovery_keep, recovery_copy, recovery_save, profile_title, display_name, display_name_hint,
    bio, link, about_title, runs_on, licences, rules, terms, contact, registration_open,
    registration_invitation, registration_approval, registration_closed, join_closed,
    join_invited, join_approval, invitation, accept_terms, hide_post, block, report,
    report_title, report_text, report_submit, reason, reason_hint, blocks_title, blocks_text,
    blocks_none, unblock, leave_title, leave_text, leave_submit, suspended_notice,
    pending_notice, hidden_notice, admin, reports, reports_none, hidden, suspend, dismiss,
    pending, suspended, approve, restore, instance, instance_name, description, terms_hint,
    registration, member_invitations, own_password, own_password_hint, invite, invite_text, invite_make, audit, operator,
    role_member, role_moderator, role_owner, hide_posts, quota_title, quota_bytes,
    quota_bytes_of, quota_posts, quota_posts_of, quota_likes, decimal_point, data_title,
    export_text, export_make, import_text, import_file, import_make, import_cancel, archive_summary,
    archive_likes, accent, accent_hint, quota_members, quota_moderators, quota_hint,
    quota_bytes_field, quota_posts_field, quota_likes_field, logo, logo_file, logo_hint,
    logo_set, logo_remove, deleted_notice, photo_notice, view_title, view_list, view_columns,
    view_grid, more_by, photo_count, photo_count_one, likers, liked_by, account_menu,
    appearance_title, theme, theme_system, theme_light, theme_dark, language, language_system,
    intro_title, intro_lead, promise_order, promise_order_text, promise_whole,
    promise_whole_text, promise_yours, promise_yours_text, members, members_text, members_none,
    members_waiting, members_search, members_more, filter, filter_clear, any, status, active,
    suspended_hidden, role, network, network_rule, network_show, joined, joined_any,
    joined_hour, joined_day, joined_week, joined_month, joined_at, like_count, like_count_one,
    you, select_all, select_rest, approve_title, restore_title, delete_title, delete_text, suspend_title, suspend_titles,
    suspend_text, role_change, role_title, role_titles, role_text, reset, reset_title,
    reset_text, delete_account, delete_account_title, delete_account_titles,
    delete_account_text, invite_title, invite_hint, invite_uses, invite_days, invite_none,
    invite_left, invite_by, invite_operator, invite_expires, revoke, revoke_title, revoke_text,
    link_made, sections, size_rule, intro_close, close, zoom_in, zoom_out, previous_photo,
    next_photo, lightbox_title,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use http::HeaderValue;
    use model::{AuditAction, Refusal};

    use super::*;
    use crate::http::error::ErrorCode;

    #[test]
    fn every_locale_has_the_same_keys_and_parameters() {
        let parameters = |text: &str| {
            let mut parameters: Vec<String> = text
                .split('{')
                .skip(1)
                .filter_map(|rest| rest.split('}').next())
                .map(str::to_owned)
                .collect();
            parameters.sort();
            parameters
        };
        let (first, others) = (messages(FILES[0]), &FILES[1..]);
        assert_eq!(LOCALES.len(), FILES.len());
        for file in others {
            let other = messages(file);
            assert!(
                first.keys().eq(other.keys()),
                "expected the same keys: {:?}, {:?}",
                first.keys(),
                other.keys()
            );
            for (key, text) in &first {
                assert!(!other[key].is_empty(), "{key} is empty");
                assert_eq!(parameters(text), parameters(&other[key]), "parameters of {key}");
            }
        }
    }

    /// The messages of a locale file by `page.key` or `script.key`.
    fn messages(file: &str) -> Messages {
        let file: serde_json::Value = serde_json::from_str(&with_formats(file)).unwrap();
        let section = |name: &str| serde_json::from_value::<Messages>(file[name].clone()).unwrap();
        ["page", "script", "errors", "audit"]
            .into_iter()
            .flat_map(|name| {
                section(name).into_iter().map(move |(key, text)| (format!("{name}.{key}"), text))
            })
            .collect()
    }

    #[test]
    fn every_refusal_has_a_sentence_in_every_language() {
        let words: BTreeSet<&str> = ErrorCode::ALL
            .iter()
            .map(|code| code.as_str())
            .chain(Refusal::ALL.iter().map(|refusal| refusal.as_str()))
            .collect();
        let docs = include_str!("../../../../../docs/api.md");
        for word in &words {
            assert!(docs.contains(&format!("`{word}`")), "docs/api.md lacks {word}");
        }
        assert_eq!(words.len(), ErrorCode::ALL.len() + Refusal::ALL.len(), "a word means one thing");
        for locale in Locale::all() {
            assert!(locale.errors.keys().eq(&words), "{}: {:?}, {words:?}", locale.tag, locale.errors.keys());
            for (word, text) in &locale.errors {
                let is_sentence = text.starts_with(char::is_uppercase) && text.ends_with('.');
                assert!(is_sentence && !text.contains(". ."), "{}, {word}: {text}", locale.tag);
                // A script fills in only these, and only if there is a limit.
                let has_limit = word.parse::<Refusal>().is_ok_and(Refusal::has_limit);
                let rest =
                    ["{limit}", "{size}", "{megapixels}"].iter().fold(text.clone(), |rest, parameter| {
                        rest.replace(parameter, if has_limit { "" } else { parameter })
                    });
                assert!(!rest.contains('{'), "{}, {word}: {text}", locale.tag);
            }
        }
    }

    #[test]
    fn every_action_of_the_audit_log_has_words_in_every_language() {
        let actions: BTreeSet<&str> = AuditAction::ALL.iter().map(|action| action.as_str()).collect();
        for locale in Locale::all() {
            assert!(locale.audit.keys().eq(&actions), "{}: {:?}, {actions:?}", locale.tag, locale.audit);
            for text in locale.audit.values() {
                assert!(text.contains(' ') && !text.contains('_'), "{}: {text}", locale.tag);
            }
        }
    }

    #[test]
    fn sizes_are_as_people_write_them() {
        let [english, german] = ["en", "de"].map(|tag| Locale::by_tag(tag).unwrap());
        for (bytes, expected) in [
            (0, "0 kB"),
            (999, "1 kB"),
            (1_500_000, "1.5 MB"),
            (32_000_000, "32 MB"),
            (10_000_000_000, "10 GB"),
        ] {
            assert_eq!(english.size(bytes), expected);
        }
        assert_eq!(german.size(1_500_000), "1,5 MB");
    }

    #[test]
    fn every_message_is_used() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let read = |folder: &Path| -> String {
            let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
            files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).unwrap()).collect()
        };
        let web = folder.join("../../web");
        let pages = ["pages", "pages/archive", "pages/partials"].map(|folder| web.join(folder));
        let pages: Vec<_> = pages.into_iter().chain([folder.join("src/http/pages")]).collect();
        let pages: String = pages.iter().map(|folder| read(folder)).collect();
        let scripts = read(&web.join("script"));
        let messages = messages(FILES[0]);
        for key in messages.keys().filter_map(|key| key.strip_prefix("page.")) {
            let is_read_from = |variable: &str| {
                let expression = format!("{variable}.{key}");
                // The match has to end where the identifier ends.
                pages
                    .split(&expression)
                    .skip(1)
                    .any(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            assert!(is_read_from("page") || is_read_from("messages"), "no page uses {key}");
        }
        for key in messages.keys().filter_map(|key| key.strip_prefix("script.")) {
            assert!(scripts.contains(&format!("\"{key}\"")), "no script uses {key}");
        }
    }

    #[test]
    fn the_locale_with_the_highest_weight_is_negotiated() {
        for (accept_language, tag) in [
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
            headers.insert(ACCEPT_LANGUAGE, HeaderValue::from_static(accept_language));
            assert_eq!(Locale::negotiate(&headers).tag, tag, "Accept-Language: {accept_language}");
        }
    }
}
