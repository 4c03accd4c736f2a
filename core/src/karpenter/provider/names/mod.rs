//! What providers cut out of the names of their instance types and give them as labels: each function is the provider's
//! own, in Rust. Where its source is not known, nothing is cut.

mod alibaba;
mod aws;
mod azure;
mod gcp;

use std::borrow::Cow;

use super::Provider;
use crate::karpenter::INSTANCE_TYPE_LABEL;

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
    /// Such as `Ds_v5` of `Standard_D4s_v5`.
    Series,
    /// Such as `5` of `Standard_D4s_v5`.
    Version,
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
}

static AWS: Naming = Naming::new(aws::LABELS, &[aws::cut]);
static EKS_AUTO_MODE: Naming = Naming::new(aws::DOCUMENTED_LABELS, &[aws::cut]);
static AZURE: Naming = Naming::new(azure::LABELS, &[azure::cut]);
static GOOGLE_CLOUD: Naming = Naming::new(gcp::LABELS, &[gcp::cut, gcp::cut_before_0_2]);
static ALIBABA_CLOUD: Naming = Naming::new(alibaba::LABELS, &[alibaba::cut]);

impl Naming {
    const fn new(labels: &'static [(&'static str, Part)], cuts: &'static [Cut]) -> Self {
        Self { labels, cuts }
    }

    /// That of a provider; `None` if its source is not known.
    pub fn of(provider: &Provider) -> Option<&'static Self> {
        Some(match provider.group {
            "karpenter.k8s.aws" => &AWS,
            "eks.amazonaws.com" => &EKS_AUTO_MODE,
            "karpenter.azure.com" => &AZURE,
            "karpenter.k8s.gcp" => &GOOGLE_CLOUD,
            "karpenter.k8s.alibabacloud" => &ALIBABA_CLOUD,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_label_that_is_cut_is_one_of_the_provider() {
        for group in [
            "karpenter.k8s.aws",
            "eks.amazonaws.com",
            "karpenter.azure.com",
            "karpenter.k8s.gcp",
            "karpenter.k8s.alibabacloud",
        ] {
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
}
