//! Checks `spec.limits`: names of resources, amounts, and the number of nodes.

pub mod amount;
pub mod nodes;
pub mod room;

use std::collections::BTreeSet;

use super::findings::Findings;
use crate::api::{
    LimitSchedule, NODE_LIMIT_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION, NodeLimit, NodeLimitMode,
    annotation_path,
};
use crate::defaults::node_limit_mode;
use crate::diagnostic::{FieldPath, Suggestion};
use crate::facts::{PLAIN_RESOURCES, is_resource, likely_resource};
use crate::json::Json;
use crate::policy::Policy;
use crate::pool::{Map, NodePool};
use crate::rules::rule::Rule;
use crate::value::quantity::{Quantity, QuantityError};

pub static LIMIT_UNKNOWN: Rule = rule!("limit-unknown", Warning, Silent);

/// The resource that counts nodes.
pub const NODES: &str = "nodes";

/// Checks the limits of a pool, which are parsed already.
pub fn check(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    if let Some(old) = old {
        nodes::check_lowered(pool, limits, old, findings);
    }
    let Some(object) = pool.limits.present() else {
        return;
    };
    for limit in &limits.written {
        // A value of the wrong type is an error already.
        if limit.parsed.is_some() {
            check_name(limit.resource, object, findings);
        }
        amount::check(pool, limit, findings);
    }
    nodes::check(pool, limits, findings);
    if let Some(old) = old {
        nodes::check_use(limits, old, findings);
    }
    room::check(pool, limits, findings);
}

/// True if a limit of 0 or less keeps a pool from launching any node.
pub fn switches_off(pool: &NodePool<'_>) -> bool {
    let limits = pool.limits.present();
    let mut plain = PLAIN_RESOURCES
        .iter()
        .filter_map(|resource| limits?.get(resource));
    plain.any(|value| {
        let amount = NodePool::limit_value(value);
        amount.is_some_and(|amount| amount.is_zero() || amount.is_negative())
    })
}

/// The path of a limit.
pub fn path(resource: &str) -> FieldPath {
    FieldPath::of(&["spec", "limits"]).key(resource.to_owned())
}

/// Checks which resource a limit names.
fn check_name(resource: &str, limits: Map<'_>, findings: &mut Findings<'_>) {
    if is_resource(resource) {
        return;
    }
    let likely = likely_resource(resource).filter(|likely| limits.get(likely).is_none());
    findings
        .report(
            &LIMIT_UNKNOWN,
            path(resource),
            resource,
            "nodes have no such resource",
        )
        .consequence("the limit has no effect")
        .suggest_if_known(likely.map(Suggestion::did_you_mean));
}

/// The limits of a pool.
#[derive(Debug)]
pub struct PoolLimits<'a> {
    /// Those of `spec.limits` that are not null. Of a map with more entries than are read, those that are looked up by name.
    pub written: Vec<Limit<'a>>,
    /// The node limit in the annotations of a pool that leaves `spec.limits.nodes` to poolgate.
    pub annotated: Option<Limit<'a>>,
    /// The schedule of that limit, if it has one that can be read.
    pub schedule: Option<LimitSchedule>,
    /// The mode of the node limit once the pool is completed; `None` if it still says none.
    pub mode: Option<NodeLimitMode>,
}

/// A limit of one resource, with its amount parsed.
#[derive(Debug)]
pub struct Limit<'a> {
    /// The name of the resource, such as `cpu`.
    pub resource: &'a str,
    /// How much, as it is in the object.
    pub value: &'a Json<'a>,
    /// How much; `None` if the value is of the wrong type.
    pub parsed: Option<Result<Quantity, Box<QuantityError>>>,
}

impl<'a> PoolLimits<'a> {
    /// Parses the limits of a pool, which replaces `old` on an update.
    pub fn parse(pool: &NodePool<'a>, old: Option<&NodePool<'_>>, policy: &Policy) -> Self {
        let limit = |(resource, value): (&'a str, &'a Json<'a>)| Limit {
            resource,
            value,
            parsed: NodePool::limit_quantity(value).map(|parsed| parsed.map_err(Box::new)),
        };
        let schedule = LimitSchedule::of(pool).and_then(Result::ok);
        let written: Vec<_> = match pool.limits.present() {
            Some(map) if map.is_beyond() => {
                let bounds = &policy.bounds.limits;
                let asked = bounds
                    .required
                    .iter()
                    .chain(bounds.max.keys())
                    .map(String::as_str);
                let names: BTreeSet<&str> = asked.chain(PLAIN_RESOURCES.iter().copied()).collect();
                // The entry, because the key must live as long as the object.
                names.into_iter().filter_map(|name| map.entry(name)).collect()
            }
            map => map.into_iter().flatten().collect(),
        };
        Self {
            written: written
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .map(limit)
                .collect(),
            annotated: annotated(pool, schedule.as_ref()),
            schedule,
            mode: if policy.cluster.has_no_webhook() {
                pool.node_limit_mode()
            } else {
                node_limit_mode(pool, old, policy.defaults.node_limit_mode)
            },
        }
    }

    /// The limit of `spec.limits` for a resource.
    pub fn get(&self, resource: &str) -> Option<&Limit<'a>> {
        self.written.iter().find(|limit| limit.resource == resource)
    }

    /// The limit for nodes: from the annotations, else from `spec.limits`. Of a schedule it is the lowest.
    pub fn nodes(&self) -> Option<&Limit<'a>> {
        self.annotated.as_ref().or_else(|| self.get(NODES))
    }

    /// The node limit of the pool.
    pub fn node_limit(&self, pool: &NodePool<'_>, policy: &Policy) -> Option<NodeLimit> {
        let mode = self.mode.unwrap_or(NodeLimitMode::UNWRITTEN);
        Some(NodeLimit::parsed(
            self.most_nodes()?,
            mode,
            pool,
            policy.over_limit,
        ))
    }

    /// The same with the number that is stored now.
    pub fn limit_in_force(&self, pool: &NodePool<'_>, policy: &Policy) -> Option<NodeLimit> {
        let mode = self.mode.unwrap_or(NodeLimitMode::UNWRITTEN);
        let nodes = pool.node_limit()?;
        Some(NodeLimit::parsed(&nodes, mode, pool, policy.over_limit))
    }

    /// The path of the limit for nodes.
    pub fn nodes_path(&self) -> FieldPath {
        match (&self.schedule, &self.annotated) {
            (Some(_), _) => annotation_path(NODE_LIMIT_SCHEDULE_ANNOTATION),
            (None, Some(_)) => annotation_path(NODE_LIMIT_ANNOTATION),
            (None, None) => path(NODES),
        }
    }

    /// The most nodes, if readable.
    pub fn most_nodes(&self) -> Option<&Quantity> {
        self.nodes()?.quantity()
    }
}

impl Limit<'_> {
    /// How much, if readable.
    pub fn quantity(&self) -> Option<&Quantity> {
        self.parsed.as_ref()?.as_ref().ok()
    }
}

fn annotated<'a>(pool: &NodePool<'a>, schedule: Option<&LimitSchedule>) -> Option<Limit<'a>> {
    let (key, limit) = match schedule {
        // Whatever number is stored: the leader changes it all the time.
        Some(schedule) => (NODE_LIMIT_SCHEDULE_ANNOTATION, schedule.lowest()),
        None => (NODE_LIMIT_ANNOTATION, pool.stored_node_limit()?),
    };
    Some(Limit {
        resource: NODES,
        value: pool.annotation(key)?,
        parsed: Some(Ok(i64::from(limit).into())),
    })
}
