//! Which schedules the schema of Karpenter's CRD accepts. It accepts many that Karpenter cannot read, and rejects
//! `@every`, which Karpenter could read.

use super::calendar::MACROS;

/// Words in the second half of the pattern.
const WORDS: usize = 5;

/// Whether a schedule matches the CRD's pattern
/// `^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$` as Go searches for
/// it. Neither half is anchored at both ends.
pub fn crd_accepts(text: &str) -> bool {
    MACROS.iter().any(|(name, _)| text.starts_with(name)) || ends_in_five_words(text)
}

/// Whether the text ends with five words, separated by one ASCII whitespace character each. A word is one character
/// or more, including whitespace but not line feeds.
///
/// Read backwards, following all ways to split the words at once: `empty` and `begun` have bit n set if the text
/// read so far can be n whole words with whitespace after each, plus a word that is still empty or has begun.
fn ends_in_five_words(text: &str) -> bool {
    let (mut empty, mut begun) = (1_u8, 0_u8);
    for character in text.chars().rev() {
        let is_blank = matches!(character, '\t' | '\n' | '\u{c}' | '\r' | ' ');
        let longer = if character == '\n' { 0 } else { empty | begun };
        empty = if is_blank { begun << 1 } else { 0 };
        begun = longer;
        if begun >> (WORDS - 1) & 1 == 1 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PATTERN: &str = r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)[\t\n\x0c\r ](.+)[\t\n\x0c\r ](.+)[\t\n\x0c\r ](.+)[\t\n\x0c\r ](.+))$";

    #[test]
    fn five_words_at_the_end_are_enough() {
        for accepted in [
            "0 9 * * *",
            "0\t9\t*\t*\t*",
            "0\n9\n*\n*\n*",
            "a b c d e",
            "1 2 3 4 5 6 7",
            "0 0 * * *  ",
            "*   * * *",
            "\n0 9 * * *",
            "@every 1h        ",
            "@dailyfoo",
            "@hourly x",
            "a\n b c d e",
        ] {
            assert!(crd_accepts(accepted), "{accepted:?}");
        }
        for rejected in [
            "",
            "0 9 * *",
            "0 9 * * *\n",
            "@Daily",
            "@every 1h",
            " @daily",
            "0\u{a0}9\u{a0}*\u{a0}*\u{a0}*",
            "0\u{b}9\u{b}*\u{b}*\u{b}*",
            "0 9\n\n* * *",
        ] {
            assert!(!crd_accepts(rejected), "{rejected:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn the_verdict_is_that_of_the_pattern(
            text in r"(@(daily|hourly|dail|every))?([a \n\t\r\u{0b}\u{0c}\u{a0}é*]{0,14}|\PC{0,12})"
        ) {
            let pattern = regex::Regex::new(PATTERN).unwrap();
            prop_assert_eq!(crd_accepts(&text), pattern.is_match(&text));
        }
    }
}
