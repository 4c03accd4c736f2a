//! Which numbers `spec.replicas` may be.

use super::path;
use crate::diagnostic::{Origin, RuleId, Severity};
use crate::rule::Rule;
use crate::rules::findings::Findings;

/// The largest number that fits into the scale subresource.
const LARGEST: i64 = i32::MAX as i64;

pub const RULES: &[&Rule] = &[&REPLICAS_RANGE];

static REPLICAS_RANGE: Rule = Rule {
    id: RuleId::new("replicas-range"),
    title: "`replicas` is from 0 to 2147483647",
    severity: Some(Severity::Error),
    origins: &[Origin::Schema],
    evidence: None,
    why: "The CRD rejects a negative number. The API server rejects one beyond 32 bits, which does not fit \
          into the scale subresource.",
    seen_in: &[],
    bad: "\
spec:
  replicas: -1
",
    good: "\
spec:
  replicas: 3
",
};

/// Returns whether the number is legal.
pub fn check(replicas: i64, findings: &mut Findings<'_>) -> bool {
    let (reason, suggestion) = match replicas {
        0..=LARGEST => return true,
        ..0 => ("the number of nodes cannot be negative", "write 0 or more"),
        _ => (
            "the scale subresource carries no larger number",
            "write 2147483647 or less",
        ),
    };
    findings.push(
        REPLICAS_RANGE
            .finding(path(), replicas, reason)
            .suggest(suggestion),
    );
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
