//! Requirements and template labels that contradict each other.

use super::Scope;
use super::groups::{Group, Source};
use crate::diagnostic::ErrorType;
use crate::karpenter::{CAPACITY_TYPE_LABEL, Operator, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The most values that the entries of one label may have in all for every pair to be compared. If there are more,
/// the message names the entry that leaves no value, but not the one that it contradicts.
const MOST_COMPARED: usize = 10_000;

pub static REQUIREMENT_CONTRADICTION: Rule = rule!("requirement-contradiction", Error, [Silent], Shown);
pub static REQUIREMENT_CONTRADICTION_CUSTOM: Rule =
    rule!("requirement-contradiction-custom", Warning, [Silent], Shown);
pub static REQUIREMENT_CONTRADICTION_DRIFT: Rule =
    rule!("requirement-contradiction-drift", Error, [Silent], Shown);

/// Returns whether the entries of one label can be satisfied together; reports those that contradict each other.
pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let sources = &group.sources;
    let existing = existing(group, scope);
    if sources.len() < 2 || !contradict(sources, existing, scope) {
        return true;
    }
    // More entries never leave more values, so a binary search finds the first one that leaves none.
    let fine = (1..sources.len())
        .collect::<Vec<_>>()
        .partition_point(|count| !contradict(sources.get(..*count).unwrap_or_default(), existing, scope));
    let (before, culprit) = (sources.get(..fine).unwrap_or_default(), sources.get(fine));
    if let Some(culprit) = culprit {
        let values: usize = sources.iter().map(Source::count).sum();
        let partner = before
            .iter()
            .find(|source| values <= MOST_COMPARED && contradict(&[**source, *culprit], existing, scope));
        report(group, culprit, before, partner, scope, findings);
    }
    false
}

/// The only values that a label can have, if they are known and every node has one of them.
fn existing(group: &Group<'_>, scope: &Scope<'_>) -> Option<&'static [&'static str]> {
    let entry = group.entries().next()?;
    (entry.key == CAPACITY_TYPE_LABEL).then(|| scope.capacity_types())
}

