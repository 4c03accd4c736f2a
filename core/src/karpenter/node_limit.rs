//! The node limit that a user leaves to poolgate.

/// The annotation with which a NodePool leaves its node limit to poolgate: poolgate then keeps `spec.limits.nodes`
/// at the limit less the nodes that are going but still count.
pub const NODE_LIMIT_ANNOTATION: &str = "poolgate.dev/node-limit";

/// The number in the annotation; `None` if it is not written in digits.
pub(super) fn parse(text: &str) -> Option<u32> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
