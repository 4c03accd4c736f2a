//! The annotations with which a pool chooses what poolgate does at its node limit: each is one of a few words, or a
//! number, and would be ignored otherwise.

use super::findings::Findings;
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;

const REASON: &str = "it would be ignored";

/// The path of an annotation of the pool.
pub fn path(key: &'static str) -> FieldPath {
    FieldPath::of(&["metadata", "annotations", key])
}

/// Whether the pool has an annotation, readable or not.
pub fn is_set(pool: &NodePool<'_>, key: &'static str) -> bool {
    pool.annotation(key).is_some_and(|value| !value.is_null())
}

/// Reports an annotation that is none of these words, ignoring case.
pub fn check_word(
    rule: &'static Rule,
    pool: &NodePool<'_>,
    key: &'static str,
    words: &'static [&'static str],
    suggestion: &'static str,
    findings: &mut Findings<'_>,
) {
    let Some(word) = pool.annotation(key).and_then(Json::as_str) else {
        return;
    };
    if !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
        findings
            .unsupported(rule, path(key), word, words, REASON)
            .suggest(suggestion);
    }
}

/// The number in an annotation; reports one that is not a whole number in digits.
pub fn check_number(
    rule: &'static Rule,
    pool: &NodePool<'_>,
    key: &'static str,
    example: &str,
    findings: &mut Findings<'_>,
) -> Option<u32> {
    let number = pool.annotated_number(key);
    let text = pool.annotation(key).and_then(Json::as_str);
    if let (None, Some(text)) = (number, text) {
        let suggestion = format!("write a whole number in digits, such as \"{example}\"");
        findings.report(rule, path(key), text, REASON).suggest(suggestion);
    }
    number
}
