use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::facts::Provider;
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
fn listed_values_are_silent_alone_and_with_all_others() {
    let mut lists: [(&str, BTreeSet<&str>); 5] = [
        TYPE,
        "instance-family",
        "instance-category",
        "instance-generation",
        "instance-size",
    ]
    .map(|key| (key, BTreeSet::new()));
    let types = Provider::of_group(AWS).unwrap().instance_types.unwrap().types;
    for name in types.iter().copied() {
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
        let mut found = [errors(object), warnings(object), infos(object)].concat();
        found.retain(|line| !line.contains("[requirement-generation]"));
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
