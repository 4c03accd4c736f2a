//! The effect of an update on the nodes of the pool.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use super::context::Context;
use super::findings::Findings;
use super::limits::{
    PoolLimits,
    room::{used_up, without_room},
};
use super::removal::{Removal, every};
use crate::api::{ACKNOWLEDGE_DRIFT_ANNOTATION, AtLimit, NodeLimitMode};
use crate::budget::Budgets;
use crate::diagnostic::{ErrorType, FieldPath, counted, sentences};
use crate::drift::{DriftClaim, HashChange, KUBELET_ANNOTATION, Pace, Room, TemplateChange, converted};
use crate::facts::{ApiVersion, DO_NOT_DISRUPT_ANNOTATION, KarpenterVersion};
use crate::json::Json;
use crate::policy::{FeatureGate, GateState, Policy};
use crate::pool::{NodePool, Template};
use crate::rules::rule::Rule;

pub static DRIFT: Rule = rule!("drift", Warning, Silent);
pub static DRIFT_ACKNOWLEDGED: Rule = rule!("policy-drift-acknowledged", Error, Poolgate);

/// Reports the nodes that this update makes Karpenter replace, and the pace.
pub fn check(pool: &NodePool<'_>, old: &NodePool<'_>, limits: &PoolLimits<'_>, findings: &mut Findings<'_>) {
    let Context {
        release,
        claims,
        policy,
        at,
        ..
    } = findings.context;
    // A pool that Karpenter has never looked at has no nodes.
    if !release.has(KarpenterVersion::V1_STORED) || !old.has_status() && claims.is_none() {
        return;
    }
    let nodes = claims.map(<[_]>::len).or_else(|| old.reported_nodes());
    if let Some(removal) = Removal::of(pool, old, limits, nodes, policy) {
        report_removal(pool, removal, findings);
    }
    let Some(replacement) = DriftEffect::of(pool, old, limits, claims, policy, at) else {
        return;
    };
    if let Some(digest) = &replacement.acknowledge {
        check_acknowledged(pool, digest, findings);
    }
    let mut fields = replacement.fields.into_iter();
    let Some(path) = fields.next() else {
        return;
    };
    let error_type = shown(&path, pool);
    let pace = replacement.pace.as_deref().map(paced);
    let mut consequence = replacement
        .doubt
        .into_iter()
        .chain(pace)
        .chain(replacement.remarks);
    let finding = findings.report(&DRIFT, path, error_type, replacement.title);
    if let Some(first) = consequence.next() {
        let others: Vec<String> = consequence.collect();
        let text = sentences(first, others.iter().map(|other| Some(other.as_str())));
        finding.consequence(text.trim_end_matches('.'));
    }
    for other in fields {
        finding.related(other);
    }
}

/// Reports the nodes that `kubectl scale` makes Karpenter delete.
pub fn check_scaled(
    pool: &NodePool<'_>,
    old: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    findings: &mut Findings<'_>,
) {
    let policy = findings.context.policy;
    if let Some(removal) = Removal::of(pool, old, limits, old.reported_nodes(), policy) {
        report_removal(pool, removal, findings);
    }
}

fn report_removal(pool: &NodePool<'_>, removal: Removal, findings: &mut Findings<'_>) {
    if !removal.is_of_limit {
        let error_type = shown(&removal.field, pool);
        findings
            .report(&DRIFT, removal.field, error_type, removal.title)
            .consequence(removal.how);
    }
}

/// The value of a field that is no mistake.
fn shown(path: &FieldPath, pool: &NodePool<'_>) -> ErrorType {
    match path.find(pool.object) {
        None => ErrorType::Note { value: None },
        Some(value) => ErrorType::note(value),
    }
}

/// A pace as a sentence.
fn paced(pace: &str) -> String {
    match pace.strip_prefix("not before ") {
        Some(start) => format!("Karpenter replaces no node before {start}"),
        None if pace.starts_with("no budget") => pace.to_owned(),
        None => format!("Karpenter replaces {pace}"),
    }
}

