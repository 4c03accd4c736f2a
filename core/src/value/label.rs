//! The names and values of Kubernetes labels, as `k8s.io/apimachinery/pkg/util/validation` reads them, and the
//! looser pattern that Karpenter's CRDs use for keys. Taints use the same two grammars.

use std::borrow::Cow;

use super::excerpt;

/// Longest domain of a key, in bytes.
const LONGEST_DOMAIN: usize = 253;
/// Longest name after the domain, in bytes.
const LONGEST_NAME: usize = 63;
/// Longest value, in bytes.
const LONGEST_VALUE: usize = 63;

/// Checks a key: an optional domain of at most 253 bytes and a slash, then a name of at most 63 (`IsQualifiedName`).
/// An error is a clause about the text that does not name it.
pub(crate) fn qualified_name(text: &str) -> Result<(), Cow<'static, str>> {
    let Some((domain, name)) = split_key(text) else {
        if text.is_empty() {
            return Err("a key must not be empty".into());
        }
        return check_name(text);
    };
    let slashes = 1 + name.bytes().filter(|byte| *byte == b'/').count();
    if slashes > 1 {
        return Err(
            format!("a key must have at most one slash between domain and name, not {slashes}").into(),
        );
    }
    if domain.is_empty() {
        return Err("the domain before the slash is missing".into());
    }
    if domain.len() > LONGEST_DOMAIN {
        let length = domain.len();
        return Err(
            format!("the domain of a key must have at most {LONGEST_DOMAIN} bytes, not {length}").into(),
        );
    }
    if !is_subdomain(domain) {
        let culprit = culprit(domain, is_domain_byte);
        return Err(format!("the domain of a key contains `{culprit}`, which no DNS name does").into());
    }
    if name.is_empty() {
        return Err("the name after the slash is missing".into());
    }
    check_name(name)
}

/// Checks a label's value: at most 63 bytes, may be empty (`IsValidLabelValue`). An error is a clause about the text
/// that does not name it.
pub fn label_value(text: &str) -> Result<(), Cow<'static, str>> {
    value_called("a value", text)
}

/// Checks a name that Karpenter writes into the value of a label.
pub(crate) fn labelled_name(text: &str) -> Result<(), Cow<'static, str>> {
    value_called("a name", text)
}

fn value_called(subject: &str, text: &str) -> Result<(), Cow<'static, str>> {
    if text.len() > LONGEST_VALUE {
        let length = text.len();
        return Err(format!("{subject} must have at most {LONGEST_VALUE} bytes, not {length}").into());
    }
    if text.is_empty() {
        Ok(())
    } else {
        check_word(subject, text)
    }
}

/// Whether an object may have this name (`NameIsDNSSubdomain`).
pub(crate) fn is_object_name(text: &str) -> bool {
    text.len() <= LONGEST_DOMAIN && is_subdomain(text)
}

/// The mistake in a string that is not an object's name: a clause without a full stop.
pub(crate) const NO_OBJECT_NAME: &str =
    "an object's name has only a-z, 0-9, `-` and `.`, and no `-` or `.` at an end";

/// The corrected name of an object, if only case and underscores are wrong.
pub(crate) fn corrected_object_name(text: &str) -> Option<String> {
    let corrected = text.trim().to_ascii_lowercase().replace('_', "-");
    is_object_name(&corrected).then_some(corrected)
}

/// The domain of a key as Karpenter reads it: the text before the first slash, empty if there is none
/// (`GetLabelDomain` of `sigs.k8s.io/karpenter/pkg/apis/v1`).
// karpenter: pkg/apis/v1/labels.go GetLabelDomain
pub fn domain_of(key: &str) -> &str {
    split_key(key).map_or("", |(domain, _)| domain)
}

