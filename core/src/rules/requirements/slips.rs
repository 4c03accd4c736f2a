//! Values that no node has, because they are written as in other systems or belong to another label.

use super::demand::Demand;
use super::scope::Scope;
use crate::diagnostic::nearest;
use crate::facts::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, LabelKind, LabelValues, OS_LABEL, Part,
    REGION_LABEL, ZONE_LABEL, ZoneForm, canonical_label, integer,
};
use crate::value::label::domain_of;

/// Common names of architectures in lower case, with the names in Kubernetes.
const ARCHITECTURES: &[(&str, &str)] = &[
    ("amd64", "amd64"),
    ("x86_64", "amd64"),
    ("x86-64", "amd64"),
    ("x64", "amd64"),
    ("x86", "amd64"),
    ("amd", "amd64"),
    ("intel", "amd64"),
    ("arm64", "arm64"),
    ("aarch64", "arm64"),
    ("arm", "arm64"),
    ("graviton", "arm64"),
];

/// Other names of operating systems, with their names in the label.
const SYSTEMS: &[(&str, &str)] = &[
    ("linux", "linux"),
    ("ubuntu", "linux"),
    ("bottlerocket", "linux"),
    ("al2023", "linux"),
    ("windows", "windows"),
    ("windows2019", "windows"),
    ("windows2022", "windows"),
];

/// The label of AWS for the ids of zones.
pub const AWS_ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// The label of Google Cloud whose values are those of the zone.
const GOOGLE_ZONE_ID: &str = "topology.k8s.gcp/zone-id";

/// Why no node has a value.
#[derive(Debug)]
pub struct Slip {
    pub why: &'static str,
    /// The value that was probably meant, if there is just one.
    pub likely: Option<String>,
    /// All values that there are, if they are few.
    pub supported: &'static [&'static str],
    /// True for every provider and release, so that a list of such values is an error.
    pub is_certain: bool,
}

impl Slip {
    const fn certain(why: &'static str, likely: Option<String>) -> Self {
        Self {
            why,
            likely,
            supported: &[],
            is_certain: true,
        }
    }

    fn probable(why: &'static str, likely: Option<String>) -> Self {
        Self {
            is_certain: false,
            ..Self::certain(why, likely)
        }
    }
}

/// Why no node has this value.
pub fn slip(value: &str, demand: &Demand<'_>, scope: &Scope<'_>) -> Option<Slip> {
    if let Some(slip) = of_label(value, demand, scope) {
        return Some(slip);
    }
    let form = scope.labels.provider?.zones?;
    of_zone(demand.key, value, form, scope)
        .or_else(|| (form == ZoneForm::Aws).then(|| on_aws(demand.key, value, scope.labels.group?))?)
        .map(|(why, likely)| Slip::probable(why, likely))
}

/// A slip that does not depend on how the provider names things.
fn of_label(value: &str, demand: &Demand<'_>, scope: &Scope<'_>) -> Option<Slip> {
    let key = demand.key;
    if value.is_empty() && demand.is_on_every_instance_type() && !may_be_empty(key, scope) {
        return Some(Slip::certain(
            "no instance type has an empty value for this label",
            None,
        ));
    }
    if let Some(name) = other_name(key, value) {
        return Some(Slip::certain("no node has this value", Some(name.to_owned())));
    }
    let label = scope.labels.provider.and_then(|provider| provider.label(key));
    if let Some(label) = label.filter(|label| !label.only.is_empty() && !label.only.contains(&value)) {
        return Some(Slip {
            supported: label.only,
            ..Slip::certain("no instance type of the provider has this value", None)
        });
    }
    if demand.kind == LabelKind::WellKnown(LabelValues::Number) {
        let Some(number) = integer(value) else {
            return Some(Slip::certain("the values of this label are whole numbers", None));
        };
        let plain = number.to_string();
        if plain != value {
            let why = "the numbers of this label have neither leading zeros nor a sign";
            return Some(Slip::certain(why, Some(plain)));
        }
    }
    if let Some(domain) = key.strip_suffix("/instance-category")
        && value.bytes().any(|byte| byte.is_ascii_digit())
    {
        let why = "a category consists of letters only, such as c or m";
        let label = if value.contains('.') {
            INSTANCE_TYPE_LABEL.to_owned()
        } else if is_size(value) {
            format!("{domain}/instance-size")
        } else {
            format!("{domain}/instance-family")
        };
        return Some(Slip::certain(why, Some(format!("the label {label}"))));
    }
    if demand.part == Some(Part::Family)
        && let Some(slip) = of_family(value, key, scope)
    {
        return Some(slip);
    }
    if let Some(slip) = of_regional_zone(value, key, scope) {
        return Some(slip);
    }
    if demand.kind == LabelKind::WellKnown(LabelValues::Boolean) && !["true", "false"].contains(&value) {
        return Some(Slip {
            is_certain: is_closed(key, scope),
            ..Slip::certain(
                "the values of this label are true and false",
                truth(value).map(|truth| truth.to_string()),
            )
        });
    }
    None
}

