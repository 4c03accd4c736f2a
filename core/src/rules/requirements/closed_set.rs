//! Labels of which a provider checks the values: Karpenter compares a list with the values that the provider registered
//! (`WellKnownValuesForRequirements` of `sigs.k8s.io/karpenter/pkg/apis/v1`).

use super::{Entry, Scope, min_values, so_others};
use crate::diagnostic::{Origin, Severity};
use crate::karpenter::{
    CAPACITY_TYPE_LABEL, ClosedSet, KarpenterVersion, LabelValues, Operator, Provider, ProviderVersion,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_CLOSED_SET: Rule = rule!("requirement-closed-set", Warning, Runtime);

/// Reports values that the provider does not accept. Returns whether enough are left, or `None` if there is nothing to
/// report, so that the values may still be wrong in another way.
pub fn check(entry: &Entry<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) -> Option<bool> {
    if entry.operator != Operator::In || entry.label.is_some() {
        return None;
    }
    let provider = scope.provider?;
    let label = provider.label(entry.key)?;
    let set = label.closed?;
    // Every release has `true` and `false` alone, so another check denies the others whatever the release.
    if label.values == LabelValues::Boolean && set.values.len() == 2 {
        return None;
    }
    let checked = Checked::by(set, provider, scope)?;
    let unknown = |value: &&str| !set.values.contains(value);
    let good = entry.values.iter().filter(|value| !unknown(value)).count();
    let mut wrong = entry
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| unknown(value));
    let (position, value) = wrong.next()?;
    // Words that Karpenter itself does not know have a rule of their own.
    if entry.key == CAPACITY_TYPE_LABEL && !scope.capacity_types().contains(value) {
        return None;
    }
    let others = so_others(wrong.map(|(_, value)| *value));
    let who = provider.name;
    let is_short = |least| good > 0 && min_values::is_more_than(least, good);
    if let Some(least) = entry.min_values.filter(|least| is_short(*least)) {
        let reason = format!(
            "only {good} of the listed values exist on {who} ({}), so the pool is not ready and launches nothing{}",
            set.values.join(", "),
            checked.since(),
        );
        findings
            .report(
                &REQUIREMENT_CLOSED_SET,
                min_values::path(entry.index),
                least,
                reason,
            )
            .suggest("lower it, or list values that exist")
            .severity(checked.severity())
            .origin(Origin::Runtime);
        return Some(!checked.is_certain());
    }
    let reason = match (good, checked) {
        (0, Checked::Yes) => {
            format!("{who} has no such value{others}, so the pool is not ready and launches nothing")
        }
        (0, Checked::From(release)) => format!(
            "from release {release} on {who} rejects this value{others}, so the pool is not ready and launches nothing"
        ),
        _ => format!("{who} has no such value{others}, so only the others count"),
    };
    let finding = findings.unsupported(
        &REQUIREMENT_CLOSED_SET,
        entry.value_path(position),
        value,
        set.values,
        reason,
    );
    if good == 0 {
        finding.severity(checked.severity()).origin(Origin::Runtime);
        return Some(!checked.is_certain());
    }
    finding.severity(Severity::Info).origin(Origin::Silent);
    Some(true)
}

/// Whether the provider of a pool checks the values of a label.
#[derive(Debug, Clone, Copy)]
enum Checked {
    /// It does.
    Yes,
    /// Its releases do from this one on, and it is not known which one runs.
    From(ProviderVersion),
}

impl Checked {
    /// Whether the provider checks a set; `None` if it is certain that it does not.
    fn by(set: ClosedSet, provider: &Provider, scope: &Scope<'_>) -> Option<Self> {
        // Karpenter's own check is as old as that of capacity types.
        if !scope
            .context
            .release
            .has(KarpenterVersion::CAPACITY_TYPES_CHECKED)
        {
            return None;
        }
        let declared = scope.context.policy.cluster.version_of(provider);
        match (set.since, declared) {
            (None, _) => Some(Self::Yes),
            (Some(since), None) => Some(Self::From(since)),
            (Some(since), Some(release)) => (release >= since).then_some(Self::Yes),
        }
    }

    const fn is_certain(self) -> bool {
        matches!(self, Self::Yes)
    }

    const fn severity(self) -> Severity {
        match self {
            Self::Yes => Severity::Error,
            Self::From(_) => Severity::Warning,
        }
    }

    /// The condition, as the end of a clause; empty if there is none.
    fn since(self) -> String {
        match self {
            Self::Yes => String::new(),
            Self::From(release) => format!(" from release {release} on"),
        }
    }
}
