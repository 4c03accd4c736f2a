//! Which Karpenter the cluster runs, as far as a verdict depends on it.

use std::fmt;
use std::str::FromStr;

/// A release of Karpenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    major: u16,
    minor: u16,
    patch: u16,
}

/// A text that names no release of Karpenter which poolgate could know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no Karpenter release: write it as 1.14 or 1.14.1; the oldest one with NodePools is 0.32")]
pub struct UnknownRelease(String);

impl Release {
    /// The first release with NodePools.
    pub const OLDEST: Self = Self::new(0, 32, 0);
    /// The newest release that the rules were checked against.
    pub const NEWEST: Self = Self::new(1, 14, 1);

    /// A release by its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// How many requirements a NodePool or NodeClaim may have: 30 at first, 100 since the last 0.37 releases.
    pub fn max_requirements(self) -> usize {
        if self >= Self::new(0, 37, 7) { 100 } else { 30 }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownRelease(text.to_owned());
        let number = |part: Option<&str>| part.map(str::parse::<u16>).transpose().map_err(|_| unknown());
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        let major = number(parts.next())?.ok_or_else(unknown)?;
        let minor = number(parts.next())?.ok_or_else(unknown)?;
        let patch = number(parts.next())?.unwrap_or(0);
        let release = Self::new(major, minor, patch);
        if parts.next().is_some() || release < Self::OLDEST {
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
        assert_eq!("v1.14.1".parse(), Ok(Release::new(1, 14, 1)));
        assert_eq!("1.9".parse(), Ok(Release::new(1, 9, 0)));
        for wrong in ["", "v", "1", "1.x", "1.2.3.4", "0.31.9", "-1.2", "1.99999"] {
            assert!(wrong.parse::<Release>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn releases_are_ordered_by_number_not_by_text() {
        assert!(Release::new(1, 9, 0) < Release::new(1, 14, 0));
    }
}
