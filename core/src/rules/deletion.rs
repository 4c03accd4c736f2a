//! What the deletion of a NodePool does to its nodes.

use super::findings::Findings;
use super::removal::every;
use crate::api::{ALLOW_DELETE_ANNOTATION, annotation_path};
use crate::diagnostic::{ErrorType, FieldPath};
use crate::json::Json;
use crate::pool::NodePool;
use crate::rules::rule::Rule;

pub static DELETION: Rule = rule!("deletion", Warning, Silent);
pub static DELETION_ACKNOWLEDGED: Rule = rule!("policy-deletion-acknowledged", Error, Poolgate);

/// Says what happens to the nodes of a pool that is to be deleted, if it has any.
pub fn check(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let Some(nodes) = pool.reported_nodes().filter(|nodes| *nodes > 0) else {
        return;
    };
    let name = pool.name.present().unwrap_or_default();
    if findings.context.policy.deletion.must_be_acknowledged(name) {
        check_acknowledged(pool, name, findings);
    }
    let title = format!("this drains {} immediately, past every budget", every(nodes));
    let path = FieldPath::of(&["metadata", "name"]);
    findings
        .report(&DELETION, path, ErrorType::note(&Json::from(name)), title)
        .consequence("PodDisruptionBudgets and do-not-disrupt hold up the drain")
        .suggest("write --cascade=orphan to keep the nodes");
}

/// Requires the annotation that allows the deletion.
fn check_acknowledged(pool: &NodePool<'_>, name: &str, findings: &mut Findings<'_>) {
    let value = pool.annotation(ALLOW_DELETE_ANNOTATION);
    if value.and_then(Json::as_str) == Some(name) {
        return;
    }
    let error_type = value
        .filter(|value| !value.is_null())
        .map_or(ErrorType::Required, ErrorType::from);
    findings
        .report(
            &DELETION_ACKNOWLEDGED,
            annotation_path(ALLOW_DELETE_ANNOTATION),
            error_type,
            "the policy requires an annotation to delete a pool with nodes",
        )
        .suggest(format!(
            "to delete it: kubectl annotate --overwrite nodepool {name} {ALLOW_DELETE_ANNOTATION}={name}"
        ));
}
