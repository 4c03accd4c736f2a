//! What the definition of NodePools says of labels: the installed one, or those that the pool's provider has published.

use super::installed::LabelRules as InstalledRules;
use super::provider::{Provider, ProviderVersion, Ruling};

/// The rules about labels of the definition that a NodePool is checked by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LabelRules<'a> {
    /// The definition that is installed.
    Installed(&'a InstalledRules),
    /// What the pool's provider has published, in this release or in all.
    Published(&'static Provider, Option<ProviderVersion>),
    /// Nothing is known.
    Unknown,
}

impl<'a> LabelRules<'a> {
    /// What they say of a label.
    pub(crate) fn rule_on(&self, key: &str) -> Ruling<'a> {
        match self {
            Self::Installed(rules) => rules.rule_on(key),
            Self::Published(provider, release) => provider.definition.rule_on(key, *release),
            Self::Unknown => Ruling::None,
        }
    }
}
