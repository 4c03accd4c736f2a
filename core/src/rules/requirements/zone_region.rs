//! Zones that are in another region than the one required.

use super::groups::Source;
use super::{Entry, Scope};
use crate::diagnostic::ErrorType;
use crate::karpenter::{Operator, Provider, REGION_LABEL, ZONE_LABEL, ZoneForm, canonical_label};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

/// The most comparisons of a zone with a region.
const MOST_COMPARED: usize = 10_000;

pub static REQUIREMENT_ZONE_REGION: Rule = rule!("requirement-zone-region", Warning, [Silent], Read);

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
        report(&zones, &regions, scope, findings);
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

fn report(zones: &Source<'_>, regions: &Source<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    // The mistake is shown at a requirement if there is one: a label is only the other half of it.
    let (at, other) = match (zones, regions) {
        (Source::Label { .. }, Source::Entry(_)) => (regions, zones),
        _ => (zones, regions),
    };
    let place = other.path(scope);
    let reason = format!(
        "contradicts {other} at {place}: no listed zone is in a listed region, so the pool never launches a node"
    );
    findings
        .report(
            &REQUIREMENT_ZONE_REGION,
            at.path(scope),
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
    fn zones_of_another_region_contradict_the_region() {
        assert_eq!(
            of(
                "karpenter.azure.com",
                ZONE,
                &json!(["eastus2-1", "eastus2-2"]),
                &json!(["canadacentral"])
            ),
            [
                "spec.template.spec.requirements[0]: Invalid value: topology.kubernetes.io/zone In [eastus2-1, \
                 eastus2-2]: contradicts topology.kubernetes.io/region In [canadacentral] at \
                 spec.template.spec.requirements[1]: no listed zone is in a listed region, so the pool never launches \
                 a node; list zones of that region, or leave the region out [requirement-zone-region]"
            ]
        );
        for (group, zone, zones, region) in [
            ("karpenter.k8s.aws", ZONE, json!(["us-east-1a"]), "eu-west-1"),
            (
                "karpenter.k8s.aws",
                "topology.ebs.csi.aws.com/zone",
                json!(["us-east-1a"]),
                "us-east-2",
            ),
            (
                "eks.amazonaws.com",
                ZONE,
                json!(["us-west-2-lax-1a"]),
                "us-west-1",
            ),
            (
                "karpenter.k8s.gcp",
                ZONE,
                json!(["us-central1-a"]),
                "europe-west1",
            ),
        ] {
            let warned = of(group, zone, &zones, &json!([region]));
            assert_eq!(warned.len(), 1, "{zones} {region}: {warned:?}");
            assert!(warned[0].ends_with("[requirement-zone-region]"), "{warned:?}");
        }
    }

    #[test]
    fn a_template_label_is_a_list_of_one() {
        let with = |labels: Value, list: Value| {
            let mut object = requirements_of("karpenter.k8s.aws", &list);
            object["spec"]["template"]["metadata"] = json!({"labels": labels});
            warnings(&object)
        };
        let zones = json!([{"key": ZONE, "operator": "In", "values": ["us-east-1a"]}]);
        let regions = json!([{"key": REGION, "operator": "In", "values": ["eu-west-1"]}]);
        for (warned, place) in [
            (
                with(json!({REGION: "eu-west-1"}), zones),
                "spec.template.spec.requirements[0]: ",
            ),
            (
                with(json!({ZONE: "us-east-1a"}), regions),
                "spec.template.spec.requirements[0]: ",
            ),
            (
                with(
                    json!({"failure-domain.beta.kubernetes.io/zone": "us-east-1a", REGION: "eu-west-1"}),
                    json!([]),
                ),
                "spec.template.metadata.labels[failure-domain.beta.kubernetes.io/zone]: ",
            ),
        ] {
            let warned: Vec<_> = warned
                .iter()
                .filter(|warning| warning.ends_with("[requirement-zone-region]"))
                .collect();
            assert_eq!(warned.len(), 1, "{place}");
            assert!(warned[0].starts_with(place), "{warned:?}");
        }
    }

    #[test]
    fn one_zone_in_a_listed_region_is_enough() {
        for (group, zones, regions) in [
            (
                "karpenter.k8s.aws",
                json!(["us-east-1a", "eu-west-1b"]),
                json!(["eu-west-1", "eu-west-2"]),
            ),
            (
                "karpenter.k8s.aws",
                json!(["us-west-2-lax-1a"]),
                json!(["us-west-2"]),
            ),
            (
                "eks.amazonaws.com",
                json!(["us-east-1-wl1-bos-wlz-1"]),
                json!(["us-east-1"]),
            ),
            ("karpenter.azure.com", json!(["0"]), json!(["eastus2"])),
            ("karpenter.azure.com", json!(["eastus2-1"]), json!(["EastUS2"])),
            (
                "karpenter.k8s.gcp",
                json!(["us-central1-a"]),
                json!(["us-central1"]),
            ),
            (
                "karpenter.kwok.sh",
                json!(["test-zone-a"]),
                json!(["test-region"]),
            ),
            (
                "karpenter.example.com",
                json!(["us-east-1a"]),
                json!(["eu-west-1"]),
            ),
            ("karpenter.k8s.aws", json!(["test-zone-1a"]), json!(["us-east-1"])),
        ] {
            assert_eq!(of(group, ZONE, &zones, &regions), [""; 0], "{zones} {regions}");
        }
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