/// The text before the first slash of a key, and the text after it. Byte by byte: keys are so short that setting up
/// a vectorised search costs more than it saves.
pub(crate) fn split_key(key: &str) -> Option<(&str, &str)> {
    let slash = key.bytes().position(|byte| byte == b'/')?;
    Some((key.get(..slash)?, key.get(slash + 1..)?))
}

/// Whether a domain is `parent` or a subdomain of it: `a.karpenter.sh` is within `karpenter.sh`, `mykarpenter.sh`
/// is not.
// karpenter: pkg/apis/v1/labels.go IsRestrictedLabel
pub fn is_within(domain: &str, parent: &str) -> bool {
    domain
        .strip_suffix(parent)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

/// What to write instead, if only white space around it or the case of a key's domain is wrong.
pub(crate) fn corrected_key(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let fixed = match trimmed.split_once('/') {
        Some((domain, name)) if domain.len() <= LONGEST_DOMAIN && name.len() <= LONGEST_NAME => {
            format!("{}/{name}", domain.to_ascii_lowercase())
        }
        None if trimmed.len() <= LONGEST_NAME => trimmed.to_owned(),
        _ => return None,
    };
    qualified_name(&fixed).ok()?;
    (fixed != text).then_some(fixed)
}

/// What to write instead, if only white space around it is wrong.
pub(crate) fn corrected_value(text: &str) -> Option<&str> {
    let trimmed = text.trim();
    (trimmed.len() != text.len() && !trimmed.is_empty() && label_value(trimmed).is_ok()).then_some(trimmed)
}

fn check_name(name: &str) -> Result<(), Cow<'static, str>> {
    if name.len() > LONGEST_NAME {
        let length = name.len();
        return Err(format!("a name must have at most {LONGEST_NAME} bytes, not {length}").into());
    }
    check_word("a name", name)
}

fn check_word(subject: &str, text: &str) -> Result<(), Cow<'static, str>> {
    if is_word(text) {
        return Ok(());
    }
    if text.bytes().all(is_word_byte) {
        return Err(format!("{subject} must begin and end with a letter or digit").into());
    }
    let culprit = match culprit(text, is_word_byte).as_str() {
        " " => "a space".to_owned(),
        other => format!("`{other}`"),
    };
    Err(format!("{subject} may contain only letters, digits, `-`, `_` and `.`, not {culprit}").into())
}

/// Whether the text matches `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`.
fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    ends(bytes.first()) && ends(bytes.last()) && bytes.iter().copied().all(is_word_byte)
}

fn is_word_byte(byte: u8) -> bool {
    WORD_BYTES.get(usize::from(byte)).is_some_and(|belongs| *belongs)
}

/// Which bytes a word has. A table, because reviews of many long values spend much of their time here.
static WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut rest = table.as_mut_slice();
    let mut byte = 0_u8;
    while let Some((belongs, after)) = rest.split_first_mut() {
        *belongs = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        byte = byte.wrapping_add(1);
        rest = after;
    }
    table
};

/// Parts of lower-case letters, digits and inner hyphens, separated by dots.
fn is_subdomain(text: &str) -> bool {
    let mut before = b'.';
    let fits = text.bytes().all(|byte| {
        let after = std::mem::replace(&mut before, byte);
        match byte {
            b'.' => after != b'.' && after != b'-',
            b'-' => after != b'.',
            _ => is_domain_byte(byte),
        }
    });
    fits && before != b'.' && before != b'-'
}

const fn is_domain_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

