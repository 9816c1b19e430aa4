//! The known key that is nearest to a mistyped one.

use std::collections::BTreeSet;

use super::setting::Table;

/// Below this, two names have so little in common that a suggestion would only mislead.
const ALIKE: f64 = 0.4;

pub(super) fn nearest_key(table: Table, unknown: &str) -> Option<String> {
    let unknown = unknown.to_ascii_lowercase().replace('-', "_");
    let scored = table.keys().map(|key| (likeness(&unknown, &key), key));
    let best = scored.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, key)| key)
}

/// Edit distance finds slips of the finger (`lisetn`), shared pairs of letters words in another order
/// (`upload_max`), shared words a name that says more or less than ours (`log_level`, `url`).
fn likeness(one: &str, other: &str) -> f64 {
    let typed = strsim::normalized_damerau_levenshtein(one, other);
    typed.max(strsim::sorensen_dice(one, other)).max(shared_words(one, other))
}

/// The part of all their words that both names have.
fn shared_words(one: &str, other: &str) -> f64 {
    let (one, other): (BTreeSet<&str>, BTreeSet<&str>) =
        (one.split('_').collect(), other.split('_').collect());
    one.intersection(&other).count() as f64 / one.union(&other).count() as f64
}
