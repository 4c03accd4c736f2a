//! The values that a demand names: whether nodes can have them.

use std::borrow::Cow;
use std::collections::HashMap;

use super::demand::Demand;
use super::scope::{NEVER_LAUNCHES, Scope, Unsatisfiable, and_others};
use super::slips::{Slip, slip};
use crate::diagnostic::{ErrorType, Origin, Severity, Suggestion, nearest, quoted};
use crate::facts::{
    CAPACITY_TYPE_LABEL, KarpenterVersion, Known, LabelKind, LabelValues, Operator, Part, ProviderVersion,
    Unit, integer,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

const MIB_PER_GIB: i64 = 1024;

pub static REQUIREMENT_NO_VALUE: Rule = rule!("requirement-no-value", Error, Silent);
pub static REQUIREMENT_VALUE_SLIP: Rule = rule!("requirement-value-slip", Warning, Silent);
pub static REQUIREMENT_VALUE_UNKNOWN: Rule = rule!("requirement-value-unknown", Note, Silent);
pub static REQUIREMENT_UNIT: Rule = rule!("requirement-unit", Warning, Silent);

/// The verdict on a value.
pub enum Judgement {
    /// Nodes may have it.
    Exists,
    /// No node has it.
    NeverExists(Box<Slip>),
    /// The provider does not accept it.
    NotAccepted {
        accepted: &'static [&'static str],
        /// The first release that rejects other values, if it is not known whether it runs.
        since: Option<ProviderVersion>,
    },
    /// No list of the provider has it.
    Unlisted,
}

impl Judgement {
    /// Whether it is possible that a node has the value.
    pub const fn may_exist(&self) -> bool {
        match self {
            Self::Exists | Self::Unlisted | Self::NotAccepted { since: Some(_), .. } => true,
            Self::NeverExists(slip) => !slip.is_certain,
            Self::NotAccepted { since: None, .. } => false,
        }
    }

    /// Whether the provider certainly rejects the value.
    pub const fn is_rejected(&self) -> bool {
        matches!(self, Self::NotAccepted { since: None, .. })
    }

    const fn is_wrong(&self) -> bool {
        matches!(self, Self::NeverExists(_) | Self::NotAccepted { .. })
    }
}

/// The verdict on each value of a demand.
pub fn judge(demand: &Demand<'_>, scope: &Scope<'_>) -> Vec<Judgement> {
    let closed = closed_set(demand, scope);
    let known = || scope.naming?.known(demand.part?, scope.labels.provider?);
    let known = known();
    let words = (demand.key == CAPACITY_TYPE_LABEL).then(|| scope.capacity_types());
    let judge_one = |value: &&str| {
        if !demand.kind.is_well_known() {
            return Judgement::Exists;
        }
        if let Some(words) = words.filter(|words| !words.contains(value)) {
            return Judgement::NeverExists(Box::new(no_capacity_type(value, words)));
        }
        match closed {
            Some((accepted, since)) if !accepted.contains(value) => {
                return Judgement::NotAccepted { accepted, since };
            }
            Some(_) => return Judgement::Exists,
            None => {}
        }
        match slip(value, demand, scope) {
            Some(slip) => Judgement::NeverExists(Box::new(slip)),
            None if known.is_some_and(|known| !known.contains(*value)) => Judgement::Unlisted,
            None => Judgement::Exists,
        }
    };
    demand.values.iter().map(judge_one).collect()
}

fn no_capacity_type(value: &str, words: &'static [&'static str]) -> Slip {
    let why = if value == "reserved" {
        "the capacity type reserved requires Karpenter 1.3 or newer"
    } else {
        "Karpenter has no such capacity type"
    };
    Slip {
        why,
        likely: None,
        supported: words,
        is_certain: true,
    }
}

