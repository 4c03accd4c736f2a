//! `spec.limits`.

use serde_json::{Map, Value};

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Problem, RuleId, Severity};
use crate::karpenter::NodePool;
use crate::rule::{Origin, Rule};
use crate::value::quantity::Quantity;

/// The resource that counts nodes.
const NODES: &str = "nodes";

/// Resources that Karpenter compares with what a pool uses and that have no domain in their name.
const PLAIN_RESOURCES: &[&str] = &["cpu", "memory", "nodes", "pods", "ephemeral-storage"];

/// What people write when they mean a resource with another name.
const MEANT: &[(&str, &str)] = &[
    ("gpu", "nvidia.com/gpu"),
    ("gpus", "nvidia.com/gpu"),
    ("storage", "ephemeral-storage"),
    ("ram", "memory"),
    ("instances", "nodes"),
    ("replicas", "nodes"),
];

/// Longest key for which a likely spelling is looked for; no resource has a longer name.
const LONGEST_GUESSED: usize = 40;

pub(super) static LIMIT_QUANTITY: Rule = Rule {
    id: RuleId::new("limit-quantity"),
    title: "A limit is a quantity that Karpenter can read",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "The CRD's pattern lets texts through that Karpenter's parser refuses (`1e1.5`) or never returns from \
          (`1e2147483648`). The first makes the list of **all** NodePools unreadable; the second hangs Karpenter \
          for good: from then on no pool of the cluster gets a node, and deleting the NodePool does not help until \
          Karpenter is restarted.",
    seen_in: &[],
    bad: "\
spec:
  limits:
    cpu: \"1e1.5\"
",
    good: "\
spec:
  limits:
    cpu: \"1000\"
",
};

pub(super) static LIMIT_NEGATIVE: Rule = Rule {
    id: RuleId::new("limit-negative"),
    title: "A limit is not negative",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "With a negative limit every instance type exceeds it, so the pool never launches a node. The only sign is \
          a line in Karpenter's log for each pending pod.",
    seen_in: &["3160"],
    bad: "\
spec:
  limits:
    cpu: \"-5\"
",
    good: "\
spec:
  limits:
    cpu: \"5\"
",
};

pub(super) static LIMIT_NODES_WHOLE: Rule = Rule {
    id: RuleId::new("limit-nodes-whole"),
    title: "`limits.nodes` is a whole number",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "There is no half node. Karpenter compares the limit as it stands, so `1.5` acts as 2.",
    seen_in: &[],
    bad: "\
spec:
  limits:
    nodes: \"1.5\"
",
    good: "\
spec:
  limits:
    nodes: \"2\"
",
};

pub(super) static LIMIT_UNKNOWN: Rule = Rule {
    id: RuleId::new("limit-unknown"),
    title: "A limit names a resource that nodes have",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Karpenter compares each limit with the resource of exactly that name. A misspelt name is compared with \
          nothing, so there is no limit at all, and nobody says so.",
    seen_in: &[],
    bad: "\
spec:
  limits:
    CPU: \"1000\"
",
    good: "\
spec:
  limits:
    cpu: \"1000\"
",
};

pub(super) static LIMIT_UNQUOTED: Rule = Rule {
    id: RuleId::new("limit-unquoted"),
    title: "A limit is written in quotes",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "The API stores `1000` as a number, but every Go client that writes the object back writes `1k` or \
          `\"1000\"`. GitOps tools then see a difference that is none. A quoted value stays as it is.",
    seen_in: &["kubernetes/k8s.io#7084"],
    bad: "\
spec:
  limits:
    cpu: 1000
",
    good: "\
spec:
  limits:
    cpu: \"1000\"
",
};

pub(super) fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(limits) = pool.limits.present() else {
        return;
    };
    for (resource, value) in limits.iter().filter(|(_, value)| !value.is_null()) {
        check_resource(resource, value, limits, findings);
        check_value(resource, value, findings);
    }
}

fn path(resource: &str) -> FieldPath {
    FieldPath::of(&["spec", "limits"]).key(resource.to_owned())
}

