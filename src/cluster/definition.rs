//! The cluster's definition of NodePools, and which Karpenter release it belongs to.

use std::sync::Arc;

use arc_swap::ArcSwap;
use poolgate_core::karpenter::{ApiVersion, Installed, Karpenter, NODEPOOL_DEFINITION};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::metrics::ClusterMetrics;
use super::watch::Follower;
use crate::admission::ClusterView;
use crate::objects::Definition;

/// Which objects: the one definition, so that the right to read it is enough.
pub(crate) const FIELDS: &str = "metadata.name=nodepools.karpenter.sh";

/// Keeps the view's Karpenter as the definition says.
pub(crate) struct DefinitionFollower {
    pub(crate) view: Arc<ClusterView>,
    pub(crate) metrics: ClusterMetrics,
    /// Notified of every definition: whoever waits for NodePools to be served need not wait longer.
    pub(crate) installed: Arc<Notify>,
    /// A line of `/readyz`: which Karpenter it is.
    pub(crate) line: Arc<ArcSwap<String>>,
    /// Cancelled when the definition was read for the first time, or it was seen that there is none.
    pub(crate) read: CancellationToken,
    /// Whether the list that is being read holds the definition.
    pub(crate) seen: bool,
}

impl Follower for DefinitionFollower {
    type Object = Definition<Value>;

    fn list_begins(&mut self) {
        self.seen = false;
    }

    fn listed(&mut self, definition: Definition<Value>) {
        self.changed(definition);
    }

    fn list_ends(&mut self) {
        if !self.seen {
            self.take(None);
        }
        self.read.cancel();
    }

    fn changed(&mut self, definition: Definition<Value>) {
        // The selector brings no other; a server that ignores it must not confuse.
        if &*definition.metadata.name != NODEPOOL_DEFINITION {
            return;
        }
        self.seen = true;
        self.installed.notify_one();
        let version = definition.metadata.resource_version.clone();
        match read(definition) {
            Ok(installed) => self.take(Some(installed)),
            Err(error) => {
                self.metrics.unreadable_definition();
                tracing::warn!(%error, version, "the NodePool definition cannot be read; what was known before holds");
            }
        }
    }

    fn gone(&mut self, definition: &Definition<Value>) {
        if &*definition.metadata.name == NODEPOOL_DEFINITION {
            self.take(None);
        }
    }
}

/// Which Karpenter NodePools are judged for, and who says so.
pub(crate) fn judged_for(karpenter: &Karpenter) -> String {
    let release = karpenter.release();
    match karpenter.installed() {
        Some(installed) => format!(
            "Karpenter {release}; installed is the definition of {}",
            installed.releases
        ),
        None => format!("Karpenter {release}; no NodePool definition is known"),
    }
}

fn read(definition: Definition<Value>) -> Result<Installed, String> {
    let metadata = json!({"name": NODEPOOL_DEFINITION});
    let object = Value::from_iter([("metadata", metadata), ("spec", definition.spec)]);
    Installed::read(&object).map_err(|error| error.to_string())
}

impl DefinitionFollower {
    /// Takes a definition into force, and logs it where it changes anything.
    fn take(&self, installed: Option<Installed>) {
        let before = self.view.karpenter();
        if before.installed() == installed.as_ref() {
            return;
        }
        self.view.set_definition(installed);
        let now = self.view.karpenter();
        self.metrics.judging_for(&now);
        self.line.store(Arc::new(judged_for(&now)));
        let source = now.source().as_str();
        let definition = now.installed().map(|installed| installed.releases.to_string());
        let keeps_node_limit_mode = now.keeps_node_limit_mode(ApiVersion::V1);
        tracing::info!(
            release = %now.release(),
            source,
            definition,
            keeps_node_limit_mode,
            "judging for this Karpenter"
        );
    }
}