/// The values that the provider accepts in a requirement with operator `In`, if it checks them, and the first release that
/// does if it is not known whether that runs (`WellKnownValuesForRequirements` of `sigs.k8s.io/karpenter/pkg/apis/v1`).
// karpenter: pkg/apis/v1/nodeclaim_validation.go validateWellKnownValues
// karpenter: pkg/apis/v1/labels.go WellKnownValuesForRequirements
fn closed_set(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
) -> Option<(&'static [&'static str], Option<ProviderVersion>)> {
    let provider = scope.labels.provider?;
    let label = provider.label(demand.key)?;
    let set = label.closed?;
    // Every release has `true` and `false` alone, so others do not exist whatever the release.
    let is_boolean = label.values == LabelValues::Boolean && set.values.len() == 2;
    // Karpenter's own check is as old as that of capacity types.
    let is_checked = scope
        .context
        .release
        .has(KarpenterVersion::CAPACITY_TYPES_CHECKED);
    if demand.operator != Operator::In || demand.is_label() || is_boolean || !is_checked {
        return None;
    }
    match (set.since, scope.context.policy.cluster.version_of(provider)) {
        (None, _) => Some((set.values, None)),
        (since, None) => Some((set.values, since)),
        (Some(since), Some(release)) => (release >= since).then_some((set.values, None)),
    }
}

/// Reports the values of a demand that nodes do not have.
pub fn check(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    if !demand.lists_values() {
        return Ok(());
    }
    let judgements = judge(demand, scope);
    check_unlisted(demand, &judgements, scope, findings);
    check_wrong(demand, &judgements, scope, findings)?;
    if !excludes_all(demand, scope) {
        return Ok(());
    }
    findings
        .report(
            &REQUIREMENT_NO_VALUE,
            demand.at.field("values"),
            ErrorType::showing("[…]"),
            "the requirement excludes every capacity type",
        )
        .consequence(NEVER_LAUNCHES)
        .suggest("remove the capacity type that you want from the list");
    Err(Unsatisfiable)
}

/// Whether a demand excludes all values that its label can have.
fn excludes_all(demand: &Demand<'_>, scope: &Scope<'_>) -> bool {
    let mut words = scope.capacity_types().iter();
    demand.operator == Operator::NotIn
        && demand.key == CAPACITY_TYPE_LABEL
        && !words.any(|word| demand.allows(word))
}

/// The values of a demand that are not wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remain {
    /// The demand excludes the wrong ones, or others are listed.
    Some,
    /// None, for certain.
    None,
    /// None, or what only older releases of the provider accept.
    Perhaps,
}

impl Remain {
    fn of(demand: &Demand<'_>, judgements: &[Judgement]) -> Self {
        if demand.operator != Operator::In || !judgements.iter().all(Judgement::is_wrong) {
            Self::Some
        } else if judgements.iter().any(Judgement::may_exist) {
            Self::Perhaps
        } else {
            Self::None
        }
    }
}

/// Reports all values of a demand that nodes do not have in one finding.
fn check_wrong(
    demand: &Demand<'_>,
    judgements: &[Judgement],
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    let mut wrong = (0..)
        .zip(judgements)
        .filter_map(|(position, judgement)| Some((position, reason(judgement, scope)?)));
    let Some((position, (title, supported))) = wrong.next() else {
        return Ok(());
    };
    let others = wrong.filter_map(|(at, _)| demand.values.get(at).copied());
    let others = and_others(others);
    let remain = Remain::of(demand, judgements);
    let rule = match remain {
        Remain::None => &REQUIREMENT_NO_VALUE,
        Remain::Some | Remain::Perhaps => &REQUIREMENT_VALUE_SLIP,
    };
    let value = demand.values.get(position).copied().unwrap_or_default();
    let path = demand.at.value(position);
    let finding = if supported.is_empty() {
        findings
            .report(rule, path, value, title)
            .suggest_if_known(likely(judgements).map(|likely| {
                if demand.values.contains(&&*likely) {
                    Suggestion::from(format!("remove it, because {likely} is in the list"))
                } else {
                    Suggestion::did_you_mean(likely)
                }
            }))
    } else {
        findings.unsupported(rule, path, value, supported, title)
    };
    let is_rejected = |judgement: &Judgement| matches!(judgement, Judgement::NotAccepted { .. });
    let release = scope.context.release;
    let is_checked = judgements.iter().any(is_rejected)
        || demand.key == CAPACITY_TYPE_LABEL
            && !demand.is_label()
            && release.has(KarpenterVersion::CAPACITY_TYPES_CHECKED);
    let effect = match remain {
        Remain::None | Remain::Perhaps if is_checked => {
            finding.origin(Origin::Runtime);
            "the NodePool never becomes Ready and launches nothing"
        }
        Remain::None => NEVER_LAUNCHES,
        Remain::Some | Remain::Perhaps if demand.operator == Operator::NotIn => "the value excludes nothing",
        Remain::Some | Remain::Perhaps => "the value matches nothing",
    };
    finding.consequence(format!("{effect}{others}"));
    // If too few are left, that is the mistake, and it is reported at `minValues`.
    let existing = judgements.iter().filter(|one| one.may_exist()).count();
    let is_short = demand.operator == Operator::In && demand.asks_for_more_than(existing);
    let is_note = is_short || judgements.iter().filter(|one| one.is_wrong()).all(is_rejected);
    if remain == Remain::Some && is_note {
        finding.severity(Severity::Note);
    }
    match remain {
        Remain::None => Err(Unsatisfiable),
        Remain::Some | Remain::Perhaps => Ok(()),
    }
}

