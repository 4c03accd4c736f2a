//! The flags of `gate`.

use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;

use crate::cluster::LedgerArgs;
use crate::runtime::flags;
use crate::serving::webhook::WebhookArgs;

/// The flags of `gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    #[command(flatten)]
    pub webhook: WebhookArgs,

    #[command(flatten)]
    pub ledgers: LedgerArgs,

    /// Admit NodeClaims above the limit, too, and only count them
    #[arg(long, env = "POOLGATE_OBSERVE", value_parser = BoolishValueParser::new())]
    pub observe: bool,

    /// How long an admitted NodeClaim that does not appear keeps its place: 45s or more, below 2m. Longer than 34s (the API
    /// server's limit for a create), and 5s and two election timeouts of etcd
    #[arg(long, env = "POOLGATE_RESERVATION_LIFETIME", value_name = "TIME", default_value = "60s", value_parser = reservation_lifetime)]
    pub reservation_lifetime: Duration,
}

fn reservation_lifetime(text: &str) -> Result<Duration, &'static str> {
    let lifetime = flags::time(text)?;
    if (Duration::from_secs(45)..Duration::from_mins(2)).contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("it must be 45s or more, and less than 2m")
    }
}
