//! The flags of `reconcile`.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use poolgate_core::api::OverLimit;

use crate::cluster::{ClusterArgs, LONGEST_LEASE, LedgerArgs, SHORTEST_LEASE};
use crate::runtime::flags;
use crate::runtime::policy_watch::WatchedPolicyArgs;
use crate::runtime::telemetry::LogArgs;
use crate::serving::probes::ProbeArgs;

/// The flags of `reconcile`.
#[derive(Debug, Args)]
pub struct ReconcileArgs {
    #[command(flatten)]
    pub probes: ProbeArgs,

    #[command(flatten)]
    pub policy: WatchedPolicyArgs,

    /// What to do with nodes above a limit. A pool's annotation poolgate.dev/over-limit takes precedence [default:
    /// the policy's choice]
    #[arg(long, env = "POOLGATE_OVER_LIMIT", value_enum, value_name = "WHAT")]
    over_limit: Option<OverLimitChoice>,

    /// Maximum number of nodes to terminate per minute, across all pools
    #[arg(
        long,
        env = "POOLGATE_MAX_TERMINATIONS_PER_MINUTE",
        default_value = "10",
        value_name = "N"
    )]
    pub max_terminations_per_minute: u32,

    /// Terminate only after this long without a restart, watch gap or definition change
    #[arg(long, env = "POOLGATE_SETTLE", default_value = "3m", value_name = "TIME",
        value_parser = flags::time)]
    pub settle: Duration,

    /// How long the leader may be silent before another replica takes over: 3s to 1m
    #[arg(long, env = "POOLGATE_LEASE_DURATION", default_value = "15s", value_name = "TIME",
        value_parser = lease_duration)]
    pub lease_duration: Duration,

    /// Write nothing. Logs and metrics show the intended writes
    #[arg(long, env = "POOLGATE_OBSERVE", value_parser = BoolishValueParser::new())]
    pub observe: bool,

    /// Wait until no reconciler writes, remove every mark of poolgate from nodes, restore lowered limits, and exit
    #[arg(long, env = "POOLGATE_UNHOLD_ALL", conflicts_with = "observe",
        value_parser = BoolishValueParser::new())]
    pub unhold_all: bool,

    /// With --unhold-all: only if no reconciler may write any more, or none has renewed its Lease for this long
    #[arg(long, env = "POOLGATE_IF_LEASE_OLDER_THAN", value_name = "TIME", value_parser = flags::interval,
        requires = "unhold_all")]
    pub if_lease_older_than: Option<Duration>,

    /// With --unhold-all: the namespace of the reconciler's pods [default: all namespaces]
    #[arg(
        long,
        short,
        env = "POOLGATE_NAMESPACE",
        value_name = "NAME",
        requires = "unhold_all"
    )]
    pub namespace: Option<String>,

    #[command(flatten)]
    pub ledgers: LedgerArgs,

    #[command(flatten)]
    pub cluster: ClusterArgs,

    #[command(flatten)]
    pub log: LogArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OverLimitChoice {
    /// Keep them, and report them in events and metrics
    Report,
    /// Delete them, cheapest first
    Terminate,
}

impl ReconcileArgs {
    /// What to do with nodes above a limit if the pool does not say; `None` to follow the policy.
    pub fn over_limit(&self) -> Option<OverLimit> {
        self.over_limit.map(|choice| match choice {
            OverLimitChoice::Report => OverLimit::Report,
            OverLimitChoice::Terminate => OverLimit::Terminate,
        })
    }
}

fn lease_duration(text: &str) -> Result<Duration, &'static str> {
    let duration = flags::time(text)?;
    if !(SHORTEST_LEASE..=LONGEST_LEASE).contains(&duration) {
        return Err("it must be between 3s and 1m");
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_duration_beyond_its_bounds_is_an_error_that_names_them() {
        for text in ["0s", "2999ms", "60001ms", "4m"] {
            assert_eq!(
                lease_duration(text),
                Err("it must be between 3s and 1m"),
                "{text}"
            );
        }
        assert_eq!(lease_duration("3s"), Ok(SHORTEST_LEASE));
        assert_eq!(lease_duration("1m"), Ok(LONGEST_LEASE));
    }
}
