//! The labels of the providers that poolgate has a list for: which labels their instance types carry, and whether
//! the values are numbers.

use crate::value::label::is_within;

/// The type of a label's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LabelValues {
    /// Words, none of them an integer.
    Text,
    /// Whole numbers, so that `Gt` and `Lt` make sense.
    Number,
    /// Either, or not known.
    Any,
}

use LabelValues::{Any, Number, Text};

/// The API group of EKS Auto Mode's node class. Its users can set no flag and no feature gate of Karpenter.
pub(crate) const EKS_AUTO_MODE: &str = "eks.amazonaws.com";

/// A provider of machines.
#[derive(Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name by which messages call it, such as `AWS`.
    pub name: &'static str,
    /// The API group of its node class.
    pub group: &'static str,
    /// Whether the provider rejects every label of its group that it does not know.
    pub is_closed: bool,
    /// Its labels in the domain with the same name as the group.
    labels: &'static [(&'static str, LabelValues)],
    /// Its labels in other domains, with their domain.
    elsewhere: &'static [(&'static str, LabelValues)],
}

/// The provider's labels as of `karpenter-provider-aws` 1.12 (`pkg/apis/v1/labels.go`).
const AWS_LABELS: &[(&str, LabelValues)] = &[
    ("capacity-reservation-id", Text),
    ("capacity-reservation-interruptible", Text),
    ("capacity-reservation-type", Text),
    ("instance-accelerator-count", Number),
    ("instance-accelerator-manufacturer", Text),
    ("instance-accelerator-name", Text),
    ("instance-capability-flex", Text),
    ("instance-category", Text),
    ("instance-cpu", Number),
    ("instance-cpu-manufacturer", Text),
    ("instance-cpu-sustained-clock-speed-mhz", Number),
    ("instance-ebs-bandwidth", Number),
    ("instance-encryption-in-transit-supported", Text),
    ("instance-family", Text),
    ("instance-generation", Number),
    ("instance-gpu-count", Number),
    ("instance-gpu-manufacturer", Text),
    ("instance-gpu-memory", Number),
    ("instance-gpu-name", Any),
    ("instance-hypervisor", Text),
    ("instance-local-nvme", Number),
    ("instance-memory", Number),
    ("instance-network-bandwidth", Number),
    ("instance-pods", Number),
    ("instance-size", Text),
    ("instance-tenancy", Text),
    ("placement-group-id", Text),
    ("placement-group-partition", Number),
];

/// Every provider with a list. About labels of other providers poolgate says nothing.
pub(crate) static PROVIDERS: &[Provider] = &[
    Provider {
        name: "AWS",
        group: "karpenter.k8s.aws",
        is_closed: true,
        labels: AWS_LABELS,
        elsewhere: &[("topology.k8s.aws/zone-id", Text)],
    },
    Provider {
        name: "EKS Auto Mode",
        group: EKS_AUTO_MODE,
        // Its list is not public as code, and other parts of EKS use the domain, too.
        is_closed: false,
        labels: AWS_LABELS,
        elsewhere: &[("topology.k8s.aws/zone-id", Text)],
    },
    Provider {
        name: "Azure",
        group: "karpenter.azure.com",
        is_closed: true,
        labels: &[
            ("placement-scope", Text),
            ("sku-cpu", Number),
            ("sku-family", Text),
            ("sku-gpu-count", Number),
            ("sku-gpu-manufacturer", Text),
            ("sku-gpu-name", Any),
            ("sku-memory", Number),
            ("sku-name", Text),
            ("sku-networking-accelerated", Text),
            ("sku-series", Text),
            ("sku-storage-ephemeralos-maxsize", Any),
            ("sku-storage-premium-capable", Text),
            // Since 1.14.0 (`pkg/apis/v1beta1/labels.go`).
            ("sku-storage-ultra-ssd", Text),
            ("sku-version", Number),
        ],
        elsewhere: &[
            ("kubernetes.azure.com/cluster", Text),
            ("kubernetes.azure.com/fips_enabled", Text),
            ("kubernetes.azure.com/mode", Text),
            ("kubernetes.azure.com/os-sku", Text),
            ("kubernetes.azure.com/priority", Text),
            ("kubernetes.azure.com/scalesetpriority", Text),
            ("kubernetes.azure.com/sku-cpu", Number),
            ("kubernetes.azure.com/sku-memory", Number),
        ],
    },
    Provider {
        name: "kwok",
        group: "karpenter.kwok.sh",
        is_closed: true,
        labels: &[
            ("instance-cpu", Any),
            ("instance-family", Text),
            ("instance-memory", Any),
            ("instance-size", Any),
        ],
        elsewhere: &[],
    },
];

impl Provider {
    /// The provider whose node class has this group.
    pub fn of_group(group: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.group == group)
    }

    /// Whether a label's domain is the provider's, or a subdomain of it.
    pub fn owns(&self, domain: &str) -> bool {
        is_within(domain, self.group)
    }

    /// The type of a label's values; `None` if the provider does not know the label.
    pub(crate) fn values_of(&self, key: &str) -> Option<LabelValues> {
        let listed = |list: &[(&str, LabelValues)], wanted: &str| {
            list.iter()
                .find(|(label, _)| *label == wanted)
                .map(|(_, values)| *values)
        };
        let own = key.strip_prefix(self.group);
        match own.and_then(|rest| rest.strip_prefix('/')) {
            Some(name) => listed(self.labels, name),
            None => listed(self.elsewhere, key),
        }
    }

    /// Every label of the provider, as domain and name.
    pub fn labels(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = self.labels.iter().map(|(name, _)| (self.group, *name));
        let elsewhere = self.elsewhere.iter().filter_map(|(key, _)| key.split_once('/'));
        own.chain(elsewhere)
    }

    /// The names of its labels in this domain.
    pub(crate) fn names_in<'a>(&'a self, domain: &'a str) -> impl Iterator<Item = &'a str> {
        let own = self.labels.iter().map(|(name, _)| *name);
        let own = own.filter(move |_| domain == self.group);
        own.chain(names_in(domain, self.elsewhere.iter().map(|(key, _)| *key)))
    }
}

/// The names of those of these labels that are in this domain, without the domain.
pub fn names_in<'a>(domain: &'a str, labels: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    // Looking for the slash first spares nearly every comparison of the domain.
    let has_slash = move |label: &&str| label.as_bytes().get(domain.len()) == Some(&b'/');
    let labels = labels.filter(has_slash);
    labels.filter_map(move |label| label.strip_prefix(domain)?.strip_prefix('/'))
}
