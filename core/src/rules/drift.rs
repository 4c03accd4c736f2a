//! What an update does to the nodes that the pool has.

use jiff::Timestamp;

use super::findings::Findings;
use super::limits::Limits;
use crate::api::{ACKNOWLEDGE_DRIFT_ANNOTATION, AtLimit, NodeLimitMode};
use crate::budget::Budgets;
use crate::diagnostic::{ErrorType, FieldPath, counted};
use crate::drift::{DriftClaim, HashChange, Pace, TemplateChange};
use crate::json::Json;
use crate::karpenter::{KarpenterVersion, NodePool, Template};
use crate::policy::Policy;
use crate::rules::rule::Rule;

pub static DRIFT: Rule = rule!("drift", Warning, Silent);
pub static DRIFT_ACKNOWLEDGED: Rule = rule!("policy-drift-acknowledged", Error, Poolgate);

/// Says which nodes this update makes Karpenter replace, and how fast.
pub fn check(pool: &NodePool<'_>, old: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let context = findings.context;
    if !context.release.has(KarpenterVersion::V1_STORED) {
        return;
    }
    // A pool that Karpenter has never looked at has no nodes.
    if !old.has_status() && context.claims.is_none() {
        return;
    }
    let replacement = Replacement::of(pool, old, limits, context.claims, context.policy, context.at);
    let Some(Replacement {
        change, title, pace, ..
    }) = replacement
    else {
        return;
    };
    check_acknowledged(pool, &change, findings);
    let path = match change.fields.first() {
        Some(first) if change.hash != HashChange::None => first.clone(),
        _ => Template::requirements_path(),
    };
    let error_type = match path.find(pool.object) {
        None | Some(Json::Array(_) | Json::Object(_) | Json::Null) => ErrorType::Note {
            value: "changed".to_owned(),
        },
        Some(value) => ErrorType::note(value),
    };
    let doubt = match change.hash {
        HashChange::Unknown(doubt) => Some(doubt.to_string()),
        HashChange::None | HashChange::To(_) => None,
    };
    let pace = pace.and_then(|pace| pace.clause());
    let consequence: Vec<String> = doubt.into_iter().chain(pace).collect();
    let finding = findings.report(&DRIFT, path, error_type, title);
    if !consequence.is_empty() {
        finding.consequence(consequence.join("; "));
    }
    for other in change.fields.into_iter().skip(1) {
        finding.related(other);
    }
}

/// What an update of a NodePool does to the nodes that the pool has.
#[derive(Debug)]
pub struct Replacement<'a> {
    /// Why.
    pub change: TemplateChange<'a>,
    /// How many nodes are replaced at most, if that is known.
    pub most: Option<usize>,
    /// How many nodes the pool has, if that is known.
    pub nodes: Option<u32>,
    /// What happens: `this replaces up to 40 nodes`.
    pub title: String,
    /// How fast; `None` if a budget cannot be read.
    pub pace: Option<Pace>,
}

impl<'a> Replacement<'a> {
    /// What happens to the stored pool's nodes, if any is replaced: these NodeClaims, if they were listed, else as many as the
    /// status has.
    pub(crate) fn of(
        pool: &'a NodePool<'a>,
        old: &NodePool<'_>,
        limits: &Limits<'_>,
        claims: Option<&[DriftClaim]>,
        policy: &Policy,
        at: Timestamp,
    ) -> Option<Self> {
        let change = TemplateChange::of(old, pool)?;
        let replaced = Replaced::of(&change, claims);
        let most = match &replaced {
            Some(replaced) => Some(replaced.drifting + replaced.unknown),
            None => old.reported_nodes(),
        };
        let title = title(&change, replaced.as_ref(), old)?;
        let nodes = existing(old, claims);
        let pace = Budgets::parse(pool).ok().map(|budgets| {
            let places_left = places_left(pool, limits, nodes, policy);
            Pace::of(&budgets, nodes, places_left, at)
        });
        Some(Self {
            change,
            most,
            nodes,
            title,
            pace,
        })
    }
}

/// How many of the NodeClaims that were listed drift because of a change.
struct Replaced {
    all: usize,
    drifting: usize,
    unknown: usize,
}