/// Why a value is wrong, if it is, and all that there are if they are few.
fn reason(judgement: &Judgement, scope: &Scope<'_>) -> Option<(Cow<'static, str>, &'static [&'static str])> {
    let provider = scope
        .labels
        .provider
        .map_or("the provider", |provider| provider.name);
    Some(match judgement {
        Judgement::Exists | Judgement::Unlisted => return None,
        Judgement::NeverExists(slip) => (slip.why.into(), slip.supported),
        Judgement::NotAccepted {
            accepted,
            since: Some(release),
        } => {
            let title = format!("{provider} rejects this value in release {release} and newer");
            (title.into(), accepted)
        }
        Judgement::NotAccepted {
            accepted,
            since: None,
        } => (format!("{provider} has no such value").into(), accepted),
    })
}

/// The values that were probably meant instead of the wrong ones.
fn likely(judgements: &[Judgement]) -> Option<String> {
    let mut likely: Vec<&str> = judgements
        .iter()
        .filter_map(|judgement| match judgement {
            Judgement::NeverExists(slip) => slip.likely.as_deref(),
            _ => None,
        })
        .collect();
    likely.sort_unstable();
    likely.dedup();
    (!likely.is_empty()).then(|| likely.join(", "))
}

/// Notes all values of a list that are misspelt, or newer than the lists of the provider.
fn check_unlisted(
    demand: &Demand<'_>,
    judgements: &[Judgement],
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) {
    let (Some(part), Some(naming), Some(provider)) = (demand.part, scope.naming, scope.labels.provider)
    else {
        return;
    };
    let mut unlisted = (0..)
        .zip(judgements)
        .filter(|(_, judgement)| matches!(judgement, Judgement::Unlisted))
        .filter_map(|(position, _)| Some((position, *demand.values.get(position)?)));
    let Some((position, value)) = unlisted.next() else {
        return;
    };
    let what = match part {
        Part::Name => "type",
        Part::Family => "family",
        Part::Category => "category",
        _ => "size",
    };
    let Some(types) = provider.instance_types else {
        return;
    };
    let title = format!(
        "{} has no such instance {what} in the list of {}",
        types.of, types.date
    );
    let others = and_others(unlisted.map(|(_, value)| value));
    let known = naming.known(part, provider);
    let likely = known.and_then(|known| likely_of(value, part, known));
    let note = ErrorType::Note {
        value: Some(quoted(value)),
    };
    let finding = findings
        .report(&REQUIREMENT_VALUE_UNKNOWN, demand.at.value(position), note, title)
        .suggest_if_known(likely.map(Suggestion::did_you_mean));
    // All of them would have to be newer than the list.
    let is_all = demand.operator == Operator::In
        && judgements
            .iter()
            .all(|judgement| matches!(judgement, Judgement::Unlisted));
    if is_all && !may_be_new(&demand.values, part, known) {
        finding.severity(Severity::Warning).consequence(format!(
            "unless it is newer than the list, {NEVER_LAUNCHES}{others}"
        ));
    } else {
        finding.consequence(format!("the value is misspelt, or newer than the list{others}"));
    }
}

