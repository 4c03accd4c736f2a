//! What poolgate knows of the providers of machines: their labels, closed sets of values, instance types, node classes, and
//! what their users can set. `core/providers` has it as data, each fact with its source; a provider that is not there
//! is not judged.

mod definition;
mod kind;
mod label;
mod names;
mod node_classes;
mod release;
mod settings;
mod zone_form;
// Laid out by its generator: one label is one line.
#[rustfmt::skip]
mod tables;

pub use definition::{ClosedDomain, Definition};
pub(crate) use definition::{Ruling, domain_ends_in};
pub use kind::NodeClassKind;
pub use label::{ClosedSet, Label, LabelValues, Unit};
pub(crate) use names::{Cut, Known, Named, Naming, Part};
pub use node_classes::NodeClassDefinition;
pub use release::{NoRelease, ProviderVersion, Releases};
pub use settings::ProviderSettings;
pub use tables::PROVIDER_IDS;
pub(crate) use tables::{NODE_CLASSES, PROVIDERS};
pub use zone_form::ZoneForm;

use super::KarpenterVersion;
use crate::value::label::{domain_of, is_within};

/// The instance types of a cloud.
#[derive(Debug, PartialEq, Eq)]
pub struct InstanceTypes {
    /// The cloud, as messages call it, such as `AWS`.
    pub of: &'static str,
    /// The day on which the newest list of them was made, such as `2026-08-24`.
    pub date: &'static str,
    /// The names of all of them, sorted.
    pub types: &'static [&'static str],
}

/// A provider of machines.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// The word by which a policy calls it, such as `aws`.
    pub id: &'static str,
    /// The name by which messages call it, such as `AWS`.
    pub name: &'static str,
    /// The API group of its node class, which is the domain of its labels.
    pub group: &'static str,
    /// Whether it rejects every label of its domain that it does not know.
    pub is_closed: bool,
    /// Whether another provider has the same group and kind of node class, so an unlisted label may belong to the other
    /// provider.
    pub has_namesake: bool,
    /// Its labels in any domain, and those of Kubernetes about which it says more, sorted by key.
    pub labels: &'static [Label],
    /// Other names of labels, such as those that its volumes have for the zone, with the names that its Karpenter uses
    /// instead (`NormalizedLabels`).
    pub aliases: &'static [(&'static str, &'static str)],
    /// Other domains that have only labels of this provider.
    pub domains: &'static [&'static str],
    /// The group of the provider whose machines and names for them it has, too.
    pub machines_of: Option<&'static str>,
    /// Whether its Karpenter adds the taint `karpenter.sh/unregistered` to every node itself.
    pub adds_unregistered_taint: bool,
    /// How it writes zones; `None` if that is not known.
    pub zones: Option<ZoneForm>,
    /// What its users can set, and its own defaults.
    pub settings: ProviderSettings,
    /// The rules about labels in its definition of NodePools.
    pub definition: Definition,
    /// Its newest release that was read; `None` if its releases are not known.
    pub newest: Option<ProviderVersion>,
    /// From which release on it contains which release of Karpenter, oldest first. Of those that are older than all known
    /// ones, the first of each line stands for the line.
    pub core: &'static [(ProviderVersion, KarpenterVersion)],
    /// Its instance types; `None` if no list is known.
    pub instance_types: Option<&'static InstanceTypes>,
}

