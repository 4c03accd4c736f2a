//! Demands on different labels that leave no machine: zones and their region, and labels that the provider cuts out of the
//! names of instance types.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::demand::Demand;
use super::same_label::requirement_first;
use super::scope::{NEVER_LAUNCHES, Scope};
use crate::diagnostic::ErrorType;
use crate::facts::{Cut, Named, Operator, Part, Provider, REGION_LABEL, Selection, ZONE_LABEL, ZoneForm};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// How many of the listed values a message explains.
const MOST_EXPLAINED: usize = 2;

pub static REQUIREMENT_ZONE_REGION: Rule = rule!("requirement-zone-region", Warning, Silent);
pub static REQUIREMENT_TYPE_CONTRADICTION: Rule = rule!("requirement-type-contradiction", Warning, Silent);

/// Warns of a list of zones that are all outside the listed regions.
pub fn check_zones(demands: &[Demand<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some((provider, form)) = scope
        .labels
        .provider
        .and_then(|provider| Some((provider, provider.zones?)))
    else {
        return;
    };
    let lists = |key: &'static str| {
        let mut demands = demands.iter();
        std::iter::from_fn(move || {
            demands.find(|demand| demand.key == key && demand.operator == Operator::In)
        })
    };
    check_placement(provider, lists(ZONE_LABEL), demands, findings);
    // The regions of each list are worked out once, not once for each pair.
    let regions: Vec<_> = lists(REGION_LABEL)
        .filter(|list| list.values.iter().all(|region| form.is_region(region)))
        .map(|list| (list, lower(list.values.iter().copied())))
        .collect();
    if regions.is_empty() {
        return;
    }
    let apart = lists(ZONE_LABEL).find_map(|zones| {
        // It is not certain if one of them is written in another way.
        let of = zones.values.iter().map(|zone| form.region_of(zone));
        let of = lower(of.collect::<Option<Vec<_>>>()?.into_iter());
        let (regions, _) = regions.iter().find(|(_, regions)| regions.is_disjoint(&of))?;
        Some((zones, *regions))
    });
    if let Some((zones, regions)) = apart {
        let (at, other) = requirement_first(zones, regions);
        findings
            .report(
                &REQUIREMENT_ZONE_REGION,
                at.at.path(),
                ErrorType::showing(at.to_string()),
                "no listed zone is in a listed region",
            )
            .consequence(format!("{NEVER_LAUNCHES} because of {other}"))
            .related(other.at.path())
            .suggest("change the zones or the region");
    }
}

/// Warns if no listed zone has the demanded placement.
fn check_placement<'d, 'a: 'd>(
    provider: &Provider,
    mut zones: impl Iterator<Item = &'d Demand<'a>>,
    demands: &'d [Demand<'a>],
    findings: &mut Findings<'_>,
) {
    let Some(label) = provider
        .labels
        .iter()
        .find(|label| label.means == Some("placement"))
    else {
        return;
    };
    let Some(scope) = demands.iter().find(|demand| demand.key == label.key) else {
        return;
    };
    // Each placement is looked for once: both lists may be long.
    let excluded = ["regional", "zonal"].map(|placement| (placement, !scope.allows(placement)));
    let is_excluded = |zone: &&str| excluded.contains(&(ZoneForm::placement_of(zone), true));
    let Some(zones) = zones.find(|list| list.values.iter().all(is_excluded)) else {
        return;
    };
    let (at, other) = requirement_first(zones, scope);
    findings
        .report(
            &REQUIREMENT_ZONE_REGION,
            at.at.path(),
            ErrorType::showing(at.to_string()),
            "no listed zone has the required scope",
        )
        .consequence(format!("{NEVER_LAUNCHES} because of {other}"))
        .related(other.at.path())
        .suggest("change the zones or the scope (only zone 0 is regional)");
}

fn lower<'n>(names: impl Iterator<Item = &'n str>) -> BTreeSet<String> {
    names.map(str::to_ascii_lowercase).collect()
}

