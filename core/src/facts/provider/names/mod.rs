//! What providers cut out of the names of their instance types and give them as labels: each function is the provider's
//! own, in Rust. Where its source is not known, nothing is cut.

mod aws;
mod gcp;

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::OnceLock;

use super::{Provider, ProviderVersion};
use crate::facts::INSTANCE_TYPE_LABEL;

/// A part of an instance type's name that the provider makes a label of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Name,
    /// Such as `m` of `m5.large`.
    Category,
    /// Such as `m5` of `m5.large`.
    Family,
    /// Such as `5` of `m5.large`.
    Generation,
    /// Such as `large` of `m5.large`.
    Size,
    /// Whether it may use less than all of its CPUs: `true` of `m7i-flex.large`.
    Flex,
    /// Such as `standard` of `n2-standard-4`.
    Shape,
}

/// What is known of an instance type: its name or, if not even that, its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'n> {
    /// A name, such as `m5.large`.
    Type(&'n str),
    /// The family of any number of types, such as `m5`.
    Family(&'n str),
}

/// The value that a provider gives the label of a part; `None` if it gives none, or what is known does not show it.
pub type Cut = for<'n> fn(Named<'n>, Part) -> Option<Cow<'n, str>>;

/// How a provider derives labels from the names of its instance types.
#[derive(Debug)]
pub struct Naming {
    /// The labels in the domain of the provider.
    labels: &'static [(&'static str, Part)],
    /// Its function; first that of the newest release, then those of older ones that differ.
    cuts: &'static [Cut],
    /// The first release whose families have no hyphen, and the title of a finding on a hyphen.
    pub without_hyphens: Option<(ProviderVersion, &'static str)>,
    /// The values of [`LISTED`] that its instance types have.
    known: [OnceLock<Known>; LISTED.len()],
}

/// The values of a part. No client chooses them, so the hash needs no secret.
pub type Known = HashSet<&'static str, BuildHasherDefault<DefaultHasher>>;

/// The parts whose values all appear in a list of instance types. Generations are left out: an unknown one is more likely new
/// than mistyped.
const LISTED: [Part; 4] = [Part::Name, Part::Category, Part::Family, Part::Size];

static AWS: Naming = Naming::new(aws::LABELS, &[aws::cut]);
static EKS_AUTO_MODE: Naming = Naming::new(aws::DOCUMENTED_LABELS, &[aws::cut]);
static GOOGLE_CLOUD: Naming = Naming::new(gcp::LABELS, &[gcp::cut, gcp::cut_before_0_2])
    .without_hyphens_since(
        ProviderVersion::new(0, 2, 0),
        "a family has no hyphen in release 0.2.0 and newer",
    );

impl Naming {
    const fn new(labels: &'static [(&'static str, Part)], cuts: &'static [Cut]) -> Self {
        Self {
            labels,
            cuts,
            without_hyphens: None,
            known: [const { OnceLock::new() }; LISTED.len()],
        }
    }

    const fn without_hyphens_since(mut self, since: ProviderVersion, why: &'static str) -> Self {
        self.without_hyphens = Some((since, why));
        self
    }

    /// That of a provider; `None` if its source is not known. The groups stand here and not in the data, because a function is
    /// no data.
    pub fn of(provider: &Provider) -> Option<&'static Self> {
        Some(match provider.group {
            "karpenter.k8s.aws" => &AWS,
            "eks.amazonaws.com" => &EKS_AUTO_MODE,
            "karpenter.k8s.gcp" => &GOOGLE_CLOUD,
            _ => return None,
        })
    }

    /// The part of which a label of the provider is made, by the label's current name.
    pub fn part(&self, key: &str, provider: &Provider) -> Option<Part> {
        if key == INSTANCE_TYPE_LABEL {
            return Some(Part::Name);
        }
        let name = key.strip_prefix(provider.group)?.strip_prefix('/')?;
        let label = self.labels.iter().find(|(label, _)| *label == name);
        label.map(|(_, part)| *part)
    }

    /// The value that each release of the provider gives the label of a part, by its own function; the newest comes first.
    pub const fn cuts(&self) -> &'static [Cut] {
        self.cuts
    }

    /// All values of a part that the provider's instance types have; `None` if there is no list of them.
    pub fn known(&'static self, part: Part, provider: &'static Provider) -> Option<&'static Known> {
        let types = provider.instance_types?.types;
        let at = LISTED.iter().position(|listed| *listed == part)?;
        let cut = self.cuts.first()?;
        Some(self.known.get(at)?.get_or_init(|| {
            let values = types.iter().map(|name| match part {
                Part::Name => Some(Cow::Borrowed(*name)),
                _ => cut(Named::Type(name), part),
            });
            values.filter_map(borrowed).collect()
        }))
    }
}

/// A value that is a part of a name as it is.
fn borrowed(value: Option<Cow<'static, str>>) -> Option<&'static str> {
    match value? {
        Cow::Borrowed(value) => Some(value),
        Cow::Owned(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_that_is_cut_is_one_of_the_provider() {
        for group in ["karpenter.k8s.aws", "eks.amazonaws.com", "karpenter.k8s.gcp"] {
            let provider = Provider::of_group(group).expect("has data");
            let naming = Naming::of(provider).expect("its source is known");
            for (label, part) in naming.labels {
                let key = format!("{group}/{label}");
                assert!(provider.label(&key).is_some(), "{key}");
                assert_eq!(naming.part(&key, provider), Some(*part), "{key}");
            }
            assert_eq!(naming.part(INSTANCE_TYPE_LABEL, provider), Some(Part::Name));
            assert_eq!(naming.part("example.com/instance-family", provider), None);
        }
    }

    #[test]
    fn what_a_list_of_instance_types_shows_is_known() {
        let aws = Provider::of_group("karpenter.k8s.aws").expect("has data");
        let has = |part, value| AWS.known(part, aws).expect("has a list").contains(value);
        for (part, value) in [
            (Part::Name, "m5.large"),
            (Part::Family, "u7i-12tb"),
            (Part::Family, "trn2"),
            (Part::Category, "trn"),
            (Part::Category, "u"),
            (Part::Size, "metal-24xl"),
        ] {
            assert!(has(part, value), "{value}");
        }
        for (part, value) in [
            (Part::Name, "m5"),
            (Part::Family, "p4"),
            (Part::Family, "inf3"),
            (Part::Category, "gpu"),
            (Part::Size, "16xl"),
        ] {
            assert!(!has(part, value), "{value}");
        }
        assert_eq!(AWS.known(Part::Generation, aws), None);
    }
}
