//! The effect of an update on the nodes of the pool.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::context::Context;
use super::findings::Findings;
use super::limits::{Limits, room::without_room};
use crate::api::{ACKNOWLEDGE_DRIFT_ANNOTATION, AtLimit, NodeLimitMode};
use crate::budget::Budgets;
use crate::diagnostic::{ErrorType, FieldPath, counted};
use crate::drift::{DriftClaim, HashChange, Pace, TemplateChange};
use crate::json::Json;
use crate::karpenter::{DO_NOT_DISRUPT_ANNOTATION, KarpenterVersion, NodePool, Template};
use crate::policy::Policy;
use crate::rules::rule::Rule;

pub static DRIFT: Rule = rule!("drift", Warning, Silent);
pub static DRIFT_ACKNOWLEDGED: Rule = rule!("policy-drift-acknowledged", Error, Poolgate);

/// Reports the nodes that this update makes Karpenter replace, and the pace.
pub fn check(pool: &NodePool<'_>, old: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
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
    let Some(replacement) = Replacement::of(pool, old, limits, claims, policy, at) else {
        return;
    };
    if let Some(digest) = &replacement.acknowledge {
        check_acknowledged(pool, digest, findings);
    }
    let mut fields = replacement.fields.into_iter();
    let Some(path) = fields.next() else {
        return;
    };
    let error_type = match path.find(pool.object) {
        None => ErrorType::Note { value: None },
        Some(value) => ErrorType::note(value),
    };
    let pace = replacement
        .pace
        .and_then(|pace| pace.clause())
        .map(|pace| paced(&pace));
    let consequence = replacement
        .doubt
        .into_iter()
        .chain(pace)
        .chain(replacement.remarks);
    let consequence: Vec<String> = consequence.collect();
    let finding = findings.report(&DRIFT, path, error_type, replacement.title);
    if !consequence.is_empty() {
        finding.consequence(consequence.join(". "));
    }
    for other in fields {
        finding.related(other);
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

/// The effect of an update of a NodePool on the nodes of the pool. As JSON it has no time: nobody knows when it is applied.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// What happens: `this change replaces up to 40 nodes`.
    pub title: String,
    /// How many nodes are replaced at most, if that is known.
    pub at_most: Option<usize>,
    /// The fields that cause it: at least one.
    pub fields: Vec<FieldPath>,
    /// Why the hash that Karpenter computes is not known.
    pub doubt: Option<String>,
    /// How fast; `None` if a budget cannot be read.
    #[serde(serialize_with = "whenever")]
    pub pace: Option<Pace>,
    /// What nodes keep of the old template, and which of them have no room for a replacement: a clause each.
    pub remarks: Vec<String>,
    /// The NodeClaims that are replaced, or may be.
    pub node_claims: Vec<Box<str>>,
    /// Those that drift, or may, and stay, with the reason.
    pub kept: BTreeMap<Box<str>, Box<str>>,
    /// The value that acknowledges it, if the policy wants one and the pool has another or none.
    pub acknowledge: Option<String>,
}

impl Replacement {
    /// What happens to the stored pool's nodes, if any is replaced: these NodeClaims, if they were listed, else as many as the
    /// status has.
    pub(crate) fn of(
        pool: &NodePool<'_>,
        old: &NodePool<'_>,
        limits: &Limits<'_>,
        claims: Option<&[DriftClaim]>,
        policy: &Policy,
        at: Timestamp,
    ) -> Option<Self> {
        let change = TemplateChange::of(old, pool)?;
        let replaced = claims.map(|claims| Replaced::of(&change, claims));
        let protects = old.template.protects_nodes();
        let title = title(&change, replaced.as_ref(), protects, old)?;
        let nodes = claims.map(<[_]>::len).or_else(|| old.reported_nodes());
        let count = nodes.and_then(|nodes| u32::try_from(nodes).ok());
        let pace = Budgets::parse(pool).ok();
        let pace =
            pace.map(|budgets| Pace::of(&budgets, count, places_left(pool, limits, count, policy), at));
        let mut remarks = Vec::new();
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
        remarks.extend(without_room(
            pool,
            limits,
            old,
            &drifting,
            policy.cluster.provider,
        ));
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
            pace,
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

#[expect(clippy::ref_option, reason = "the signature that serde calls")]
fn whenever<S: Serializer>(pace: &Option<Pace>, serializer: S) -> Result<S::Ok, S::Error> {
    pace.and_then(|pace| pace.whenever().clause())
        .serialize(serializer)
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
        (HashChange::None, _) => "this change replaces the nodes whose labels no longer match".to_owned(),
    })
}

pub(super) fn every(nodes: usize) -> String {
    match nodes {
        1 => "the pool's only node".to_owned(),
        nodes => format!("all {nodes} nodes"),
    }
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