/// A family that is a category, or written as in an older release.
fn of_family(value: &str, key: &str, scope: &Scope<'_>) -> Option<Slip> {
    let (naming, provider) = (scope.naming?, scope.labels.provider?);
    if provider.instance_types.is_some() && !value.bytes().any(|byte| byte.is_ascii_digit()) {
        let categories = naming.known(Part::Category, provider)?;
        let domain = domain_of(key);
        let label = match value {
            _ if categories.contains(value) => Some("instance-category"),
            _ if is_size(value) => Some("instance-size"),
            _ => None,
        };
        let likely = label.map(|label| format!("the label {domain}/{label}"));
        return Some(Slip::certain("every family has a digit, such as m5", likely));
    }
    let (since, why) = naming.without_hyphens?;
    let (family, _) = value.split_once('-')?;
    let release = scope.context.policy.cluster.version_of(provider);
    release.is_none_or(|release| release >= since).then(|| Slip {
        is_certain: release.is_some(),
        ..Slip::certain(why, Some(family.to_owned()))
    })
}

/// A name for the zone of machines without one that the release of the provider does not have.
fn of_regional_zone(value: &str, key: &str, scope: &Scope<'_>) -> Option<Slip> {
    let provider = scope.labels.provider.filter(|_| key == ZONE_LABEL)?;
    let release = scope.context.policy.cluster.version_of(provider)?;
    let empty = provider.label(key)?.empty_is?;
    if value == empty.value && release < empty.since {
        let why = "in this release of the provider, machines without a zone have an empty value";
        Some(Slip::certain(why, None))
    } else if value.is_empty() && (empty.since..empty.read_since).contains(&release) {
        let why = "in this release of the provider, no machine has an empty value";
        Some(Slip::certain(why, Some(empty.value.to_owned())))
    } else {
        None
    }
}

/// Whether only the provider itself sets the label: a release that does not know it rejects it.
fn is_closed(key: &str, scope: &Scope<'_>) -> bool {
    scope
        .labels
        .provider
        .is_some_and(|provider| provider.is_closed && provider.owns(domain_of(key)))
}

/// Whether some instance types of the provider carry the label with an empty value.
fn may_be_empty(key: &str, scope: &Scope<'_>) -> bool {
    let label = scope.labels.provider.and_then(|provider| provider.label(key));
    label.is_some_and(|label| label.may_be_empty)
}

/// A legal text as a value of this label that nodes can have, so that a suggestion is not itself denied. `None` if there is
/// none that was probably meant.
pub fn corrected<'t>(key: &str, text: &'t str, capacity_types: &[&'t str]) -> Option<&'t str> {
    match canonical_label(key, None) {
        CAPACITY_TYPE_LABEL => nearest(text, capacity_types.iter().copied()),
        key => Some(other_name(key, text).unwrap_or(text)),
    }
}

/// The label's name of an architecture or a system that has other names elsewhere.
fn other_name(key: &str, value: &str) -> Option<&'static str> {
    let names = match key {
        ARCH_LABEL => ARCHITECTURES,
        OS_LABEL => SYSTEMS,
        _ => return None,
    };
    let mut found = names
        .iter()
        .filter(|(written, name)| written.eq_ignore_ascii_case(value) && *name != value);
    found.next().map(|(_, name)| *name)
}

/// The meaning of a word for yes or no.
fn truth(word: &str) -> Option<bool> {
    let is_one_of = |words: &[&str]| words.iter().any(|other| word.eq_ignore_ascii_case(other));
    if is_one_of(&["true", "yes", "y", "on", "t", "1", "enabled", "supported"]) {
        Some(true)
    } else if is_one_of(&["false", "no", "n", "off", "f", "0", "disabled", "unsupported"]) {
        Some(false)
    } else {
        None
    }
}

/// A zone or region that is not written as the provider writes it, or is mistaken for another thing.
fn of_zone(
    key: &str,
    value: &str,
    form: ZoneForm,
    scope: &Scope<'_>,
) -> Option<(&'static str, Option<String>)> {
    if ![ZONE_LABEL, REGION_LABEL, AWS_ZONE_ID, GOOGLE_ZONE_ID].contains(&key) {
        return None;
    }
    let region = form.region_of(value);
    if key == REGION_LABEL {
        let reason = "this is a zone, not a region";
        return region.map(|region| (reason, Some(region.to_owned())));
    }
    if region.is_some() {
        let reason = "this is a zone name, but the label takes an ID such as use1-az1";
        return (key == AWS_ZONE_ID).then(|| (reason, Some(format!("the label {ZONE_LABEL}"))));
    }
    match form {
        ZoneForm::Aws if key == ZONE_LABEL && form.is_zone_id(value) => Some((
            "this is a zone ID, not a zone name",
            Some(format!("the label {AWS_ZONE_ID}")),
        )),
        ZoneForm::Aws if key == ZONE_LABEL && form.is_region(value) => Some((
            "this is a region, but a zone ends in a letter",
            Some(format!("{value}a, or the label {REGION_LABEL}")),
        )),
        ZoneForm::Google if form.is_region(value) => Some((
            "this is a region, but a zone ends in a letter",
            Some(format!("{value}-a, or the label {REGION_LABEL}")),
        )),
        ZoneForm::Azure if form.is_region(value) => Some((
            "this is a region, but a zone ends in a number",
            Some(format!("{value}-1, or the label {REGION_LABEL}")),
        )),
        // 0 is the zone of machines without a zone.
        ZoneForm::Azure if value != "0" && value.parse::<u8>().is_ok() => Some((
            "a zone begins with its region, as in eastus2-1",
            region_of(scope).map(|region| format!("{region}-{value}")),
        )),
        _ => None,
    }
}

