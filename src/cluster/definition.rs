//! The cluster's NodePool definition, and its Karpenter release.

use std::sync::Arc;

use poolgate_core::facts::{ApiVersion, Installed, NODEPOOL_DEFINITION, ReleaseSource, TargetKarpenter};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::metrics::ClusterMetrics;
use super::objects::Definition;
use super::watch::Follower;
use crate::cluster::view::ClusterView;
use crate::runtime::lifecycle::StatusLine;

/// Selects the one definition, so that the right to read it is enough.
pub const FIELDS: &str = "metadata.name=nodepools.karpenter.sh";

/// Sets the view's Karpenter release by the definition.
pub struct DefinitionFollower {
    pub view: Arc<ClusterView>,
    pub metrics: ClusterMetrics,
    /// Notified of every definition: a watch that waits until NodePools are served can begin.
    pub installed: Arc<Notify>,
    /// A line of `/readyz`: which Karpenter it is.
    pub line: StatusLine,
    /// Cancelled when the definition was read for the first time, or does not exist.
    pub read: CancellationToken,
    /// Whether the list that is being read contains the definition.
    pub seen: bool,
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
        // The selector returns no other; a server that ignores it must do no harm.
        if &*definition.metadata.name != NODEPOOL_DEFINITION {
            return;
        }
        self.seen = true;
        self.installed.notify_one();
        let version = definition.metadata.resource_version.clone();
        match parse(definition) {
            Ok(installed) => self.take(Some(installed)),
            Err(error) => {
                self.metrics.unreadable_definition();
                tracing::warn!(%error, version, "could not read the NodePool definition, the previous one stays in use");
            }
        }
    }

    fn gone(&mut self, definition: &Definition<Value>) {
        if &*definition.metadata.name == NODEPOOL_DEFINITION {
            self.take(None);
        }
    }
}

/// Which Karpenter release NodePools are checked for, and how it is known.
pub fn rules_for(karpenter: &TargetKarpenter) -> String {
    let release = karpenter.release();
    match karpenter.installed() {
        Some(installed) => match installed.releases {
            Some(releases) => format!("Karpenter {release}; the installed definition is from {releases}"),
            None => format!("Karpenter {release}; the installed definition is from an older release"),
        },
        None => format!("Karpenter {release}; no NodePool definition is known"),
    }
}

fn parse(definition: Definition<Value>) -> Result<Installed, String> {
    let metadata = json!({"name": NODEPOOL_DEFINITION});
    let object = Value::from_iter([("metadata", metadata), ("spec", definition.spec)]);
    Installed::parse(&object).map_err(|error| error.to_string())
}

impl DefinitionFollower {
    /// Uses a definition from now on, and logs it if it changes anything.
    fn take(&self, installed: Option<Installed>) {
        let before = self.view.karpenter();
        if before.installed() == installed.as_ref() {
            return;
        }
        self.view.set_definition(installed);
        let now = self.view.karpenter();
        self.metrics.rules_for(&now);
        self.line.set(rules_for(&now));
        let source = now.source().as_str();
        let definition = now.installed().and_then(|installed| installed.releases);
        let definition = definition.map(|releases| releases.to_string());
        let keeps_node_limit_mode = now.keeps_node_limit_mode(ApiVersion::V1);
        tracing::info!(
            release = %now.release(),
            source,
            definition,
            keeps_node_limit_mode,
            "using the rules of this Karpenter release"
        );
        if now.source() == ReleaseSource::Definition
            && let Some(caution) = now.caution()
        {
            tracing::warn!("{caution}");
        }
    }
}
