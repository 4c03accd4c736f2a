//! Instants as people read them: in UTC, which is all that Karpenter knows, and beside it in a zone of their own.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// How instants are written.
#[derive(Debug)]
pub(super) struct Clock(Option<TimeZone>);

impl Clock {
    /// A clock that shows the zone of this name, too.
    pub(super) fn new(zone: Option<&str>) -> anyhow::Result<Self> {
        let zone = zone.map(|name| {
            TimeZone::get(name)
                .with_context(|| format!("--tz {name}: give a name such as Europe/Berlin or Asia/Tokyo"))
        });
        Ok(Self(zone.transpose()?))
    }

    /// The name of the zone that is shown beside UTC.
    pub(super) fn zone(&self) -> Option<&str> {
        self.0.as_ref()?.iana_name()
    }

    /// An instant to the minute, or to the second where it has any.
    pub(super) fn write(&self, at: Timestamp) -> String {
        let seconds = at.as_second() % 60 != 0;
        let format = if seconds {
            "%a %Y-%m-%d %H:%M:%S"
        } else {
            "%a %Y-%m-%d %H:%M"
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

    /// The time at this instant in the zone that is shown beside UTC.
    pub(super) fn local(&self, at: Timestamp) -> Option<String> {
        let zone = self.0.as_ref()?;
        Some(at.to_zoned(zone.clone()).strftime("%a %H:%M %Z").to_string())
    }
}
