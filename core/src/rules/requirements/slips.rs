//! Values of Kubernetes' own labels that are written as other systems write them.

use super::{Entry, Scope};
use crate::diagnostic::{Problem, RuleId, Severity, quoted};
use crate::karpenter::{ARCH_LABEL, OS_LABEL, Operator};
use crate::rule::{Origin, Rule};
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

pub(in crate::rules) static REQUIREMENT_VALUE_SLIP: Rule = Rule {
    id: RuleId::new("requirement-value-slip"),
    title: "Architectures and operating systems have the names that Kubernetes gives them",
    severity: Severity::Warning,
    origin: Origin::Silent,
    why: "Kubernetes knows `amd64` and `arm64`, `linux` and `windows`. No node has any other spelling, so the value \
          matches nothing.",
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
    let names = match entry.key {
        ARCH_LABEL => ARCHITECTURES,
        OS_LABEL => SYSTEMS,
        _ => return,
    };
    if !matches!(entry.operator, Operator::In | Operator::NotIn) {
        return;
    }
    for (position, value) in entry.values.iter().enumerate() {
        let meant = names
            .iter()
            .find(|(written, meant)| written.eq_ignore_ascii_case(value) && meant != value);
        if let Some((_, meant)) = meant {
            findings.push(
                REQUIREMENT_VALUE_SLIP
                    .finding(
                        scope.value(entry.index, position),
                        Problem::Invalid { value: quoted(value) },
                        "no node has this value, so it matches nothing",
                    )
                    .mend(format!("did you mean {meant}?")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{requirements, warnings};

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
}
