//! Facts about a cluster, declared by an organisation, so that findings need not guess.

use std::collections::BTreeMap;

use super::kinds::{MapOf, Switch, Text, word, wrong};
use super::record::{did_you_mean, record};
use super::texts::{PROVIDER_RELEASE, RELEASE};
use crate::facts::{
    KarpenterVersion, PROVIDER_IDS, Provider, ProviderSettings, ProviderVersion, TargetKarpenter,
};
use crate::value::words;

record! {
    /// The declared facts about the cluster. A fact that is left out is unknown.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct DeclaredCluster {
        karpenter: Option<KarpenterVersion> = optional "karpenter", RELEASE,
            "The Karpenter release of the cluster. lint and default check for it, unless --karpenter-version or providerVersion gives another.";
        provider: Option<&'static Provider> = optional "provider", word(PROVIDER_IDS, Provider::of_id),
            "The provider of the machines.";
        provider_version: Option<ProviderVersion> = optional "providerVersion", PROVIDER_RELEASE,
            "The release of the provider's controller, such as 1.14.0. It requires provider. NodePools are checked for the Karpenter release that it contains.";
        feature_gates: BTreeMap<FeatureGate, bool> = or_default "featureGates", MapOf(FEATURE_GATE, Switch),
            "Karpenter's feature gates: true if on, false if off.";
        min_values_policy: Option<MinValuesPolicy> = optional "minValuesPolicy", word(MinValuesPolicy::VALUES, MinValuesPolicy::parse),
            "How Karpenter is set where fewer values are left than minValues: Strict launches nothing, `BestEffort` lowers the number.";
        webhook: Option<WebhookUse> = optional "webhook", word(WebhookUse::VALUES, WebhookUse::parse),
            "Whether poolgate's webhook writes defaults in the cluster (defaults), or the cluster has no webhook (none). With none, only the CRD's defaults complete a NodePool.";
    }
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

/// What Karpenter does where fewer values are left than `minValues` requires, in its own words.
// karpenter: pkg/operator/options/options.go MinValuesPolicy
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinValuesPolicy {
    /// It launches nothing.
    Strict,
    /// It lowers the number to what is left, and launches.
    BestEffort,
}

words!(MinValuesPolicy { Strict = "Strict", BestEffort = "BestEffort" });

/// A feature gate of Karpenter. A policy may declare each; findings depend on some.
// karpenter: pkg/operator/options/options.go FeatureGates
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FeatureGate {
    /// Karpenter repairs broken nodes.
    NodeRepair,
    /// Karpenter launches nodes into capacity reservations.
    ReservedCapacity,
    /// Spot nodes are replaced by cheaper spot nodes.
    SpotToSpotConsolidation,
    /// Karpenter reads the kind `NodeOverlay`.
    NodeOverlay,
    /// Karpenter launches the nodes of static pools.
    StaticCapacity,
    /// Karpenter reads the kind `CapacityBuffer`.
    CapacityBuffer,
    /// A drifted node of a static pool at its limit is terminated before its replacement is launched.
    TerminateFirstDrift,
    /// The same for a broken node.
    TerminateFirstRepair,
    /// Karpenter writes the deletion cost of pods, so it is no wish of a user.
    PodDeletionCostManagement,
}

words!(FeatureGate {
    NodeRepair = "NodeRepair",
    ReservedCapacity = "ReservedCapacity",
    SpotToSpotConsolidation = "SpotToSpotConsolidation",
    NodeOverlay = "NodeOverlay",
    StaticCapacity = "StaticCapacity",
    CapacityBuffer = "CapacityBuffer",
    TerminateFirstDrift = "TerminateFirstDrift",
    TerminateFirstRepair = "TerminateFirstRepair",
    PodDeletionCostManagement = "PodDeletionCostManagement",
});

const FEATURE_GATE: Text<FeatureGate> = Text {
    pattern: || None,
    parse: |text| {
        let unknown = || {
            let likely = did_you_mean(text, FeatureGate::VALUES.iter().copied());
            let known = || format!("use one of {}", FeatureGate::VALUES.join(", "));
            wrong("unknown feature gate", Some(likely.unwrap_or_else(known)))
        };
        FeatureGate::parse(text).map_or_else(unknown, Ok)
    },
};

/// The state of a feature gate in the cluster of a pool, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateState {
    /// It is on: declared, or fixed by the provider.
    On,
    /// It is declared to be off.
    Off,
    /// It may be either.
    Unknown,
    /// It may be either, and the users of the provider cannot set it.
    Fixed,
}

impl DeclaredCluster {
    /// The Karpenter that it runs: the one that the release of its provider contains, if that is known, else the declared one.
    pub fn target(&self) -> Option<TargetKarpenter> {
        let release = self.provider.zip(self.provider_version);
        release
            .and_then(|release| TargetKarpenter::contained(release, self.karpenter))
            .or_else(|| self.karpenter.map(TargetKarpenter::from))
    }

    /// The release of this provider's controller; `None` if none is declared, or that of another provider.
    pub fn version_of(&self, provider: &Provider) -> Option<ProviderVersion> {
        self.provider_version
            .filter(|_| self.provider.is_some_and(|declared| declared.id == provider.id))
    }

    /// The state of a feature gate for a pool of a provider with these settings.
    pub fn gate(&self, gate: FeatureGate, settings: &ProviderSettings) -> GateState {
        if settings.has_gate_on(gate.as_str()) {
            return GateState::On;
        }
        if !settings.runs_karpenter {
            return GateState::Fixed;
        }
        match self.feature_gates.get(&gate) {
            Some(true) => GateState::On,
            Some(false) => GateState::Off,
            None => GateState::Unknown,
        }
    }

    /// Whether Karpenter of this release launches nothing where fewer values are left than `minValues` requires; `None` if it
    /// depends on a setting that is not declared.
    pub fn keeps_min_values(&self, release: KarpenterVersion) -> Option<bool> {
        if !release.has(KarpenterVersion::MIN_VALUES_POLICY) {
            return Some(true);
        }
        let declared = self.min_values_policy?;
        Some(declared == MinValuesPolicy::Strict)
    }

    /// Like this, with a feature gate that is declared to be on or off.
    #[cfg(test)]
    #[must_use]
    pub fn with_gate(mut self, gate: FeatureGate, is_on: bool) -> Self {
        self.feature_gates.insert(gate, is_on);
        self
    }

    /// Whether it is declared that the webhook writes defaults.
    pub fn completes(&self) -> bool {
        self.webhook == Some(WebhookUse::Defaults)
    }

    /// Whether it is declared that only the definition's defaults are written.
    pub fn has_no_webhook(&self) -> bool {
        self.webhook == Some(WebhookUse::None)
    }
}
