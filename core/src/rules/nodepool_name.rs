//! The name of a NodePool.

use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, Suggestion};
use crate::karpenter::NodePool;
use crate::rules::rule::Rule;
use crate::value::label::{NO_OBJECT_NAME, corrected_object_name, is_object_name, label_value};

pub static NODEPOOL_NAME: Rule = rule!("nodepool-name", Error, Silent);

/// Checks the name of a pool that is being created. A stored pool cannot be renamed.
pub fn check(pool: &NodePool<'_>, old: Option<&NodePool<'_>>, findings: &mut Findings<'_>) {
    // Kubernetes itself rejects an empty name.
    let Some(text) = pool
        .name
        .present()
        .filter(|text| !text.is_empty() && old.is_none())
    else {
        return;
    };
    let path = || FieldPath::of(&["metadata", "name"]);
    if !is_object_name(text) {
        findings
            .report(&NODEPOOL_NAME, path(), text, NO_OBJECT_NAME)
            .origin(Origin::Schema)
            .suggest_if_known(corrected_object_name(text).map(Suggestion::did_you_mean));
    } else if let Err(error) = label_value(text) {
        let reason = format!("{error}, because Karpenter writes it into a label of every NodeClaim");
        findings.report(&NODEPOOL_NAME, path(), text, reason);
    }
}
