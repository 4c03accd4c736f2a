//! The fields of `nodeClassRef` that an update may not change.

use super::{path, text};
use crate::diagnostic::quoted;
use crate::json::Object;
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static NODE_CLASS_IMMUTABLE: Rule = rule!("node-class-immutable", Error, [Schema]);

pub fn check(reference: &Object<'_>, old: &Object<'_>, findings: &mut Findings<'_>) {
    for field in ["group", "kind"] {
        let (Some(before), Some(now)) = (text(old, field), text(reference, field)) else {
            continue;
        };
        if before != now {
            findings
                .report(
                    &NODE_CLASS_IMMUTABLE,
                    path(field),
                    now,
                    format!("it is {} and cannot be changed", quoted(before)),
                )
                .suggest("create a new NodePool and delete this one");
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::rules::node_class::testing::pool;
    use crate::rules::testing::errors_for;

    #[test]
    fn group_and_kind_cannot_change_since_1_1_but_the_name_can() {
        let old = pool("a.example", "A", "one");
        let new = pool("b.example", "B", "two");
        let errors = |release| errors_for(ApiVersion::V1, release, &new, Some(&old));
        assert_eq!(errors(KarpenterVersion::new(1, 0, 8)), [""; 0]);
        let denied = errors(KarpenterVersion::NEWEST);
        assert_eq!(denied.len(), 2, "{denied:?}");
        assert!(denied.iter().all(|line| line.ends_with("[node-class-immutable]")));
        let renamed = pool("a.example", "A", "two");
        assert_eq!(
            errors_for(ApiVersion::V1, KarpenterVersion::NEWEST, &renamed, Some(&old)),
            [""; 0]
        );
    }
}
