//! What a provider says of one of its labels.

use super::{ProviderVersion, Releases};

/// The type of a label's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelValues {
    /// Words, none of them an integer.
    Text,
    /// Whole numbers, so that `Gt` and `Lt` make sense.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Anything, or not known.
    Any,
}

impl LabelValues {
    /// Whether none of the values is an integer.
    pub(crate) const fn are_words(self) -> bool {
        matches!(self, Self::Text | Self::Boolean)
    }
}

/// What the numbers of a label count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Mebibytes.
    MiB,
    /// Gigabytes.
    GB,
    /// Megabits per second.
    Mbps,
    /// Megahertz.
    MHz,
}

/// All values of a label that a requirement with `In` may have (`WellKnownValuesForRequirements`): without any of them a
/// `NodePool` is not ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedSet {
    /// The values, sorted.
    pub values: &'static [&'static str],
    /// The first release that checks them; `None` if all do.
    pub since: Option<ProviderVersion>,
}

/// A value of a label that took the place of an empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsteadOfEmpty {
    /// The value.
    pub value: &'static str,
    /// The first release whose machines have it.
    pub since: ProviderVersion,
    /// The first release that reads an empty value of a requirement as this one (`NormalizedLabelValues`).
    pub read_since: ProviderVersion,
}

/// A label of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label {
    /// Its domain and name.
    pub key: &'static str,
    /// The type of its values.
    pub values: LabelValues,
    /// In which releases instance types carry it.
    pub releases: Releases,
    /// In which releases every instance type carries it; `None` if in none.
    pub everywhere: Option<Releases>,
    /// Whether it is registered, and no instance type ever carries it.
    pub is_never_carried: bool,
    /// Whether some instance types carry it with an empty value.
    pub may_be_empty: bool,
    /// The value that took the place of an empty one.
    pub empty_is: Option<InsteadOfEmpty>,
    /// Whether others use it, too, so that it may stand in any pool.
    pub is_shared: bool,
    /// What its numbers count; `None` if pieces, or not known.
    pub unit: Option<Unit>,
    /// The smallest of its numbers, if that is known.
    pub smallest: Option<i64>,
    /// All values that instance types have, if they are few; nothing checks them.
    pub only: &'static [&'static str],
    /// The values that it may have, if the provider checks them.
    pub closed: Option<ClosedSet>,
    /// What rules know it by: `cpu` and `memory` for the amount that a machine has, `placement` for what tells machines in a
    /// zone, `zonal`, from those without one, `regional`.
    pub means: Option<&'static str>,
}

/// A row of the table: a label of all releases that only some instance types carry.
pub(super) const fn label(key: &'static str, values: LabelValues) -> Label {
    Label {
        key,
        values,
        releases: Releases::ALL,
        everywhere: None,
        is_never_carried: false,
        may_be_empty: false,
        empty_is: None,
        is_shared: false,
        unit: None,
        smallest: None,
        only: &[],
        closed: None,
        means: None,
    }
}

/// The columns of the table.
impl Label {
    pub(super) const fn since(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.releases = self.releases.since(major, minor, patch);
        self
    }

    pub(super) const fn until(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.releases = self.releases.until(major, minor, patch);
        self
    }

    pub(super) const fn everywhere(mut self) -> Self {
        self.everywhere = Some(Releases::ALL);
        self
    }

    pub(super) const fn everywhere_since(mut self, major: u16, minor: u16, patch: u16) -> Self {
        self.everywhere = Some(Releases::ALL.since(major, minor, patch));
        self
    }

    pub(super) const fn never_carried(mut self) -> Self {
        self.is_never_carried = true;
        self
    }

    pub(super) const fn may_be_empty(mut self) -> Self {
        self.may_be_empty = true;
        self
    }

    pub(super) const fn empty_is(
        mut self,
        value: &'static str,
        (major, minor, patch): (u16, u16, u16),
        read_since: (u16, u16, u16),
    ) -> Self {
        self.empty_is = Some(InsteadOfEmpty {
            value,
            since: ProviderVersion::new(major, minor, patch),
            read_since: ProviderVersion::new(read_since.0, read_since.1, read_since.2),
        });
        self
    }

    pub(super) const fn shared(mut self) -> Self {
        self.is_shared = true;
        self
    }

    pub(super) const fn unit(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    pub(super) const fn smallest(mut self, number: i64) -> Self {
        self.smallest = Some(number);
        self
    }

    pub(super) const fn means(mut self, what: &'static str) -> Self {
        self.means = Some(what);
        self
    }

    pub(super) const fn only(mut self, values: &'static [&'static str]) -> Self {
        self.only = values;
        self
    }

    pub(super) const fn closed(
        mut self,
        (major, minor, patch): (u16, u16, u16),
        values: &'static [&'static str],
    ) -> Self {
        self.closed = Some(ClosedSet {
            values,
            since: Some(ProviderVersion::new(major, minor, patch)),
        });
        self
    }
}
