//! The flags of `lsp`.

use clap::Args;
use jiff::Timestamp;

use crate::check::Selection;
use crate::input::ProjectArgs;
use crate::review_args::instant;

#[derive(Debug, Args)]
pub struct LspArgs {
    /// Check as of this time, such as 2027-06-30 or 2027-06-30T12:00:00Z, at which exemptions may have ended [default: now]
    #[arg(long, value_name = "TIME", value_parser = instant)]
    at: Option<Timestamp>,

    #[command(flatten, next_help_heading = "Select")]
    pub(crate) selection: Selection,

    #[command(flatten, next_help_heading = "Read")]
    pub(crate) project: ProjectArgs,

    /// The URL of the published page of rules. Findings link to it
    #[arg(long, env = "POOLGATE_RULES_URL", value_name = "URL", help_heading = "Look")]
    pub rules_url: Option<String>,
}

impl LspArgs {
    /// The time at which texts are checked.
    pub fn now(&self) -> Timestamp {
        self.at.unwrap_or_else(Timestamp::now)
    }
}
