//! Which known words a person may have meant.

/// How many words are suggested.
const AT_MOST: usize = 3;

/// The words nearest to `word`: those with the fewest letters to change, one that begins like it before others.
pub(crate) fn nearest(word: &str, known: Vec<&str>) -> Vec<String> {
    let word = word.to_lowercase();
    let mut ranked: Vec<_> = known.into_iter().map(|name| (distance(&word, name), name)).collect();
    ranked.sort_unstable();
    ranked.dedup();
    let best = ranked.first().map_or(0, |(distance, _)| *distance);
    // A word much farther away than the best one only confuses.
    let close = ranked.iter().take_while(|(distance, _)| *distance <= best + 1);
    close.take(AT_MOST).map(|(_, name)| (*name).to_owned()).collect()
}

fn distance(word: &str, name: &str) -> usize {
    let name = name.to_lowercase();
    if name.starts_with(word) && !word.is_empty() {
        // Somebody stopped typing.
        return 1;
    }
    strsim::damerau_levenshtein(word, &name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    const WORDS: [&str; 6] =
        ["Ready", "Reconciling", "Degraded", "Blocked", "BlockedOnSandbox", "MissingSecret"];

    #[test]
    fn the_fewest_changes_come_first() {
        assert_eq!(nearest("redy", WORDS.to_vec()), ["Ready"]);
        assert_eq!(nearest("MisingSecrt", WORDS.to_vec()), ["MissingSecret"]);
        assert_eq!(nearest("blokced", WORDS.to_vec()), ["Blocked"]);
    }

    #[test]
    fn a_word_cut_short_finds_the_whole_one() {
        assert_eq!(nearest("missing", WORDS.to_vec()), ["MissingSecret"]);
        assert_eq!(nearest("block", WORDS.to_vec()), ["Blocked", "BlockedOnSandbox"]);
    }

    #[test]
    fn nonsense_still_gets_the_nearest_and_each_word_once() {
        assert_eq!(nearest("", vec!["Ready", "Ready"]), ["Ready"]);
        assert!(!nearest("xyzzy", WORDS.to_vec()).is_empty());
    }
}
