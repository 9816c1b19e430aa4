//! Suggestions for mistyped keys.

use std::collections::BTreeSet;

use super::setting::Table;

/// A less similar key would be a misleading suggestion.
const MIN_SIMILARITY: f64 = 0.4;

pub(super) fn nearest_key(table: Table, unknown: &str) -> Option<String> {
    nearest(table.keys(), unknown)
}

pub(crate) fn nearest<K: AsRef<str>>(known: impl Iterator<Item = K>, unknown: &str) -> Option<K> {
    let unknown = unknown.to_ascii_lowercase().replace('-', "_");
    let scored = known.map(|key| (similarity(&unknown, key.as_ref()), key));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(similarity, _)| *similarity >= MIN_SIMILARITY).map(|(_, key)| key)
}

/// The maximum of three measures: edit distance finds typing errors (`lisetn`), common bigrams find another
/// order of words (`upload_max`), common words find longer or shorter names (`log_level`, `url`).
fn similarity(one: &str, other: &str) -> f64 {
    let edits = strsim::normalized_damerau_levenshtein(one, other);
    edits.max(strsim::sorensen_dice(one, other)).max(common_words(one, other))
}

/// The Jaccard index of the words of two names.
fn common_words(one: &str, other: &str) -> f64 {
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) =
        (one.split('_').collect(), other.split('_').collect());
    one.intersection(&other).count() as f64 / one.union(&other).count() as f64
}
