//! Labels that count MiB, with numbers that were probably meant as GiB.

use super::{Entry, Scope};
use crate::diagnostic::{ErrorType, Severity, Suggestion, quoted};
use crate::karpenter::{Label, LabelKind, LabelValues, Operator, Unit, integer};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

const MIB_PER_GIB: i64 = 1024;

pub static REQUIREMENT_UNIT: Rule = rule!("requirement-unit", Warning, [Silent], Read);

/// Warns of numbers below that of the smallest instance type: they leave none, or exclude none.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some((label, smallest)) = measured(entry, scope) else {
        return;
    };
    let most = match entry.operator {
        // It is itself excluded.
        Operator::Lt => smallest,
        Operator::In | Operator::Lte | Operator::Gt | Operator::Gte => smallest - 1,
        Operator::NotIn | Operator::Exists | Operator::DoesNotExist => return,
    };
    // 0 is the same in every unit, and an own rule is about bounds that leave no number at all.
    let is_small = |value: &&str| integer(value).is_some_and(|number| (1..=most).contains(&number));
    let Some(value) = entry.values.first().filter(|_| entry.values.iter().all(is_small)) else {
        return;
    };
    let excludes_nothing = matches!(entry.operator, Operator::Gt | Operator::Gte);
    // Types without the label are excluded by any bound.
    if excludes_nothing && label.everywhere.is_none() {
        return;
    }
    let (shown, effect) = if excludes_nothing {
        let value = quoted(value);
        (ErrorType::Note { value }, "this excludes nothing")
    } else {
        (ErrorType::from(*value), "nothing satisfies it")
    };
    let reason =
        format!("this label counts MiB, and the smallest instance types have {smallest}, so {effect}");
    // Below 1 means none at all, whatever the unit.
    let in_gib = integer(value).filter(|number| *number > 1 || excludes_nothing);
    let likely = in_gib.and_then(|number| number.checked_mul(MIB_PER_GIB));
    let finding = findings.report(&REQUIREMENT_UNIT, entry.value_path(0, scope), shown, reason);
    finding
        .suggest_if_known(likely.map(|mib| Suggestion::did_you_mean(format!("{mib}, which is {value} GiB"))));
    if excludes_nothing {
        finding.severity(Severity::Info);
    }
}

/// The label of an entry and its smallest number, if it counts MiB.
fn measured(entry: &Entry<'_>, scope: &Scope<'_>) -> Option<(&'static Label, i64)> {
    if entry.kind != LabelKind::WellKnown(LabelValues::Number) || entry.values.is_empty() {
        return None;
    }
    let label = scope.provider?.label(entry.key)?;
    let smallest = label.smallest.filter(|_| label.unit == Some(Unit::MiB))?;
    Some((label, smallest))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::requirements::testing::{errors, requirements_of, warnings};
    use crate::rules::testing::infos;

    const AWS: &str = "karpenter.k8s.aws/instance-memory";

    fn of(key: &str, operator: &str, values: &[&str]) -> Vec<String> {
        let group = key.split_once('/').expect("has a domain").0;
        warnings(&requirements_of(
            group,
            &json!([{"key": key, "operator": operator, "values": values}]),
        ))
    }

    #[test]
    fn an_upper_bound_in_gib_gets_the_number_in_mib() {
        assert_eq!(
            of(AWS, "Lt", &["64"]),
            [
                "spec.template.spec.requirements[0].values[0]: Invalid value: \"64\": this label counts MiB, and the \
                 smallest instance types have 512, so nothing satisfies it; did you mean 65536, which is 64 GiB? \
                 [requirement-unit]"
            ]
        );
        for (key, operator, values) in [
            (AWS, "Lt", &["512"][..]),
            (AWS, "Lte", &["64"]),
            (AWS, "In", &["32", "64"]),
            ("eks.amazonaws.com/instance-memory", "Lt", &["64"]),
            ("karpenter.k8s.aws/instance-gpu-memory", "Lt", &["24"]),
            ("karpenter.azure.com/sku-memory", "Lt", &["64"]),
            ("karpenter.k8s.gcp/instance-memory", "Lt", &["64"]),
        ] {
            let warned = of(key, operator, values);
            assert_eq!(warned.len(), 1, "{key} {operator} {values:?}: {warned:?}");
            assert!(warned[0].ends_with("GiB? [requirement-unit]"), "{warned:?}");
        }
    }

    #[test]
    fn a_template_label_in_gib_is_a_list_of_one() {
        let mut object = requirements_of("karpenter.k8s.aws", &json!([]));
        object["spec"]["template"]["metadata"] = json!({"labels": {AWS: "64"}});
        let warned = warnings(&object);
        assert!(
            warned[0].starts_with("spec.template.metadata.labels[karpenter.k8s.aws/instance-memory]: "),
            "{warned:?}"
        );
    }

    #[test]
    fn numbers_that_instance_types_have_are_silent() {
        for (key, operator, values) in [
            (AWS, "Lt", &["513"][..]),
            (AWS, "Lte", &["512"]),
            (AWS, "In", &["64", "65536"]),
            (AWS, "NotIn", &["64"]),
            (AWS, "Gt", &["3000"]),
            ("karpenter.k8s.aws/instance-cpu", "Lt", &["64"]),
            ("karpenter.k8s.aws/instance-local-nvme", "Lt", &["64"]),
            ("karpenter.k8s.alibabacloud/instance-memory", "Lt", &["64"]),
            ("karpenter.kwok.sh/instance-memory", "Lt", &["64"]),
            ("karpenter.example.com/instance-memory", "Lt", &["64"]),
        ] {
            let warned = of(key, operator, values);
            assert!(
                !warned
                    .iter()
                    .any(|warning| warning.contains("[requirement-unit]")),
                "{key} {operator} {values:?}: {warned:?}"
            );
        }
        let object = requirements_of(
            "karpenter.k8s.aws",
            &json!([{"key": AWS, "operator": "Lt", "values": ["64"]}]),
        );
        assert_eq!(errors(&object), [""; 0]);
    }

    #[test]
    fn a_lower_bound_in_gib_is_a_note_if_it_excludes_nothing() {
        let notes = |key: &str, value: &str| {
            let list = json!([{"key": key, "operator": "Gt", "values": [value]}]);
            let notes = infos(&requirements_of("karpenter.k8s.aws", &list));
            notes
                .into_iter()
                .filter(|note| note.ends_with("[requirement-unit]"))
                .collect::<Vec<_>>()
        };
        let [note] = &notes(AWS, "8")[..] else {
            panic!("one note");
        };
        assert!(
            note.ends_with("so this excludes nothing; did you mean 8192, which is 8 GiB? [requirement-unit]"),
            "{note}"
        );
        for (key, value) in [
            (AWS, "0"),
            (AWS, "512"),
            ("karpenter.k8s.aws/instance-gpu-memory", "8"),
        ] {
            assert_eq!(notes(key, value), [""; 0], "{key} {value}");
        }
    }
}