/// The effect of an update of a NodePool on the nodes of the pool.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftEffect {
    /// What happens: `this change replaces up to 40 nodes`.
    pub title: String,
    /// How many nodes are replaced at most, if that is known.
    pub at_most: Option<usize>,
    /// The fields that cause it: at least one.
    pub fields: Vec<FieldPath>,
    /// Why the hash that Karpenter computes is not known.
    pub doubt: Option<String>,
    /// How fast, if the update is applied at the time of the review: a clause; `None` if there is nothing to say, or a budget
    /// cannot be read.
    pub pace: Option<String>,
    /// What nodes keep of the old template, and which of them have no room for a replacement: a clause each.
    pub remarks: Vec<String>,
    /// The NodeClaims that are replaced, or may be.
    pub node_claims: Vec<Box<str>>,
    /// Those that drift, or may, and stay, with the reason.
    pub kept: BTreeMap<Box<str>, Box<str>>,
    /// The value that acknowledges it, if the policy wants one and the pool has another or none.
    pub acknowledge: Option<String>,
}

impl DriftEffect {
    /// What happens to the stored pool's nodes, if any is replaced: these NodeClaims, if they were listed, else as many as the
    /// status has.
    pub(crate) fn of(
        pool: &NodePool<'_>,
        old: &NodePool<'_>,
        limits: &PoolLimits<'_>,
        claims: Option<&[DriftClaim]>,
        policy: &Policy,
        at: Timestamp,
    ) -> Option<Self> {
        if [pool.version, old.version].contains(&ApiVersion::V1Beta1) {
            return Self::of_converted(pool, old, limits, claims, policy, at);
        }
        let change = TemplateChange::of(old, pool)?;
        let replaced = claims.map(|claims| Replaced::of(&change, claims));
        let protects = old.template.protects_nodes();
        let title = title(&change, replaced.as_ref(), protects, old)?;
        let nodes = claims.map(<[_]>::len).or_else(|| old.reported_nodes());
        let count = nodes.and_then(|nodes| u32::try_from(nodes).ok());
        let pace = Budgets::parse(pool).ok().map(|budgets| {
            let room = room(pool, limits, count, policy);
            Pace::of(&budgets, count, room, pool.removes_empty_nodes(), at)
        });
        let mut remarks: Vec<String> = pace.and_then(|pace| pace.if_gated()).into_iter().collect();
        if change.fields.contains(&Template::path("expireAfter")) {
            remarks.push("nodes keep the old expireAfter until they are replaced".to_owned());
        }
        if protects {
            remarks.push(format!(
                "nodes keep the old template's {DO_NOT_DISRUPT_ANNOTATION}, and stay until it is removed from them"
            ));
        }
        let Replaced {
            drifting,
            unknown,
            kept,
            ..
        } = replaced.unwrap_or_default();
        match without_room(pool, limits, old, &drifting) {
            Some(without) => remarks.push(without),
            None => remarks.extend(used_up(pool, old)),
        }
        let given = pool
            .annotation(ACKNOWLEDGE_DRIFT_ANNOTATION)
            .and_then(Json::as_str);
        let is_wanted = policy
            .drift
            .must_be_acknowledged(pool.name.present().unwrap_or_default());
        let acknowledge = is_wanted
            .then(|| change.digest())
            .filter(|digest| given != Some(digest));
        let mut fields = match change.hash {
            HashChange::None => Vec::new(),
            HashChange::To(_) | HashChange::Unknown(_) => change.fields,
        };
        if change.is_narrower || fields.is_empty() {
            fields.push(Template::requirements_path());
        }
        Some(Self {
            title,
            at_most: claims.map_or(nodes, |_| Some(drifting.len() + unknown.len())),
            fields,
            doubt: match change.hash {
                HashChange::Unknown(doubt) => Some(doubt.to_string()),
                HashChange::None | HashChange::To(_) => None,
            },
            pace: pace.and_then(|pace| pace.clause()),
            remarks,
            node_claims: drifting
                .iter()
                .chain(&unknown)
                .map(|claim| claim.name.clone())
                .collect(),
            kept: kept.into_iter().collect(),
            acknowledge,
        })
    }
}

