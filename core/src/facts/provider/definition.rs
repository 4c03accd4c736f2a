//! What a provider adds to Karpenter's definition of NodePools: rules about labels, in `karpenter.sh/v1`.

use super::{ProviderVersion, Releases};
use crate::value::label::split_key;

/// What a definition says of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ruling<'a> {
    /// Nothing, or its releases differ.
    None,
    /// It takes the label by name.
    Listed,
    /// It takes other labels of the domain.
    Unlisted {
        /// The end of the domains in which it takes only listed labels.
        domain: &'a str,
        /// In which releases it lists the label; `None` if in none.
        listed: Option<Releases>,
    },
    /// It takes any label but this one, and perhaps others.
    Forbidden,
    /// It does not take the label from this release on, and it is not known which release runs.
    Since(ProviderVersion),
}

/// The rules about labels that a provider adds to the definition of NodePools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// The domains in which it takes only listed labels.
    pub closed: &'static [ClosedDomain],
    /// The labels that it never takes.
    pub forbidden: &'static [(&'static str, Releases)],
}

/// A domain in which a definition takes only listed labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosedDomain {
    /// The end of all domains that are closed.
    pub domain: &'static str,
    /// In which releases it is closed.
    pub releases: Releases,
    /// The labels on its list.
    pub labels: &'static [(&'static str, Releases)],
}

impl Definition {
    /// No rules.
    pub(super) const NONE: Self = Self {
        closed: &[],
        forbidden: &[],
    };

    /// What it says of a label in this release; without one, what every release says.
    pub(crate) fn rule_on(&self, key: &str, release: Option<ProviderVersion>) -> Ruling<'static> {
        let forbidden = self.forbidden.iter().find(|(label, _)| *label == key);
        if let Some((_, releases)) = forbidden {
            match releases.has(release) {
                Some(true) => return Ruling::Forbidden,
                Some(false) => {}
                None => return since(*releases),
            }
        }
        let mut ruling = Ruling::None;
        for closed in self
            .closed
            .iter()
            .filter(|closed| domain_ends_in(key, closed.domain))
        {
            match closed.rule_on(key, release) {
                listed @ (Ruling::Listed | Ruling::None) => ruling = listed,
                rejected => return rejected,
            }
        }
        ruling
    }

    /// Whether the list of some release has a label.
    pub(crate) fn lists(&self, key: &str) -> bool {
        let mut closed = self.closed.iter();
        closed.any(|closed| closed.listed(key).is_some())
    }
}

impl ClosedDomain {
    fn listed(&self, key: &str) -> Option<Releases> {
        let (_, releases) = self.labels.iter().find(|(label, _)| *label == key)?;
        Some(*releases)
    }

    fn rule_on(&self, key: &str, release: Option<ProviderVersion>) -> Ruling<'static> {
        let unlisted = |listed| Ruling::Unlisted {
            domain: self.domain,
            listed,
        };
        let listed = self.listed(key);
        match (
            self.releases.has(release),
            listed,
            listed.map(|releases| releases.has(release)),
        ) {
            (Some(false), ..) => Ruling::None,
            (_, _, Some(Some(true))) => Ruling::Listed,
            (Some(true), None, _) => unlisted(None),
            (Some(true), Some(releases), Some(Some(false))) => unlisted(Some(releases)),
            // Releases differ. If the newest ones reject it, all that follow will.
            (None, None, _) => since(self.releases),
            (
                _,
                Some(Releases {
                    until: Some(first), ..
                }),
                _,
            ) => Ruling::Since(first),
            _ => Ruling::None,
        }
    }
}

/// The ruling if only these releases reject a label, and it is not known which one runs.
fn since(rejecting: Releases) -> Ruling<'static> {
    match rejecting {
        Releases {
            since: Some(first),
            until: None,
        } => Ruling::Since(first),
        _ => Ruling::None,
    }
}

/// Whether what stands before the slash ends in a domain; a key without a slash counts as a domain. That is how these rules
/// compare, so that `mykarpenter.sh` ends in `karpenter.sh`.
pub fn domain_ends_in(key: &str, end: &str) -> bool {
    let domain = split_key(key).map_or(key, |(domain, _)| domain);
    domain.ends_with(end)
}