fn check_value(resource: &str, value: &Value, findings: &mut Findings<'_>) {
    let found = |rule: &Rule, reason: String| rule.finding(path(resource), Problem::invalid(value), reason);
    let quantity = match value {
        Value::String(text) => match Quantity::parse(text) {
            Ok(quantity) => quantity,
            Err(error) => {
                findings.push(found(&LIMIT_QUANTITY, error.to_string()).mend_if_known(error.mend()));
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
                .mend(format!("write \"{number}\"")),
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
            .mend("write a limit of 0 or more, or leave it out for none"),
        );
    } else if resource == NODES && !quantity.is_whole() {
        findings.push(
            found(&LIMIT_NODES_WHOLE, "there is no part of a node".into()).mend("write a whole number"),
        );
    }
}

fn check_resource(resource: &str, value: &Value, limits: &Map<String, Value>, findings: &mut Findings<'_>) {
    if is_plausible(resource) {
        return;
    }
    let finding = LIMIT_UNKNOWN.finding(
        path(resource),
        Problem::invalid(value),
        "nodes have no resource of this name, so this limits nothing",
    );
    let meant = likely_meant(resource).filter(|meant| !limits.contains_key(*meant));
    findings.push(finding.mend_if_known(meant.map(|meant| format!("did you mean {meant}?"))));
}

/// Whether a node may have a resource of this name: one of Kubernetes' own, or an extended one, which always
/// has a domain.
fn is_plausible(resource: &str) -> bool {
    if PLAIN_RESOURCES.contains(&resource) || resource.starts_with("hugepages-") {
        return true;
    }
    let part = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    resource
        .split_once('/')
        .is_some_and(|(domain, name)| part(domain) && part(name))
}

/// The resource that was probably meant.
fn likely_meant(resource: &str) -> Option<&'static str> {
    if resource.len() > LONGEST_GUESSED {
        return None;
    }
    let lower = resource.to_ascii_lowercase();
    let bare = lower
        .strip_prefix("limits.")
        .or_else(|| lower.strip_prefix("requests."))
        .unwrap_or(&lower);
    let bare = bare.trim();
    let known = MEANT
        .iter()
        .find(|(written, _)| *written == bare)
        .map(|(_, meant)| *meant);
    known.or_else(|| {
        let distance = |name: &&&str| strsim::osa_distance(bare, name);
        let closest = PLAIN_RESOURCES.iter().min_by_key(distance)?;
        // More than one slip in three letters is another word.
        (distance(&closest) * 3 <= closest.len()).then_some(*closest)
    })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::rules::testing::{errors, warnings};

    fn limits(limits: &Value) -> Value {
        json!({"spec": {"limits": limits}})
    }

    #[test]
    fn usual_limits_pass_without_a_word() {
        let object = limits(&json!({
            "cpu": "1000", "memory": "1000Gi", "nodes": "10", "pods": "0", "ephemeral-storage": "1.5Ti",
            "nvidia.com/gpu": "2", "hugepages-2Mi": "1Gi", "smarter-devices/fuse": "20",
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
    fn what_keeps_karpenter_busy_for_ever_is_refused_within_a_millisecond() {
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
            let took = |_| {
                let begun = Instant::now();
                assert_eq!(errors(&object).len(), 1, "{text:.20}");
                begun.elapsed()
            };
            // The best of many: this machine may have other work to do.
            let best = (0..50).map(took).min();
            assert!(best < Some(Duration::from_millis(1)), "{text:.20} took {best:?}");
        }
    }

    #[test]
    fn negative_and_fractional_limits_are_refused() {
        assert!(errors(&limits(&json!({"cpu": "-5"})))[0].ends_with("[limit-negative]"));
        assert!(errors(&limits(&json!({"cpu": -5})))[0].ends_with("[limit-negative]"));
        assert!(errors(&limits(&json!({"nodes": "1500m"})))[0].ends_with("[limit-nodes-whole]"));
        assert_eq!(
            errors(&limits(&json!({"nodes": "2000m", "cpu": "1500m"}))),
            [""; 0]
        );
    }

    #[test]
    fn numbers_without_quotes_are_warned_of() {
        let object = limits(&json!({"cpu": 1000}));
        assert_eq!(errors(&object), [""; 0]);
        assert_eq!(
            warnings(&object),
            [
                r#"spec.limits.cpu: Invalid value: 1000: tools that write the object back turn the number into text; write "1000" [limit-unquoted]"#
            ]
        );
    }

    #[test]
    fn misspelt_resources_get_a_likely_spelling() {
        for (written, meant) in [
            ("CPU", "cpu"),
            ("node", "nodes"),
            ("limits.cpu", "cpu"),
            ("gpu", "nvidia.com/gpu"),
            ("memroy", "memory"),
            ("ephemeral_storage", "ephemeral-storage"),
        ] {
            assert_eq!(likely_meant(written), Some(meant), "{written}");
        }
        for strange in ["x", "licences", &"m".repeat(1_000_000)] {
            assert_eq!(likely_meant(strange), None);
        }
    }
}
