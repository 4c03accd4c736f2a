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
