//! Releases of Karpenter, and what each has: [`history`] looks up what definitions say, [`milestones`] names what a verdict
//! depends on.

mod definition;
mod history;
// Laid out by its generator: one fact is one line.
#[rustfmt::skip]
mod definitions;
mod milestones;
mod served;

pub use definition::ReleaseRange;
pub(crate) use definition::{Definition, Said};
pub(crate) use definitions::DEFINITIONS;
pub use served::{SERVED_KINDS, ServedKind};

use std::fmt;
use std::str::FromStr;

/// A release of Karpenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KarpenterVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

/// A text that is not a release of Karpenter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Karpenter release: write it as 1.14 or 1.14.1")]
pub struct UnknownRelease(String);

impl KarpenterVersion {
    /// A release by its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Its line: the first two numbers.
    pub const fn line(self) -> (u16, u16) {
        (self.major, self.minor)
    }

    /// The first release of the line before; `None` for the first line of a major version.
    pub fn line_before(self) -> Option<Self> {
        Some(Self::new(self.major, self.minor.checked_sub(1)?, 0))
    }

    /// The release whose rules it is checked by: itself, or the nearest one that is known. Later patch releases of the
    /// newest line count as known.
    pub(crate) fn known(self) -> Self {
        if self.line() > Self::NEWEST.line() {
            Self::NEWEST
        } else {
            self.max(Self::OLDEST)
        }
    }

    /// Whether something added in `milestone` is in this release: `release.has(KarpenterVersion::GTE_LTE)`.
    pub fn has(self, milestone: Self) -> bool {
        self >= milestone
    }
}

impl fmt::Display for KarpenterVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for KarpenterVersion {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownRelease(text.to_owned());
        // `u16` accepts a plus.
        let digits = |part: &str| {
            part.bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| part.parse().ok())
        };
        let number = |part: Option<&str>| {
            part.map(|part| digits(part).flatten().ok_or_else(unknown))
                .transpose()
        };
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let major = number(parts.next())?.ok_or_else(unknown)?;
        let minor = number(parts.next())?.ok_or_else(unknown)?;
        let patch = number(parts.next())?.unwrap_or(0);
        let release = Self::new(major, minor, patch);
        if parts.next().is_some() {
            return Err(unknown());
        }
        Ok(release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_read_with_and_without_v_and_patch() {
        assert_eq!("v1.14.1".parse(), Ok(KarpenterVersion::new(1, 14, 1)));
        assert_eq!("1.9".parse(), Ok(KarpenterVersion::new(1, 9, 0)));
        for wrong in ["", "v", "1", "1.x", "1.2.3.4", "-1.2", "+1.9", "1.+9", "1.99999"] {
            assert!(wrong.parse::<KarpenterVersion>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn releases_are_ordered_by_number_not_by_text() {
        assert!(KarpenterVersion::new(1, 9, 0) < KarpenterVersion::new(1, 14, 0));
    }
}
