//! Whether a limit has room for the smallest machine that the requirements allow, alone or beside the nodes that a pool has.
//!
//! Karpenter launches nothing for a pool whose nodes have more than a limit allows (`Limits.ExceededBy`), and no machine with
//! more than the limit leaves (`filterByRemainingResources`). For a replacement it counts without the node that goes.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{Limit, Limits, NODES, path};
use crate::diagnostic::{ErrorType, counted};
use crate::drift::DriftClaim;
use crate::json::Json;
use crate::karpenter::{
    INSTANCE_TYPE_LABEL, InstanceTypes, Machine, Naming, NodePool, Operator, PLAIN_RESOURCES, PROVIDERS,
    Part, Provider, Requirement, Selection, Template, integer,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, Silent);

/// A resource, and where the amount that a machine has of it is known from.
struct Size {
    resource: &'static str,
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
        amount: |machine| i64::from(machine.cpus.get()),
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
        amount: |machine| i64::from(machine.mib),
        share: 2,
        unit: 1 << 20,
        unit_name: "MiB",
    },
];

impl Size {
    /// The labels of instance types for their amount of it.
    fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        let labels = PROVIDERS.iter().flat_map(|provider| provider.labels);
        labels.filter_map(|label| (label.means? == self.resource).then_some(label.key))
    }

    /// Whether a limit has room for a node with this amount.
    fn fits(&self, amount: i64, limit: &Quantity) -> bool {
        let needed = (amount / self.share).checked_mul(self.unit);
        needed.is_none_or(|needed| *limit >= Quantity::from(needed))
    }

    /// The most that a node with these labels has; `None` if that is not known.
    fn of_node(&self, labels: &BTreeMap<String, String>, known: Option<&InstanceTypes>) -> Option<i64> {
        let mut labelled = self.keys().filter_map(|key| labels.get(key));
        let listed = || known?.machine(labels.get(INSTANCE_TYPE_LABEL)?).map(self.amount);
        labelled.next().map_or_else(listed, |amount| integer(amount))
    }
}

/// The size of the smallest machine that a requirement allows.
#[derive(Clone, Copy)]
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
    let machines = LazyCell::new(|| Machines::of(&pool.template, declared));
    for (size, smallest) in too_large(&machines, limit_of) {
        if let Some(limit) = limits.get(size.resource) {
            report(size, limit, &smallest, findings);
        }
    }
}

/// The resources in which even the smallest machine that the requirements allow exceeds the room.
// karpenter: pkg/controllers/provisioning/scheduling/scheduler.go filterByRemainingResources
fn too_large(
    machines: &LazyCell<Machines, impl FnOnce() -> Machines>,
    room: impl Fn(&Size) -> Option<Quantity>,
) -> Vec<(&'static Size, Smallest)> {
    let rooms: Vec<(usize, &Size, Quantity)> = (0..)
        .zip(&SIZES)
        .filter_map(|(number, size)| Some((number, size, room(size)?)))
        .collect();
    if rooms.is_empty() {
        return Vec::new();
    }
    let has_room = |machine: &Machine| {
        let mut rooms = rooms.iter();
        rooms.all(|(_, size, room)| size.fits((size.amount)(*machine), room))
    };
    let listed = machines.listed.as_ref();
    let listed = listed.filter(|listed| !listed.kinds.iter().any(has_room));
    let mut found = Vec::new();
    for (number, size, room) in &rooms {
        let is_too_large = |smallest: &Smallest| !size.fits(smallest.amount, room);
        let by_list = listed.and_then(|listed| {
            Some(Smallest {
                amount: (size.amount)(listed.least?),
                index: listed.index,
            })
        });
        let by_label = machines.by_label.get(*number).copied().flatten();
        found.extend(
            by_label
                .filter(is_too_large)
                .or(by_list.filter(is_too_large))
                .map(|smallest| (*size, smallest)),
        );
    }
    found
}

