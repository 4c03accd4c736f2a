//! Reads and writes instants: in UTC, the only zone that Karpenter knows, and in the user's zone.

use std::str::FromStr;

use anyhow::{Context as _, anyhow};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use poolgate_core::value::hours::{self, UnknownZone};

/// The zone of this name.
fn zone(name: &str) -> anyhow::Result<TimeZone> {
    hours::zone(name).map_err(|unknown| with_help(&unknown))
}

/// The error with what to write instead.
pub fn with_help(unknown: &UnknownZone) -> anyhow::Error {
    match &unknown.likely {
        Some(likely) => anyhow!("{unknown}. Did you mean {likely}?"),
        None => anyhow!("{unknown}. Use a name such as Europe/Berlin or Asia/Tokyo"),
    }
}

/// A moment on the command line.
#[derive(Debug, Clone, Copy)]
pub enum Moment {
    /// With its offset from UTC: 2026-01-05T10:00:00Z.
    Instant(Timestamp),
    /// By the clock of `--tz`: 2026-01-05 10:00, or a day alone.
    Local(DateTime),
}

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let instant = text.parse().map(Self::Instant);
        instant
            .or_else(|_| text.parse().map(Self::Local))
            .map_err(|_| "write 2026-01-05T10:00:00Z, or in the zone of --tz 2026-01-05T10:00 or 2026-01-05")
    }
}

/// How instants are read and written: by default only in UTC.
#[derive(Debug, Default)]
pub struct Clock(Option<TimeZone>);

impl Clock {
    /// A clock that also shows the zone of this name.
    pub fn new(name: Option<&str>) -> anyhow::Result<Self> {
        Ok(Self(name.map(zone).transpose().context("--tz")?))
    }

    /// The instant that the user gives, or now.
    pub fn instant(&self, moment: Option<Moment>) -> anyhow::Result<Timestamp> {
        match moment {
            None => Ok(Timestamp::now()),
            Some(Moment::Instant(at)) => Ok(at),
            Some(Moment::Local(at)) => Ok(at
                .to_zoned(self.grid_zone())
                .context("this zone has no such time")?
                .timestamp()),
        }
    }

    /// The name of the zone that is shown next to UTC.
    pub fn zone(&self) -> Option<&str> {
        self.0.as_ref()?.iana_name()
    }

    /// The zone of a week's days and hours.
    pub fn grid_zone(&self) -> TimeZone {
        self.0.clone().unwrap_or(TimeZone::UTC)
    }

    /// An instant to the minute, or to the second if it has seconds.
    pub fn write(&self, at: Timestamp) -> String {
        let format = match at.as_second() % 60 {
            0 => "%a %Y-%m-%d %H:%M",
            _ => "%a %Y-%m-%d %H:%M:%S",
        };
        let utc = at.to_zoned(TimeZone::UTC).strftime(format).to_string();
        match &self.0 {
            None => format!("{utc} UTC"),
            Some(zone) => {
                let local = at.to_zoned(zone.clone());
                format!("{utc} UTC ({})", local.strftime("%a %H:%M %Z"))
            }
        }
    }
}
