//! What objects are checked against besides the policy of their file: the Karpenter of the cluster, and variables.

use jiff::Timestamp;
use poolgate_core::karpenter::{ApiVersion, KarpenterVersion, ReleaseSource, TargetKarpenter};
use poolgate_core::manifest::Variables;

/// What objects are checked against.
#[derive(Debug)]
pub struct Settings {
    pub karpenter: TargetKarpenter,
    /// Values that are filled in before anything is checked.
    pub variables: Variables,
    /// The time: exemptions of a policy may have an end.
    pub at: Timestamp,
    /// For v1beta1 if the release of the cluster is not given: the last one that serves it.
    last_of_v1beta1: TargetKarpenter,
}

impl Settings {
    pub fn new(karpenter: TargetKarpenter, variables: Variables, at: Timestamp) -> Self {
        Self {
            karpenter,
            variables,
            at,
            last_of_v1beta1: KarpenterVersion::LAST_OF_V1BETA1.into(),
        }
    }

    /// Whether an object of this version is checked for a release that the user has not named.
    pub fn is_guessed(&self, version: ApiVersion) -> bool {
        version == ApiVersion::V1Beta1 && self.karpenter.source() == ReleaseSource::Newest
    }

    /// The Karpenter that an object of this version is checked for.
    pub fn karpenter_for(&self, version: ApiVersion) -> &TargetKarpenter {
        if self.is_guessed(version) {
            &self.last_of_v1beta1
        } else {
            &self.karpenter
        }
    }
}