/// Why Karpenter launches no node for a pool, or few, because of limits that do not count nodes, by the status of the stored
/// one: a clause each. A pool may be at its limit by design.
// karpenter: pkg/apis/v1/nodepool.go Limits.ExceededBy
pub fn used_up(pool: &NodePool<'_>, stored: &NodePool<'_>) -> Vec<String> {
    let limits = pool.limits.present().into_iter().flatten();
    let machines = LazyCell::new(|| Machines::of(&pool.template, None));
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
        let smallest = too_large(&machines, room).pop();
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
    let provider = pool.template.provider_or(declared);
    let known = provider.and_then(|provider| provider.instance_types);
    let machines = LazyCell::new(|| Machines::of(&pool.template, declared));
    let left: Vec<(&str, Quantity)> = SIZES
        .iter()
        .filter_map(|size| {
            let limit = limits.get(size.resource)?.quantity()?;
            let used = NodePool::limit_value(old.used(size.resource)?)?;
            Some((size.resource, limit.minus(&used)))
        })
        .collect();
    let mut without: Vec<(&Size, Smallest)> = Vec::new();
    let mut count = 0;
    for claim in claims {
        let room = |size: &Size| {
            let (_, left) = left.iter().find(|(resource, _)| *resource == size.resource)?;
            let freed = size.of_node(&claim.labels, known)?.checked_mul(size.unit)?;
            Some(left.plus(&Quantity::from(freed)))
        };
        let found = too_large(&machines, room);
        count += usize::from(!found.is_empty());
        if without.is_empty() {
            without = found;
        }
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
    size.keys().find_map(|key| {
        let requirements = template.requirements().iter();
        let mut own = requirements
            .filter(|requirement| requirement.key.present() == Some(key))
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
        let provider = template.provider_or(declared)?;
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

    /// The machines that the lists allow; `None` if there is no list, or if the size of one is not known.
    fn machines(&self) -> Option<ListedMachines> {
        let first = self.names.or(self.families).or(self.sizes)?;
        let [families, sizes] = [self.families, self.sizes].map(|list| list.map(words));
        let allows =
            |list: &Option<BTreeSet<&str>>, word: &str| list.as_ref().is_none_or(|list| list.contains(word));
        let mut kinds = BTreeSet::new();
        for value in values(first) {
            let value = value?;
            if self.names.is_some() {
                let (family, of) = value.split_once('.')?;
                if allows(&families, family) && allows(&sizes, of) {
                    kinds.insert(self.known.machine(value)?);
                }
            } else if self.families.is_some() {
                let mut types = self.known.of_family(value).peekable();
                types.peek()?;
                for one in types {
                    let of = one.name.get(value.len() + 1..)?;
                    if allows(&sizes, of) {
                        kinds.insert(one.machine?);
                    }
                }
            } else {
                kinds.insert(self.known.smallest_of_size(value)?);
            }
        }
        Some(ListedMachines {
            least: kinds.iter().copied().reduce(Machine::least),
            kinds,
            index: first.index,
        })
    }
}

/// The machines that the lists of a template allow.
struct ListedMachines {
    /// Each size once.
    kinds: BTreeSet<Machine>,
    /// The least that any of them has of each resource; `None` if none is allowed.
    least: Option<Machine>,
    /// The index of the requirement that lists them.
    index: usize,
}

/// The smallest machines that a template allows, worked out once for all limits and NodeClaims.
struct Machines {
    /// By the labels for each of [`SIZES`].
    by_label: [Option<Smallest>; SIZES.len()],
    listed: Option<ListedMachines>,
}

impl Machines {
    /// Those of a template. `declared` is the provider by the policy.
    fn of(template: &Template<'_>, declared: Option<&'static Provider>) -> Self {
        Self {
            by_label: SIZES.each_ref().map(|size| by_label(template, size)),
            listed: Listed::of(template, declared).and_then(|listed| listed.machines()),
        }
    }
}

/// The values of a list; `None` for one that is no string.
fn values<'t>(list: &Requirement<'t>) -> impl Iterator<Item = Option<&'t str>> {
    let values = list.values.present().unwrap_or_default();
    values.iter().map(Json::as_str)
}

/// The strings of a list.
fn words<'t>(list: &Requirement<'t>) -> BTreeSet<&'t str> {
    values(list).flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DriftClaim, Limits, counted, without_room};
    use crate::json::Json;
    use crate::karpenter::{ApiVersion, NodePool};
    use crate::policy::Policy;
    use crate::rules::requirements::testing::{requirements_of, warnings};
    use crate::test_cost::assert_in_proportion;

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
    fn the_room_of_many_nodes_costs_no_more_than_nodes_and_requirements_together() {
        let key = "karpenter.k8s.aws/instance-cpu";
        let pool = {
            let small =
                |number: usize| json!({"key": key, "operator": "NotIn", "values": [number.to_string()]});
            let mut requirements = vec![json!({"key": key, "operator": "Gt", "values": ["1000000"]})];
            requirements.extend((0..90).map(small));
            let mut pool = requirements_of("karpenter.k8s.aws", &requirements.into());
            pool["spec"]["limits"] = json!({"cpu": "8"});
            pool["status"] = json!({"resources": {"cpu": "8"}});
            pool
        };
        let pool = Json::from(&pool);
        let pool = NodePool::view(ApiVersion::V1, &pool);
        let limits = Limits::parse(&pool, None, &Policy::default());
        let claims = |count: usize| -> Vec<DriftClaim> {
            let claim = |cpus: usize| DriftClaim {
                labels: [(key.to_owned(), cpus.to_string())].into(),
                ..DriftClaim::default()
            };
            (0..count).map(claim).collect()
        };
        assert_in_proportion(1 << 13, claims, |claims| {
            let claims: Vec<&DriftClaim> = claims.iter().collect();
            let said = without_room(&pool, &limits, &pool, &claims, None).expect("a remark");
            assert!(said.contains(&counted(claims.len(), "node")), "{said}");
        });
    }

    #[test]
    fn lists_of_any_length_are_judged() {
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
        for count in [1, 300, 1_500] {
            assert!(too_small(count), "{count}");
        }
    }
}
