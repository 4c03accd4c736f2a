//! Whether a limit has room for the smallest machine that the requirements allow, alone or beside the nodes that a pool has.
//!
//! Karpenter launches nothing for a pool whose nodes have more than a limit allows (`Limits.ExceededBy`), and no machine with
//! more than the limit leaves (`filterByRemainingResources`). For a replacement it counts without the node that goes.

use std::collections::BTreeMap;

use super::{Limit, Limits, NODES, path};
use crate::diagnostic::{ErrorType, counted};
use crate::drift::DriftClaim;
use crate::json::Json;
use crate::karpenter::{
    INSTANCE_TYPE_LABEL, InstanceTypes, Machine, Naming, NodePool, Operator, PLAIN_RESOURCES, Part, Provider,
    Requirement, Selection, Template, integer,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, Silent);

/// The most comparisons of the values of two lists, so that a review takes a bounded time.
const MOST_COMPARED: usize = 100_000;

/// A resource, and where the amount that a machine has of it is known from.
struct Size {
    resource: &'static str,
    /// The labels of instance types for their amount of it.
    keys: &'static [&'static str],
    /// The same amount of a listed machine.
    amount: fn(Machine) -> i64,
    /// The divisor of the amount that gives what the node certainly has.
    share: i64,
    /// How many units of the resource one unit of the amount is.
    unit: i64,
    unit_name: &'static str,
}

const SIZES: [Size; 2] = [
    Size {
        resource: "cpu",
        keys: &[
            "karpenter.k8s.aws/instance-cpu",
            "eks.amazonaws.com/instance-cpu",
            "karpenter.azure.com/sku-cpu",
        ],
        amount: |machine| i64::from(machine.cpus.get()),
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
        keys: &[
            "karpenter.k8s.aws/instance-memory",
            "eks.amazonaws.com/instance-memory",
            "karpenter.azure.com/sku-memory",
        ],
        amount: |machine| i64::from(machine.mib),
        share: 2,
        unit: 1 << 20,
        unit_name: "MiB",
    },
];

impl Size {
    /// Whether a limit has room for a node with this amount.
    fn fits(&self, amount: i64, limit: &Quantity) -> bool {
        let needed = (amount / self.share).checked_mul(self.unit);
        needed.is_none_or(|needed| *limit >= Quantity::from(needed))
    }

    /// The most that a node with these labels has; `None` if that is not known.
    fn of_node(&self, labels: &BTreeMap<String, String>, known: Option<&InstanceTypes>) -> Option<i64> {
        let mut labelled = self.keys.iter().filter_map(|key| labels.get(*key));
        let listed = || known?.machine(labels.get(INSTANCE_TYPE_LABEL)?).map(self.amount);
        labelled.next().map_or_else(listed, |amount| integer(amount))
    }
}

/// The size of the smallest machine that a requirement allows.
struct Smallest {
    amount: i64,
    /// The index of the requirement.
    index: usize,
}

/// Reports limits that leave no room for the smallest machine that the requirements allow.
pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    // A limit of 0 switches the pool off, and another rule reports it.
    let limit_of = |size: &Size| {
        let limit = limits.get(size.resource)?.quantity()?;
        (!limit.is_zero() && !limit.is_negative()).then_some(*limit)
    };
    let declared = findings.context.policy.cluster.provider;
    for (size, smallest) in too_large(&pool.template, declared, limit_of) {
        if let Some(limit) = limits.get(size.resource) {
            report(size, limit, &smallest, findings);
        }
    }
}

/// The resources in which even the smallest machine that the requirements allow exceeds the room.
fn too_large(
    template: &Template<'_>,
    declared: Option<&'static Provider>,
    room: impl Fn(&Size) -> Option<Quantity>,
) -> Vec<(&'static Size, Smallest)> {
    let rooms: Vec<(&Size, Quantity)> = SIZES
        .iter()
        .filter_map(|size| Some((size, room(size)?)))
        .collect();
    if rooms.is_empty() {
        return Vec::new();
    }
    let has_room = |machine: Machine| {
        rooms
            .iter()
            .all(|(size, room)| size.fits((size.amount)(machine), room))
    };
    let listed = Listed::of(template, declared).and_then(|listed| listed.smallest(has_room));
    let mut found = Vec::new();
    for (size, room) in &rooms {
        let is_too_large = |smallest: &Smallest| !size.fits(smallest.amount, room);
        let by_list = listed.map(|(machine, index)| Smallest {
            amount: (size.amount)(machine),
            index,
        });
        let by_label = by_label(template, size).filter(is_too_large);
        found.extend(
            by_label
                .or(by_list.filter(is_too_large))
                .map(|smallest| (*size, smallest)),
        );
    }
    found
}

