//! Instance types, families, categories and sizes that no list of the provider has: misspelt, or newer than the list.

use super::{Entry, Scope, misspelt_values, so_others};
use crate::diagnostic::{ErrorType, Suggestion, nearest, quoted};
use crate::karpenter::{Operator, Part};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_VALUE_UNKNOWN: Rule = rule!("requirement-value-unknown", Info, Silent);

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
            entry.value_path(position),
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
}
