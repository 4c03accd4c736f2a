//! Instance types, families, categories and sizes that no list of the provider has: misspelt, or newer than the list.

use super::{Entry, Scope, misspelt_values, so_others};
use crate::diagnostic::{ErrorType, Suggestion, nearest, quoted};
use crate::karpenter::{Operator, Part};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_VALUE_UNKNOWN: Rule = rule!("requirement-value-unknown", Info, [Silent], Read);

/// Reports all values of a list that are not known in one finding.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let (Some(part), Some(naming), Some(provider)) = (entry.part, scope.naming, scope.provider) else {
        return;
    };
    if !matches!(entry.operator, Operator::In | Operator::NotIn) {
        return;
    }
    let Some(known) = naming.known(part, provider) else {
        return;
    };
    let mut unknown = entry
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| !known.contains(*value))
        .filter(|(_, value)| !misspelt_values::is_slip(entry, value, scope));
    let Some((position, value)) = unknown.next() else {
        return;
    };
    let what = match part {
        Part::Name => "instance type",
        Part::Family => "instance family",
        Part::Category => "instance category",
        _ => "instance size",
    };
    let reason = format!(
        "no {what} of {} that was known on {}{}",
        provider.name,
        provider.instance_types_date,
        so_others(unknown.map(|(_, value)| *value))
    );
    let likely = nearest(value, known.iter().copied());
    let note = ErrorType::Note { value: quoted(value) };
    findings
        .report(
            &REQUIREMENT_VALUE_UNKNOWN,
            entry.value_path(position, scope),
            note,
            reason,
        )
        .suggest_if_known(likely.map(Suggestion::did_you_mean));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use crate::karpenter::Provider;
    use crate::rules::requirements::testing::{errors, requirements_of, warnings};
    use crate::rules::testing::infos;

    const AWS: &str = "karpenter.k8s.aws";
    const TYPE: &str = "node.kubernetes.io/instance-type";

    fn pool(group: &str, key: &str, values: &Value) -> Value {
        let key = if key.contains('/') {
            key.to_owned()
        } else {
            format!("{group}/{key}")
        };
        requirements_of(group, &json!([{"key": key, "operator": "In", "values": values}]))
    }

    #[test]
    fn values_that_no_list_has_get_one_note_per_list() {
        let noted = infos(&pool(AWS, "instance-family", &json!(["m5", "p4", "inf3"])));
        let date = Provider::of_group(AWS).unwrap().instance_types_date;
        let expected = format!(
            "spec.template.spec.requirements[0].values[1]: \"p4\": no instance family of AWS that was known on {date}, \
             nor \"inf3\"; did you mean p4d? [requirement-value-unknown]"
        );
        assert_eq!(noted, [expected]);
        for (key, value) in [
            ("instance-category", "gpu"),
            ("instance-size", "16xl"),
            (TYPE, "m5.big"),
        ] {
            let object = pool(AWS, key, &json!([value]));
            assert_eq!(infos(&object).len(), 1, "{value}: {:?}", infos(&object));
            assert_eq!(warnings(&object), [""; 0]);
            assert_eq!(errors(&object), [""; 0]);
        }
    }

    #[test]
    fn a_template_label_is_read_like_a_list() {
        let mut object = requirements_of(AWS, &json!([]));
        let labels = &mut object["spec"]["template"]["metadata"]["labels"];
        *labels = json!({"karpenter.k8s.aws/instance-family": "inf3"});
        let noted = infos(&object);
        assert_eq!(noted.len(), 1, "{noted:?}");
        assert!(noted[0].starts_with("spec.template.metadata.labels[karpenter.k8s.aws/instance-family]: "));
    }

    #[test]
    fn a_value_that_another_rule_reports_is_not_reported_twice() {
        for (key, value) in [
            (TYPE, "m5"),
            (TYPE, "M5.large"),
            (TYPE, "nano"),
            ("instance-category", "m5"),
            ("instance-family", "m5.large"),
            ("instance-family", "m9.large"),
            ("instance-size", ""),
        ] {
            let object = pool(AWS, key, &json!([value]));
            assert_eq!(infos(&object), [""; 0], "{value}");
            assert_eq!(warnings(&object).len() + errors(&object).len(), 1, "{value}");
        }
    }

    #[test]
    fn a_provider_without_list_and_a_new_generation_are_not_judged() {
        for (group, key) in [
            ("karpenter.azure.com", "sku-family"),
            ("karpenter.k8s.gcp", "instance-family"),
            ("eks.amazonaws.com", "instance-family"),
            ("karpenter.kwok.sh", "instance-family"),
            ("karpenter.example.com", "instance-family"),
        ] {
            assert_eq!(infos(&pool(group, key, &json!(["p4"]))), [""; 0], "{group}");
        }
        assert_eq!(infos(&pool(AWS, "instance-generation", &json!(["99"]))), [""; 0]);
    }

    #[test]
    fn every_value_of_the_lists_is_silent_alone_and_with_all_others() {
        let mut lists: [(&str, BTreeSet<&str>); 5] = [
            TYPE,
            "instance-family",
            "instance-category",
            "instance-generation",
            "instance-size",
        ]
        .map(|key| (key, BTreeSet::new()));
        for name in Provider::of_group(AWS).unwrap().instance_types {
            let (family, size) = name.split_once('.').unwrap();
            let digit = |letter: char| letter.is_ascii_digit();
            let category = family
                .split(|letter: char| letter == '-' || digit(letter))
                .next()
                .unwrap();
            let after = family.strip_prefix(category).unwrap();
            let number = after.split_once("tb").map_or(after, |(_, number)| number);
            let generation = number.split(|letter: char| !digit(letter)).next().unwrap();
            for ((_, values), value) in lists.iter_mut().zip([name, family, category, generation, size]) {
                values.insert(value);
            }
        }
        let quiet = |object: &Value| {
            let found = [errors(object), warnings(object), infos(object)].concat();
            assert_eq!(found, [""; 0], "{object}");
        };
        for (key, values) in &lists {
            for value in values.iter().filter(|value| !value.is_empty()) {
                quiet(&pool(AWS, key, &json!([value])));
            }
            quiet(&pool(
                AWS,
                key,
                &json!(
                    values
                        .iter()
                        .filter(|value| !value.is_empty())
                        .collect::<Vec<_>>()
                ),
            ));
        }
        let all: Vec<Value> = lists
            .iter()
            .map(|(key, values)| {
                let values: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
                let key = if key.contains('/') {
                    (*key).to_owned()
                } else {
                    format!("{AWS}/{key}")
                };
                json!({"key": key, "operator": "In", "values": values})
            })
            .collect();
        quiet(&requirements_of(AWS, &json!(all)));
    }

    #[test]
    fn unusual_families_and_zones_are_silent() {
        let families = json!([
            "trn2", "hpc7g", "u7i-12tb", "im4gn", "is4gen", "gr6", "mac2-m2", "mac-m4", "p6-b200",
            "m8i-flex", "c7gn", "m7i",
        ]);
        assert_eq!(infos(&pool(AWS, "instance-family", &families)), [""; 0]);
        for (group, zones) in [
            ("karpenter.azure.com", json!(["0", ""])),
            (AWS, json!(["us-west-2-lax-1a"])),
        ] {
            let object = pool(group, "topology.kubernetes.io/zone", &zones);
            let found = [errors(&object), warnings(&object), infos(&object)].concat();
            assert_eq!(found, [""; 0], "{group}");
        }
    }
}
