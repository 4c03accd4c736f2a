//! Amounts of resources: what pods request, and what nodes can give.

use std::sync::Arc;

use crate::value::quantity::Quantity;

/// The resource that counts pods.
pub const PODS: &str = "pods";

/// Amounts by the name of the resource, in thousandths of its unit. A resource that is not named counts as 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resources(Vec<(Arc<str>, i64)>);

impl Resources {
    /// The amounts that a pod requests, rounded up. What cannot be read, or is below 0, counts as 0.
    pub fn asked<'t>(amounts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self::read(amounts, Quantity::thousandths_rounded_up)
    }

    /// The amounts that a node can give, rounded down. What cannot be read, or is below 0, counts as 0.
    pub fn given<'t>(amounts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        Self::read(amounts, Quantity::thousandths_rounded_down)
    }

    fn read<'t>(
        amounts: impl IntoIterator<Item = (&'t str, &'t str)>,
        thousandths: impl Fn(&Quantity) -> i64,
    ) -> Self {
        amounts
            .into_iter()
            .filter_map(|(name, text)| Some((Arc::from(name), thousandths(&Quantity::parse(text).ok()?))))
            .collect()
    }

    /// Room for this many pods.
    pub(crate) fn pods(count: i64) -> Self {
        Self(vec![(Arc::from(PODS), count.saturating_mul(1_000))])
    }

    /// How much of a resource there is, in thousandths.
    pub fn amount(&self, name: &str) -> i64 {
        self.position(name)
            .ok()
            .and_then(|at| self.0.get(at))
            .map_or(0, |(_, amount)| *amount)
    }

    /// Every resource that is named, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, i64)> {
        self.0.iter().map(|(name, amount)| (&**name, *amount))
    }

    /// Adds other amounts, as the requests of several containers are added.
    pub fn add(&mut self, other: &Self) {
        self.merge(other, i64::saturating_add);
    }

    /// Takes the larger of both amounts, as for init containers.
    pub fn raise(&mut self, other: &Self) {
        self.merge(other, i64::max);
    }

    /// Subtracts other amounts. The result may be below 0.
    pub(crate) fn take(&mut self, other: &Self) {
        self.merge(other, i64::saturating_sub);
    }

    /// True if all of them fit into what is left.
    pub(crate) fn fit_in(&self, left: &Self) -> bool {
        self.iter()
            .all(|(name, amount)| amount <= left.amount(name).max(0))
    }

    fn merge(&mut self, other: &Self, together: impl Fn(i64, i64) -> i64) {
        for (name, amount) in &other.0 {
            match self.position(name) {
                Ok(at) => {
                    if let Some((_, own)) = self.0.get_mut(at) {
                        *own = together(*own, *amount);
                    }
                }
                Err(at) => self.0.insert(at, (Arc::clone(name), together(0, *amount))),
            }
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(name))
    }
}

impl FromIterator<(Arc<str>, i64)> for Resources {
    /// From amounts in thousandths; several of one resource are added, those below 0 count as 0.
    fn from_iter<T: IntoIterator<Item = (Arc<str>, i64)>>(amounts: T) -> Self {
        let mut resources = Self::default();
        for (name, amount) in amounts {
            resources.add(&Self(vec![(name, amount.max(0))]));
        }
        resources
    }
}
