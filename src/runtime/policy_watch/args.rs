//! The flags about the policy, of every command that keeps running.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use poolgate_core::policy::Policy;
use poolgate_files::policy_file::LoadError;

use super::metrics::PolicyMetrics;
use super::watch::{IfUnusable, PolicyFile, PolicyInForce};
use crate::runtime::flags;
use crate::runtime::lifecycle::{StatusBoard, Tasks};
use crate::runtime::polled_file::Polled;
use crate::runtime::telemetry::Registry;

/// The flags about the policy.
#[derive(Debug, Args)]
pub struct WatchedPolicyArgs {
    /// The organisation's policy file, reloaded when it changes
    #[arg(long, env = "POOLGATE_POLICY", value_name = "FILE")]
    policy: Option<PathBuf>,

    /// Use the built-in policy while the --policy file does not exist
    #[arg(long, env = "POOLGATE_POLICY_OPTIONAL", value_parser = BoolishValueParser::new())]
    policy_optional: bool,

    /// How often to check the policy file for changes
    #[arg(long, env = "POOLGATE_POLICY_POLL_INTERVAL", default_value = "2s", value_name = "TIME",
        value_parser = flags::interval)]
    policy_poll_interval: Duration,
}

impl WatchedPolicyArgs {
    /// Loads the policy, and starts the task that reads it again. Without a file the built-in one is in force.
    pub async fn start(
        &self,
        if_unusable: IfUnusable,
        registry: &mut Registry,
        tasks: &mut Tasks,
        board: &StatusBoard,
    ) -> Result<PolicyInForce, LoadError> {
        let metrics = PolicyMetrics::register(registry);
        let Some(path) = self.policy.clone() else {
            metrics.in_force(None);
            metrics.loads.loaded();
            return Ok(Policy::default().into());
        };
        let loads = metrics.loads.clone();
        let line = board.line("policy");
        let file = PolicyFile::new(path, self.policy_optional, if_unusable, line, metrics);
        let policy = file.in_force.clone();
        let file = Polled::open(file, loads).await?;
        tasks.spawn("policy watch", file.watch(self.policy_poll_interval));
        Ok(policy)
    }
}
