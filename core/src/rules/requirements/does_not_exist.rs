//! `DoesNotExist` on a label that every instance type has.

use super::{Entry, Scope};
use crate::karpenter::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, Operator, Provider, ZONE_LABEL,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_ABSENT: Rule = rule!("requirement-absent", Error, Silent);

/// Returns whether instance types without the label may exist, if it is one that they must not have.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> bool {
    let may_be_absent =
        entry.operator != Operator::DoesNotExist || !is_on_every_instance_type(entry, scope.group);
    if !may_be_absent {
        let reason = format!(
            "every instance type has {}, so no node is ever launched",
            entry.key
        );
        findings
            .report(
                &REQUIREMENT_ABSENT,
                Scope::field(entry.index, "operator"),
                entry.operator.as_str(),
                reason,
            )
            .suggest("remove it, or name the values that you do not want with operator NotIn");
    }
    may_be_absent
}

/// Whether it is certain that every instance type of the provider carries the label. Which release of the provider
/// runs is not known, so all of them must agree.
pub fn is_on_every_instance_type(entry: &Entry<'_>, group: Option<&str>) -> bool {
    match entry.key {
        ARCH_LABEL | OS_LABEL | ZONE_LABEL | INSTANCE_TYPE_LABEL | CAPACITY_TYPE_LABEL => true,
        key => group
            .and_then(Provider::of_group)
            .is_some_and(|provider| provider.has_everywhere(key, None)),
    }
}
