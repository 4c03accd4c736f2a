//! Which numbers `spec.replicas` may be.

use super::path;
use crate::diagnostic::{Problem, RuleId, Severity};
use crate::rule::{Origin, Rule};
use crate::rules::findings::Findings;

/// The largest number that `kubectl scale` can carry.
const LARGEST: i64 = i32::MAX as i64;

pub(in crate::rules) static REPLICAS_RANGE: Rule = Rule {
    id: RuleId::new("replicas-range"),
    title: "`replicas` goes from 0 to 2147483647",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "The CRD refuses a negative number. It takes one beyond 32 bits when the pool is made, but then refuses every \
          update, even that of a label, because the scale subresource carries 32 bits.",
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

pub(super) fn check(replicas: i64, findings: &mut Findings<'_>) {
    let problem = Problem::Invalid {
        value: replicas.to_string(),
    };
    if replicas < 0 {
        let reason = "a pool cannot have fewer than no nodes";
        findings.push(REPLICAS_RANGE.finding(path(), problem, reason));
    } else if replicas > LARGEST {
        let reason = "it is above 2147483647, so no later update of this pool would be taken";
        findings.push(REPLICAS_RANGE.finding(path(), problem, reason));
    }
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
        for replicas in [json!(-1), json!(2_147_483_648_i64), json!(u64::MAX), json!(1e300)] {
            let refused = errors(&json!({"spec": {"replicas": replicas}}));
            assert_eq!(refused.len(), 1, "{refused:?}");
            assert!(refused[0].ends_with("[replicas-range]"), "{refused:?}");
        }
    }
}