/// Why Karpenter launches no node for a pool, or few, because of limits that do not count nodes, by the status of the stored
/// one: a clause each. A pool may be at its limit by design.
pub fn used_up(pool: &NodePool<'_>, stored: &NodePool<'_>) -> Vec<String> {
    let limits = pool.limits.present().into_iter().flatten();
    let clauses = limits.filter_map(|(resource, limit)| {
        let used = stored.used(resource).filter(|_| resource != NODES)?;
        let (most, now) = (NodePool::limit_value(limit)?, NodePool::limit_value(used)?);
        let shown = |value: &Json<'_>| {
            let shown = ErrorType::note(value);
            shown.value().unwrap_or_default().trim_matches('"').to_owned()
        };
        let counts = format!("{} of {} {resource} in use", shown(used), shown(limit));
        if now > most {
            return Some(format!(
                "{counts}: no node is launched, not even a replacement, until enough are gone"
            ));
        }
        // A limit of 0 switches the pool off.
        let left = Some(most.minus(&now)).filter(|_| !most.is_zero())?;
        let room = |size: &Size| (size.resource == resource).then_some(left);
        let smallest = too_large(&pool.template, None, room).pop();
        let why = match &smallest {
            Some((size, smallest)) => format!(
                " (the smallest machine has {} {})",
                smallest.amount, size.unit_name
            ),
            None if left.is_zero() => String::new(),
            None => return None,
        };
        let node = if PLAIN_RESOURCES.contains(&resource) {
            "no node"
        } else {
            "no node that has some"
        };
        Some(format!(
            "{counts}: {node} is added{why}, and a replacement must fit into what its node leaves"
        ))
    });
    clauses.collect()
}

/// For which of these NodeClaims a changed pool has no room for a replacement, by the status of the stored one: a clause.
pub fn without_room(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    old: &NodePool<'_>,
    claims: &[&DriftClaim],
    declared: Option<&'static Provider>,
) -> Option<String> {
    let exceeded = limits.written.iter().find(|limit| {
        let used = old.used(limit.resource).filter(|_| limit.resource != NODES);
        let used = used.and_then(NodePool::limit_value);
        used.is_some_and(|used| limit.quantity().is_some_and(|most| used > *most))
    });
    if let Some(limit) = exceeded {
        return Some(format!(
            "no replacement is launched while more than {} is in use",
            path(limit.resource)
        ));
    }
    let known = pool
        .template
        .node_class_group()
        .map_or(declared, Provider::of_group);
    let known = known.and_then(|provider| provider.instance_types);
    let mut without: Vec<(&Size, Smallest)> = Vec::new();
    let mut count = 0;
    for claim in claims {
        let room = |size: &Size| {
            let left = limits.get(size.resource)?.quantity()?;
            let left = left.minus(&NodePool::limit_value(old.used(size.resource)?)?);
            let freed = size.of_node(&claim.labels, known)?.checked_mul(size.unit)?;
            Some(left.plus(&Quantity::from(freed)))
        };
        let found = too_large(&pool.template, declared, room);
        count += usize::from(!found.is_empty());
        without.extend(found);
    }
    let (size, smallest) = without.first()?;
    Some(format!(
        "{} leaves no room for the replacement of {}: the smallest machine that the requirements allow has {} {}",
        path(size.resource),
        counted(count, "node"),
        smallest.amount,
        size.unit_name
    ))
}

fn report(size: &Size, limit: &Limit<'_>, smallest: &Smallest, findings: &mut Findings<'_>) {
    let Smallest { amount, index } = smallest;
    let (resource, unit) = (size.resource, size.unit_name);
    let title = format!("the smallest allowed machine has {amount} {unit}, more than this limit");
    findings
        .report(&LIMIT_TOO_SMALL, path(resource), limit.value, title)
        .consequence("the pool never launches a node")
        .suggest("raise the limit, which is for all nodes together, or allow smaller machines")
        .related(Template::requirements_path().index(*index));
}

/// The smallest by the labels for the size.
fn by_label(template: &Template<'_>, size: &Size) -> Option<Smallest> {
    size.keys.iter().find_map(|key| {
        let requirements = template.requirements().iter();
        let mut own = requirements
            .filter(|requirement| requirement.key.present() == Some(*key))
            .peekable();
        let index = own.peek()?.index;
        let selections = own.map(Requirement::selection).collect::<Option<Vec<_>>>()?;
        let amount = Selection::all(selections).least()?;
        Some(Smallest { amount, index })
    })
}

/// The lists of instance types, families and sizes that a template requires, each if there is one.
struct Listed<'t> {
    known: &'static InstanceTypes,
    names: Option<&'t Requirement<'t>>,
    families: Option<&'t Requirement<'t>>,
    sizes: Option<&'t Requirement<'t>>,
}

impl<'t> Listed<'t> {
    /// Those of a template; `None` if the machines of its provider are not known. `declared` is the provider by the policy.
    fn of(template: &'t Template<'t>, declared: Option<&'static Provider>) -> Option<Self> {
        let group = template.node_class_group();
        let provider = group.map_or(declared, Provider::of_group)?;
        let naming = Naming::of(provider)?;
        let mut listed = Self {
            known: provider.instance_types?,
            names: None,
            families: None,
            sizes: None,
        };
        for requirement in template.requirements() {
            let part = requirement
                .key
                .present()
                .and_then(|key| naming.part(key, provider));
            let list = match part {
                Some(Part::Name) => &mut listed.names,
                Some(Part::Family) => &mut listed.families,
                Some(Part::Size) => &mut listed.sizes,
                _ => continue,
            };
            if requirement.operator.present() == Some(Operator::In.as_str()) {
                *list = list.or(Some(requirement));
            }
        }
        Some(listed)
    }

