//! The annotation with which a pool chooses which of its nodes are replaced although it is at its limit.

use super::choices::{check_word, is_set, path};
use super::findings::Findings;
use super::lifetime::combinations::drains_without_end;
use crate::api::{AT_LIMIT_ANNOTATION, AtLimit, NODE_LIMIT_ANNOTATION};
use crate::diagnostic::ErrorType;
use crate::json::Json;
use crate::karpenter::{ApiVersion, NodePool, TemplateOwner};
use crate::rules::rule::Rule;

pub static AT_LIMIT: Rule = rule!("at-limit", Error, [Poolgate]);
pub static AT_LIMIT_REPLACE: Rule = rule!("at-limit-replace", Warning, [Poolgate]);

pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    check_word(
        &AT_LIMIT,
        pool,
        AT_LIMIT_ANNOTATION,
        AtLimit::VALUES,
        "write Repair, Replace to also replace drifted nodes, or Block to replace none",
        findings,
    );
    if let Some(written) = pool.annotation(AT_LIMIT_ANNOTATION)
        && AtLimit::annotated(pool) == Some(AtLimit::Replace)
    {
        check_replace(pool, written, findings);
    }
}

fn check_replace(pool: &NodePool<'_>, written: &Json<'_>, findings: &mut Findings<'_>) {
    let has_limit = is_set(pool, NODE_LIMIT_ANNOTATION);
    let has_end = pool.version != ApiVersion::V1 || !drains_without_end(pool);
    let missing = match (has_limit, has_end) {
        (true, true) => return,
        (false, true) => "the annotation poolgate.dev/node-limit",
        (true, false) => "a terminationGracePeriod",
        (false, false) => "the annotation poolgate.dev/node-limit and a terminationGracePeriod",
    };
    let reason = format!("no drifted node is replaced at the limit without {missing}");
    findings
        .report(
            &AT_LIMIT_REPLACE,
            path(AT_LIMIT_ANNOTATION),
            ErrorType::note(written),
            reason,
        )
        .related(path(NODE_LIMIT_ANNOTATION))
        .related(TemplateOwner::Pool.path("terminationGracePeriod"))
        .suggest("add what is missing, or write Repair");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::{errors, warnings};

    fn chosen(word: &Value) -> Value {
        json!({"metadata": {"annotations": {"poolgate.dev/at-limit": word}}})
    }

    #[test]
    fn its_words_pass_in_any_case() {
        for word in ["Block", "Repair", "block", "REPAIR", "replace"] {
            assert_eq!(errors(&chosen(&json!(word))), [""; 0]);
        }
    }

    #[test]
    fn any_other_word_is_denied() {
        assert_eq!(
            errors(&chosen(&json!("Delete"))),
            [
                r#"metadata.annotations[poolgate.dev/at-limit]: Unsupported value: "Delete": supported values: "Block", "Repair", "Replace": it would be ignored; write Repair, Replace to also replace drifted nodes, or Block to replace none [at-limit]"#
            ]
        );
        assert!(errors(&chosen(&json!("")))[0].ends_with("[at-limit]"));
        let mistyped = errors(&chosen(&json!(7)));
        assert!(
            mistyped.len() == 1 && mistyped[0].ends_with("[field-type]"),
            "{mistyped:?}"
        );
    }

    #[test]
    fn replace_without_what_it_needs_gets_a_warning_that_names_it() {
        let warned = |word: &str, limit: Option<&str>, grace: Option<&str>, group: &str| {
            let annotations = json!({"poolgate.dev/at-limit": word, "poolgate.dev/node-limit": limit});
            let class = json!({"group": group, "kind": "NodeClass", "name": "default"});
            let spec =
                json!({"terminationGracePeriod": grace, "nodeClassRef": class, "expireAfter": "Never"});
            let mut warnings = warnings(
                &json!({"metadata": {"annotations": annotations}, "spec": {"template": {"spec": spec}}}),
            );
            warnings.retain(|warning| warning.ends_with("[at-limit-replace]"));
            warnings.concat()
        };
        let line = |word: &str, missing: &str| {
            format!(
                "metadata.annotations[poolgate.dev/at-limit]: \"{word}\": no drifted node is replaced at the limit \
                 without {missing}; add what is missing, or write Repair [at-limit-replace]"
            )
        };
        let (limit, grace) = (
            "the annotation poolgate.dev/node-limit",
            "a terminationGracePeriod",
        );
        let other = "example.com";
        assert_eq!(warned("Replace", Some("9"), Some("1h"), other), "");
        assert_eq!(warned("Replace", None, Some("1h"), other), line("Replace", limit));
        assert_eq!(warned("replace", Some("9"), None, other), line("replace", grace));
        assert_eq!(
            warned("Replace", None, None, other),
            line("Replace", &format!("{limit} and {grace}"))
        );
        assert_eq!(warned("Replace", Some("9"), None, "eks.amazonaws.com"), "");
        assert_eq!(warned("Repair", None, None, other), "");
    }
}