/// The first character that is not allowed, or the whole text if all are allowed and only the order is wrong.
fn culprit(text: &str, belongs: fn(u8) -> bool) -> String {
    let wrong = text
        .char_indices()
        .find(|(_, character)| !u8::try_from(*character).is_ok_and(|byte| byte.is_ascii() && belongs(byte)));
    match wrong {
        Some((_, character)) => excerpt(character.encode_utf8(&mut [0; 4])),
        None => excerpt(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn key_error(text: &str) -> String {
        qualified_name(text).unwrap_err().into_owned()
    }

    #[test]
    fn keys_with_and_without_a_domain_are_read() {
        for key in [
            "example.com/Team_a.b",
            "a",
            "A",
            "true",
            "a/b",
            "foo.com/Bar",
            "a_b",
            "0",
            "1.2/3",
        ] {
            assert!(qualified_name(key).is_ok(), "{key}");
        }
        let longest = format!("{}/{}", "d".repeat(253), "n".repeat(63));
        assert!(qualified_name(&longest).is_ok());
    }

    #[test]
    fn an_error_tells_which_part_of_a_key_is_wrong() {
        assert_eq!(key_error(""), "a key must not be empty");
        assert_eq!(key_error("/b"), "the domain before the slash is missing");
        assert_eq!(key_error("a/"), "the name after the slash is missing");
        assert!(key_error("a/b/c").ends_with("not 2"));
        assert!(key_error("Foo.com/bar").ends_with("contains `F`, which no DNS name does"));
        assert!(key_error("foo..com/bar").ends_with("contains `foo..com`, which no DNS name does"));
        assert!(key_error("a b").ends_with("`.`, not a space"));
        assert!(key_error("a\u{1b}").ends_with("`.`, not `\\u{1b}`"));
        assert_eq!(
            key_error("-a"),
            "a name must begin and end with a letter or digit"
        );
        assert_eq!(
            key_error(&format!("k/{}", "n".repeat(64))),
            "a name must have at most 63 bytes, not 64"
        );
        assert!(key_error(&format!("{}/n", "d".repeat(254))).ends_with("at most 253 bytes, not 254"));
    }

    #[test]
    fn values_may_be_empty_but_not_long_or_oddly_ended() {
        for value in ["", "a", "A.b-c_9", &"v".repeat(63)] {
            assert_eq!(label_value(value), Ok(()), "{value}");
        }
        for (value, why) in [
            (&*"v".repeat(64), "a value must have at most 63 bytes, not 64"),
            ("a-", "a value must begin and end with a letter or digit"),
            (
                "us east",
                "a value may contain only letters, digits, `-`, `_` and `.`, not a space",
            ),
            (
                "a/b",
                "a value may contain only letters, digits, `-`, `_` and `.`, not `/`",
            ),
        ] {
            assert_eq!(label_value(value).unwrap_err(), why, "{value}");
        }
    }

    #[test]
    fn a_domain_lies_within_itself_and_its_parents_only() {
        assert!(is_within("karpenter.sh", "karpenter.sh"));
        assert!(is_within("a.karpenter.sh", "karpenter.sh"));
        assert!(!is_within("mykarpenter.sh", "karpenter.sh"));
        assert!(!is_within("", "karpenter.sh"));
        assert_eq!(domain_of("a/b/c"), "a");
        assert_eq!(domain_of("karpenter.sh"), "");
    }

    #[test]
    fn white_space_and_the_case_of_a_domain_are_corrected() {
        assert_eq!(
            corrected_key(" Example.com/Team ").as_deref(),
            Some("example.com/Team")
        );
        assert_eq!(corrected_key("example.com/te am"), None);
        assert_eq!(corrected_key("fine"), None);
        assert_eq!(corrected_value(" blue\n"), Some("blue"));
        assert_eq!(corrected_value("blue"), None);
        assert_eq!(corrected_value(" "), None);
    }

    proptest! {
        #[test]
        fn texts_are_checked_as_by_the_patterns_of_the_api(
            text in "[a-cA-B0-1./_ -]{0,12}|.{0,6}"
        ) {
            let word = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
            let part = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
            let key = Regex::new(&format!(r"^({part}(\.{part})*(/))?{word}$")).unwrap();
            let value = Regex::new(&format!("^({word})?$")).unwrap();
            prop_assert_eq!(qualified_name(&text).is_ok(), key.is_match(&text));
            prop_assert_eq!(label_value(&text).is_ok(), value.is_match(&text));
        }
    }
}
