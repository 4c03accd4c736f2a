//! `computeRequirements` of `pkg/providers/instancetype/types.go` in `karpenter-provider-aws` 1.15.2: the category and the
//! generation by `instanceTypeScheme`, the same expression at least since 1.0.8; family and size by a split at the dot.

use std::borrow::Cow;

use super::{Named, Part};

pub(super) const LABELS: &[(&str, Part)] = &[
    ("instance-category", Part::Category),
    ("instance-family", Part::Family),
    ("instance-generation", Part::Generation),
    ("instance-size", Part::Size),
    ("instance-capability-flex", Part::Flex),
];

/// Those that EKS Auto Mode, whose source is not public, documents with values of the same kind, such as g, g4dn, 4 and
/// 8xlarge: `latest/ug/automode/create-node-pool.adoc` of `awsdocs/amazon-eks-user-guide`.
pub(super) const DOCUMENTED_LABELS: &[(&str, Part)] = &[
    ("instance-category", Part::Category),
    ("instance-family", Part::Family),
    ("instance-generation", Part::Generation),
    ("instance-size", Part::Size),
];

pub(super) fn cut(named: Named<'_>, part: Part) -> Option<Cow<'_, str>> {
    // The expression asks for a dot after the generation, and neither letters nor digits are one.
    let (family, size) = match named {
        Named::Type(name) => name.split_once('.').map(|(family, size)| (family, Some(size)))?,
        Named::Family(family) => (family, None),
    };
    // Of a name with two dots, the provider cuts neither family nor size.
    let is_split = !family.contains('.') && size.is_none_or(|size| !size.contains('.'));
    let value = match part {
        Part::Category => scheme(family)?.0,
        Part::Generation => scheme(family)?.1,
        Part::Family => Some(family).filter(|_| is_split)?,
        Part::Size => size.filter(|_| is_split)?,
        Part::Flex if family.contains("-flex") => "true",
        Part::Flex => "false",
        Part::Name | Part::Shape => return None,
    };
    Some(Cow::Borrowed(value))
}

/// Category and generation: `(^[a-z]+)(\-[0-9]+tb)?([0-9]+)`. Nothing that it takes could be given back to what follows,
/// so each part is as long as possible.
pub(super) fn scheme(text: &str) -> Option<(&str, &str)> {
    let (category, rest) = leading(text, |byte| byte.is_ascii_lowercase());
    let after_size = rest
        .strip_prefix('-')
        .map(|rest| leading(rest, |byte| byte.is_ascii_digit()))
        .filter(|(terabytes, _)| !terabytes.is_empty())
        .and_then(|(_, rest)| rest.strip_prefix("tb"));
    let (generation, _) = leading(after_size.unwrap_or(rest), |byte| byte.is_ascii_digit());
    (!category.is_empty() && !generation.is_empty()).then_some((category, generation))
}

/// The longest beginning of a text that consists of such bytes, all of them ASCII, and the rest.
pub(super) fn leading(text: &str, is_wanted: impl Fn(u8) -> bool) -> (&str, &str) {
    let end = text
        .bytes()
        .position(|byte| !is_wanted(byte))
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;
    use crate::facts::Provider;

    /// What the provider's own lines give: category, generation, family, size.
    fn by_the_provider(name: &str) -> [Option<String>; 4] {
        let scheme = Regex::new(r"(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.").unwrap();
        let found = scheme.captures(name);
        let group = |index: usize| found.as_ref().map(|found| found[index].to_owned());
        let split: Vec<&str> = name.split('.').collect();
        let piece = |index: usize| (split.len() == 2).then(|| split[index].to_owned());
        [group(1), group(3), piece(0), piece(1)]
    }

    fn by_us(named: Named<'_>) -> [Option<String>; 4] {
        [Part::Category, Part::Generation, Part::Family, Part::Size]
            .map(|part| cut(named, part).map(Cow::into_owned))
    }

    #[test]
    fn every_known_instance_type_has_the_labels_that_the_provider_gives_it() {
        let provider = Provider::of_group("karpenter.k8s.aws").unwrap();
        let types = provider.instance_types.unwrap().types;
        assert!(types.len() > 1000, "{}", types.len());
        for name in types {
            let ours = by_us(Named::Type(name));
            assert_eq!(ours, by_the_provider(name), "{name}");
            // What a family shows of all its types is what the provider gives each of them.
            let family = ours[2].as_deref().unwrap();
            let [category, generation, same, size] = by_us(Named::Family(family));
            assert_eq!(
                [category, generation, same],
                [&ours[0], &ours[1], &ours[2]].map(Clone::clone)
            );
            assert_eq!(size, None);
            let flex = cut(Named::Type(name), Part::Flex);
            assert_eq!(
                flex.as_deref(),
                Some(if family.contains("-flex") { "true" } else { "false" })
            );
            assert_eq!(flex, cut(Named::Family(family), Part::Flex));
        }
    }

    proptest! {
        #[test]
        fn any_name_is_cut_as_the_provider_cuts_it(
            name in prop_oneof!["[a-c]{0,2}(-[0-9]{0,2}t?b?)?[0-9]{0,2}[a-c0-9.-]{0,6}", "[a-zA-Z0-9._-]{0,12}"]
        ) {
            prop_assert_eq!(by_us(Named::Type(&name)), by_the_provider(&name));
        }

        #[test]
        fn a_family_shows_what_every_type_of_it_has(
            family in "[a-c]{0,2}(-[0-9]{0,2}t?b?)?[0-9]{0,2}[a-c0-9-]{0,6}", size in "[a-z0-9-]{0,6}"
        ) {
            let [category, generation, same, _] = by_the_provider(&format!("{family}.{size}"));
            prop_assert_eq!(by_us(Named::Family(&family)), [category, generation, same, None]);
        }
    }
}
