//! What somebody probably meant to write.

/// Longest text, in bytes, for which a likely spelling is looked for; no legal word is longer.
const LONGEST_GUESSED: usize = 40;

/// The word of a list that a text was probably meant to be: the same but for case, or with at most one slip in
/// three letters, beyond which it is another word.
pub(super) fn closest(text: &str, words: &[&'static str]) -> Option<&'static str> {
    if text.len() > LONGEST_GUESSED {
        return None;
    }
    let text = text.trim().to_ascii_lowercase();
    let distance = |word: &str| strsim::osa_distance(&text, &word.to_ascii_lowercase());
    let nearest = words.iter().min_by_key(|word| distance(word))?;
    (distance(nearest) * 3 <= nearest.len()).then_some(*nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_corrected_and_another_word_is_not() {
        let words = ["Drifted", "Empty", "Underutilized"];
        for (text, meant) in [
            ("drifted", Some("Drifted")),
            ("Drift", Some("Drifted")),
            (" Empty", Some("Empty")),
            ("Underutilised", Some("Underutilized")),
            ("Expired", None),
            ("", None),
        ] {
            assert_eq!(closest(text, &words), meant, "{text}");
        }
        assert_eq!(closest(&"E".repeat(1_000_000), &words), None);
        assert_eq!(closest("Empty", &[]), None);
    }
}