impl DriftEffect {
    /// Like [`Self::of`], where a pool is of v1beta1: as Karpenter 1.0 converts it.
    fn of_converted(
        pool: &NodePool<'_>,
        old: &NodePool<'_>,
        limits: &PoolLimits<'_>,
        claims: Option<&[DriftClaim]>,
        policy: &Policy,
        at: Timestamp,
    ) -> Option<Self> {
        let [mut after, mut before] = [pool, old].map(|pool| Value::from(pool.object));
        if old.version == ApiVersion::V1Beta1 {
            before = converted(&before, &after);
        }
        if pool.version == ApiVersion::V1Beta1 {
            after = converted(&after, &before);
        }
        let [after, before] = [&after, &before].map(Json::from);
        let [after, before] = [&after, &before].map(|pool| NodePool::view(ApiVersion::V1, pool));
        let has_same_kubelet = after.annotation(KUBELET_ANNOTATION) == before.annotation(KUBELET_ANNOTATION);
        let replaced = Self::of(&after, &before, limits, claims, policy, at);
        let mut replaced = match replaced {
            None if has_same_kubelet => return None,
            None => Self::of_kubelet(claims.map(<[_]>::len).or_else(|| old.reported_nodes()))?,
            Some(replaced) => replaced,
        };
        if !has_same_kubelet {
            replaced.fields.push(Template::path("kubelet"));
        }
        let expiry = NodePool::expire_after_path(ApiVersion::V1);
        for field in replaced.fields.iter_mut().filter(|field| **field == expiry) {
            *field = NodePool::expire_after_path(pool.version);
        }
        Some(replaced)
    }

    /// What a change of `kubelet` does, which v1 has in the node class.
    fn of_kubelet(nodes: Option<usize>) -> Option<Self> {
        let which = match nodes {
            Some(0) => return None,
            Some(nodes) => format!("up to {}", counted(nodes, "node")),
            None => "all nodes of the pool".to_owned(),
        };
        Some(Self {
            title: format!("this change may replace {which}"),
            at_most: nodes,
            doubt: Some("the provider decides whether another kubelet replaces nodes".to_owned()),
            ..Self::default()
        })
    }
}

/// What a change does to the NodeClaims that were listed.
#[derive(Default)]
struct Replaced<'c> {
    all: usize,
    drifting: Vec<&'c DriftClaim>,
    unknown: Vec<&'c DriftClaim>,
    /// That drift, or may, and stay: with the reason.
    kept: Vec<(Box<str>, Box<str>)>,
}

impl<'c> Replaced<'c> {
    fn of(change: &TemplateChange<'_>, claims: &'c [DriftClaim]) -> Self {
        let mut replaced = Self {
            all: claims.len(),
            ..Self::default()
        };
        for claim in claims {
            match (change.replaces(claim), &claim.kept) {
                (Some(false), _) => {}
                (_, Some(why)) => replaced.kept.push((claim.name.clone(), why.clone())),
                (Some(true), None) => replaced.drifting.push(claim),
                (None, None) => replaced.unknown.push(claim),
            }
        }
        replaced
    }
}

