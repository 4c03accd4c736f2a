//! Pods in the index.

use std::collections::{btree_map, hash_map};
use std::sync::Arc;

use poolgate_core::pods::Needs;

use super::{Index, MOST_SELECTED};
use crate::cluster::objects::{Key, PodLocation, PodObject};

impl Index {
    /// A pod is new or has changed.
    pub fn put_pod(&mut self, object: PodObject) {
        let key = Key::of(&object.metadata.uid);
        let Some(location) = object.location(&mut self.pod_kinds) else {
            return self.remove_pod(key);
        };
        if self.placements.get(&key) == Some(&location) {
            return;
        }
        let (count, bound) = (self.placements.len(), self.bounds.pods);
        if !self.placements.contains_key(&key) && !self.has_room("pods", count, bound) {
            return;
        }
        self.remove_pod(key);
        match location {
            PodLocation::Bound(node, pod) => {
                self.select_by(&pod.needs);
                let node = self.node_name(&node);
                let pods = self.pods_on.entry(Arc::clone(&node)).or_default();
                pods.push(Arc::clone(&pod));
                self.note_node(&node);
                self.placements.insert(key, PodLocation::Bound(node, pod));
            }
            PodLocation::Unschedulable(needs) => {
                self.select_by(&needs);
                let count = self.pending.entry(Arc::clone(&needs)).or_default();
                *count += 1;
                if *count == 1 {
                    self.note_all();
                }
                self.placements.insert(key, PodLocation::Unschedulable(needs));
            }
        }
    }

    /// A pod is gone, or no plan depends on it.
    pub fn remove_pod(&mut self, key: Key) {
        match self.placements.remove(&key) {
            None => {}
            Some(PodLocation::Bound(node, pod)) => {
                if let hash_map::Entry::Occupied(mut pods) = self.pods_on.entry(Arc::clone(&node)) {
                    let place = pods.get().iter().position(|other| Arc::ptr_eq(other, &pod));
                    place.map(|place| pods.get_mut().swap_remove(place));
                    if pods.get().is_empty() {
                        pods.remove();
                    }
                }
                self.note_node(&node);
            }
            Some(PodLocation::Unschedulable(needs)) => {
                if let btree_map::Entry::Occupied(mut count) = self.pending.entry(needs) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                        self.note_all();
                    }
                }
            }
        }
    }

    /// All pods.
    pub fn pods(&self) -> impl Iterator<Item = Key> {
        self.placements.keys().copied()
    }

    fn note_node(&mut self, node: &str) {
        if let Some(pool) = self.nodes.get(node).map(|seen| Arc::clone(&seen.pool)) {
            self.note(&pool);
        }
    }

    fn select_by(&mut self, needs: &Needs) {
        for key in needs.node_selector.keys() {
            if !self.selected.contains(key.as_str()) && self.selected.len() < MOST_SELECTED {
                self.selected.insert(key.as_str().into());
            }
        }
    }
}
