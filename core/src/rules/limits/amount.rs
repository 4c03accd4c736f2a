//! What a limit says: a quantity that is sound for any resource.

use serde_json::Value;

use super::path;
use super::resource::PLAIN_RESOURCES;
use crate::diagnostic::{Origin, Problem, RuleId, Severity, Suggestion};
use crate::karpenter::NodePool;
use crate::rule::{Evidence, Rule};
use crate::rules::findings::Findings;
use crate::rules::origins::by_quantity;
use crate::value::quantity::Quantity;

pub(in crate::rules) const RULES: &[&Rule] =
    &[&LIMIT_QUANTITY, &LIMIT_NEGATIVE, &LIMIT_ZERO, &LIMIT_UNQUOTED];

static LIMIT_QUANTITY: Rule = Rule {
    id: RuleId::new("limit-quantity"),
    title: "A limit is a quantity that Karpenter can read",
    severity: Severity::Error,
    origins: &[Origin::Schema, Origin::Silent, Origin::Poolgate],
    evidence: Some(Evidence::Shown),
    why: "The CRD's pattern accepts texts that Karpenter's parser refuses (`1e1.5`) or never returns from \
          (`1e2147483648`). The first makes the list of **all** NodePools unreadable. The second hangs \
          Karpenter: from then on no pool of the cluster gets a node, and deleting the NodePool does not \
          help until Karpenter is restarted.",
    seen_in: &[],
    bad: r#"spec:
  limits:
    cpu: "1e1.5"
"#,
    good: r#"spec:
  limits:
    cpu: "1000"
"#,
};

static LIMIT_NEGATIVE: Rule = Rule {
    id: RuleId::new("limit-negative"),
    title: "A limit is not negative",
    severity: Severity::Error,
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Every instance type exceeds a negative limit, so the pool never launches a node. The only sign is \
          a line in Karpenter's log for each pending pod.",
    seen_in: &["3160"],
    bad: r#"spec:
  limits:
    cpu: "-5"
"#,
    good: r#"spec:
  limits:
    cpu: "5"
"#,
};

static LIMIT_ZERO: Rule = Rule {
    id: RuleId::new("limit-zero"),
    title: "A limit leaves room for a node",
    severity: Severity::Warning,
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Every node has cpu, memory, pods and storage, so a limit of 0 for one of them switches the pool \
          off: it never launches a node, and Karpenter logs an error for each pending pod that the pool \
          could serve. That is a way to switch a pool off, but not a way to say *no limit*. A limit of 0 for \
          a device, such as `nvidia.com/gpu`, only keeps out the machines that have it.",
    seen_in: &["3160", "2711"],
    bad: r#"spec:
  limits:
    cpu: "0"
"#,
    good: r#"spec:
  limits:
    cpu: "1000"
    nvidia.com/gpu: "0"
"#,
};

static LIMIT_UNQUOTED: Rule = Rule {
    id: RuleId::new("limit-unquoted"),
    title: "A limit is written in quotes",
    severity: Severity::Info,
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Read(
        "`k8s.io/apimachinery`, `pkg/api/resource/quantity.go`, `CanonicalizeBytes`",
    )),
    why: "The API stores `1000` as a number, but Go clients that write the object back write `1k` or \
          `\"1000\"`. GitOps tools then show a difference where there is none. A quoted value stays as it \
          is. Karpenter reads both alike.",
    seen_in: &["kubernetes/k8s.io#7084"],
    bad: "\
spec:
  limits:
    cpu: 1000
",
    good: r#"spec:
  limits:
    cpu: "1000"
"#,
};