/// The region that a template demands, if it names one alone.
fn region_of<'a>(scope: &Scope<'a>) -> Option<&'a str> {
    let template = scope.template;
    let is_region = |key: &str| canonical_label(key, scope.labels.provider) == REGION_LABEL;
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

/// A value that belongs to another label of AWS, or has capitals. Types and sizes of other providers cannot be told apart.
fn on_aws(key: &str, value: &str, group: &str) -> Option<(&'static str, Option<String>)> {
    let (domain, name) = key.split_once('/')?;
    // The provider converts even the names of GPUs to lower case (`lowerKabobCase` of `karpenter-provider-aws`).
    let is_own = domain == group && name.starts_with("instance-");
    let is_lower = is_own || [INSTANCE_TYPE_LABEL, ZONE_LABEL, REGION_LABEL].contains(&key);
    match name {
        _ if is_lower && value.bytes().any(|byte| byte.is_ascii_uppercase()) => Some((
            "values of this label are in lower case on AWS",
            Some(value.to_ascii_lowercase()),
        )),
        _ if key == INSTANCE_TYPE_LABEL && is_size(value) => Some((
            "this is an instance size, but a type has the form t3.nano",
            Some(format!("the label {group}/instance-size")),
        )),
        _ if key == INSTANCE_TYPE_LABEL && !value.contains('.') => Some((
            "a type is a family and a size, as in m5.large",
            Some(format!("the label {group}/instance-family")),
        )),
        "instance-family" if domain == group && value.contains('.') => Some((
            "this is an instance type, not a family",
            Some(format!("the label {INSTANCE_TYPE_LABEL}")),
        )),
        "instance-family" if domain == group && is_size(value) => Some((
            "this is an instance size, not a family",
            Some(format!("the label {group}/instance-size")),
        )),
        "instance-category" if domain == group && is_size(value) => Some((
            "this is an instance size, not a category",
            Some(format!("the label {group}/instance-size")),
        )),
        "instance-size" if domain == group && value.contains('.') => Some((
            "this is an instance type, not a size",
            Some(format!("the label {INSTANCE_TYPE_LABEL}")),
        )),
        "instance-size" if domain == group && is_family(value) => Some((
            "this is an instance family, not a size",
            Some(format!("the label {group}/instance-family")),
        )),
        _ => None,
    }
}

/// Whether a value begins as families do, with a category and a generation.
fn is_family(value: &str) -> bool {
    let behind = value.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    behind.len() < value.len() && behind.starts_with(|digit: char| digit.is_ascii_digit())
}

fn is_size(value: &str) -> bool {
    const SIZES: &[&str] = &["nano", "micro", "small", "medium", "large", "metal"];
    let times = value.strip_suffix("xlarge");
    SIZES.contains(&value)
        || value.starts_with("metal-")
        || times.is_some_and(|times| times.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_aws_are_not_types_and_no_value_has_capitals() {
        let likely =
            |key: &str, value: &str| on_aws(key, value, "karpenter.k8s.aws").and_then(|(_, likely)| likely);
        let family = "the label karpenter.k8s.aws/instance-family";
        assert_eq!(likely(INSTANCE_TYPE_LABEL, "m5").as_deref(), Some(family));
        assert_eq!(
            likely(INSTANCE_TYPE_LABEL, "M5.large").as_deref(),
            Some("m5.large")
        );
        assert_eq!(
            likely("karpenter.k8s.aws/instance-category", "M").as_deref(),
            Some("m")
        );
        for (key, value) in [
            (INSTANCE_TYPE_LABEL, "u-6tb1.metal"),
            ("karpenter.k8s.aws/instance-category", "m"),
            ("karpenter.k8s.aws/instance-size", "metal-24xl"),
            ("karpenter.k8s.aws/instance-size", "16xl"),
            ("karpenter.k8s.aws/instance-size", "huge"),
            ("karpenter.k8s.aws/instance-family", "u-6tb1"),
            ("karpenter.k8s.aws/placement-group-id", "PG"),
            ("example.com/instance-owner", "Anna"),
        ] {
            assert_eq!(likely(key, value), None, "{key}: {value}");
        }
    }

    #[test]
    fn sizes_are_distinguished_from_types() {
        for size in ["nano", "large", "xlarge", "24xlarge", "metal", "metal-24xl"] {
            assert!(is_size(size), "{size}");
        }
        for other in ["t3.nano", "axlarge", "Standard_D4s_v5", ""] {
            assert!(!is_size(other), "{other}");
        }
    }
}