/// Warns of a list of instance types or families that other demands exclude completely.
pub fn check_types(demands: &[Demand<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some(naming) = scope.naming else {
        return;
    };
    let on_names = || {
        let demands = demands.iter();
        demands.filter_map(|demand| {
            Some(OnName {
                part: demand.part?,
                demand,
            })
        })
    };
    let lists = on_names()
        .filter(|one| matches!(one.part, Part::Name | Part::Family) && one.demand.operator == Operator::In);
    // Types show more than families do.
    let Some(list) = lists.min_by_key(|one| one.part != Part::Name) else {
        return;
    };
    let rest = on_names().filter(|one| one.demand.at != list.demand.at);
    let (same, others): (Vec<_>, Vec<_>) = rest.partition(|one| one.part == list.part);
    if others.is_empty() {
        return;
    }
    let named = list.named();
    let values = list.demand.values.iter().copied();
    let together = Selection::all(same.iter().map(|one| one.demand.written().clone()));
    let values = values.filter(|value| together.has(value));
    let by_part = by_part(&others);
    // The release of the provider is not known, so a value that fits in any of them is left.
    let is_left = |value| {
        let mut cuts = naming.cuts().iter();
        cuts.any(|cut| fits(named(value), *cut, &by_part))
    };
    if values.clone().any(is_left) {
        return;
    }
    // Demands on one part that contradict each other are reported already.
    let all = self::by_part(&[&[list], &*same, &others].concat());
    if all.iter().any(|(_, allowed)| allowed.is_empty()) {
        return;
    }
    let Some(newest) = naming.cuts().first().copied() else {
        return;
    };
    // One demand that excludes all values says more than several that share them.
    let excludes_all = |one: &&OnName<'_, '_>| {
        let mut values = values.clone();
        values.all(|value| excluding(named(value), newest, std::slice::from_ref(one)).is_some())
    };
    let only = others.iter().find(excludes_all);
    let others = only.map_or(others.as_slice(), std::slice::from_ref);
    let excluded = values.filter_map(|value| Some((value, excluding(named(value), newest, others)?)));
    report_types(list, excluded, findings);
}

/// A demand on a label that is a part of an instance type's name.
#[derive(Debug, Clone, Copy)]
struct OnName<'d, 'a> {
    part: Part,
    demand: &'d Demand<'a>,
}

impl OnName<'_, '_> {
    /// How to read the values of a list of types or families.
    const fn named<'n>(&self) -> fn(&'n str) -> Named<'n> {
        match self.part {
            Part::Name => Named::Type,
            _ => Named::Family,
        }
    }
}

/// What demands allow of each part of a name.
fn by_part<'a>(demands: &[OnName<'_, 'a>]) -> Vec<(Part, Selection<'a>)> {
    let mut parts: Vec<(Part, Vec<Selection<'a>>)> = Vec::new();
    for one in demands {
        let written = one.demand.written().clone();
        match parts.iter_mut().find(|(part, _)| *part == one.part) {
            Some((_, all)) => all.push(written),
            None => parts.push((one.part, vec![written])),
        }
    }
    let parts = parts.into_iter();
    parts.map(|(part, all)| (part, Selection::all(all))).collect()
}

/// Whether a type or family has what is allowed of each part.
fn fits(named: Named<'_>, cut: Cut, parts: &[(Part, Selection<'_>)]) -> bool {
    let mut parts = parts.iter();
    parts.all(|(part, allowed)| cut(named, *part).is_none_or(|value| allowed.has(&value)))
}

/// The first demand that a type or family does not fit, with the value that it has instead.
fn excluding<'n, 'd, 'a>(
    named: Named<'n>,
    cut: Cut,
    others: &[OnName<'d, 'a>],
) -> Option<(Cow<'n, str>, &'d Demand<'a>)> {
    others.iter().find_map(|one| {
        let value = cut(named, one.part).filter(|value| !one.demand.allows(value))?;
        Some((value, one.demand))
    })
}

/// Reports that no listed value fits, with the reasons for the first ones.
fn report_types<'n, 'd, 'a: 'd>(
    list: OnName<'_, '_>,
    excluded: impl Iterator<Item = (&'n str, (Cow<'n, str>, &'d Demand<'a>))>,
    findings: &mut Findings<'_>,
) {
    let mut reasons: Vec<String> = Vec::new();
    let mut more = 0;
    let mut culprits: Vec<&Demand<'_>> = Vec::new();
    for (value, (cut, demand)) in excluded {
        if reasons.len() < MOST_EXPLAINED {
            let (_, label) = demand.key.split_once('/').unwrap_or_default();
            reasons.push(format!("{value} has {label} {cut}"));
        } else {
            more += 1;
        }
        if !culprits.iter().any(|culprit| culprit.at == demand.at) {
            culprits.push(demand);
        }
    }
    if more > 0 {
        let does = if more == 1 { "does" } else { "do" };
        reasons.push(format!("{more} more {does} not fit"));
    }
    let what = if list.part == Part::Name { "type" } else { "family" };
    let told: Vec<String> = culprits.iter().map(ToString::to_string).collect();
    let consequence = format!(
        "{NEVER_LAUNCHES}, because {}, which contradicts {}",
        reasons.join(" and "),
        told.join(" and ")
    );
    findings
        .report(
            &REQUIREMENT_TYPE_CONTRADICTION,
            list.demand.at.path(),
            ErrorType::showing(list.demand.to_string()),
            format!("no listed instance {what} satisfies the other requirements"),
        )
        .consequence(consequence)
        .suggest("list values that fit together")
        .related = culprits.iter().map(|culprit| culprit.at.path()).collect();
}

#[cfg(test)]
mod tests;
