//! Zones and regions that are not written as the provider writes them, or are mistaken for each other.

use crate::karpenter::{REGION_LABEL, Template, ZONE_LABEL, ZoneForm, canonical_label};
use crate::rules::requirements::Scope;

/// The label of AWS for the ids of zones.
const AWS_ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// The label of Google Cloud whose values are those of the zone.
const GOOGLE_ZONE_ID: &str = "topology.k8s.gcp/zone-id";

/// Why no node has the value in this label, and the probable value, if it is known.
pub fn slip(key: &str, value: &str, scope: &Scope<'_>) -> Option<(&'static str, Option<String>)> {
    if ![ZONE_LABEL, REGION_LABEL, AWS_ZONE_ID, GOOGLE_ZONE_ID].contains(&key) {
        return None;
    }
    let form = scope.provider?.zones?;
    let region = form.region_of(value);
    if key == REGION_LABEL {
        let reason = "this is a zone and not a region, so it matches nothing";
        return region.map(|region| (reason, Some(region.to_owned())));
    }
    if region.is_some() {
        let reason =
            "this is the name of a zone, and the label has its id, such as use1-az1, so it matches nothing";
        return (key == AWS_ZONE_ID).then(|| (reason, Some(format!("the label {ZONE_LABEL}"))));
    }
    match form {
        ZoneForm::Aws if key == ZONE_LABEL && form.is_zone_id(value) => Some((
            "this is the id of a zone and not its name, so it matches nothing",
            Some(format!("the label {AWS_ZONE_ID}")),
        )),
        ZoneForm::Aws if key == ZONE_LABEL && form.is_region(value) => Some((
            "this is a region, and a zone ends in a letter, so it matches nothing",
            Some(format!("{value}a, or the label {REGION_LABEL}")),
        )),
        ZoneForm::Google if form.is_region(value) => Some((
            "this is a region, and a zone ends in a letter, so it matches nothing",
            Some(format!("{value}-a, or the label {REGION_LABEL}")),
        )),
        ZoneForm::Azure if form.is_region(value) => Some((
            "this is a region, and a zone ends in a number, so it matches nothing",
            Some(format!("{value}-1, or the label {REGION_LABEL}")),
        )),
        // 0 is the zone of machines without a zone.
        ZoneForm::Azure if value != "0" && value.parse::<u8>().is_ok() => Some((
            "a zone begins with its region, as in eastus2-1, so it matches nothing",
            region_of(scope.template).map(|region| format!("{region}-{value}")),
        )),
        _ => None,
    }
}

