//! Releases of providers: their numbers are not Karpenter's.

use std::fmt;
use std::str::FromStr;

use crate::facts::KarpenterVersion;

/// A release of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderVersion {
    major: u16,
    minor: u16,
    patch: u16,
}

impl ProviderVersion {
    /// A release by its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Its line: the first two numbers.
    pub(super) const fn line(self) -> (u16, u16) {
        (self.major, self.minor)
    }
}

/// A row of the table: from this release of a provider on, it contains this one of Karpenter.
pub(super) const fn contains(
    (major, minor, patch): (u16, u16, u16),
    core: (u16, u16, u16),
) -> (ProviderVersion, KarpenterVersion) {
    (
        ProviderVersion::new(major, minor, patch),
        KarpenterVersion::new(core.0, core.1, core.2),
    )
}

/// A text that is not a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a release is written as 1.14.0")]
pub struct NoRelease;

impl FromStr for ProviderVersion {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.').map(|part| {
            // `u16` accepts a plus.
            let digits = Some(part).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|part| part.parse().ok()).ok_or(NoRelease)
        });
        let mut next = || parts.next();
        let major = next().ok_or(NoRelease)??;
        let minor = next().ok_or(NoRelease)??;
        let patch = next().unwrap_or(Ok(0))?;
        match next() {
            None => Ok(Self::new(major, minor, patch)),
            Some(_) => Err(NoRelease),
        }
    }
}

impl fmt::Display for ProviderVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The releases of a provider in which something is true. Older lines may have adopted it in late patch releases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Releases {
    /// The first one; `None` if it is true in the oldest that was read.
    pub since: Option<ProviderVersion>,
    /// The first one in which it is no longer true; `None` if it is in the newest.
    pub until: Option<ProviderVersion>,
}

impl Releases {
    /// Every release.
    pub(crate) const ALL: Self = Self {
        since: None,
        until: None,
    };

    pub(super) const fn since(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.since = Some(ProviderVersion::new(major, minor, patch));
        self
    }

    pub(super) const fn until(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.until = Some(ProviderVersion::new(major, minor, patch));
        self
    }

    /// Whether it is true in this release; `None` if the release is not known and the releases do not agree.
    pub fn has(self, release: Option<ProviderVersion>) -> Option<bool> {
        match release {
            Some(release) => Some(
                self.since.is_none_or(|since| release >= since)
                    && self.until.is_none_or(|until| release < until),
            ),
            None => (self == Self::ALL).then_some(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_two_or_three_numbers() {
        assert_eq!("v1.14.1".parse(), Ok(ProviderVersion::new(1, 14, 1)));
        assert_eq!("1.9".parse(), Ok(ProviderVersion::new(1, 9, 0)));
        for wrong in ["", "1", "1.x", "1.2.3.4", "+1.9", "1.99999", "1."] {
            assert_eq!(wrong.parse::<ProviderVersion>(), Err(NoRelease), "{wrong}");
        }
    }

    #[test]
    fn without_a_release_only_what_is_true_in_all_is_certain() {
        let some = Releases {
            since: Some(ProviderVersion::new(1, 9, 0)),
            until: Some(ProviderVersion::new(1, 14, 0)),
        };
        let at = |minor, patch| some.has(Some(ProviderVersion::new(1, minor, patch)));
        assert_eq!(some.has(None), None);
        assert_eq!(Releases::ALL.has(None), Some(true));
        assert_eq!(
            [at(8, 9), at(9, 0), at(13, 9), at(14, 0)],
            [Some(false), Some(true), Some(true), Some(false)]
        );
    }
}
