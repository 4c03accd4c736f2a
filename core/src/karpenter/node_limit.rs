//! The node limit that a user leaves to poolgate.

/// The annotation by which a NodePool has its node limit from poolgate: then `spec.limits.nodes` is poolgate's, which
/// keeps it at the limit less the nodes that are going but still count.
pub const NODE_LIMIT_ANNOTATION: &str = "poolgate.dev/node-limit";

/// The number that the annotation says; none where it is not one written in digits.
pub(super) fn parse(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
