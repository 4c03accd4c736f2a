//! Zones that are in another region than the one required.

use super::groups::Source;
use super::{Entry, Scope};
use crate::diagnostic::ErrorType;
use crate::karpenter::{Operator, Provider, REGION_LABEL, ZONE_LABEL, ZoneForm, canonical_label};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The most comparisons of a zone with a region.
const MOST_COMPARED: usize = 10_000;

pub static REQUIREMENT_ZONE_REGION: Rule = rule!("requirement-zone-region", Warning, Silent);

/// Warns of a list of zones none of which is in a listed region.
pub fn check(entries: &[Entry<'_>], labels: &[(&str, &str)], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let zones = || lists(entries, labels, ZONE_LABEL, scope.provider);
    let regions = || lists(entries, labels, REGION_LABEL, scope.provider);
    if regions().next().is_none() {
        return;
    }
    let Some(form) = scope.provider.and_then(|provider| provider.zones) else {
        return;
    };
    let zone_count: usize = zones().map(|list| list.count()).sum();
    let region_count: usize = regions().map(|list| list.count()).sum();
    if zone_count.saturating_mul(region_count) > MOST_COMPARED {
        return;
    }
    let mut pairs = zones().flat_map(|zones| regions().map(move |regions| (zones, regions)));
    let apart = pairs.find(|(zones, regions)| are_apart(form, zones.values(), regions.values()));
    if let Some((zones, regions)) = apart {
        report(&zones, &regions, findings);
    }
}

/// The requirements and template labels that list values of a label.
fn lists<'a>(
    entries: &'a [Entry<'a>],
    labels: &'a [(&'a str, &'a str)],
    wanted: &'static str,
    provider: Option<&'static Provider>,
) -> impl Iterator<Item = Source<'a>> {
    let entries = entries
        .iter()
        .filter(move |entry| entry.key == wanted && entry.operator == Operator::In)
        .map(Source::Entry);
    let labels = labels.iter().filter_map(move |&(written, value)| {
        let key = canonical_label(written, provider);
        (key == wanted).then_some(Source::Label { written, key, value })
    });
    entries.chain(labels)
}

/// Whether no zone is in any of the regions. It is not certain if one of them is written in another way.
fn are_apart(form: ZoneForm, zones: &[&str], regions: &[&str]) -> bool {
    let is_in = |zone: &str| {
        form.region_of(zone)
            .is_none_or(|of| regions.iter().any(|region| region.eq_ignore_ascii_case(of)))
    };
    regions.iter().all(|region| form.is_region(region)) && !zones.iter().any(|zone| is_in(zone))
}

fn report(zones: &Source<'_>, regions: &Source<'_>, findings: &mut Findings<'_>) {
    // The mistake is shown at a requirement if there is one: a label is only the other half of it.
    let (at, other) = match (zones, regions) {
        (Source::Label { .. }, Source::Entry(_)) => (regions, zones),
        _ => (zones, regions),
    };
    let place = other.path();
    let reason = format!(
        "contradicts {other} at {place}: no listed zone is in a listed region, so the pool never launches a node"
    );
    findings
        .report(
            &REQUIREMENT_ZONE_REGION,
            at.path(),
            ErrorType::showing(at.to_string()),
            reason,
        )
        .related(place)
        .suggest("list zones of that region, or leave the region out");
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{errors, requirements_of, warnings};

    const ZONE: &str = "topology.kubernetes.io/zone";
    const REGION: &str = "topology.kubernetes.io/region";

    fn of(group: &str, zone: &str, zones: &Value, regions: &Value) -> Vec<String> {
        let object = requirements_of(
            group,
            &json!([
                {"key": zone, "operator": "In", "values": zones},
                {"key": REGION, "operator": "In", "values": regions},
            ]),
        );
        assert_eq!(errors(&object), [""; 0]);
        warnings(&object)
    }

    #[test]
    fn long_lists_are_not_compared() {
        let zones: Vec<String> = (0..101).map(|number| format!("eastus2-{number}")).collect();
        let regions: Vec<String> = (0..100).map(|number| format!("region{number}")).collect();
        assert_eq!(
            of("karpenter.azure.com", ZONE, &json!(zones), &json!(regions)),
            [""; 0]
        );
    }
}
