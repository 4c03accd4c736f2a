//! What objects are checked against besides the project of their file.

use jiff::Timestamp;
use poolgate_core::facts::{ApiVersion, KarpenterVersion, ReleaseSource, TargetKarpenter};

/// What objects are checked against.
#[derive(Debug)]
pub struct Settings {
    /// The time: exemptions of a policy may have an end.
    pub at: Timestamp,
    /// For v1beta1 if the release of the cluster is not given: the last one that serves it.
    last_of_v1beta1: TargetKarpenter,
}

impl Settings {
    pub fn new(at: Timestamp) -> Self {
        Self {
            at,
            last_of_v1beta1: TargetKarpenter::assumed(KarpenterVersion::LAST_OF_V1BETA1),
        }
    }

    /// Whether an object of this version is checked for a release that the user has not named, if this is the Karpenter of
    /// its file.
    pub fn is_guessed(of_file: &TargetKarpenter, version: ApiVersion) -> bool {
        version == ApiVersion::V1Beta1 && of_file.source() == ReleaseSource::Newest
    }

    /// The Karpenter that an object of this version is checked for, if this is the Karpenter of its file.
    pub fn karpenter_for<'k>(
        &'k self,
        of_file: &'k TargetKarpenter,
        version: ApiVersion,
    ) -> &'k TargetKarpenter {
        if Self::is_guessed(of_file, version) {
            &self.last_of_v1beta1
        } else {
            of_file
        }
    }
}