impl Replaced {
    fn of(change: &TemplateChange<'_>, claims: Option<&[DriftClaim]>) -> Option<Self> {
        let claims = claims?;
        let verdicts: Vec<Option<bool>> = claims.iter().map(|claim| change.replaces(claim)).collect();
        let count = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
        Some(Self {
            all: claims.len(),
            drifting: count(Some(true)),
            unknown: count(None),
        })
    }
}

/// What the change does; `None` if it replaces no node that exists.
fn title(change: &TemplateChange<'_>, replaced: Option<&Replaced>, old: &NodePool<'_>) -> Option<String> {
    if let Some(&Replaced {
        all,
        drifting,
        unknown,
    }) = replaced
    {
        return match (drifting, unknown) {
            (0, 0) => None,
            (0, unknown) => Some(format!("this may replace {}", counted(unknown, "node"))),
            (drifting, _) if drifting == all => Some(format!("this replaces {}", every(all))),
            (drifting, _) => Some(format!("this replaces {drifting} of {all} nodes")),
        };
    }
    let nodes = old.reported_nodes();
    Some(match (change.hash, nodes) {
        (_, Some(0)) => return None,
        (HashChange::To(_), Some(1)) => format!("this replaces {}", every(1)),
        (HashChange::To(_), Some(nodes)) => format!("this replaces up to {nodes} nodes"),
        (HashChange::To(_), None) => "this replaces all nodes of the pool".to_owned(),
        (HashChange::Unknown(_), Some(nodes)) => format!("this may replace up to {}", counted(nodes, "node")),
        (HashChange::Unknown(_), None) => "this may replace all nodes of the pool".to_owned(),
        (HashChange::None, _) => "this replaces the nodes whose labels no longer match".to_owned(),
    })
}

pub(super) fn every(nodes: usize) -> String {
    match nodes {
        1 => "the pool's only node".to_owned(),
        nodes => format!("all {nodes} nodes"),
    }
}

fn existing(old: &NodePool<'_>, claims: Option<&[DriftClaim]>) -> Option<u32> {
    let nodes = claims.map(<[DriftClaim]>::len).or_else(|| old.reported_nodes());
    nodes.and_then(|nodes| u32::try_from(nodes).ok())
}

/// How many places are left for replacements, if the pool has a limit that counts nodes on their way out.
fn places_left(pool: &NodePool<'_>, limits: &Limits<'_>, nodes: Option<u32>, policy: &Policy) -> Option<u32> {
    let limit = limits.node_limit(pool, policy)?;
    let is_static = !pool.replicas.is_absent();
    let counts_all = is_static || limit.mode == NodeLimitMode::Hard;
    let most = limit.nodes.saturating_add(limit.surge(pool));
    let left = counts_all.then_some(most.saturating_sub(nodes?))?;
    // poolgate deletes one drifted node after the other to make room for its replacement.
    let makes_room = !is_static
        && pool.annotated_node_limit().is_some()
        && AtLimit::annotated(pool).unwrap_or(policy.at_limit) == AtLimit::Replace;
    Some(left.max(u32::from(makes_room)))
}

/// Demands the annotation that acknowledges this change, if the policy wants one for this pool.
fn check_acknowledged(pool: &NodePool<'_>, change: &TemplateChange<'_>, findings: &mut Findings<'_>) {
    let name = pool.name.present().unwrap_or_default();
    if !findings.context.policy.drift.must_be_acknowledged(name) {
        return;
    }
    let digest = change.digest();
    let value = pool.annotation(ACKNOWLEDGE_DRIFT_ANNOTATION);
    if value.and_then(Json::as_str) == Some(&digest) {
        return;
    }
    let path = FieldPath::of(&["metadata", "annotations", ACKNOWLEDGE_DRIFT_ANNOTATION]);
    let error_type = value
        .filter(|value| !value.is_null())
        .map_or(ErrorType::Required, ErrorType::from);
    let finding = findings
        .report(
            &DRIFT_ACKNOWLEDGED,
            path,
            error_type,
            "the policy wants a change that replaces nodes acknowledged",
        )
        .suggest(format!("if it is meant, write \"{digest}\""));
    // What the update changes is the template, so it is not forgiven because the annotation stays as it is.
    finding.related(FieldPath::of(&["spec", "template"]));
}