/// Whether no value is left although a node must carry the label.
fn contradict(sources: &[Source<'_>], existing: Option<&[&str]>, scope: &Scope<'_>) -> bool {
    let existing = existing.map(|values| Selection::new(Operator::In, values));
    let is_demanded = existing.is_some() || sources.iter().any(Source::demands_label);
    let selections = sources.iter().map(|source| source.selection(scope));
    is_demanded && Selection::all(selections.chain(existing)).is_empty()
}

fn report(
    group: &Group<'_>,
    culprit: &Source<'_>,
    before: &[Source<'_>],
    partner: Option<&Source<'_>>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) {
    // The mistake is shown at a requirement if there is one: a label is only the other half of it.
    let (at, other) = match (culprit, partner.or(before.first())) {
        (Source::Label { .. }, Some(other @ Source::Entry(_))) => (other, culprit),
        (_, Some(other)) => (culprit, other),
        (_, None) => (culprit, culprit),
    };
    let (rule, effect) = consequence(group, scope);
    let place = other.path(scope);
    let reason = if partner.is_some() {
        format!("contradicts {other} at {place}, {effect}")
    } else {
        format!(
            "leaves no value together with the other {} entries, the first at {place}, {effect}",
            before.len()
        )
    };
    findings
        .report(rule, at.path(scope), ErrorType::showing(at.to_string()), reason)
        .related(place)
        .suggest("remove one, or allow a common value");
}

/// The rule that the contradiction breaks, and what comes of it.
fn consequence(group: &Group<'_>, scope: &Scope<'_>) -> (&'static Rule, &'static str) {
    let sources = &group.sources;
    if !group.is_custom() {
        return (&REQUIREMENT_CONTRADICTION, "so the pool never launches a node");
    }
    if sources
        .iter()
        .any(|source| matches!(source, Source::Label { .. }))
    {
        return (
            &REQUIREMENT_CONTRADICTION_DRIFT,
            "so every node gets the label from the template, counts as drifted at once, and is replaced again and again",
        );
    }
    // Nothing is left, but to Karpenter the bounds still are open: it picks a number between them.
    if group.selection(scope).is_open() {
        return (
            &REQUIREMENT_CONTRADICTION_DRIFT,
            "so every node gets a number that is excluded, counts as drifted at once, and is replaced again and again",
        );
    }
    (
        &REQUIREMENT_CONTRADICTION_CUSTOM,
        "so nodes are launched without this label",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::karpenter::CAPACITY_TYPE_LABEL;
    use crate::rules::requirements::testing::{errors, requirements, requirements_of, warnings};

    const CPU: &str = "karpenter.kwok.sh/instance-cpu";

    fn with_labels(labels: &Value, list: &Value) -> Value {
        let mut object = requirements(list);
        object["spec"]["template"]["metadata"] = json!({"labels": labels});
        object
    }

    #[test]
    fn two_entries_without_a_common_value_name_each_other() {
        let object = requirements(&json!([
            {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]},
            {"key": "kubernetes.io/os", "operator": "Exists"},
            {"key": "beta.kubernetes.io/arch", "operator": "NotIn", "values": ["arm64", "amd64"]},
        ]));
        assert_eq!(
            errors(&object),
            [
                "spec.template.spec.requirements[2]: Invalid value: kubernetes.io/arch NotIn [arm64, amd64]: \
                 contradicts kubernetes.io/arch In [amd64, arm64] at spec.template.spec.requirements[0], so the pool \
                 never launches a node; remove one, or allow a common value [requirement-contradiction]"
            ]
        );
    }

    #[test]
    fn a_zone_contradicts_the_name_that_the_providers_volumes_have_for_it() {
        for (group, name) in [
            ("karpenter.k8s.aws", "topology.ebs.csi.aws.com/zone"),
            ("eks.amazonaws.com", "topology.ebs.csi.aws.com/zone"),
            ("karpenter.azure.com", "topology.disk.csi.azure.com/zone"),
            ("karpenter.k8s.gcp", "topology.gke.io/zone"),
            (
                "karpenter.k8s.alibabacloud",
                "topology.diskplugin.csi.alibabacloud.com/zone",
            ),
        ] {
            let zones = |other: &str| {
                errors(&requirements_of(
                    group,
                    &json!([
                        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a-1a"]},
                        {"key": name, "operator": "In", "values": ["a-1a", other]},
                        {"key": name, "operator": "NotIn", "values": [other]},
                    ]),
                ))
            };
            assert_eq!(zones("a-1b"), [""; 0], "{name}");
            let denied = zones("a-1a");
            assert_eq!(denied.len(), 1, "{denied:?}");
            assert!(denied[0].ends_with("[requirement-contradiction]"), "{denied:?}");
        }
    }

    #[test]
    fn a_zone_does_not_contradict_the_name_that_the_volumes_of_another_provider_have_for_it() {
        for (group, name) in [
            ("karpenter.k8s.aws", "topology.gke.io/zone"),
            ("karpenter.k8s.aws", "csi.hetzner.cloud/location"),
            ("karpenter.kwok.sh", "topology.ebs.csi.aws.com/zone"),
            // Providers without data, or with two meanings.
            ("karpenter.example.com", "topology.ebs.csi.aws.com/zone"),
            ("karpenter.hetzner.cloud", "csi.hetzner.cloud/location"),
        ] {
            let object = requirements_of(
                group,
                &json!([
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-east-1a"]},
                    {"key": name, "operator": "In", "values": ["us-central1-a"]},
                    {"key": name, "operator": "NotIn", "values": ["us-east-1a"]},
                ]),
            );
            assert_eq!(errors(&object), [""; 0], "{group} {name}");
        }
    }

    #[test]
    fn an_empty_zone_of_azure_may_be_zone_0() {
        let zone = "topology.kubernetes.io/zone";
        let denied = |first: (&str, Value), second: (&str, Value)| {
            let entry = |(operator, values): (&str, Value)| json!({"key": zone, "operator": operator, "values": values});
            errors(&requirements_of(
                "karpenter.azure.com",
                &json!([entry(first), entry(second)]),
            ))
        };
        for (first, second) in [
            (("In", json!([""])), ("In", json!(["0"]))),
            (("In", json!(["0"])), ("NotIn", json!([""]))),
            (("In", json!([""])), ("NotIn", json!(["0"]))),
        ] {
            assert_eq!(
                denied(first.clone(), second.clone()),
                [""; 0],
                "{first:?} {second:?}"
            );
        }
        for (first, second) in [
            (("In", json!(["0"])), ("NotIn", json!(["", "0"]))),
            (("In", json!([""])), ("In", json!(["eastus-1"]))),
        ] {
            let denied = denied(first, second);
            assert_eq!(denied.len(), 1, "{denied:?}");
            assert!(
                denied[0].contains("zone In [\"\"]") || denied[0].contains("NotIn [\"\", 0]"),
                "{denied:?}"
            );
        }
        let mut labelled = requirements_of(
            "karpenter.azure.com",
            &json!([{"key": "topology.disk.csi.azure.com/zone", "operator": "In", "values": ["0"]}]),
        );
        labelled["spec"]["template"]["metadata"] = json!({"labels": {zone: ""}});
        assert_eq!(errors(&labelled), [""; 0]);
    }

    #[test]
    fn a_contradiction_with_a_label_is_reported_at_the_requirement() {
        let object = with_labels(
            &json!({"beta.kubernetes.io/arch": "amd64"}),
            &json!([{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]),
        );
        assert_eq!(
            errors(&object),
            [
                "spec.template.spec.requirements[0]: Invalid value: kubernetes.io/arch In [arm64]: contradicts the \
                 label kubernetes.io/arch: amd64 at spec.template.metadata.labels[beta.kubernetes.io/arch], so the pool \
                 never launches a node; remove one, or allow a common value [requirement-contradiction]"
            ]
        );
    }

    #[test]
    fn capacity_types_that_do_not_exist_are_not_left() {
        let of = |first: &Value, second: &Value| {
            errors(&requirements(&json!([
                {"key": CAPACITY_TYPE_LABEL, "operator": "NotIn", "values": first},
                {"key": CAPACITY_TYPE_LABEL, "operator": "NotIn", "values": second},
            ])))
        };
        let denied = of(&json!(["spot"]), &json!(["on-demand", "reserved"]));
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].contains("so the pool never launches a node"),
            "{denied:?}"
        );
        assert!(denied[0].ends_with("[requirement-contradiction]"), "{denied:?}");
        assert_eq!(of(&json!(["spot"]), &json!(["on-demand"])), [""; 0]);
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        let bounds = |low: &str, high: &str| {
            errors(&requirements(&json!([
                {"key": CPU, "operator": "Gt", "values": [low]},
                {"key": CPU, "operator": "Lt", "values": [high]},
            ])))
        };
        assert_eq!(bounds("5", "6").len(), 1);
        assert_eq!(bounds("5", "7"), [""; 0]);
        assert_eq!(bounds("9", "10").len(), 1);
        assert_eq!(bounds("9", "11"), [""; 0]);
        let listed = requirements(&json!([
            {"key": CPU, "operator": "In", "values": ["2", "4"]},
            {"key": CPU, "operator": "Gt", "values": ["4"]},
        ]));
        assert_eq!(errors(&listed).len(), 1);
    }

    #[test]
    fn entries_that_contradict_only_together_are_found() {
        let object = requirements(&json!([
            {"key": CPU, "operator": "In", "values": ["2", "4", "8"]},
            {"key": CPU, "operator": "Lt", "values": ["8"]},
            {"key": CPU, "operator": "NotIn", "values": ["2"]},
            {"key": CPU, "operator": "Gt", "values": ["4"]},
            {"key": CPU, "operator": "Exists"},
        ]));
        let denied = errors(&object);
        assert_eq!(denied.len(), 1);
        assert!(
            denied[0].starts_with(
                "spec.template.spec.requirements[3]: Invalid value: karpenter.kwok.sh/instance-cpu Gt [4]: leaves no \
                 value together with the other 3 entries, the first at spec.template.spec.requirements[0]"
            ),
            "{denied:?}"
        );
    }

    #[test]
    fn a_custom_label_that_nodes_lack_is_a_warning() {
        let object = requirements(&json!([
            {"key": "example.com/team", "operator": "In", "values": ["blue"]},
            {"key": "example.com/team", "operator": "DoesNotExist"},
        ]));
        assert_eq!(errors(&object), [""; 0]);
        assert!(warnings(&object)[0].contains("so nodes are launched without this label; remove one"));
    }

    #[test]
    fn a_custom_label_that_nodes_get_against_the_requirements_is_denied() {
        for entry in [
            json!({"key": "example.com/team", "operator": "NotIn", "values": ["blue"]}),
            json!({"key": "example.com/team", "operator": "In", "values": ["green"]}),
            json!({"key": "example.com/team", "operator": "DoesNotExist"}),
        ] {
            let denied = errors(&with_labels(
                &json!({"example.com/team": "blue"}),
                &json!([entry]),
            ));
            assert_eq!(denied.len(), 1, "{denied:?}");
            assert!(denied[0].contains("so every node gets the label from the template, counts as drifted"));
            assert!(
                denied[0].ends_with("[requirement-contradiction-drift]"),
                "{denied:?}"
            );
        }
        let denied = errors(&requirements(&json!([
            {"key": "example.com/n", "operator": "Gt", "values": ["5"]},
            {"key": "example.com/n", "operator": "Lt", "values": ["7"]},
            {"key": "example.com/n", "operator": "NotIn", "values": ["6"]},
        ])));
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(
            denied[0].contains("so every node gets a number that is excluded"),
            "{denied:?}"
        );
    }

    #[test]
    fn a_label_that_may_be_absent_contradicts_nothing() {
        const BUILD: &str = "node.kubernetes.io/windows-build";
        let object = requirements(&json!([
            {"key": BUILD, "operator": "DoesNotExist"},
            {"key": BUILD, "operator": "NotIn", "values": ["4"]},
        ]));
        assert_eq!(errors(&object), [""; 0]);
        let object = requirements(&json!([
            {"key": BUILD, "operator": "DoesNotExist"},
            {"key": BUILD, "operator": "Exists"},
        ]));
        assert_eq!(errors(&object).len(), 1);
    }
}
