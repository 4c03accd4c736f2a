//! The definition of NodePools.

use kube::api::DynamicObject;

use crate::cluster::Follower;
use crate::reconciler::seen::{Seen, Watched};

/// The definition of NodePools: how it reads is not asked, only whether it changes.
pub(in crate::reconciler) struct DefinitionFollower {
    pub(in crate::reconciler) seen: Seen,
    /// Which definition is known, and which version of what it says.
    pub(in crate::reconciler) known: Option<(String, i64)>,
}

impl Follower for DefinitionFollower {
    type Object = DynamicObject;

    fn list_begins(&mut self) {}

    fn listed(&mut self, definition: DynamicObject) {
        self.changed(definition);
    }

    fn list_ends(&mut self) {
        self.seen.complete(Watched::Definition);
    }

    fn changed(&mut self, definition: DynamicObject) {
        let metadata = definition.metadata;
        let known = metadata.uid.zip(metadata.generation);
        if self.known != known {
            self.known = known;
            self.seen.redefined();
        }
    }

    fn gone(&mut self, _: &DynamicObject) {
        self.known = None;
        self.seen.redefined();
    }

    fn lost(&mut self) {
        self.seen.lost(Watched::Definition);
    }
}
