//! What an organisation declares about its cluster, so that findings need not guess.

use std::collections::BTreeMap;

use crate::karpenter::KarpenterVersion;
use crate::value::words;

/// What is declared about the cluster. What is left out is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredCluster {
    /// The release of Karpenter. Commands on files check for it, unless a flag names another one.
    pub karpenter: Option<KarpenterVersion>,
    /// Karpenter's feature gates, and whether each is on.
    pub feature_gates: BTreeMap<String, bool>,
    /// What poolgate's webhook does there.
    pub webhook: Option<WebhookUse>,
}

/// What poolgate's webhook does in a cluster, in the words of a policy file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WebhookUse {
    /// It writes defaults into every NodePool.
    #[default]
    Defaults,
    /// There is none.
    None,
}

words!(WebhookUse { Defaults = "defaults", None = "none" });

impl DeclaredCluster {
    /// Whether a feature gate is on; `None` if that is not declared.
    pub fn gate(&self, name: &str) -> Option<bool> {
        self.feature_gates.get(name).copied()
    }

    /// Whether it is declared that the webhook writes defaults.
    pub fn completes(&self) -> bool {
        self.webhook == Some(WebhookUse::Defaults)
    }
}
