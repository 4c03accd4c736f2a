//! What a label is to Karpenter: one that instance types carry, one that its domain forbids, or the user's own.

use std::collections::BTreeMap;

use super::labels::{WELL_KNOWN_LABELS, canonical_label, is_well_known};
use super::provider::{LabelValues, PROVIDERS, Provider, names_in};
use crate::diagnostic::nearest_within;
use crate::value::label::{domain_of, is_within, split_key};

/// How many typos are allowed between the written label and the intended one. With three, it may as well be a label
/// that a newer provider added.
const MOST_SLIPS: usize = 2;

/// The labels that Karpenter and its provider know: the built-in lists, and what an organisation adds for its own
/// provider.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelSets {
    well_known: BTreeMap<String, LabelValues>,
    restricted_domains: Vec<String>,
}

/// What a label is to Karpenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelKind {
    /// Instance types carry it, so a requirement selects among them.
    WellKnown(LabelValues),
    /// It is in a domain in which the provider rejects every label that it does not know.
    Unknown {
        /// The label that was probably intended.
        likely: Option<String>,
    },
    /// It belongs to another provider than the pool's.
    Foreign(&'static Provider),
    /// It is in the domain of a provider that poolgate has no list for: it may be anything.
    Unlisted,
    /// The user's own: Karpenter writes it on the nodes.
    Custom,
}

impl LabelKind {
    /// The label that was probably intended, if this one is unknown.
    pub(crate) fn likely(&self) -> Option<&str> {
        match self {
            Self::Unknown { likely } => likely.as_deref(),
            _ => None,
        }
    }

    /// Whether it is certain that instance types carry the label.
    pub(crate) const fn is_well_known(&self) -> bool {
        matches!(self, Self::WellKnown(_))
    }

    /// Whether it is certain that no instance type has the label.
    pub(crate) const fn is_custom(&self) -> bool {
        matches!(self, Self::Custom | Self::Foreign(_))
    }
}

impl LabelSets {
    /// The built-in lists alone.
    #[cfg(test)]
    pub(crate) const BUILT_IN: &'static Self = &Self {
        well_known: BTreeMap::new(),
        restricted_domains: Vec::new(),
    };

    /// The built-in lists plus labels that the instance types of another provider carry, and domains in which that
    /// provider rejects all other labels.
    pub fn with(
        well_known: impl IntoIterator<Item = (String, LabelValues)>,
        restricted_domains: impl IntoIterator<Item = String>,
    ) -> Self {
        Self {
            well_known: well_known.into_iter().collect(),
            restricted_domains: restricted_domains.into_iter().collect(),
        }
    }

    /// The labels that the organisation adds to those of its provider.
    pub fn added(&self) -> impl Iterator<Item = &str> {
        self.well_known.keys().map(String::as_str)
    }

    /// Whether the organisation adds a label to those of its provider.
    pub(crate) fn adds(&self, key: &str) -> bool {
        self.well_known.contains_key(key)
    }

    /// What a label is to a pool whose node class has this API group.
    // karpenter: pkg/apis/v1/labels.go IsRestrictedLabel
    // karpenter: pkg/apis/v1/labels.go WellKnownLabels
    pub(crate) fn kind_of(&self, key: &str, group: Option<&str>) -> LabelKind {
        let own = group.and_then(Provider::of_group);
        let key = canonical_label(key, own);
        if is_well_known(key) {
            return LabelKind::WellKnown(LabelValues::Text);
        }
        if let Some(values) = self.well_known.get(key) {
            return LabelKind::WellKnown(*values);
        }
        let domain = domain_of(key);
        if let Some(label) = own.and_then(|provider| provider.accepted_label(key)) {
            return LabelKind::WellKnown(label.values);
        }
        if self
            .restricted_domains
            .iter()
            .any(|parent| is_within(domain, parent))
        {
            let likely = closest(key, |domain| {
                names_in(domain, self.well_known.keys().map(String::as_str))
            });
            return LabelKind::Unknown { likely };
        }
        if let Some(kind) = kind_by_provider((domain, key), group, own) {
            return kind;
        }
        // A provider may register labels of any domain.
        if group.is_some() && own.is_none_or(|own| own.has_namesake) {
            return LabelKind::Unlisted;
        }
        let is_providers = match group {
            Some(group) => is_within(domain, group) || is_within(group, domain),
            None => domain.contains("karpenter"),
        };
        if is_providers {
            LabelKind::Unlisted
        } else {
            LabelKind::Custom
        }
    }
}

fn kind_by_provider(
    (domain, key): (&str, &str),
    group: Option<&str>,
    own: Option<&'static Provider>,
) -> Option<LabelKind> {
    let mut providers = PROVIDERS.iter();
    let Some(owner) = providers.clone().find(|provider| provider.is_owner(key, domain)) else {
        let namer = providers.find(|provider| provider.aliased(key).is_some())?;
        // Without data on the pool's provider, it may be another name to that one, too.
        let is_foreign = own.is_some_and(|own| own.aliased(key).is_none());
        return Some(if is_foreign {
            LabelKind::Foreign(namer)
        } else {
            LabelKind::Unlisted
        });
    };
    match (own, group) {
        (Some(own), _) if own.group != owner.group => Some(LabelKind::Foreign(owner)),
        (None, Some(_)) => Some(LabelKind::Unlisted),
        _ => Some(match owner.accepted_label(key) {
            Some(label) => LabelKind::WellKnown(label.values),
            None if owner.is_closed => LabelKind::Unknown {
                likely: likely_in(key, owner),
            },
            None => LabelKind::Unlisted,
        }),
    }
}

