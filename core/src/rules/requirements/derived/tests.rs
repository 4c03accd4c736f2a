use proptest::prelude::*;
use serde_json::{Value, json};

use crate::karpenter::Provider;
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
fn a_type_of_another_family_names_both_entries() {
    assert_eq!(
        found(
            AWS,
            &[(TYPE, "In", &["m5.large"]), ("instance-family", "In", &["c5"])]
        ),
        [
            "spec.template.spec.requirements[0]: Invalid value: node.kubernetes.io/instance-type In [m5.large]: \
             m5.large has instance-family m5: this contradicts karpenter.k8s.aws/instance-family In [c5] at \
             spec.template.spec.requirements[1], so the pool never launches a node; remove one, or list values \
             that go together [requirement-type-contradiction]"
        ]
    );
}

#[test]
fn families_of_other_categories_and_generations_are_found() {
    let warned = found(
        AWS,
        &[
            ("instance-category", "In", &["c"]),
            ("instance-family", "In", &["m5", "r5"]),
        ],
    );
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("m5 has instance-category m, r5 has instance-category r: this contradicts"));
    let warned = found(
        AWS,
        &[
            ("instance-family", "In", &["m5", "c5", "r5"]),
            ("instance-generation", "Gt", &["5"]),
        ],
    );
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains(
        "m5 has instance-generation 5, c5 has instance-generation 5, 1 more do not fit either: this contradicts \
         karpenter.k8s.aws/instance-generation Gt [5] at spec.template.spec.requirements[1]"
    ));
    for (name, operator, values) in [
        ("instance-size", "NotIn", &["large", "xlarge"][..]),
        ("instance-generation", "Lt", &["5"]),
        ("instance-capability-flex", "In", &["true"]),
        ("instance-category", "NotIn", &["m", "c"]),
    ] {
        let types = (TYPE, "In", &["m5.large", "c5.xlarge"][..]);
        let warned = found(AWS, &[types, (name, operator, values)]);
        assert_eq!(warned.len(), 1, "{name}: {warned:?}");
    }
}

#[test]
fn entries_that_exclude_all_values_only_together_are_all_named() {
    let warned = found(
        AWS,
        &[
            (TYPE, "In", &["m5.large", "c6i.large"]),
            ("instance-category", "In", &["m", "r"]),
            ("instance-generation", "Gt", &["5"]),
        ],
    );
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0].contains("m5.large has instance-generation 5, c6i.large has instance-category c: this")
    );
    assert!(warned[0].contains("requirements[2] and karpenter.k8s.aws/instance-category In [m, r] at spec"));
}

#[test]
fn one_combination_that_is_left_keeps_it_silent() {
    for list in [
        &[
            (TYPE, "In", &["m5.large", "c5.large"][..]),
            ("instance-family", "In", &["c5"]),
        ][..],
        &[
            ("instance-category", "In", &["c"]),
            ("instance-generation", "In", &["9"]),
        ],
        &[
            ("instance-family", "In", &["c7gn", "m7i"]),
            ("instance-category", "In", &["m"]),
        ],
        &[
            ("instance-family", "In", &["m5"]),
            ("instance-size", "In", &["giant"]),
        ],
        &[("instance-family", "In", &["m5"]), (TYPE, "NotIn", &["m5.large"])],
        &[
            ("instance-family", "NotIn", &["m5"]),
            ("instance-category", "In", &["m"]),
        ],
        &[
            ("instance-family", "In", &["u7i-12tb"]),
            ("instance-category", "In", &["u"]),
        ],
        &[
            ("instance-family", "In", &["mac-m4"]),
            ("instance-category", "In", &["mac"]),
        ],
    ] {
        assert_eq!(found(AWS, list), [""; 0], "{list:?}");
    }
}

#[test]
fn a_template_label_is_a_demand_too() {
    let mut object = requirements_of(AWS, &json!([entry(AWS, (TYPE, "In", &["m5.large"]))]));
    let labels = &mut object["spec"]["template"]["metadata"]["labels"];
    *labels = json!({"karpenter.k8s.aws/instance-family": "c5"});
    let warned = warnings(&object);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(
        warned[0]
            .contains("the label karpenter.k8s.aws/instance-family: c5 at spec.template.metadata.labels[")
    );
}

#[test]
fn other_providers_have_their_own_functions() {
    for (group, list) in [
        (
            "karpenter.azure.com",
            [
                (TYPE, "In", &["Standard_D4s_v5"][..]),
                ("sku-family", "In", &["E"][..]),
            ],
        ),
        (
            "karpenter.azure.com",
            [
                ("sku-name", "In", &["Standard_D4s_v5"]),
                ("sku-version", "Lt", &["5"]),
            ],
        ),
        (
            "karpenter.k8s.gcp",
            [
                ("instance-family", "In", &["n1", "n2d"]),
                ("instance-category", "In", &["c"]),
            ],
        ),
        (
            "karpenter.k8s.alibabacloud",
            [
                ("instance-family", "In", &["ecs.g7"]),
                ("instance-generation", "Gt", &["7"]),
            ],
        ),
        (
            "eks.amazonaws.com",
            [
                ("instance-family", "In", &["m5"]),
                ("instance-category", "In", &["c"]),
            ],
        ),
    ] {
        let warned = found(group, &list);
        assert_eq!(warned.len(), 1, "{list:?}: {warned:?}");
    }
}

#[test]
fn what_another_release_or_another_provider_may_do_is_not_judged() {
    for (group, list) in [
        // The first release of the provider called this family n1-standard.
        (
            "karpenter.k8s.gcp",
            [
                (TYPE, "In", &["n1-standard-4"][..]),
                ("instance-family", "In", &["n1-standard"][..]),
            ],
        ),
        (
            "karpenter.azure.com",
            [(TYPE, "In", &["Basic_A1"]), ("sku-family", "In", &["D"])],
        ),
        (
            "karpenter.azure.com",
            [("sku-family", "In", &["D"]), ("sku-version", "Gt", &["5"])],
        ),
        (
            "karpenter.example.com",
            [(TYPE, "In", &["m5.large"]), ("instance-family", "In", &["c5"])],
        ),
    ] {
        assert_eq!(found(group, &list), [""; 0], "{list:?}");
    }
}

#[test]
fn a_contradiction_on_one_label_is_reported_once() {
    let object = requirements_of(
        AWS,
        &json!([
            entry(AWS, (TYPE, "In", &["m5.large"])),
            entry(AWS, ("instance-family", "In", &["c5"])),
            entry(AWS, ("instance-family", "NotIn", &["c5"])),
        ]),
    );
    assert_eq!(errors(&object).len(), 1);
    assert_eq!(warnings(&object), [""; 0]);
}

#[test]
fn all_known_instance_types_together_with_all_their_families_are_fine() {
    let types = Provider::of_group(AWS).unwrap().instance_types;
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
fn lists_that_are_too_long_are_not_judged() {
    let types: Vec<String> = (0..2000).map(|number| format!("m5.{number}xlarge")).collect();
    let families: Vec<String> = (0..1000).map(|number| format!("c{number}")).collect();
    let [types, families] =
        [&types, &families].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    let warned =
        |families: &[&str]| found(AWS, &[(TYPE, "In", &types), ("instance-family", "In", families)]).len();
    assert_eq!(warned(&families), 0);
    assert_eq!(warned(&families[..500]), 1);
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
        let found = warned.iter().filter(|line| line.ends_with("[requirement-type-contradiction]")).count();
        prop_assert_eq!(found, usize::from(expected), "{:?}: {:?}", list, warned);
    }
}
