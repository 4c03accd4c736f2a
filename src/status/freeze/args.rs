//! The flags of `freeze` and `unfreeze`.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{anyhow, ensure};
use clap::{ArgGroup, Args};
use jiff::Timestamp;
use poolgate_core::api::MAX_FREEZE_TEXT;
use poolgate_files::clock::{Clock, Moment};

use crate::cluster::objects::PoolObject;
use crate::runtime::flags;
use crate::status::look::{Look, LookArgs};

/// The flags of `freeze`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("end").args(["until", "forever"]).required(true))]
pub struct FreezeArgs {
    #[command(flatten)]
    pub which: WhichArgs,

    /// When it ends: 4h from now, 2026-01-05T10:00:00Z, or 2026-01-05T10:00 in the zone of --tz
    #[arg(long, value_name = "TIME")]
    until: Option<End>,

    /// Freeze until somebody unfreezes them
    #[arg(long)]
    forever: bool,

    /// The reason that `status`, `budgets` and `why` show
    #[arg(long, value_name = "TEXT", value_parser = short)]
    pub reason: String,

    /// Who freezes them [default: your name, as the API server knows it]
    #[arg(long, value_name = "NAME", value_parser = short)]
    pub by: Option<String>,

    /// The zone of a --until without an offset, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", requires = "until")]
    tz: Option<String>,

    #[command(flatten)]
    pub look: LookArgs,
}

/// The flags of `unfreeze`.
#[derive(Debug, Args)]
pub struct UnfreezeArgs {
    #[command(flatten)]
    pub which: WhichArgs,

    #[command(flatten)]
    pub look: LookArgs,
}

/// Which NodePools.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct WhichArgs {
    /// NodePools, by name
    #[arg(value_name = "POOL")]
    pools: Vec<String>,

    /// All NodePools that exist now
    #[arg(long)]
    all: bool,
}

/// The end of a freeze.
#[derive(Debug, Clone, Copy)]
enum End {
    After(Duration),
    At(Moment),
}

impl FromStr for End {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let after = flags::go_duration(text).map(Self::After);
        after.map_or_else(
            || {
                let at = text.parse().map(Self::At);
                at.map_err(|_| "write 4h, 2026-01-05T10:00:00Z, or in the zone of --tz 2026-01-05T10:00")
            },
            Ok,
        )
    }
}

fn short(text: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err("it must not be empty".into()),
        count if count > MAX_FREEZE_TEXT => Err(format!("at most {MAX_FREEZE_TEXT} characters")),
        _ => Ok(text.to_owned()),
    }
}

impl FreezeArgs {
    /// When the freeze ends, if it does on its own. An end that is over is an error.
    pub fn ends(&self, now: Timestamp) -> anyhow::Result<Option<Timestamp>> {
        let until = match self.until {
            None => return Ok(None),
            Some(End::After(time)) => now
                .checked_add(time)
                .map_err(|_| anyhow!("--until is too far away"))?,
            Some(End::At(moment)) => Clock::new(self.tz.as_deref())?.instant(Some(moment))?,
        };
        // Whole seconds are easier to read.
        let until = until.round(jiff::Unit::Second)?;
        ensure!(until > now, "--until {until} is over. It is {now:.0}");
        Ok(Some(until))
    }
}

impl WhichArgs {
    /// The NodePools that are meant. If one does not exist, nothing is written.
    pub async fn find(&self, look: &Look<'_>) -> anyhow::Result<Vec<PoolObject>> {
        let stored = look.pools().await;
        let mut stored = stored.map_err(|error| anyhow!("could not read NodePools: {error}"))?;
        let is_there = |name: &&String| stored.iter().any(|pool| *pool.metadata.name == ***name);
        if let Some(unknown) = self.pools.iter().find(|name| !is_there(name)) {
            return Err(anyhow!(
                "NodePool {unknown:?} does not exist. Nothing was changed"
            ));
        }
        stored.retain(|pool| self.all || self.pools.iter().any(|name| **name == *pool.metadata.name));
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: FreezeArgs,
    }

    fn parsed(line: &str) -> Result<FreezeArgs, String> {
        let line = format!("freeze {line}");
        let parsed = Cli::try_parse_from(line.split(' '));
        parsed.map(|cli| cli.args).map_err(|error| error.to_string())
    }

    fn ends(line: &str) -> Result<Option<String>, String> {
        let now = "2026-11-29T12:00:00.4Z".parse().expect("a time");
        let ends = parsed(line)?.ends(now).map_err(|error| format!("{error:#}"))?;
        Ok(ends.map(|ends| ends.to_string()))
    }

    #[test]
    fn a_freeze_needs_an_end_in_the_future_or_says_that_it_has_none() {
        for (until, end) in [
            ("4h", "2026-11-29T16:00:00Z"),
            ("2026-12-24T00:00:00+01:00", "2026-12-23T23:00:00Z"),
            ("2026-12-24T00:00", "2026-12-24T00:00:00Z"),
            ("2026-12-24T00:00 --tz Europe/Berlin", "2026-12-23T23:00:00Z"),
            ("2026-12-24", "2026-12-24T00:00:00Z"),
        ] {
            assert_eq!(
                ends(&format!("a --reason r --until {until}")),
                Ok(Some(end.into())),
                "{until}"
            );
        }
        assert_eq!(ends("--all --reason r --forever"), Ok(None));
        for (line, why) in [
            (
                "a --reason r --until 2026-11-29T11:59:59Z",
                "is over. It is 2026-11-29T12:00:00Z",
            ),
            ("a --reason r --until 0s", "is over"),
            ("a --reason r --until tomorrow", "write 4h, 2026-01-05T10:00:00Z"),
            ("a --reason r", "<--until <TIME>|--forever>"),
            ("a --reason r --forever --until 4h", "cannot be used with"),
            ("a --forever", "--reason <TEXT>"),
            ("--reason r --forever", "<POOL|--all>"),
            ("a --all --reason r --forever", "cannot be used with"),
        ] {
            let error = ends(line).expect_err(line);
            assert!(error.contains(why), "{line}: {error}");
        }
        let long = format!("a --forever --reason {}", "r".repeat(MAX_FREEZE_TEXT + 1));
        assert!(
            ends(&long)
                .expect_err("too long")
                .contains("at most 500 characters")
        );
    }
}
