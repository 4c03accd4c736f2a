//! What a command without a cluster judges by: a policy from a file, and the Karpenter release that is named.

use std::path::PathBuf;

use clap::Args;
use poolgate_core::karpenter::{Karpenter, KarpenterVersion};
use poolgate_core::policy::Policy;

use crate::policy_file::{self, LoadError};

/// What the user says about it.
#[derive(Debug, Args)]
pub(crate) struct JudgedBy {
    /// The organisation's policy
    /// [default: the built-in one]
    #[arg(long, env = "POOLGATE_POLICY", value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The Karpenter release that the cluster runs, such as 1.14.1
    /// [default: the newest known]
    #[arg(long, env = "POOLGATE_KARPENTER_VERSION", value_name = "VERSION")]
    karpenter_version: Option<KarpenterVersion>,
}

impl JudgedBy {
    /// The policy of the file, or the built-in one where none is named.
    pub(crate) fn policy(&self) -> Result<Policy, LoadError> {
        Ok(self.named_policy()?.unwrap_or_default())
    }

    /// The policy of the file; none where none is named.
    pub(crate) fn named_policy(&self) -> Result<Option<Policy>, LoadError> {
        let read = |path| Ok(policy_file::load(path)?.reading.policy);
        self.policy.as_deref().map(read).transpose()
    }

    /// The Karpenter that NodePools are judged for.
    pub(crate) fn karpenter(&self) -> Karpenter {
        self.karpenter_version
            .map_or_else(Karpenter::default, Karpenter::from)
    }
}
