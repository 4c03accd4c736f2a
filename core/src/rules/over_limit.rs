//! The annotation with which a pool chooses what happens to its nodes above the limit.

use super::choices::check_word;
use super::findings::Findings;
use crate::api::{OVER_LIMIT_ANNOTATION, OverLimit};
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;

pub static OVER_LIMIT: Rule = rule!("over-limit", Error, [Poolgate]);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    check_word(
        &OVER_LIMIT,
        pool,
        OVER_LIMIT_ANNOTATION,
        OverLimit::ANNOTATED,
        "write Report, or Terminate to delete the cheapest nodes above the limit",
        findings,
    );
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

    fn chosen(word: &Value) -> Vec<String> {
        errors(&json!({"metadata": {"annotations": {"poolgate.dev/over-limit": word}}}))
    }

    #[test]
    fn both_words_pass_in_any_case() {
        for word in ["Terminate", "Report", "terminate", "REPORT"] {
            assert_eq!(chosen(&json!(word)), [""; 0]);
        }
    }

    #[test]
    fn any_other_word_is_denied() {
        assert_eq!(
            chosen(&json!("Delete")),
            [
                r#"metadata.annotations[poolgate.dev/over-limit]: Unsupported value: "Delete": supported values: "Terminate", "Report": it would be ignored; write Report, or Terminate to delete the cheapest nodes above the limit [over-limit]"#
            ]
        );
        assert!(chosen(&json!(""))[0].ends_with("[over-limit]"));
        assert!(
            chosen(&json!(7))[0].ends_with("[field-type]"),
            "its type is another rule's"
        );
    }
}
