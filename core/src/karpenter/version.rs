//! Which Karpenter release the cluster runs, as far as a verdict depends on it.

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
    /// The oldest known release: the last one before 1.0, which serves `karpenter.sh/v1` already.
    pub const OLDEST: Self = Self::new(0, 37, 1);
    /// The newest known release. The rules were compared with the code of 1.15.0: the module of 1.15.1 cannot be
    /// downloaded everywhere, and its definitions are the same.
    pub const NEWEST: Self = Self::new(1, 15, 1);

    /// A release by its three numbers.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// Its line: the first two numbers.
    pub const fn line(self) -> (u16, u16) {
        (self.major, self.minor)
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

/// What changed for authors of NodePools, and in which release. The names say what is true from then on.
impl KarpenterVersion {
    /// `karpenter.sh/v1` is the storage version.
    pub const V1_STORED: Self = Self::new(1, 0, 0);
    /// A v1 NodePool without `spec.disruption` gets one with `consolidateAfter: 0s` from the definition.
    pub const DISRUPTION_DEFAULT: Self = Self::new(1, 0, 2);
    /// `karpenter.sh/v1beta1` is no longer served.
    pub const V1_ALONE: Self = Self::new(1, 1, 0);
    /// Group, kind and name of the node class form a label of every NodeClaim.
    pub(crate) const NODE_CLASS_LABELLED: Self = Self::new(1, 1, 0);
    /// Group, kind and name in `nodeClassRef` cannot be empty.
    pub const NODE_CLASS_NOT_EMPTY: Self = Self::new(1, 1, 0);
    /// Group and kind of `nodeClassRef` cannot change.
    pub const NODE_CLASS_FIXED: Self = Self::new(1, 1, 0);
    /// The patterns of `consolidateAfter` and `expireAfter` are anchored; before, anything could follow a duration
    /// or precede `Never`.
    pub const ANCHORED_DURATIONS: Self = Self::new(1, 4, 0);
    /// Capacity types in a requirement are compared with the known ones.
    pub(crate) const CAPACITY_TYPES_CHECKED: Self = Self::new(1, 5, 0);
    /// Its scheduler counts only the values that the pod allows, and lowers `minValues` to them under `BestEffort`.
    pub(crate) const MIN_VALUES_OF_PODS: Self = Self::new(1, 14, 3);
    /// Its setting `MIN_VALUES_POLICY`: whether it lowers `minValues` to the number of values that are left.
    pub(crate) const MIN_VALUES_POLICY: Self = Self::new(1, 6, 0);
    /// `spec.replicas`, the scale subresource and `status.nodes`.
    pub const STATIC_CAPACITY: Self = Self::new(1, 8, 0);
    /// Every NodeClaim requires the capacity types of its instance types.
    pub(crate) const CAPACITY_TYPES_REQUIRED: Self = Self::new(1, 8, 2);
    /// The requirement operators `Gte` and `Lte`.
    pub const GTE_LTE: Self = Self::new(1, 9, 0);
    /// A NodeClaim keeps both bounds on a label; before, only the lower one.
    pub(crate) const BOTH_BOUNDS: Self = Self::new(1, 9, 0);
    /// Labels under `kubernetes.io` and `k8s.io` may be set; before, only those on a list.
    pub const KUBERNETES_DOMAINS_FREE: Self = Self::new(1, 9, 0);
    /// `limits.nodes` is checked before a dynamic pool gets nodes.
    pub(crate) const NODE_LIMIT: Self = Self::new(1, 11, 0);
    /// A budget must not repeat a reason.
    pub const UNIQUE_REASONS: Self = Self::new(1, 13, 0);
    /// The consolidation policy `Balanced`.
    pub const BALANCED: Self = Self::new(1, 14, 0);
    /// The budget reason `Unhealthy`: repair of nodes is a disruption like others.
    pub const UNHEALTHY: Self = Self::new(1, 15, 0);
    /// The annotation `karpenter.sh/disruption-cost` of a pod outranks `controller.kubernetes.io/pod-deletion-cost`.
    pub(crate) const DISRUPTION_COST: Self = Self::new(1, 15, 0);
    /// The feature gate `TerminateFirstDrift`, for static pools at their limit.
    pub const TERMINATE_FIRST_DRIFT: Self = Self::new(1, 15, 0);
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
