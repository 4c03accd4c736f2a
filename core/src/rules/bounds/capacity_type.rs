//! The capacity types that a pool may use.

use serde_json::Value;

use super::{is_mistyped, listed, requirements};
use crate::diagnostic::{Problem, RuleId, Severity, quoted};
use crate::karpenter::{CAPACITY_TYPE_LABEL, Field, NodePool, Template};
use crate::rule::{Origin, Rule};
use crate::rules::findings::Findings;

/// The capacity types that Karpenter knows.
const KNOWN: [&str; 3] = ["on-demand", "spot", "reserved"];

pub(in crate::rules) static CAPACITY_TYPE: Rule = Rule {
    id: RuleId::new("policy-capacity-type"),
    title: "A pool uses only the capacity types that the policy allows",
    severity: Severity::Error,
    origin: Origin::Poolgate,
    why: "Spot capacity goes with two minutes' notice, on-demand capacity costs more. Which one a cluster may use is \
          set by `bounds.template.capacityTypes` in the policy. All requirements on `karpenter.sh/capacity-type` are \
          taken together, and a pool without one may use every type.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: [on-demand, spot]
",
    good: "\
spec:
  template:
    spec:
      requirements:
        - key: karpenter.sh/capacity-type
          operator: In
          values: [on-demand]
",
};

pub(super) fn check(pool: &NodePool<'_>, object: &Value, allowed: &[String], findings: &mut Findings<'_>) {
    if is_mistyped(&Template::requirements_path(), object, Value::is_array) {
        return;
    }
    let label = match pool.template.labels {
        Field::Mistyped => return,
        labels => labels
            .present()
            .and_then(|labels| labels.get(CAPACITY_TYPE_LABEL)?.as_str()),
    };
    let usable = usable(object, label);
    let forbidden: Vec<&str> = usable
        .into_iter()
        .filter(|capacity| !allowed.iter().any(|allowed| allowed == capacity))
        .collect();
    let Some(first) = forbidden.first() else { return };
    let mend = format!("require {CAPACITY_TYPE_LABEL} In [{}]", allowed.join(", "));
    let reason = format!("the policy allows only {}", listed(allowed));
    let says = requirements(object).any(is_about_capacity) || label.is_some();
    let problem = if says {
        Problem::Invalid { value: quoted(first) }
    } else {
        Problem::Required
    };
    let reason = if says {
        format!("this pool may use {}, and {reason}", listed_and(&forbidden))
    } else {
        format!("without a requirement on {CAPACITY_TYPE_LABEL} every capacity type is used, and {reason}")
    };
    findings.push(
        CAPACITY_TYPE
            .finding(Template::requirements_path(), problem, reason)
            .mend(mend)
            .related(Template::labels_path().key(CAPACITY_TYPE_LABEL)),
    );
}

fn listed_and(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" and ")
}

fn is_about_capacity(requirement: &serde_json::Map<String, Value>) -> bool {
    requirement.get("key").and_then(Value::as_str) == Some(CAPACITY_TYPE_LABEL)
}

/// The capacity types that satisfy all requirements and the label. Empty where they contradict each other: then no
/// node comes at all, which is not this rule's concern.
fn usable<'v>(object: &'v Value, label: Option<&'v str>) -> Vec<&'v str> {
    let mut usable: Vec<&str> = KNOWN.to_vec();
    let about: Vec<_> = requirements(object)
        .filter(|requirement| is_about_capacity(requirement))
        .collect();
    let values = |requirement: &&'v serde_json::Map<String, Value>| -> Vec<&'v str> {
        let values = requirement.get("values").and_then(Value::as_array);
        values.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let is_in = |requirement: &&&serde_json::Map<String, Value>| operator(requirement) == Some("In");
    if let Some(first) = about.iter().find(is_in) {
        usable = values(first);
    } else if let Some(label) = label {
        usable = vec![label];
    }
    for requirement in &about {
        let values = values(requirement);
        match operator(requirement) {
            Some("In") => usable.retain(|capacity| values.contains(capacity)),
            Some("NotIn") => usable.retain(|capacity| !values.contains(capacity)),
            Some("DoesNotExist") => usable.clear(),
            _ => {}
        }
    }
    usable.retain(|capacity| label.is_none_or(|label| label == *capacity));
    usable
}

fn operator(requirement: &serde_json::Map<String, Value>) -> Option<&str> {
    requirement.get("operator").and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::policy::{Bounds, TemplateBounds};
    use crate::rules::bounds::testing::errors;

    fn refused(requirements: &[(&str, &[&str])], label: Option<&str>) -> Vec<String> {
        let template = TemplateBounds {
            capacity_types: Some(vec!["on-demand".into(), "reserved".into()]),
            ..TemplateBounds::default()
        };
        let bounds = Bounds {
            template,
            ..Bounds::default()
        };
        let requirements: Vec<_> = requirements
            .iter()
            .map(|(operator, values)| {
                json!({"key": "karpenter.sh/capacity-type", "operator": operator, "values": values})
            })
            .collect();
        errors(
            bounds,
            &json!({"spec": {"template": {
                "metadata": {"labels": {"karpenter.sh/capacity-type": label}},
                "spec": {"requirements": requirements},
            }}}),
        )
    }

    #[test]
    fn all_requirements_are_taken_together() {
        for (requirements, label) in [
            (&[("In", &["on-demand"][..])][..], None),
            (&[("In", &["on-demand", "spot"]), ("NotIn", &["spot"])], None),
            (&[("NotIn", &["spot"])], None),
            (&[("DoesNotExist", &[])], None),
            (&[("Exists", &[])], Some("on-demand")),
            (&[("In", &["spot"]), ("In", &["reserved"])], None),
        ] {
            assert_eq!(
                refused(requirements, label),
                [""; 0],
                "{requirements:?} {label:?}"
            );
        }
        for (requirements, label) in [
            (&[("In", &["on-demand", "spot"][..])][..], None),
            (&[("NotIn", &["reserved"])], None),
            (&[("Exists", &[])], None),
            (&[], Some("spot")),
        ] {
            assert_eq!(
                refused(requirements, label).len(),
                1,
                "{requirements:?} {label:?}"
            );
        }
    }

    #[test]
    fn a_pool_that_says_nothing_uses_everything() {
        assert_eq!(
            refused(&[], None),
            [
                "spec.template.spec.requirements: Required value: without a requirement on karpenter.sh/capacity-type every capacity type is used, and the policy allows only on-demand or reserved; require karpenter.sh/capacity-type In [on-demand, reserved] [policy-capacity-type]"
            ]
        );
    }
}