/// Whether one of these types or families may be of the generation after the newest on the list of its category.
fn may_be_new(values: &[&str], part: Part, known: Option<&Known>) -> bool {
    if !matches!(part, Part::Name | Part::Family) {
        return false;
    }
    let mut newest: HashMap<&str, i64> = HashMap::new();
    for (category, generation) in known.into_iter().flatten().filter_map(|name| generation(name)) {
        let newest = newest.entry(category).or_default();
        *newest = generation.max(*newest);
    }
    let mut named = values.iter().filter_map(|value| generation(value));
    named.any(|(category, generation)| {
        newest
            .get(category)
            .is_some_and(|newest| generation == newest + 1)
    })
}

/// The letters and the number with which the name of a type or a family begins.
fn generation(name: &str) -> Option<(&str, i64)> {
    let (category, rest) = name.split_at_checked(name.find(|letter: char| letter.is_ascii_digit())?)?;
    let end = rest
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(rest.len());
    Some((category, integer(rest.get(..end)?)?))
}

/// The families that begin with an unlisted one, as `p6-b200` does with `p6`, if they are few; else the most similar value.
fn likely_of(value: &str, part: Part, known: &Known) -> Option<String> {
    const FEW: usize = 4;
    let is_longer = |known: &&str| {
        let rest = known.strip_prefix(value).unwrap_or_default();
        rest.starts_with(|next: char| !next.is_ascii_digit())
    };
    let mut longer: Vec<&str> = known.iter().copied().filter(is_longer).collect();
    if part == Part::Family && (1..=FEW).contains(&longer.len()) {
        longer.sort_unstable();
        return Some(longer.join(", "));
    }
    nearest(value, known.iter().copied()).map(str::to_owned)
}

/// Warns of numbers of MiB below that of the smallest instance type, which were probably meant as GiB: they leave none, or
/// exclude none.
pub fn check_unit(demand: &Demand<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    if demand.kind != LabelKind::WellKnown(LabelValues::Number) || demand.values.is_empty() {
        return;
    }
    let label = scope
        .labels
        .provider
        .and_then(|provider| provider.label(demand.key));
    let Some(label) = label.filter(|label| label.unit == Some(Unit::MiB)) else {
        return;
    };
    let Some(smallest) = label.smallest else {
        return;
    };
    let most = match demand.operator {
        // It is itself excluded.
        Operator::Lt => smallest,
        Operator::In | Operator::Lte | Operator::Gt | Operator::Gte => smallest - 1,
        Operator::NotIn | Operator::Exists | Operator::DoesNotExist => return,
    };
    // 0 is the same in every unit, and a separate rule covers bounds that leave no number.
    let is_small = |value: &&str| integer(value).is_some_and(|number| (1..=most).contains(&number));
    let Some(value) = demand
        .values
        .first()
        .filter(|_| demand.values.iter().all(is_small))
    else {
        return;
    };
    let excludes_nothing = matches!(demand.operator, Operator::Gt | Operator::Gte);
    // Types without the label are excluded by any bound.
    if excludes_nothing && label.everywhere.is_none() {
        return;
    }
    let title = format!("the label counts MiB, and the smallest instance types have {smallest}");
    // Below 1 means none at all, whatever the unit.
    let in_gib = integer(value).filter(|number| *number > 1 || excludes_nothing);
    let mib = in_gib.and_then(|number| number.checked_mul(MIB_PER_GIB));
    let help = mib.map(|mib| Suggestion::did_you_mean(format!("{mib} ({value} GiB)")));
    let path = demand.at.value(0);
    if excludes_nothing {
        let note = ErrorType::Note {
            value: Some(quoted(value)),
        };
        findings
            .report(&REQUIREMENT_UNIT, path, note, title)
            .consequence("the requirement excludes nothing")
            .suggest_if_known(help);
    } else {
        findings
            .report(&REQUIREMENT_UNIT, path, *value, title)
            .consequence("no instance type satisfies the requirement")
            .suggest_if_known(help);
    }
}

#[cfg(test)]
mod tests;
