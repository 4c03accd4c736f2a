//! Which numbers `spec.replicas` may be.

use super::path;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The largest number that fits into the scale subresource.
const LARGEST: i64 = i32::MAX as i64;

pub static REPLICAS_RANGE: Rule = rule!("replicas-range", Error, Schema);

/// Returns whether the number is legal.
pub fn check(replicas: i64, findings: &mut Findings<'_>) -> bool {
    let (reason, suggestion) = match replicas {
        0..=LARGEST => return true,
        ..0 => ("the number of nodes cannot be negative", "write 0 or more"),
        _ => (
            "the scale subresource cannot hold a larger number",
            "write 2147483647 or less",
        ),
    };
    findings
        .report(&REPLICAS_RANGE, path(), replicas, reason)
        .suggest(suggestion);
    false
}
