//! Capacity reservations of node classes against the capacity types of the NodePools that refer to them.

use std::collections::BTreeMap;

use super::overlap::selections;
use super::{AcrossFinding, Together};
use crate::diagnostic::{ErrorType, FieldPath, Severity};
use crate::facts::{CAPACITY_TYPE_LABEL, Selection};
use crate::pool::{NodePool, Template};
use crate::rules::rule::Rule;

pub static CAPACITY_RESERVATIONS: Rule = rule!("capacity-reservations", Warning, Silent).across();

const RESERVED: &str = "reserved";

/// The group of the node classes of AWS, where only a class with a selector has reservations.
const AWS: &str = "karpenter.k8s.aws";

/// The pools that refer to one class, each with the capacity types that it allows.
type Users<'a> = Vec<(usize, Selection<'a>)>;

pub(crate) fn check(together: Together<'_>, indexes: &[usize], findings: &mut Vec<AcrossFinding>) {
    let mut classes: BTreeMap<(&str, &str, &str), Users<'_>> = BTreeMap::new();
    let mut unread = Vec::new();
    for index in indexes {
        let known = together.pools.get(*index).zip(together.labels.get(*index));
        let Some((pool, labels)) = known else { continue };
        let Some(class) = pool.template.node_class() else {
            continue;
        };
        match selections(&pool.template, labels) {
            Some((mut machines, _)) => {
                let types = machines.remove(CAPACITY_TYPE_LABEL).unwrap_or_default();
                classes.entry(class).or_default().push((*index, types));
            }
            None => unread.push(class),
        }
    }
    for (class, users) in classes {
        let is_reserving = together.classes.is_reserving(class);
        if is_reserving && together.is_complete && !unread.contains(&class) {
            findings.extend(unused(together, &users));
        } else if class.0 == AWS && !is_reserving && together.classes.has(class) {
            findings.extend(
                users
                    .iter()
                    .filter_map(|(index, types)| without(together, *index, types)),
            );
        }
    }
}

/// The finding on a class whose reservations no pool uses, at the first pool that refers to it.
fn unused(together: Together<'_>, users: &Users<'_>) -> Option<AcrossFinding> {
    let [(first, _), others @ ..] = users.as_slice() else {
        return None;
    };
    if users.iter().any(|(_, types)| types.has(RESERVED)) {
        return None;
    }
    let note = ErrorType::Note { value: None };
    let title = "no NodePool of this node class allows the capacity type reserved";
    let mut diagnostic = CAPACITY_RESERVATIONS.finding(place(together.pools.get(*first)?), note, title);
    diagnostic
        .consequence("the capacity reservations that the class selects stay unused, open ones too")
        .suggest("add reserved to the capacity types, or remove capacityReservationSelectorTerms");
    Some(AcrossFinding {
        pool: *first,
        diagnostic,
        others: others.iter().map(|(index, _)| *index).collect(),
    })
}

/// The finding on a pool that allows only reserved capacity, of which its class has none.
fn without(together: Together<'_>, index: usize, types: &Selection<'_>) -> Option<AcrossFinding> {
    let is_alone = types.has(RESERVED) && !types.has("spot") && !types.has("on-demand");
    if !is_alone {
        return None;
    }
    let title = "the node class selects no capacity reservations";
    let path = place(together.pools.get(index)?);
    let mut diagnostic = CAPACITY_RESERVATIONS.finding(path, RESERVED, title);
    diagnostic
        .severity(Severity::Error)
        .consequence("the pool never launches a node")
        .suggest("add capacityReservationSelectorTerms to the node class, or allow another capacity type");
    Some(AcrossFinding {
        pool: index,
        diagnostic,
        others: Vec::new(),
    })
}

/// The requirement on the capacity type, or the list of requirements.
fn place(pool: &NodePool<'_>) -> FieldPath {
    let mut requirements = pool.template.requirements().iter();
    let at = requirements.position(|one| one.key.present() == Some(CAPACITY_TYPE_LABEL));
    match at {
        Some(index) => Template::requirements_path().index(index).key("values"),
        None => Template::requirements_path(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::across::testing::found_of;
    use crate::rules::across::{ClassSource, NodeClasses};

    fn pool(name: &str, types: &[&str]) -> Value {
        let mut requirements = Vec::new();
        if !types.is_empty() {
            requirements
                .push(json!({"key": "karpenter.sh/capacity-type", "operator": "In", "values": types}));
        }
        let class = json!({"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"});
        json!({
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"nodeClassRef": class, "requirements": requirements}}},
        })
    }

    fn found(pools: &[Value], is_reserving: bool) -> Vec<(usize, String)> {
        let mut classes = NodeClasses::new(ClassSource::Input);
        classes.add("karpenter.k8s.aws", "EC2NodeClass", ["default".to_owned()]);
        if is_reserving {
            classes.add_reservations("karpenter.k8s.aws", "EC2NodeClass", "default");
        }
        let found = found_of(pools, &classes, "capacity-reservations").into_iter();
        found.map(|(pool, message, _)| (pool, message)).collect()
    }

    #[test]
    fn reservations_that_no_pool_allows_are_reported_once() {
        let spot = pool("a", &["spot", "on-demand"]);
        let reported = found(&[spot.clone(), pool("b", &["on-demand"])], true);
        let [(0, message)] = reported.as_slice() else {
            panic!("{reported:?}")
        };
        assert!(
            message.starts_with("spec.template.spec.requirements[0].values: no NodePool of this node class"),
            "{message}"
        );
        assert_eq!(found(&[spot.clone(), pool("b", &["reserved"])], true), []);
        assert_eq!(
            found(&[spot.clone(), pool("b", &[])], true),
            [],
            "it allows every type"
        );
        assert_eq!(found(&[spot], false), []);
    }

    #[test]
    fn a_pool_of_reserved_capacity_alone_needs_a_class_with_reservations() {
        let reserved = pool("a", &["reserved"]);
        assert_eq!(found(std::slice::from_ref(&reserved), true), []);
        let reported = found(&[reserved], false);
        assert!(
            matches!(reported.as_slice(), [(0, message)] if message.contains("selects no capacity reservations")),
            "{reported:?}"
        );
        assert_eq!(found(&[pool("a", &["reserved", "on-demand"])], false), []);
    }
}