    /// The least that any of them has of each resource, and the index of the requirement that lists them; `None` if one has
    /// room, or may have, because its size is not known.
    fn smallest(&self, has_room: impl Fn(Machine) -> bool) -> Option<(Machine, usize)> {
        let first = self.names.or(self.families).or(self.sizes)?;
        let others = [self.families, self.sizes].into_iter().flatten();
        let compared: usize = others.map(|list| values(list).count()).sum();
        if values(first).count().saturating_mul(compared) > MOST_COMPARED {
            return None;
        }
        let mut least: Option<Machine> = None;
        let mut compare = |machine: Option<Machine>| {
            let machine = machine.filter(|machine| !has_room(*machine))?;
            least = Some(least.map_or(machine, |least| least.least(machine)));
            Some(())
        };
        for value in values(first) {
            let value = value?;
            if self.names.is_some() {
                let (family, of) = value.split_once('.')?;
                if allows(self.families, family) && allows(self.sizes, of) {
                    compare(self.known.machine(value))?;
                }
            } else if self.families.is_some() {
                let mut types = self.known.of_family(value).peekable();
                types.peek()?;
                for one in types {
                    let of = one.name.get(value.len() + 1..)?;
                    if allows(self.sizes, of) {
                        compare(one.machine)?;
                    }
                }
            } else {
                compare(self.known.smallest_of_size(value))?;
            }
        }
        Some((least?, first.index))
    }
}

/// The values of a list; `None` for one that is no string.
fn values<'t>(list: &Requirement<'t>) -> impl Iterator<Item = Option<&'t str>> {
    let values = list.values.present().unwrap_or_default();
    values.iter().map(Json::as_str)
}

/// Whether a list has a word, if there is a list.
fn allows(list: Option<&Requirement<'_>>, word: &str) -> bool {
    list.is_none_or(|list| values(list).any(|value| value == Some(word)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::json::Json;
    use crate::karpenter::{ApiVersion, NodePool};
    use crate::rules::requirements::testing::{requirements_of, warnings};

    #[test]
    fn limits_that_are_used_up_say_what_still_comes_and_others_nothing() {
        let said = |limits: Value, used: Value, least: &str| {
            let mut pool = requirements_of(
                "karpenter.k8s.aws",
                &json!([{"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": [least]}]),
            );
            pool["spec"]["limits"] = limits;
            pool["status"] = json!({"resources": used});
            let pool = Json::from(&pool);
            let pool = NodePool::view(ApiVersion::V1, &pool);
            super::used_up(&pool, &pool)
        };
        let [none, added] = [
            "no node is launched, not even a replacement",
            "must fit into what its node leaves",
        ];
        for (limits, used, parts) in [
            (
                json!({"cpu": "48"}),
                json!({"cpu": "56"}),
                ["56 of 48 cpu in use", none],
            ),
            (
                json!({"cpu": 48}),
                json!({"cpu": "48"}),
                ["48 of 48 cpu in use: no node is added", added],
            ),
            (
                json!({"cpu": "48"}),
                json!({"cpu": "40"}),
                ["the smallest machine has 16 cores", added],
            ),
            (
                json!({"memory": "64Gi"}),
                json!({"memory": "64Gi"}),
                ["64Gi memory in use: no node is added,", added],
            ),
            (
                json!({"nvidia.com/gpu": "8"}),
                json!({"nvidia.com/gpu": "8"}),
                ["no node that has some is added", added],
            ),
        ] {
            let said = said(limits, used, "15");
            assert!(
                said.len() == 1 && parts.iter().all(|part| said[0].contains(part)),
                "{said:?}"
            );
        }
        for (limits, used) in [
            (json!({"cpu": "48"}), json!({"cpu": "32"})),
            (json!({"cpu": "0"}), json!({"cpu": "0"})),
            (json!({"cpu": "48"}), json!({"memory": "1Gi"})),
            (json!({"nodes": "3"}), json!({"nodes": "3"})),
            (json!({"memory": "64Gi"}), json!({"memory": "63Gi"})),
        ] {
            assert_eq!(said(limits, used, "15"), [""; 0]);
        }
    }

    #[test]
    fn lists_that_are_too_long_to_compare_are_not_judged() {
        let too_small = |count: usize| {
            let repeated = |value: &str| -> Value { vec![value; count].into() };
            let mut pool = requirements_of(
                "karpenter.k8s.aws",
                &json!([
                    {"key": "node.kubernetes.io/instance-type", "operator": "In",
                     "values": repeated("u7i-12tb.224xlarge")},
                    {"key": "karpenter.k8s.aws/instance-family", "operator": "In",
                     "values": repeated("u7i-12tb")},
                ]),
            );
            pool["spec"]["limits"] = json!({"cpu": "100"});
            warnings(&pool)
                .iter()
                .any(|line| line.contains("[limit-too-small]"))
        };
        assert!(too_small(1));
        assert!(too_small(300));
        assert!(!too_small(50_000));
    }
}
