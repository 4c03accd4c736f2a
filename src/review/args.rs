//! The flags of `serve`.

use clap::Args;
use clap::builder::BoolishValueParser;

use crate::review::MutateVerdict;
use crate::runtime::policy_watch::{IfUnusable, WatchedPolicyArgs};
use crate::serving::webhook::WebhookArgs;

/// The flags of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub webhook: WebhookArgs,

    /// Do not watch a cluster, even if one is configured
    #[arg(long, env = "POOLGATE_NO_CLUSTER", value_parser = BoolishValueParser::new(),
        conflicts_with_all = ["kubeconfig", "context"])]
    pub no_cluster: bool,

    #[command(flatten)]
    pub policy: WatchedPolicyArgs,

    /// Do not start with an unusable --policy file. Without this flag the built-in policy replaces a file with mistakes
    #[arg(
        long,
        env = "POOLGATE_POLICY_REQUIRED",
        value_parser = BoolishValueParser::new(),
        requires = "policy",
        conflicts_with = "policy_optional"
    )]
    policy_required: bool,

    /// Whether /mutate denies as /validate does. Turn it off if another webhook changes NodePools after poolgate
    #[arg(
        long,
        env = "POOLGATE_MUTATE_VERDICT",
        value_enum,
        default_value = "on",
        value_name = "ON|OFF"
    )]
    pub mutate_verdict: MutateVerdict,
}

impl ServeArgs {
    /// The behaviour while the policy file is unusable.
    pub fn if_unusable(&self) -> IfUnusable {
        if self.policy_required {
            IfUnusable::Fail
        } else {
            IfUnusable::StandIn
        }
    }
}