impl Provider {
    /// The provider whose node class has this group; `None` if there is no data on it.
    pub fn of_group(group: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.group == group)
    }

    /// The provider that a policy calls by this word.
    pub fn of_id(id: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.id == id)
    }

    /// The name that this provider's Karpenter certainly uses for a label instead of this one; `None` if it may keep this
    /// one.
    pub(crate) fn normalized(&self, key: &str) -> Option<&'static str> {
        // Its namesake may register other names.
        self.aliased(key).filter(|_| !self.has_namesake)
    }

    /// The label that has this other name; `None` if none has.
    pub(crate) fn aliased(&self, key: &str) -> Option<&'static str> {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == key);
        alias.map(|(_, label)| *label)
    }

    /// Its newest release that was read, if this one is newer.
    pub(crate) fn newest_before(&self, release: ProviderVersion) -> Option<ProviderVersion> {
        self.newest.filter(|newest| *newest < release)
    }

    /// The release of Karpenter that this release contains; `None` if it is of a newer line than those that were read.
    pub fn core_of(&self, release: ProviderVersion) -> Option<KarpenterVersion> {
        if self.newest?.line() < release.line() {
            return None;
        }
        let (_, core) = self.core.iter().rev().find(|(first, _)| *first <= release)?;
        Some(*core)
    }

    /// Whether a label's domain is the provider's, or a subdomain of it.
    pub fn owns(&self, domain: &str) -> bool {
        is_within(domain, self.group)
    }

    /// Whether a label in this domain is the provider's alone, if it has such a label.
    pub(crate) fn is_owner(&self, key: &str, domain: &str) -> bool {
        self.owns(domain)
            || self.domains.contains(&domain) && self.label(key).is_some_and(|label| !label.is_shared)
    }

    /// What the provider says of a label, by its current name; `None` if nothing.
    pub fn label(&self, key: &str) -> Option<&'static Label> {
        // Most keys differ in length, which is faster to see than their order.
        self.labels.iter().find(|label| label.key == key)
    }

    /// Whether it is certain that every instance type of this provider carries the label. Without a release: in all
    /// releases that accept the label.
    pub(crate) fn has_everywhere(&self, key: &str, release: Option<ProviderVersion>) -> bool {
        let Some(label) = self.label(key) else {
            return false;
        };
        let Some(everywhere) = label.everywhere else {
            return false;
        };
        // Where the domain is closed, a release that does not know the label rejects it.
        let is_as_old = everywhere == label.releases && self.is_closed && self.owns(domain_of(key));
        everywhere.has(release).unwrap_or(is_as_old)
    }

    /// Whether the definition of some release lists a label of the provider's domain that no release registers: the API server
    /// takes it, and Karpenter then rejects it.
    pub(crate) fn lists_unregistered(&self, key: &str) -> bool {
        self.is_closed && self.owns(domain_of(key)) && self.definition.lists(key) && self.label(key).is_none()
    }

    /// A label that the newest release accepts. Where the domain is open, those of older ones are accepted, too.
    pub(crate) fn accepted_label(&self, key: &str) -> Option<&'static Label> {
        let label = self.label(key)?;
        let is_gone = label.releases.until.is_some() && self.is_closed && self.owns(domain_of(key));
        (!is_gone).then_some(label)
    }

    /// The names of the labels of its newest release in this domain.
    pub(crate) fn names_in<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = &'a str> {
        let labels = self.labels.iter();
        let present = labels.filter(|label| label.releases.until.is_none());
        names_in(domain, present.map(|label| label.key))
    }
}

/// The names of those of these labels that are in this domain, without the domain.
pub fn names_in<'a>(domain: &'a str, labels: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    // Looking for the slash first spares nearly every comparison of the domain.
    let has_slash = move |label: &&str| label.as_bytes().get(domain.len()) == Some(&b'/');
    let labels = labels.filter(has_slash);
    labels.filter_map(move |label| label.strip_prefix(domain)?.strip_prefix('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_contains_the_karpenter_that_its_module_requires() {
        let contained = |id: &str, release: &str| {
            let provider = Provider::of_id(id).expect("has data");
            let core = provider.core_of(release.parse().expect("a release"))?;
            Some(core.to_string())
        };
        for (id, release, core) in [
            ("gcp", "0.5.0", Some("1.13.0")),
            ("gcp", "0.5.1", Some("1.13.0")),
            ("gcp", "0.6.0", None),
            ("aws", "1.8.5", Some("1.8.2")),
            ("aws", "1.5.0", Some("1.5.0")),
            ("aws", "1.15.9", Some("1.15.1")),
            ("aws", "1.16.0", None),
            ("aws", "0.36.5", Some("0.36.0")),
            ("aws", "0.31.0", None),
            ("azure", "1.12.1", Some("1.12.0")),
            ("kwok", "1.14.0", None),
            ("hetzner", "2.0.0", None),
        ] {
            assert_eq!(contained(id, release).as_deref(), core, "{id} {release}");
        }
    }

    #[test]
    fn a_label_is_certain_on_every_type_only_if_all_releases_that_accept_it_agree() {
        let certain = |group: &str, key: &str, release| {
            let provider = Provider::of_group(group).expect("has data");
            provider.has_everywhere(key, release)
        };
        let flex = "karpenter.k8s.aws/instance-capability-flex";
        let accelerated = "karpenter.azure.com/sku-networking-accelerated";
        let mode = "kubernetes.azure.com/mode";
        assert!(
            certain("karpenter.k8s.aws", flex, None),
            "older releases reject it"
        );
        assert!(!certain(
            "karpenter.k8s.aws",
            flex,
            Some(ProviderVersion::new(1, 6, 8))
        ));
        assert!(
            !certain("karpenter.azure.com", accelerated, None),
            "1.4 accepts it"
        );
        assert!(certain(
            "karpenter.azure.com",
            accelerated,
            Some(ProviderVersion::new(1, 5, 0))
        ));
        assert!(!certain("karpenter.azure.com", mode, None), "the domain is open");
        assert!(!certain(
            "karpenter.k8s.aws",
            "karpenter.k8s.aws/instance-gpu-count",
            None
        ));
        assert!(!certain("karpenter.k8s.aws", "example.com/team", None));
    }
}
