//! Values that no node on AWS has: they belong to another label, or have capitals. Types and sizes of other providers
//! cannot be told apart.

use crate::karpenter::{INSTANCE_TYPE_LABEL, REGION_LABEL, ZONE_LABEL};

/// The API groups of node classes of AWS.
pub const GROUPS: &[&str] = &["karpenter.k8s.aws", "eks.amazonaws.com"];

/// Why no node has the value in this label, and the probable value.
pub fn slip(key: &str, value: &str, group: &str) -> Option<(&'static str, String)> {
    let (domain, name) = key.split_once('/')?;
    // The provider converts even the names of GPUs to lower case (`lowerKabobCase` of `karpenter-provider-aws`).
    let is_own = domain == group && name.starts_with("instance-");
    let is_lower = is_own || [INSTANCE_TYPE_LABEL, ZONE_LABEL, REGION_LABEL].contains(&key);
    match name {
        _ if is_lower && value.bytes().any(|byte| byte.is_ascii_uppercase()) => Some((
            "on AWS the values of this label are in lower case, so it matches nothing",
            value.to_ascii_lowercase(),
        )),
        _ if key == INSTANCE_TYPE_LABEL && is_size(value) => Some((
            "this is the size of an instance, and a type is written as t3.nano, so it matches nothing",
            format!("the label {group}/instance-size"),
        )),
        _ if key == INSTANCE_TYPE_LABEL && !value.contains('.') => Some((
            "a type is a family and a size, as in m5.large, so it matches nothing",
            format!("the label {group}/instance-family"),
        )),
        "instance-family" if domain == group && value.contains('.') => Some((
            "this is an instance type, and its family is the part before the dot, so it matches nothing",
            format!("the label {INSTANCE_TYPE_LABEL}"),
        )),
        _ => None,
    }
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
    fn a_family_is_not_a_type_and_no_value_has_capitals() {
        let likely = |key: &str, value: &str| slip(key, value, "karpenter.k8s.aws").map(|(_, likely)| likely);
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
