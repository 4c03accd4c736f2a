//! Which marks to write: what is decided about each node, compared with the marks that it has.

use super::held_for::HeldFor;
use super::holds::Holds;
use super::object_ref::ObjectRef;
use super::outcome::{Hold, Unhold};
use super::replacement::Replacements;
use super::situation::Situation;

/// The nodes whose marks change, those of the oldest claims first.
pub fn changes(
    situation: &Situation<'_>,
    holds: &Holds<'_>,
    replacements: &Replacements<'_>,
) -> (Vec<Hold>, Vec<Unhold>) {
    let (mut hold, mut unhold) = (Vec::new(), Vec::new());
    for (claim, node) in situation
        .claims
        .iter()
        .filter_map(|claim| Some((claim, claim.node?)))
    {
        let uid = &*claim.claim.uid;
        let (marks, before) = (node.marks, node.marks.held_for());
        let reasons = HeldFor {
            node_limit: holds.hold.contains(uid) || before.node_limit && !holds.unhold.contains(uid),
            repair: replacements.barred.contains(uid),
        };
        let is_decided = holds.hold.contains(uid) || reasons.repair || reasons != before;
        if !reasons.any() {
            if marks.any_is_ours() {
                unhold.push(Unhold {
                    node: ObjectRef::to_node(node),
                    hand_over: marks.hands_over(),
                });
            }
        } else if is_decided && !marks.hold_for(reasons) {
            hold.push(Hold {
                node: ObjectRef::to_node(node),
                reasons,
            });
        }
    }
    (hold, unhold)
}