/// What the change does; `None` if it replaces no node that exists. `protects` is whether the old template keeps nodes.
fn title(
    change: &TemplateChange<'_>,
    replaced: Option<&Replaced<'_>>,
    protects: bool,
    old: &NodePool<'_>,
) -> Option<String> {
    if let Some(replaced) = replaced {
        let (all, drifting, unknown) = (replaced.all, replaced.drifting.len(), replaced.unknown.len());
        return match (drifting, unknown) {
            (0, 0) if replaced.kept.is_empty() => None,
            (0, 0) => Some(format!("this change replaces 0 of {} now", counted(all, "node"))),
            (0, unknown) => Some(format!("this change may replace {}", counted(unknown, "node"))),
            (drifting, _) if protects => Some(format!(
                "this change replaces up to {}",
                counted(drifting, "node")
            )),
            (drifting, _) if drifting == all => Some(format!("this change replaces {}", every(all))),
            (drifting, _) => Some(format!("this change replaces {drifting} of {all} nodes")),
        };
    }
    let nodes = old.reported_nodes();
    Some(match (change.hash, nodes) {
        (_, Some(0)) => return None,
        (HashChange::To(_), Some(1)) if !protects => format!("this change replaces {}", every(1)),
        (HashChange::To(_), Some(nodes)) => format!("this change replaces up to {}", counted(nodes, "node")),
        (HashChange::To(_), None) if !protects => "this change replaces all nodes of the pool".to_owned(),
        (HashChange::Unknown(_), Some(nodes)) => {
            format!("this change may replace up to {}", counted(nodes, "node"))
        }
        (HashChange::To(_) | HashChange::Unknown(_), None) => {
            "this change may replace all nodes of the pool".to_owned()
        }
        (HashChange::None, None) => "this change replaces the nodes whose labels no longer match".to_owned(),
        (HashChange::None, Some(nodes)) => {
            let worst = if nodes == 1 {
                "the only one".to_owned()
            } else {
                format!("all {nodes}")
            };
            format!("this change replaces the nodes whose labels no longer match, at worst {worst}")
        }
    })
}

/// How the node limit restricts replacements. Karpenter itself counts a dynamic pool without the node that goes.
fn room(pool: &NodePool<'_>, limits: &PoolLimits<'_>, nodes: Option<u32>, policy: &Policy) -> Room {
    let Some((limit, nodes)) = limits.limit_in_force(pool, policy).zip(nodes) else {
        return Room::Any;
    };
    let left = limit
        .nodes
        .saturating_add(limit.surge(pool))
        .saturating_sub(nodes);
    if !pool.replicas.is_absent() {
        let terminates_first = policy
            .cluster
            .gate(FeatureGate::TerminateFirstDrift, pool.template.settings())
            == GateState::On;
        return if left == 0 && terminates_first {
            Room::Any
        } else {
            Room::Places(left)
        };
    }
    let is_hard = limit.mode == NodeLimitMode::Hard;
    // Only a pool with a setting for poolgate's gate is known to have it.
    let is_gated = pool.node_limit_mode().is_some()
        || pool.annotated_node_limit().is_some()
        || pool.surge() > 0
        || AtLimit::annotated(pool).is_some();
    let counts_all = is_hard && is_gated;
    // poolgate deletes one drifted node after the other to make room for its replacement.
    let makes_room = counts_all
        && pool.annotated_node_limit().is_some()
        && AtLimit::annotated(pool).unwrap_or(policy.at_limit) == AtLimit::Replace;
    let left = left.max(u32::from(makes_room));
    Room::of(left, counts_all, is_hard, nodes > limit.nodes)
}

/// Requires the annotation that acknowledges this change.
fn check_acknowledged(pool: &NodePool<'_>, digest: &str, findings: &mut Findings<'_>) {
    let value = pool.annotation(ACKNOWLEDGE_DRIFT_ANNOTATION);
    let path = FieldPath::of(&["metadata", "annotations", ACKNOWLEDGE_DRIFT_ANNOTATION]);
    let error_type = value
        .filter(|value| !value.is_null())
        .map_or(ErrorType::Required, ErrorType::from);
    let finding = findings
        .report(
            &DRIFT_ACKNOWLEDGED,
            path,
            error_type,
            "the policy requires an acknowledgement of a change that replaces nodes",
        )
        .suggest(format!("write \"{digest}\" to acknowledge the change"));
    // The update changes the template, so an unchanged annotation does not make it forgiven.
    finding.related(FieldPath::of(&["spec", "template"]));
}
