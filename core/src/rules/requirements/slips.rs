//! Values that no node has, because they are written as other systems write them or belong to another label.

use super::{Entry, Scope};
use crate::diagnostic::{Origin, Problem, RuleId, Severity, Suggestion};
use crate::karpenter::{ARCH_LABEL, LabelKind, LabelValues, OS_LABEL, Operator, integer};
use crate::rule::{Evidence, Rule};
use crate::rules::findings::Findings;

/// What people write for an architecture, in lower case, and what Kubernetes calls it.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("amd64", "amd64"),
    ("x86_64", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("amd", "amd64"),
    ("intel", "amd64"),
    ("arm64", "arm64"),
    ("aarch64", "arm64"),
    ("arm", "arm64"),
    ("graviton", "arm64"),
];

/// The same for operating systems.
const SYSTEMS: &[(&str, &str)] = &[
    ("linux", "linux"),
    ("ubuntu", "linux"),
    ("bottlerocket", "linux"),
    ("al2023", "linux"),
    ("windows", "windows"),
    ("windows2019", "windows"),
    ("windows2022", "windows"),
];

pub(in crate::rules) const RULES: &[&Rule] = &[&REQUIREMENT_VALUE_SLIP];

static REQUIREMENT_VALUE_SLIP: Rule = Rule {
    id: RuleId::new("requirement-value-slip"),
    title: "A value is one that the label can have",
    severity: Severity::Warning,
    origins: &[Origin::Silent],
    evidence: Some(Evidence::Shown),
    why: "No node has this value, so it matches nothing. Architectures are `amd64` and `arm64`, operating \
          systems `linux` and `windows`, in lower case. Labels that count something have whole numbers \
          without a unit. An instance category of AWS is letters only, such as `c`; `c5` is a family.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [x86_64]
",
    good: "\
spec:
  template:
    spec:
      requirements:
        - key: kubernetes.io/arch
          operator: In
          values: [amd64]
",
};

pub(super) fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if !matches!(entry.operator, Operator::In | Operator::NotIn) || !entry.kind.is_well_known() {
        return;
    }
    for (position, value) in entry.values.iter().enumerate() {
        if let Some((reason, suggestion)) = slip(entry, value) {
            let problem = Problem::text(value);
            findings.push(
                REQUIREMENT_VALUE_SLIP
                    .finding(scope.value(entry.index, position), problem, reason)
                    .suggest_if_known(suggestion),
            );
        }
    }
}

/// Why no node has this value, and what was probably meant.
fn slip(entry: &Entry<'_>, value: &str) -> Option<(&'static str, Option<Suggestion>)> {
    let names = match entry.key {
        ARCH_LABEL => ARCHITECTURES,
        OS_LABEL => SYSTEMS,
        _ => &[],
    };
    let name = names
        .iter()
        .find(|(written, meant)| written.eq_ignore_ascii_case(value) && *meant != value);
    if let Some((_, meant)) = name {
        let reason = "no node has this value, so it matches nothing";
        return Some((reason, Some(Suggestion::did_you_mean(meant))));
    }
    if entry.kind == LabelKind::WellKnown(LabelValues::Number) && integer(value).is_none() {
        return Some((
            "the values of this label are whole numbers, so it matches nothing",
            None,
        ));
    }
    let domain = entry.key.strip_suffix("/instance-category")?;
    value.bytes().any(|byte| byte.is_ascii_digit()).then(|| {
        let reason = "a category is letters only, such as c or m, so it matches nothing";
        (
            reason,
            Some(Suggestion::did_you_mean(format_args!(
                "the label {domain}/instance-family"
            ))),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{requirements, requirements_of, warnings};

    #[test]
    fn other_names_for_architectures_and_systems_are_warned_of() {
        let object = requirements(&json!([
            {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["amd64", "aarch64"]},
            {"key": "kubernetes.io/os", "operator": "NotIn", "values": ["Windows", "plan9"]},
        ]));
        assert_eq!(
            warnings(&object),
            [
                "spec.template.spec.requirements[0].values[1]: Invalid value: \"aarch64\": no node has this value, so \
                 it matches nothing; did you mean arm64? [requirement-value-slip]",
                "spec.template.spec.requirements[1].values[0]: Invalid value: \"Windows\": no node has this value, so \
                 it matches nothing; did you mean windows? [requirement-value-slip]",
            ]
        );
    }

    #[test]
    fn values_that_belong_to_another_label_are_warned_of() {
        let object = requirements_of(
            "karpenter.k8s.aws",
            &json!([
                {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m5"]},
                {"key": "karpenter.k8s.aws/instance-memory", "operator": "In", "values": ["4096", "64Gi"]},
            ]),
        );
        let warned = warnings(&object);
        assert_eq!(warned.len(), 2, "{warned:?}");
        assert!(warned[0].contains("values[1]: Invalid value: \"m5\": a category is letters only"));
        assert!(warned[0].contains("did you mean the label karpenter.k8s.aws/instance-family?"));
        assert!(warned[1].contains("\"64Gi\": the values of this label are whole numbers"));
    }
}
