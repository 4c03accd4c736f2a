//! Whether a limit has room for the smallest machine that the requirements allow, alone or beside the nodes that a pool has.
//!
//! Karpenter launches nothing for a pool whose nodes have more than a limit allows (`Limits.ExceededBy`), and no machine with
//! more than the limit leaves (`filterByRemainingResources`). For a replacement it counts without the node that goes.

use std::collections::BTreeMap;

use super::{NODES, PoolLimits, path};
use crate::diagnostic::{ErrorType, counted};
use crate::drift::DriftClaim;
use crate::facts::{PLAIN_RESOURCES, PROVIDERS, Selection, integer};
use crate::json::Json;
use crate::pool::{NodePool, Requirement, Template};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, Silent);

/// A resource whose amount the labels of machines show.
struct Size {
    resource: &'static str,
    /// The divisor of the amount that gives what the node certainly has.
    share: i64,
    /// How many units of the resource one unit of the amount is.
    unit: i64,
    unit_name: &'static str,
}

const SIZES: [Size; 2] = [
    Size {
        resource: "cpu",
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
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

    /// True if there is room for a node with this amount.
    // karpenter: pkg/controllers/provisioning/scheduling/scheduler.go filterByRemainingResources
    fn fits(&self, amount: i64, room: &Quantity) -> bool {
        let needed = (amount / self.share).checked_mul(self.unit);
        needed.is_none_or(|needed| *room >= Quantity::from(needed))
    }

    /// The most that a node with these labels has; `None` if that is not known.
    fn of_node(&self, labels: &BTreeMap<String, String>) -> Option<Quantity> {
        let amount = integer(self.keys().find_map(|key| labels.get(key))?)?;
        amount.checked_mul(self.unit).map(Quantity::from)
    }

    /// The least that a machine has which the requirements allow, and the index of the first that says so; `None` if that is
    /// not known.
    fn least(&self, template: &Template<'_>) -> Option<(i64, usize)> {
        self.keys().find_map(|key| {
            let requirements = template.requirements().iter();
            let mut own = requirements
                .filter(|requirement| requirement.key.present() == Some(key))
                .peekable();
            let index = own.peek()?.index;
            let selections = own.map(Requirement::selection).collect::<Option<Vec<_>>>()?;
            Some((Selection::all(selections).least()?, index))
        })
    }
}

/// Reports limits that leave no room for the smallest machine that the requirements allow.
pub fn check(pool: &NodePool<'_>, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
    for size in &SIZES {
        let Some(limit) = limits.get(size.resource) else {
            continue;
        };
        // A limit of 0 switches the pool off, and another rule reports it.
        let room = limit
            .quantity()
            .filter(|room| !room.is_zero() && !room.is_negative());
        let least = room.and_then(|room| Some((room, size.least(&pool.template)?)));
        let Some((_, (amount, index))) = least.filter(|(room, (amount, _))| !size.fits(*amount, room)) else {
            continue;
        };
        let title = format!(
            "the smallest allowed machine has {amount} {}, more than this limit",
            size.unit_name
        );
        findings
            .report(&LIMIT_TOO_SMALL, path(size.resource), limit.value, title)
            .consequence("the pool never launches a node")
            .suggest("raise the limit, which is for all nodes together, or allow smaller machines")
            .related(Template::requirements_path().index(index));
    }
}

/// Why Karpenter launches no node for a pool, or few, because of limits that do not count nodes, by the status of the stored
/// one: a clause each. A pool may be at its limit by design.
// karpenter: pkg/apis/v1/nodepool.go Limits.ExceededBy
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
        let size = SIZES.iter().find(|size| size.resource == resource);
        let least = size.and_then(|size| Some((size, size.least(&pool.template)?.0)));
        let why = match least.filter(|(size, least)| !size.fits(*least, &left)) {
            Some((size, least)) => format!(" (the smallest machine has {least} {})", size.unit_name),
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
    limits: &PoolLimits<'_>,
    old: &NodePool<'_>,
    claims: &[&DriftClaim],
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
    let rooms = SIZES.iter().filter_map(|size| {
        let limit = limits.get(size.resource)?.quantity()?;
        let used = NodePool::limit_value(old.used(size.resource)?)?;
        Some((size, size.least(&pool.template)?.0, limit.minus(&used)))
    });
    let rooms: Vec<(&Size, i64, Quantity)> = rooms.collect();
    let short = claims.iter().filter_map(|claim| {
        rooms.iter().find(|(size, least, left)| {
            let freed = size.of_node(&claim.labels);
            freed.is_some_and(|freed| !size.fits(*least, &left.plus(&freed)))
        })
    });
    let short: Vec<_> = short.collect();
    let (size, least, _) = short.first()?;
    Some(format!(
        "{} leaves no room for the replacement of {}: the smallest machine that the requirements allow has {least} {}",
        path(size.resource),
        counted(short.len(), "node"),
        size.unit_name
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{DriftClaim, PoolLimits, counted, without_room};
    use crate::facts::ApiVersion;
    use crate::json::Json;
    use crate::policy::Policy;
    use crate::pool::NodePool;
    use crate::rules::requirements::testing::requirements_of;
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
        let limits = PoolLimits::parse(&pool, None, &Policy::default());
        let claims = |count: usize| -> Vec<DriftClaim> {
            let claim = |cpus: usize| DriftClaim {
                labels: [(key.to_owned(), cpus.to_string())].into(),
                ..DriftClaim::default()
            };
            (0..count).map(claim).collect()
        };
        assert_in_proportion(1 << 13, claims, |claims| {
            let claims: Vec<&DriftClaim> = claims.iter().collect();
            let said = without_room(&pool, &limits, &pool, &claims).expect("a remark");
            assert!(said.contains(&counted(claims.len(), "node")), "{said}");
        });
    }
}
