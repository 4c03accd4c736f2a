//! The flags of `gate`.

use clap::Args;
use clap::builder::BoolishValueParser;

use crate::webhook::WebhookArgs;

/// The flags of `gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    #[command(flatten)]
    pub webhook: WebhookArgs,

    /// Admit NodeClaims above the limit, too, and only count them
    #[arg(long, env = "POOLGATE_OBSERVE", value_parser = BoolishValueParser::new())]
    pub observe: bool,
}
