//! Which resources a limit may name.

use super::path;
use crate::diagnostic::{Suggestion, nearest};
use crate::json::{Json, Object};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// Resources that Karpenter compares with what a pool uses and that have no domain in their name.
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

pub static LIMIT_UNKNOWN: Rule = rule!("limit-unknown", Warning, Silent);

pub fn check(resource: &str, value: &Json<'_>, limits: &Object<'_>, findings: &mut Findings<'_>) {
    if is_plausible(resource) {
        return;
    }
    let reason = "nodes have no resource of this name, so this limits nothing";
    let likely = likely_resource(resource).filter(|likely| !limits.contains_key(likely));
    findings
        .report(&LIMIT_UNKNOWN, path(resource), value, reason)
        .suggest_if_known(likely.map(Suggestion::did_you_mean));
}

/// Whether a node may have a resource of this name: one of Kubernetes' own, or an extended one, which always
/// has a domain.
fn is_plausible(resource: &str) -> bool {
    if PLAIN_RESOURCES.contains(&resource) || resource.starts_with("hugepages-") {
        return true;
    }
    let part = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    resource
        .split_once('/')
        .is_some_and(|(domain, name)| part(domain) && part(name))
}

/// The resource that was probably meant.
fn likely_resource(resource: &str) -> Option<&'static str> {
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
