//! What an update does to the nodes that the pool has.

use super::findings::Findings;
use super::limits::Limits;
use crate::api::NodeLimitMode;
use crate::budget::Budgets;
use crate::diagnostic::{ErrorType, counted};
use crate::drift::{HashChange, Pace, TemplateChange};
use crate::json::Json;
use crate::karpenter::{KarpenterVersion, NodePool, Template};
use crate::rules::rule::Rule;

pub static DRIFT: Rule = rule!("drift", Warning, Silent);

/// Says which nodes this update makes Karpenter replace, and how fast.
pub fn check(pool: &NodePool<'_>, old: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    if !findings.context.release.has(KarpenterVersion::V1_STORED) {
        return;
    }
    let Some(change) = TemplateChange::of(old, pool) else {
        return;
    };
    let nodes = old.reported_nodes();
    if nodes == Some(0) {
        return;
    }
    let path = match change.fields.first() {
        Some(first) if change.hash != HashChange::None => first.clone(),
        _ => Template::requirements_path(),
    };
    let value = path.find(pool.object).unwrap_or(&Json::Null);
    let error_type = match value {
        Json::Array(_) | Json::Object(_) | Json::Null => ErrorType::Note {
            value: "changed".to_owned(),
        },
        value => ErrorType::note(value),
    };
    let count = |nodes: u32| counted(nodes as usize, "node");
    let nodes = nodes.and_then(|nodes| u32::try_from(nodes).ok());
    let title = match (change.hash, nodes) {
        (HashChange::To(_), Some(1)) => "this replaces the pool's only node".to_owned(),
        (HashChange::To(_), Some(nodes)) => format!("this replaces up to {}", count(nodes)),
        (HashChange::To(_), None) => "this replaces all nodes of the pool".to_owned(),
        (HashChange::Unknown(_), Some(nodes)) => format!("this may replace up to {}", count(nodes)),
        (HashChange::Unknown(_), None) => "this may replace all nodes of the pool".to_owned(),
        (HashChange::None, _) => "this replaces the nodes whose labels no longer match".to_owned(),
    };
    let doubt = match change.hash {
        HashChange::Unknown(doubt) => Some(doubt.to_string()),
        HashChange::None | HashChange::To(_) => None,
    };
    let pace = Budgets::parse(pool).ok().and_then(|budgets| {
        let places_left = places_left(pool, limits, nodes, findings);
        Pace::of(&budgets, nodes, places_left, findings.context.at).clause()
    });
    let consequence: Vec<String> = doubt.into_iter().chain(pace).collect();
    let finding = findings.report(&DRIFT, path, error_type, title);
    if !consequence.is_empty() {
        finding.consequence(consequence.join("; "));
    }
    for other in change.fields.into_iter().skip(1) {
        finding.related(other);
    }
}

/// How many places are left for replacements, if the pool has a limit that counts nodes on their way out.
fn places_left(
    pool: &NodePool<'_>,
    limits: &Limits<'_>,
    nodes: Option<u32>,
    findings: &Findings<'_>,
) -> Option<u32> {
    let limit = limits.node_limit(pool, findings.context.policy)?;
    let is_static = !pool.replicas.is_absent();
    let counts_all = is_static || limit.mode == NodeLimitMode::Hard;
    let most = limit.nodes.saturating_add(limit.surge(pool));
    counts_all.then_some(most.saturating_sub(nodes?))
}
