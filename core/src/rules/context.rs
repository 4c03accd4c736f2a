//! Everything besides the object that affects a verdict.

use jiff::Timestamp;

use crate::diagnostic::FieldPath;
use crate::drift::DriftClaim;
use crate::facts::shape::{REQUIREMENT_KEY, Shape};
use crate::facts::{ApiVersion, KarpenterVersion, LabelSets, Provider, TargetKarpenter};
use crate::policy::Policy;
use crate::pool::Template;

/// Everything besides the object that affects a verdict.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    /// The NodeClaims of the stored pool, if they were listed.
    pub claims: Option<&'a [DriftClaim]>,
    /// When the object is reviewed.
    pub at: Timestamp,
    /// The policy of the organisation that runs the cluster.
    pub policy: &'a Policy,
    /// The Karpenter that will read the object.
    pub karpenter: &'a TargetKarpenter,
    /// The release of that Karpenter, which the rules check against.
    pub release: KarpenterVersion,
    /// The fields of a NodePool of this version, with their constraints.
    pub shape: &'static Shape,
    /// The labels that Karpenter and its provider know.
    pub labels: &'a LabelSets,
    /// The longest key of a requirement, in bytes. The definition counts characters, but a legal key is ASCII.
    pub longest_key: usize,
}

impl<'a> Context<'a> {
    /// The context of a review by this policy, for this Karpenter.
    pub fn new(
        shape: &'static Shape,
        claims: Option<&'a [DriftClaim]>,
        at: Timestamp,
        policy: &'a Policy,
        karpenter: &'a TargetKarpenter,
    ) -> Self {
        Self {
            claims,
            at,
            policy,
            karpenter,
            release: karpenter.release(),
            shape,
            labels: &policy.labels,
            longest_key: karpenter
                .most(REQUIREMENT_KEY, ApiVersion::V1)
                .unwrap_or(usize::MAX),
        }
    }

    /// The API group of the template's node class, which shows the provider; without one, that of the provider that the
    /// policy declares.
    pub fn group_of<'t>(&self, template: &Template<'t>) -> Option<&'t str> {
        let declared = || Some(self.policy.cluster.provider?.group);
        template.node_class_group().or_else(declared)
    }

    /// The provider of a template's machines, if there is data on it.
    pub fn provider_of(&self, template: &Template<'_>) -> Option<&'static Provider> {
        template.provider_or(self.policy.cluster.provider)
    }

    /// Whether the definition of the release rejects a text at this path: its pattern, format, length or enumeration.
    pub fn crd_rejects(&self, path: &FieldPath, text: &str) -> bool {
        self.shape.at_path(path).rejects(self.release, text)
    }
}