pub(super) fn check(pool: &NodePool<'_>, resource: &str, value: &Value, findings: &mut Findings<'_>) {
    let found = |rule: &Rule, reason: String| rule.finding(path(resource), Problem::invalid(value), reason);
    let quantity = match value {
        Value::String(text) => match Quantity::parse(text) {
            Ok(quantity) => quantity,
            Err(error) => {
                findings.push(
                    found(&LIMIT_QUANTITY, error.to_string())
                        .origin(by_quantity(&error))
                        .suggest_if_known(error.suggestion()),
                );
                return;
            }
        },
        Value::Number(number) => {
            let units = number
                .as_i64()
                .map(Quantity::from)
                .or_else(|| number.as_u64().map(Quantity::from));
            let Some(quantity) = units else { return };
            findings.push(
                found(
                    &LIMIT_UNQUOTED,
                    "tools that write the object back turn the number into text".into(),
                )
                .suggest(Suggestion::write(number.to_string())),
            );
            quantity
        }
        _ => return,
    };
    if quantity.is_negative() {
        findings.push(
            found(
                &LIMIT_NEGATIVE,
                "below zero, so this pool could never launch a node".into(),
            )
            .suggest("write a limit of 0 or more, or leave it out for none"),
        );
    } else if quantity.is_zero() && pool.replicas.is_absent() && PLAIN_RESOURCES.contains(&resource) {
        findings.push(
            found(
                &LIMIT_ZERO,
                "every node has some, so this pool never launches one".into(),
            )
            .suggest("leave it out for no limit; fine if the pool is meant to be off"),
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{errors, infos, warnings};

    fn limits(limits: &Value) -> Value {
        json!({"spec": {"limits": limits}})
    }

    #[test]
    fn usual_limits_pass_without_a_word() {
        let object = limits(&json!({
            "cpu": "1000", "memory": "1000Gi", "nodes": "10", "pods": "110", "ephemeral-storage": "1.5Ti",
            "nvidia.com/gpu": "0", "hugepages-2Mi": "0", "smarter-devices/fuse": "20",
        }));
        assert_eq!(errors(&object), [""; 0]);
        assert_eq!(warnings(&object), [""; 0]);
    }

    #[test]
    fn quantities_that_poison_or_hang_karpenter_are_refused() {
        for text in ["1e1.5", "1e.5", "1e2147483648", "1e-99999999999", "1e4294967297"] {
            let refused = errors(&limits(&json!({"cpu": text})));
            assert_eq!(refused.len(), 1, "{text}");
            assert!(refused[0].ends_with("[limit-quantity]"), "{refused:?}");
        }
    }

    #[test]
    fn what_keeps_karpenter_busy_for_ever_is_refused() {
        let digits = "9".repeat(100_000);
        for text in [
            "1e2147483648".to_owned(),
            "1e-99999999999".to_owned(),
            "1e-10000000".to_owned(),
            "1e10000000".to_owned(),
            format!("1e{digits}"),
            format!("1e-{digits}"),
            format!("{digits}e-{digits}"),
        ] {
            let object = limits(&json!({ "cpu": text }));
            assert_eq!(errors(&object).len(), 1, "{text:.20}");
        }
    }

    #[test]
    fn negative_limits_are_refused() {
        assert!(errors(&limits(&json!({"cpu": "-5"})))[0].ends_with("[limit-negative]"));
        assert!(errors(&limits(&json!({"cpu": -5})))[0].ends_with("[limit-negative]"));
        assert_eq!(
            errors(&limits(&json!({"nodes": "2000m", "cpu": "1500m"}))),
            [""; 0]
        );
    }

    #[test]
    fn numbers_without_quotes_are_noted() {
        let object = limits(&json!({"cpu": 1000}));
        assert_eq!(errors(&object), [""; 0]);
        assert_eq!(
            infos(&object),
            [
                r#"spec.limits.cpu: Invalid value: 1000: tools that write the object back turn the number into text; write "1000" [limit-unquoted]"#
            ]
        );
    }

    #[test]
    fn a_limit_of_nothing_is_warned_of_where_every_node_has_some() {
        for resource in ["cpu", "memory", "nodes", "pods", "ephemeral-storage"] {
            let warned = warnings(&limits(&json!({resource: "0"})));
            assert_eq!(warned.len(), 1, "{warned:?}");
            assert!(warned[0].ends_with("[limit-zero]"), "{warned:?}");
        }
        let stopped = json!({"spec": {"replicas": 0, "limits": {"nodes": "0"}}});
        assert_eq!(warnings(&stopped), [""; 0], "replicas say that it is off");
    }
}
