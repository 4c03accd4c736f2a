//! Machines that the provider does not launch: on EKS Auto Mode those of one CPU, and the smallest sizes.

use super::Scope;
use super::groups::Group;
use crate::diagnostic::ErrorType;
use crate::karpenter::{INSTANCE_TYPE_LABEL, Selection};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static EKS_AUTO_MODE_SIZE: Rule = rule!("eks-auto-mode-size", Warning, Silent);

/// Reports requirements of one label that leave only machines which the provider does not launch.
pub fn check(group: &Group<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let (Some(provider), Some(entry)) = (scope.provider, group.entries().next()) else {
        return;
    };
    let settings = &provider.settings;
    let Some(fewest) = settings.fewest_cpus else {
        return;
    };
    let is_small = |size: &str| settings.sizes_not_launched.contains(&size);
    let left = || group.selection(scope);
    let is_unsupported = match entry.key.strip_prefix(provider.group) {
        Some("/instance-cpu") => left().most().is_some_and(|most| most < fewest),
        Some("/instance-size") => leaves_only(group, &left(), is_small),
        _ if entry.key == INSTANCE_TYPE_LABEL => leaves_only(group, &left(), |name| {
            name.split_once('.').is_some_and(|(_, size)| is_small(size))
        }),
        _ => false,
    };
    if is_unsupported {
        let reason = format!(
            "{} launches no machines with fewer than {fewest} CPUs, and none of the sizes {}, so the pool launches nothing",
            provider.name,
            settings.sizes_not_launched.join(", ")
        );
        findings
            .report(
                &EKS_AUTO_MODE_SIZE,
                Scope::entry(entry.index),
                ErrorType::showing(entry.to_string()),
                reason,
            )
            .suggest("allow larger ones");
    }
}

/// Whether values are listed, and all that are left are of this kind.
fn leaves_only(group: &Group<'_>, left: &Selection<'_>, is_of_kind: impl Fn(&str) -> bool) -> bool {
    let listed = group.entries().flat_map(|entry| entry.values.iter());
    !left.is_open()
        && listed
            .filter(|value| left.has(value))
            .all(|value| is_of_kind(value))
}
