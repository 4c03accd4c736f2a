//! Log lines on stderr, for people or for machines.

use std::io::{self, IsTerminal};

use clap::{Args, ValueEnum};
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, registry};

use super::log_writer;

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object per line
    Json,
}

/// The flags about logging.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// How log lines look
    #[arg(
        long,
        env = "POOLGATE_LOG_FORMAT",
        value_enum,
        default_value = "text",
        value_name = "FORMAT"
    )]
    log_format: LogFormat,

    /// Which log lines are written: a level, or `target=level` pairs
    #[arg(
        long,
        env = "POOLGATE_LOG_LEVEL",
        default_value = "info",
        value_name = "FILTER"
    )]
    log_level: String,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter cannot be parsed.
    #[error("--log-level `{filter}` is not a log filter: write a level (error, warn, info, debug, trace)")]
    Filter {
        /// The filter as the user gave it.
        filter: String,
        /// What is wrong with it.
        cause: ParseError,
    },
    /// There is no thread for the lines.
    #[error("logging cannot start: {0}")]
    Thread(#[from] io::Error),
    /// A subscriber was installed before.
    #[error("logging is already set up: {0}")]
    Installed(Box<dyn std::error::Error + Send + Sync>),
}

impl LogArgs {
    /// Installs the process's one subscriber.
    pub fn install(&self) -> Result<(), LoggingError> {
        let filter: Targets = self.log_level.parse().map_err(|cause| LoggingError::Filter {
            filter: self.log_level.clone(),
            cause,
        })?;
        let lines = fmt::layer().with_writer(log_writer::stderr()?);
        let lines = match self.log_format {
            LogFormat::Text => lines.with_ansi(stderr_has_colours()).boxed(),
            LogFormat::Json => lines.json().with_span_list(false).boxed(),
        };
        registry()
            .with(lines.with_filter(filter))
            .try_init()
            .map_err(|error| LoggingError::Installed(Box::new(error)))
    }
}

fn stderr_has_colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