/// The label that was probably intended by one in the provider's domain: a label of Karpenter or Kubernetes with
/// this name, or one of the provider with almost this name.
fn likely_in(key: &str, provider: &Provider) -> Option<String> {
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    let elsewhere = WELL_KNOWN_LABELS
        .iter()
        .find(|label| label.split_once('/').is_some_and(|(_, known)| known == name));
    elsewhere
        .map(|label| (*label).to_owned())
        .or_else(|| closest(key, |domain| provider.names_in(domain)))
}

/// The well-known label of Kubernetes, Karpenter or this provider that was probably intended by a key.
pub(crate) fn likely_label(key: &str, provider: Option<&Provider>) -> Option<String> {
    let well_known = |domain| names_in(domain, WELL_KNOWN_LABELS.iter().copied());
    let aliased = || PROVIDERS.iter().find_map(|other| other.aliased(key));
    closest(key, well_known)
        .or_else(|| aliased().map(str::to_owned))
        .or_else(|| {
            let name = split_key(key).map_or(key, |(_, name)| name);
            let mut labels = provider?.labels.iter();
            let named = labels.find(|label| split_key(label.key).is_some_and(|(_, known)| known == name))?;
            Some(named.key.to_owned())
        })
}

/// The label at most a few typos away from the written one, of those that have these names in its domain.
fn closest<'a, Names>(written: &'a str, names_in: impl FnOnce(&'a str) -> Names) -> Option<String>
where
    Names: Iterator<Item = &'a str>,
{
    let (domain, name) = split_key(written)?;
    let known = nearest_within(MOST_SLIPS, name, names_in(domain))?;
    Some(format!("{domain}/{known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AWS: Option<&str> = Some("karpenter.k8s.aws");

    fn kind(key: &str, group: Option<&str>) -> LabelKind {
        LabelSets::BUILT_IN.kind_of(key, group)
    }

    fn unknown(likely: Option<&str>) -> LabelKind {
        LabelKind::Unknown {
            likely: likely.map(str::to_owned),
        }
    }

    #[test]
    fn labels_of_karpenter_and_the_pools_provider_are_well_known() {
        let text = LabelKind::WellKnown(LabelValues::Text);
        assert_eq!(kind("kubernetes.io/arch", None), text);
        assert_eq!(kind("beta.kubernetes.io/arch", AWS), text);
        assert_eq!(kind("karpenter.k8s.aws/instance-family", AWS), text);
        assert_eq!(kind("topology.k8s.aws/zone-id", AWS), text);
        assert_eq!(
            kind("karpenter.azure.com/sku-cpu", None),
            LabelKind::WellKnown(LabelValues::Number)
        );
    }

    #[test]
    fn a_misspelt_label_of_the_provider_gets_its_likely_name() {
        for (written, meant) in [
            (
                "karpenter.k8s.aws/instance-famly",
                Some("karpenter.k8s.aws/instance-family"),
            ),
            (
                "karpenter.k8s.aws/capacity-type",
                Some("karpenter.sh/capacity-type"),
            ),
            (
                "karpenter.k8s.aws/instance-type",
                Some("node.kubernetes.io/instance-type"),
            ),
            ("karpenter.k8s.aws/instance-chipset", None),
            // Only old releases of the provider have it.
            ("karpenter.k8s.aws/instance-pods", None),
        ] {
            assert_eq!(kind(written, AWS), unknown(meant), "{written}");
        }
    }

    #[test]
    fn a_label_of_another_provider_is_foreign_and_one_of_an_unlisted_provider_anything() {
        assert!(matches!(
            kind("karpenter.k8s.aws/instance-family", Some("eks.amazonaws.com")),
            LabelKind::Foreign(provider) if provider.name == "AWS"
        ));
        assert_eq!(
            kind("karpenter.k8s.tke/instance-family", Some("karpenter.k8s.tke")),
            LabelKind::Unlisted
        );
        assert_eq!(
            kind("karpenter.k8s.aws/instance-family", Some("karpenter.example.com")),
            LabelKind::Unlisted
        );
        assert_eq!(kind("example.com/team", AWS), LabelKind::Custom);
        assert_eq!(kind("team", None), LabelKind::Custom);
    }

    #[test]
    fn an_organisation_can_add_labels_and_domains() {
        let sets = LabelSets::with(
            [("machines.example.com/cores".to_owned(), LabelValues::Number)],
            ["machines.example.com".to_owned()],
        );
        assert_eq!(
            sets.kind_of("machines.example.com/cores", None),
            LabelKind::WellKnown(LabelValues::Number)
        );
        assert_eq!(
            sets.kind_of("machines.example.com/corse", None),
            unknown(Some("machines.example.com/cores"))
        );
    }

    #[test]
    fn a_well_known_label_is_guessed_from_a_slip_or_from_the_wrong_domain() {
        assert_eq!(
            likely_label("topology.kubernetes.io/zones", None).as_deref(),
            Some("topology.kubernetes.io/zone")
        );
        assert_eq!(
            likely_label(
                "karpenter.sh/instance-family",
                Provider::of_group("karpenter.k8s.aws")
            )
            .as_deref(),
            Some("karpenter.k8s.aws/instance-family")
        );
        assert_eq!(likely_label("example.com/zone", None), None);
        assert_eq!(
            likely_label(&format!("kubernetes.io/{}", "a".repeat(1_000_000)), None),
            None
        );
    }

    #[test]
    fn a_provider_without_a_list_is_not_judged() {
        for (key, group) in [
            ("topology.k8s.gcp/zone-id", "karpenter.k8s.tke"),
            ("cloud.google.com/gke-accelerator", "karpenter.example.com"),
            ("topology.k8s.alicloud/zone-id", "karpenter.k8s.alicloud"),
            ("karpenter.k8s.tke/instance-cpu", "karpenter.k8s.tke"),
            ("karpenter.hetzner.cloud/location", "karpenter.hetzner.cloud"),
            ("hetzner.example.com/rack", "karpenter.hetzner.cloud"),
            ("example.com/team", "karpenter.example.com"),
        ] {
            assert_eq!(kind(key, Some(group)), LabelKind::Unlisted, "{key}");
        }
    }

    #[test]
    fn labels_that_a_provider_has_in_other_domains_are_well_known_to_its_pools() {
        for (key, group) in [
            ("topology.k8s.gcp/zone-id", "karpenter.k8s.gcp"),
            ("cloud.google.com/gke-accelerator", "karpenter.k8s.gcp"),
            ("topology.k8s.alicloud/zone-id", "karpenter.k8s.alibabacloud"),
            ("karpenter.azure.com/sku-storage-ultra-ssd", "karpenter.azure.com"),
        ] {
            assert!(kind(key, Some(group)).is_well_known(), "{key}");
        }
    }

    #[test]
    fn a_label_that_many_use_is_no_foreign_one_because_one_provider_knows_it() {
        for key in ["projectcalico.org/ds-ready", "cloud.google.com/gke-accelerator"] {
            assert!(kind(key, Some("karpenter.k8s.gcp")).is_well_known(), "{key}");
            assert_eq!(kind(key, AWS), LabelKind::Custom, "{key}");
        }
        let zone_id = kind("topology.k8s.gcp/zone-id", AWS);
        assert!(matches!(zone_id, LabelKind::Foreign(owner) if owner.name == "Google Cloud"));
    }

    #[test]
    fn the_name_that_a_providers_volumes_have_for_the_zone_is_the_zone_to_its_pools_alone() {
        let zone = LabelKind::WellKnown(LabelValues::Text);
        for (key, owner, group) in [
            ("topology.ebs.csi.aws.com/zone", "AWS", "karpenter.k8s.aws"),
            ("topology.disk.csi.azure.com/zone", "Azure", "karpenter.azure.com"),
            ("topology.gke.io/zone", "Google Cloud", "karpenter.k8s.gcp"),
            (
                "topology.diskplugin.csi.alibabacloud.com/zone",
                "Alibaba Cloud",
                "karpenter.k8s.alibabacloud",
            ),
            ("csi.hetzner.cloud/location", "Hetzner", "karpenter.hetzner.cloud"),
        ] {
            // Two providers have Hetzner's group, and only one of them is known to register the name.
            let own = if owner == "Hetzner" {
                &LabelKind::Unlisted
            } else {
                &zone
            };
            assert_eq!(kind(key, Some(group)), *own, "{key}");
            for other in ["karpenter.k8s.aws", "karpenter.azure.com", "karpenter.kwok.sh"] {
                let kind = kind(key, Some(other));
                assert!(
                    other == group || matches!(kind, LabelKind::Foreign(of) if of.name == owner),
                    "{key} in {other}: {kind:?}"
                );
            }
            for unknown in [None, Some("karpenter.example.com")] {
                assert_eq!(kind(key, unknown), LabelKind::Unlisted, "{key}");
            }
        }
        let auto_mode = kind("topology.ebs.csi.aws.com/zone", Some("eks.amazonaws.com"));
        assert_eq!(auto_mode, zone, "its machines and volumes are those of AWS");
    }

    #[test]
    fn a_domain_that_a_policy_restricts_keeps_the_labels_of_the_pools_provider() {
        let sets = LabelSets::with([], ["karpenter.k8s.aws".to_owned()]);
        let known = sets.kind_of("karpenter.k8s.aws/instance-family", AWS);
        assert_eq!(known, LabelKind::WellKnown(LabelValues::Text));
        assert!(matches!(
            sets.kind_of("karpenter.k8s.aws/team", AWS),
            LabelKind::Unknown { .. }
        ));
    }
}