/// The region that a template demands, if it names one alone.
fn region_of<'a>(template: &Template<'a>) -> Option<&'a str> {
    let is_region = |key: &str| canonical_label(key, None) == REGION_LABEL;
    let mut labels = template.labels.present().into_iter().flatten();
    let label = labels.find(|(key, _)| is_region(key)).map(|(_, value)| value);
    let listed = || {
        let mut requirements = template.requirements().iter();
        let requirement =
            requirements.find(|requirement| requirement.key.present().is_some_and(is_region))?;
        match requirement.values.present()? {
            [value] if requirement.operator.present() == Some("In") => Some(value),
            _ => None,
        }
    };
    label.or_else(listed)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{errors, requirements_of, warnings};

    const ZONE: &str = "topology.kubernetes.io/zone";

    fn of(group: &str, key: &str, values: &[&str]) -> Vec<String> {
        warnings(&requirements_of(
            group,
            &json!([{"key": key, "operator": "In", "values": values}]),
        ))
    }

    #[test]
    fn a_zone_of_azure_without_its_region_gets_the_region_of_the_pool() {
        let azure = "karpenter.azure.com";
        assert_eq!(
            of(azure, ZONE, &["1", "2"]),
            [
                "spec.template.spec.requirements[0].values[0]: Invalid value: \"1\": a zone begins with its region, as \
                 in eastus2-1, so it matches nothing, nor \"2\" [requirement-value-slip]"
            ]
        );
        let list = json!([
            {"key": "topology.disk.csi.azure.com/zone", "operator": "In", "values": ["1", "canadacentral-2"]},
            {"key": "topology.kubernetes.io/region", "operator": "In", "values": ["canadacentral"]},
        ]);
        let warned = warnings(&requirements_of(azure, &list));
        assert_eq!(warned.len(), 1, "{warned:?}");
        assert!(
            warned[0]
                .contains("so it matches nothing; did you mean canadacentral-1? [requirement-value-slip]"),
            "{warned:?}"
        );
        let mut labelled = requirements_of(azure, &json!([{"key": ZONE, "operator": "In", "values": ["3"]}]));
        labelled["spec"]["template"]["metadata"] =
            json!({"labels": {"topology.kubernetes.io/region": "eastus"}});
        assert!(warnings(&labelled)[0].contains("did you mean eastus-3?"));
        assert_eq!(errors(&labelled), [""; 0]);
    }

    #[test]
    fn a_region_or_an_id_in_the_place_of_a_zone_gets_the_right_label() {
        for (group, key, value, likely) in [
            (
                "karpenter.k8s.aws",
                ZONE,
                "use1-az1",
                "the label topology.k8s.aws/zone-id",
            ),
            (
                "eks.amazonaws.com",
                ZONE,
                "usw2-lax1-az1",
                "the label topology.k8s.aws/zone-id",
            ),
            (
                "karpenter.k8s.aws",
                "topology.ebs.csi.aws.com/zone",
                "us-east-1",
                "us-east-1a, or the label topology.kubernetes.io/region",
            ),
            (
                "karpenter.k8s.aws",
                "topology.k8s.aws/zone-id",
                "us-east-1a",
                "the label topology.kubernetes.io/zone",
            ),
            (
                "karpenter.k8s.aws",
                "topology.kubernetes.io/region",
                "us-east-1a",
                "us-east-1",
            ),
            (
                "karpenter.k8s.gcp",
                ZONE,
                "us-central1",
                "us-central1-a, or the label topology.kubernetes.io/region",
            ),
            (
                "karpenter.k8s.gcp",
                "topology.k8s.gcp/zone-id",
                "us-central1",
                "us-central1-a, or the label topology.kubernetes.io/region",
            ),
            (
                "karpenter.azure.com",
                ZONE,
                "eastus2",
                "eastus2-1, or the label topology.kubernetes.io/region",
            ),
        ] {
            let warned = of(group, key, &[value]);
            assert_eq!(warned.len(), 1, "{key} {value}: {warned:?}");
            assert!(
                warned[0].ends_with(&format!("; did you mean {likely}? [requirement-value-slip]")),
                "{warned:?}"
            );
        }
    }

    #[test]
    fn zones_as_their_provider_writes_them_are_silent() {
        for (group, key, value) in [
            ("karpenter.azure.com", ZONE, "0"),
            ("karpenter.azure.com", ZONE, ""),
            ("karpenter.azure.com", ZONE, "eastus2-1"),
            ("karpenter.k8s.aws", ZONE, "us-east-1a"),
            ("karpenter.k8s.aws", ZONE, "us-west-2-lax-1a"),
            ("eks.amazonaws.com", ZONE, "us-east-1-wl1-bos-wlz-1"),
            ("karpenter.k8s.aws", "topology.k8s.aws/zone-id", "use1-az1"),
            ("karpenter.k8s.gcp", ZONE, "us-central1-a"),
            ("karpenter.k8s.gcp", ZONE, "us-central1-ai1a"),
            ("karpenter.k8s.gcp", "topology.k8s.gcp/zone-id", "us-central1-a"),
            ("karpenter.kwok.sh", ZONE, "test-zone-a"),
            ("karpenter.kwok.sh", ZONE, "1"),
            ("karpenter.k8s.alibabacloud", ZONE, "us-east-1"),
            ("karpenter.hetzner.cloud", ZONE, "nbg1"),
            ("karpenter-ibm.sh", ZONE, "us-south-1"),
            ("karpenter.example.com", ZONE, "us-east-1"),
        ] {
            let object = requirements_of(group, &json!([{"key": key, "operator": "In", "values": [value]}]));
            assert_eq!(errors(&object), [""; 0], "{group} {value}");
            assert_eq!(warnings(&object), [""; 0], "{group} {value}");
        }
    }

    #[test]
    fn a_region_that_cannot_be_read_suggests_nothing() {
        for region in [
            json!({"key": "topology.kubernetes.io/region", "operator": "NotIn", "values": ["eastus"]}),
            json!({"key": "topology.kubernetes.io/region", "operator": "In", "values": ["eastus", "westus"]}),
            json!({"key": "topology.kubernetes.io/region", "operator": "Exists"}),
            Value::Null,
        ] {
            let list = json!([{"key": ZONE, "operator": "In", "values": ["1"]}, region]);
            let warned = warnings(&requirements_of("karpenter.azure.com", &list));
            assert!(
                warned[0].ends_with("so it matches nothing [requirement-value-slip]"),
                "{warned:?}"
            );
        }
    }
}
