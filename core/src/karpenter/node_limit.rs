//! The node limit that a user leaves to poolgate.

/// The annotation with which a NodePool leaves its node limit to poolgate: poolgate then keeps `spec.limits.nodes`
/// at the limit less the nodes that are going but still count.
pub const NODE_LIMIT_ANNOTATION: &str = "poolgate.dev/node-limit";

/// The annotation that says how many nodes more than its limit a Hard pool may have while it replaces nodes.
pub const SURGE_ANNOTATION: &str = "poolgate.dev/surge";

/// The number in the annotation; `None` if it is not written in digits.
pub fn parse(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
