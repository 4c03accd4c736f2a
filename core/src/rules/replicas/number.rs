//! Which numbers `spec.replicas` may be.

use super::path;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The largest number that fits into the scale subresource.
const LARGEST: i64 = i32::MAX as i64;

pub static REPLICAS_RANGE: Rule = rule!("replicas-range", Error, [Schema]);

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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::testing::errors;

    #[test]
    fn numbers_from_0_to_32_bits_pass() {
        for replicas in [0, 3, 2_147_483_647_i64] {
            assert_eq!(errors(&json!({"spec": {"replicas": replicas}})), [""; 0]);
        }
        for replicas in [json!(-1), json!(2_147_483_648_i64), json!(i64::MAX)] {
            let denied = errors(&json!({"spec": {"replicas": replicas}}));
            assert_eq!(denied.len(), 1, "{denied:?}");
            assert!(denied[0].ends_with("[replicas-range]"), "{denied:?}");
        }
    }
}
