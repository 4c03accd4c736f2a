//! Nodes in the index.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::{Index, unlisted};
use crate::reconciler::objects::SeenNode;

impl Index {
    /// A node is new or has changed.
    pub(in crate::reconciler) fn put_node(&mut self, seen: SeenNode) {
        let name = Arc::clone(&seen.node.name);
        match self.nodes.get(&name) {
            Some(known) if *known == seen => return,
            Some(_) => self.remove_node(&name),
            None => {
                let (count, bound) = (self.nodes.len(), self.bounds.nodes);
                if !self.has_room("nodes", count, bound) {
                    return;
                }
            }
        }
        if !seen.provider_id.is_empty() {
            self.node_of_machine
                .insert(seen.provider_id.clone(), Arc::clone(&name));
        }
        let marks = seen.node.marks;
        if marks.held_label || marks.held_annotation {
            let marked = self.marked.entry(Arc::clone(&seen.pool)).or_default();
            marked.insert(Arc::clone(&name));
        }
        let pool = Arc::clone(&seen.pool);
        self.nodes.insert(name, seen);
        self.note(&pool);
    }

    /// A node is gone.
    pub(in crate::reconciler) fn remove_node(&mut self, name: &str) {
        let Some(known) = self.nodes.remove(name) else {
            return;
        };
        if self
            .node_of_machine
            .get(&known.provider_id)
            .is_some_and(|node| **node == *name)
        {
            self.node_of_machine.remove(&known.provider_id);
        }
        self.note(&known.pool);
        if let Some(marked) = self.marked.get_mut(&known.pool) {
            marked.remove(name);
            if marked.is_empty() {
                self.marked.remove(&known.pool);
            }
        }
    }

    /// A list of nodes is complete: the others are gone.
    pub(in crate::reconciler) fn keep_nodes(&mut self, listed: &HashSet<Box<str>>) {
        for name in unlisted(self.nodes.keys(), listed) {
            self.remove_node(&name);
        }
    }

    /// The labels of nodes that are to be kept.
    pub(in crate::reconciler) fn selected_labels(&mut self) -> BTreeSet<Box<str>> {
        self.relist_nodes = false;
        self.selected.clone()
    }

    /// Whether labels are to be kept that were not before.
    pub(in crate::reconciler) fn wants_other_labels(&self) -> bool {
        self.relist_nodes
    }

    /// Nodes of a pool with marks of poolgate's whose machine belongs to no claim: no plan covers them.
    pub(super) fn strays(&self, pool: &str) -> impl Iterator<Item = &SeenNode> {
        let marked = self.marked.get(pool).into_iter().flatten();
        marked.filter_map(|name| self.nodes.get(name)).filter(|seen| {
            self.pool_of_machine
                .get(&seen.provider_id)
                .is_none_or(|other| **other != *pool)
        })
    }
}
