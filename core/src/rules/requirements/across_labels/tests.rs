use proptest::prelude::*;
use serde_json::{Value, json};

use crate::facts::Provider;
use crate::rules::requirements::testing::{errors, requirements_of, warnings};

const AWS: &str = "karpenter.k8s.aws";
const TYPE: &str = "node.kubernetes.io/instance-type";

/// A requirement; a name without domain is one of the provider's labels.
fn entry(group: &str, (name, operator, values): (&str, &str, &[&str])) -> Value {
    let key = if name.contains('/') {
        name.to_owned()
    } else {
        format!("{group}/{name}")
    };
    json!({"key": key, "operator": operator, "values": values})
}

fn found(group: &str, list: &[(&str, &str, &[&str])]) -> Vec<String> {
    let list: Vec<Value> = list.iter().map(|one| entry(group, *one)).collect();
    let object = requirements_of(group, &json!(list));
    assert_eq!(errors(&object), [""; 0], "{list:?}");
    warnings(&object)
}

#[test]
fn instance_types_go_with_all_their_families() {
    let types = Provider::of_group(AWS).unwrap().instance_types.unwrap().types;
    let mut families: Vec<&str> = types.iter().map(|name| name.split_once('.').unwrap().0).collect();
    families.dedup();
    assert_eq!(
        found(AWS, &[(TYPE, "In", types), ("instance-family", "In", &families)]),
        [""; 0]
    );
    // The last one is the only one that fits; of mac-m4, the provider cuts no category.
    let category = ("instance-category", "In", &["z"][..]);
    assert!(types.last().is_some_and(|name| name.starts_with("z1d.")));
    assert_eq!(found(AWS, &[(TYPE, "In", types), category]), [""; 0]);
    let others: Vec<&str> = types
        .iter()
        .copied()
        .filter(|name| !["z1d.", "mac-"].iter().any(|family| name.starts_with(family)))
        .collect();
    assert_eq!(found(AWS, &[(TYPE, "In", &others), category]).len(), 1);
}

#[test]
fn lists_of_types_of_any_length_are_judged() {
    let types: Vec<String> = (0..2000).map(|number| format!("m5.{number}xlarge")).collect();
    let families: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let [types, families] =
        [&types, &families].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    let warned = found(AWS, &[(TYPE, "In", &types), ("instance-family", "In", &families)]);
    assert_eq!(warned.len(), 1, "{warned:?}");
}

/// Category, family, generation and size of some types.
const TYPES: &[(&str, [&str; 4])] = &[
    ("m5.large", ["m", "m5", "5", "large"]),
    ("m5.xlarge", ["m", "m5", "5", "xlarge"]),
    ("c7gn.large", ["c", "c7gn", "7", "large"]),
    ("m7i-flex.xlarge", ["m", "m7i-flex", "7", "xlarge"]),
    ("u7i-12tb.224xlarge", ["u", "u7i-12tb", "7", "224xlarge"]),
    ("u-6tb1.metal", ["u", "u-6tb1", "1", "metal"]),
    ("p6-b200.48xlarge", ["p", "p6-b200", "6", "48xlarge"]),
];

const NAMES: [&str; 4] = [
    "instance-category",
    "instance-family",
    "instance-generation",
    "instance-size",
];

proptest! {
    #[test]
    fn it_is_reported_just_when_no_listed_type_or_family_has_all_that_is_demanded(
        types in prop::option::of(prop::sample::subsequence(TYPES, 1..4)),
        demands in [(); 4].map(|()| prop::option::of((any::<bool>(), prop::sample::subsequence(TYPES, 1..4)))),
    ) {
        let fits = |row: &[&str; 4], at: usize| demands[at].as_ref().is_none_or(|(is_in, rows)| {
            rows.iter().any(|(_, other)| other[at] == row[at]) == *is_in
        });
        let families = demands[1].as_ref().filter(|(is_in, _)| *is_in);
        let expected = match (&types, families) {
            (Some(types), _) => !types.iter().any(|(_, row)| (0..4).all(|at| fits(row, at))),
            // Of a family, any size may exist.
            (None, Some((_, rows))) => !rows.iter().any(|(_, row)| (0..3).all(|at| fits(row, at))),
            (None, None) => false,
        };
        let mut list: Vec<Value> = types
            .iter()
            .map(|types| {
                let names: Vec<&str> = types.iter().map(|(name, _)| *name).collect();
                entry(AWS, (TYPE, "In", &names))
            })
            .collect();
        for (at, (is_in, rows)) in demands.iter().enumerate().filter_map(|(at, one)| Some((at, one.as_ref()?))) {
            let mut values: Vec<&str> = rows.iter().map(|(_, row)| row[at]).collect();
            values.sort_unstable();
            values.dedup();
            list.push(entry(AWS, (NAMES[at], if *is_in { "In" } else { "NotIn" }, &values)));
        }
        let warned = warnings(&requirements_of(AWS, &json!(list)));
        let found = warned.iter().filter(|line| line.contains("[requirement-type-contradiction]")).count();
        prop_assert_eq!(found, usize::from(expected), "{:?}: {:?}", list, warned);
    }
}

#[test]
fn long_lists_of_zones_are_compared() {
    let zones: Vec<String> = (0..101).map(|number| format!("eastus2-{number}")).collect();
    let regions: Vec<String> = (0..100).map(|number| format!("region{number}")).collect();
    let object = requirements_of(
        "karpenter.azure.com",
        &json!([
            {"key": "topology.kubernetes.io/zone", "operator": "In", "values": zones},
            {"key": "topology.kubernetes.io/region", "operator": "In", "values": regions},
        ]),
    );
    assert_eq!(errors(&object), [""; 0]);
    let warned = warnings(&object);
    assert!(warned[0].contains("[requirement-zone-region]"), "{warned:?}");
}
