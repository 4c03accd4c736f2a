//! Requirements on custom labels for which Karpenter has to choose a value itself.

use super::Scope;
use super::groups::{Group, Source};
use crate::diagnostic::{Origin, Problem, RuleId, Severity};
use crate::karpenter::Selection;
use crate::rule::{Evidence, Rule};
use crate::rules::findings::Findings;

pub const RULES: &[&Rule] = &[&REQUIREMENT_RANDOM_LABEL];

static REQUIREMENT_RANDOM_LABEL: Rule = Rule {
    id: RuleId::new("requirement-random-label"),
    title: "A custom label gets its value from the NodePool, not by chance",
    severity: Some(Severity::Warning),
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "Instance types do not carry custom labels, so Karpenter writes one on each node. With `Exists`, \
          `NotIn` or a bound it uses the value that the pods select; if they select none, it **invents a \
          random number**, such as `example.com/team=4448439206956840427`. That is fine if every pod of \
          the pool selects a value; otherwise give the label a value in `template.metadata.labels` or with \
          `In`.",
    seen_in: &["aws/karpenter-provider-aws#5521", "2444"],
    bad: "\
spec:
  template:
    spec:
      requirements:
        - key: example.com/team
          operator: Exists
",
    good: "\
spec:
  template:
    metadata:
      labels:
        example.com/team: blue
",
};

pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if !group.is_custom() || !Selection::all(group.sources.iter().map(Source::selection)).is_open() {
        return;
    }
    let Some(entry) = group.entries().next() else {
        return;
    };
    findings.push(
        REQUIREMENT_RANDOM_LABEL
            .finding(
                scope.entry(entry.index),
                Problem::showing(entry.to_string()),
                "where pods select no value, it gets a random number",
            )
            .suggest("give it a value in template.metadata.labels, or list values with operator In"),
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{requirements, requirements_of, warnings};

    #[test]
    fn only_a_custom_label_without_a_fixed_value_gets_a_warning() {
        let one = |operator: &str, values: &serde_json::Value| {
            warnings(&requirements(
                &json!([{"key": "example.com/team", "operator": operator, "values": values}]),
            ))
        };
        for (operator, values) in [
            ("Exists", json!(null)),
            ("NotIn", json!(["red"])),
            ("Gt", json!(["1"])),
        ] {
            let warned = one(operator, &values);
            assert_eq!(warned.len(), 1, "{operator}");
            assert!(warned[0].ends_with("[requirement-random-label]"));
        }
        assert_eq!(one("In", &json!(["blue", "green"])), [""; 0]);
        assert_eq!(one("DoesNotExist", &json!(null)), [""; 0]);
        let mut object = requirements(&json!([{"key": "example.com/team", "operator": "Exists"}]));
        object["spec"]["template"]["metadata"] = json!({"labels": {"example.com/team": "blue"}});
        assert_eq!(warnings(&object), [""; 0]);
    }

    #[test]
    fn labels_of_providers_get_no_warning() {
        let object = requirements_of(
            "karpenter.k8s.gcp",
            &json!([
                {"key": "karpenter.k8s.gcp/instance-family", "operator": "Exists"},
                {"key": "topology.kubernetes.io/zone", "operator": "Exists"},
            ]),
        );
        assert_eq!(warnings(&object), [""; 0]);
    }
}
