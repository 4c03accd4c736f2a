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

    /// Admit NodeClaims above the limit and only count them
    #[arg(long, env = "POOLGATE_OBSERVE", value_parser = BoolishValueParser::new())]
    pub observe: bool,

    /// How long an admitted NodeClaim that does not appear keeps its place: at least 45s, less than 2m. This must
    /// exceed the API server's create limit (34s), 5s and two etcd election timeouts together
    #[arg(long, env = "POOLGATE_RESERVATION_LIFETIME", value_name = "TIME", default_value = "60s", value_parser = reservation_lifetime)]
    pub reservation_lifetime: Duration,
}

fn reservation_lifetime(text: &str) -> Result<Duration, &'static str> {
    let lifetime = flags::time(text)?;
    if (Duration::from_secs(45)..Duration::from_mins(2)).contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("it must be at least 45s and less than 2m")
    }
}
