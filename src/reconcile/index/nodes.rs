//! Nodes in the index.

use std::sync::Arc;

use poolgate_core::nodelimit::plan::Node;

use super::Index;
use crate::cluster::objects::{NodeObject, SeenNode};

impl Index {
    /// A node is new or has changed.
    pub fn put_node(&mut self, object: NodeObject) {
        let name = object.metadata.name.clone();
        let Some(mut seen) = object.seen(&mut self.node_kinds, &self.kept_labels) else {
            return self.remove_node(&name);
        };
        let name = self.node_name(&name);
        match self.nodes.get(&name) {
            Some(known) if *known == seen => return,
            Some(known) => {
                let is_news = decides_repair(&known.node) != decides_repair(&seen.node);
                if let Some(machine) = known.machine.filter(|_| is_news) {
                    self.forget_tries_on(machine);
                }
                self.remove_node(&name);
            }
            None => {
                let (count, bound) = (self.nodes.len(), self.bounds.nodes);
                if !self.has_room("nodes", count, bound) {
                    return;
                }
            }
        }
        if let Some(node) = Arc::get_mut(&mut seen.node) {
            node.name = Arc::clone(&name);
        }
        if let Some(machine) = seen.machine {
            self.node_of_machine.insert(machine, Arc::clone(&name));
        }
        let marks = seen.node.marks;
        if marks.any_is_ours() {
            let marked = self.marked.entry(Arc::clone(&seen.pool)).or_default();
            marked.insert(Arc::clone(&name));
        }
        let pool = Arc::clone(&seen.pool);
        self.nodes.insert(name, seen);
        self.note(&pool);
    }

    /// A node is gone.
    pub fn remove_node(&mut self, name: &str) {
        let Some(known) = self.nodes.remove(name) else {
            return;
        };
        if let Some(machine) = known.machine
            && self
                .node_of_machine
                .get(&machine)
                .is_some_and(|node| **node == *name)
        {
            self.node_of_machine.remove(&machine);
        }
        self.note(&known.pool);
        if let Some(marked) = self.marked.get_mut(&known.pool) {
            marked.remove(name);
            if marked.is_empty() {
                self.marked.remove(&known.pool);
            }
        }
    }

    /// The name of a node, shared with the entries that already have it: kept once.
    pub fn node_name(&self, name: &str) -> Arc<str> {
        let of_pods = self.pods_on.get_key_value(name).map(|(name, _)| name);
        let own = || self.nodes.get_key_value(name).map(|(name, _)| name);
        of_pods.or_else(own).map_or_else(|| name.into(), Arc::clone)
    }

    /// The names of all nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<str>> {
        self.nodes.keys()
    }

    /// Keeps from now on every label that pods select nodes by: all nodes are about to be listed.
    pub fn keep_selected_labels(&mut self) {
        self.kept_labels.clone_from(&self.selected);
    }

    /// Whether nodes must be listed again, because pods select by a label that was not kept.
    pub fn wants_other_labels(&self) -> bool {
        // Labels only ever become more.
        self.selected.len() > self.kept_labels.len()
    }

    /// Nodes of a pool with poolgate's marks whose machine belongs to no claim: no plan covers them.
    pub fn strays(&self, pool: &str) -> impl Iterator<Item = &SeenNode> {
        let marked = self.marked.get(pool).into_iter().flatten();
        marked.filter_map(|name| self.nodes.get(name)).filter(|seen| {
            let owner = seen
                .machine
                .and_then(|machine| self.pool_of_machine.get(&machine));
            owner.is_none_or(|other| **other != *pool)
        })
    }
}

/// The part of a node that decides whether Karpenter repairs it.
fn decides_repair(node: &Node) -> (&str, u64, bool) {
    (&node.uid, node.conditions, node.marks.do_not_repair)
}
