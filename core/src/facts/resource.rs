//! The resources that a node may have.

use crate::diagnostic::nearest;
use crate::value::label::qualified_name;

/// Resources that Karpenter compares with what a pool uses and that have no domain in their name.
// karpenter: pkg/apis/v1/labels.go WellKnownResources
// karpenter: pkg/utils/resources/resources.go Node
pub const PLAIN_RESOURCES: &[&str] = &["cpu", "memory", "nodes", "pods", "ephemeral-storage"];

/// Common wrong names of resources, with the right ones.
const WRONG_NAMES: &[(&str, &str)] = &[
    ("gpu", "nvidia.com/gpu"),
    ("gpus", "nvidia.com/gpu"),
    ("storage", "ephemeral-storage"),
    ("ram", "memory"),
    ("instances", "nodes"),
    ("replicas", "nodes"),
];

/// Whether a node may have a resource of this name: one of Kubernetes' own, or an extended one, which always has a domain.
pub fn is_resource(name: &str) -> bool {
    let is_extended = || name.contains('/') && qualified_name(name).is_ok();
    PLAIN_RESOURCES.contains(&name) || name.starts_with("hugepages-") || is_extended()
}

/// The resource that was probably meant.
pub fn likely_resource(resource: &str) -> Option<&'static str> {
    let lower = resource.to_ascii_lowercase();
    let bare = lower
        .strip_prefix("limits.")
        .or_else(|| lower.strip_prefix("requests."))
        .unwrap_or(&lower)
        .trim();
    let known = WRONG_NAMES.iter().find(|(written, _)| *written == bare);
    known
        .map(|(_, meant)| *meant)
        .or_else(|| nearest(bare, PLAIN_RESOURCES.iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_resources_get_a_likely_spelling() {
        for (written, meant) in [
            ("CPU", "cpu"),
            ("node", "nodes"),
            ("limits.cpu", "cpu"),
            ("gpu", "nvidia.com/gpu"),
            ("memroy", "memory"),
            ("ephemeral_storage", "ephemeral-storage"),
        ] {
            assert_eq!(likely_resource(written), Some(meant), "{written}");
        }
        for strange in ["x", "licences", &"m".repeat(1_000_000)] {
            assert_eq!(likely_resource(strange), None);
        }
    }
}
