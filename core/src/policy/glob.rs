//! Patterns for names: `*` matches any characters, everything else itself. A rule has more ways to be named.

/// A pattern such as `gpu-*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(String);

impl Glob {
    /// Makes a pattern of a text. Every text is a valid pattern.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches the whole of `name`. Takes time in proportion to the sum of both lengths.
    pub fn matches(&self, name: &str) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(mut name) = name.strip_prefix(first) else {
            return false;
        };
        let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        for part in between.split('*') {
            // The leftmost match leaves most room for what follows.
            let Some((_, behind)) = name.split_once(part) else {
                return false;
            };
            name = behind;
        }
        name.ends_with(last)
    }
}

/// Whether a text names a rule: by its name, by the first words of it, or by a pattern with `*`.
pub fn names_rule(written: &str, id: &str) -> bool {
    if written.contains('*') {
        return Glob::new(written).matches(id);
    }
    id.strip_prefix(written)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stars_stand_for_any_characters_and_nothing_else_is_special() {
        for (pattern, name, wanted) in [
            ("gpu", "gpu", true),
            ("gpu", "gpu-a", false),
            ("gpu-*", "gpu-", true),
            ("gpu-*", "a-gpu-", false),
            ("*-spot", "web-spot", true),
            ("*-spot", "web-spot-2", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*a", "a", false),
            ("ab*ba", "aba", false),
            ("**", "x", true),
            ("a.c", "abc", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn a_rule_is_named_by_its_first_words_or_a_pattern() {
        for (written, id, wanted) in [
            ("policy-limit", "policy-limit-max", true),
            ("policy", "policy-limit-max", true),
            ("policy-limit-max", "policy-limit-max", true),
            ("policy-lim", "policy-limit-max", false),
            ("policy-", "policy-limit-max", false),
            ("limit", "policy-limit-max", false),
            ("", "policy-limit-max", false),
            ("*-max", "policy-limit-max", true),
            ("policy-limit-*", "policy-limit-max", true),
            ("*", "policy-limit-max", true),
        ] {
            assert_eq!(names_rule(written, id), wanted, "{written} {id}");
        }
    }

    /// Whether the pattern matches, computed in the simplest way, however slow.
    fn slowly(pattern: &str, name: &str) -> bool {
        let (mut patterns, mut rest) = (pattern.chars(), name.chars());
        match patterns.next() {
            None => name.is_empty(),
            Some('*') => {
                slowly(patterns.as_str(), name) || (rest.next().is_some() && slowly(pattern, rest.as_str()))
            }
            Some(wanted) => rest.next() == Some(wanted) && slowly(patterns.as_str(), rest.as_str()),
        }
    }

    proptest! {
        #[test]
        fn the_fast_way_finds_what_the_slow_one_does(pattern in "[ab*]{0,6}", name in "[ab]{0,8}") {
            prop_assert_eq!(Glob::new(pattern.as_str()).matches(&name), slowly(&pattern, &name));
        }
    }
}
