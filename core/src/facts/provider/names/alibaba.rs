//! `computeRequirements` of `pkg/providers/instancetype/types.go` in `karpenter-provider-alibabacloud` 0.2.2, the same since
//! 0.1.0: the category and the generation by `instanceTypeScheme`; family and size by a split at the dots.

use std::borrow::Cow;

use super::{Named, Part, aws};

pub(super) const LABELS: &[(&str, Part)] = &[
    ("instance-category", Part::Category),
    ("instance-family", Part::Family),
    ("instance-generation", Part::Generation),
    ("instance-size", Part::Size),
];

pub(super) fn cut(named: Named<'_>, part: Part) -> Option<Cow<'_, str>> {
    let (Named::Type(name) | Named::Family(name)) = named;
    let is_type = matches!(named, Named::Type(_));
    // `^ecs\.([a-z]+)(\-[0-9]+tb)?([0-9]+).*`
    let scheme = || name.strip_prefix("ecs.").and_then(aws::scheme);
    let value = match part {
        Part::Category => scheme()?.0,
        Part::Generation => scheme()?.1,
        Part::Family | Part::Size if is_type => {
            let (family, size) = name.rsplit_once('.').filter(|_| name.matches('.').count() == 2)?;
            if part == Part::Family { family } else { size }
        }
        Part::Family => name,
        _ => return None,
    };
    Some(Cow::Borrowed(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    const PARTS: [Part; 4] = [Part::Category, Part::Generation, Part::Family, Part::Size];

    /// What the provider's own lines give.
    fn by_the_provider(name: &str) -> [Option<String>; 4] {
        let scheme = Regex::new(r"^ecs\.([a-z]+)(\-[0-9]+tb)?([0-9]+).*").unwrap();
        let found = scheme.captures(name);
        let group = |index: usize| found.as_ref().map(|found| found[index].to_owned());
        let split: Vec<&str> = name.split('.').collect();
        let is_split = split.len() == 3;
        [
            group(1),
            group(3),
            is_split.then(|| split[0..2].join(".")),
            is_split.then(|| split[2].to_owned()),
        ]
    }

    fn by_us(named: Named<'_>) -> [Option<String>; 4] {
        PARTS.map(|part| cut(named, part).map(Cow::into_owned))
    }

    #[test]
    fn a_family_begins_with_the_service() {
        let of = |name| by_us(Named::Type(name)).map(Option::unwrap);
        assert_eq!(of("ecs.g7.2xlarge"), ["g", "7", "ecs.g7", "2xlarge"]);
        assert_eq!(of("ecs.gn6i-c4g1.xlarge"), ["gn", "6", "ecs.gn6i-c4g1", "xlarge"]);
    }

    proptest! {
        #[test]
        fn any_name_is_cut_as_the_provider_cuts_it(
            name in prop_oneof!["(ecs)?[.]?[a-c]{0,2}(-[0-9]{0,2}t?b?)?[0-9]{0,2}[a-c0-9.-]{0,6}", "[a-z0-9.-]{0,12}"]
        ) {
            prop_assert_eq!(by_us(Named::Type(&name)), by_the_provider(&name));
        }

        #[test]
        fn a_family_shows_what_every_type_of_it_has(
            family in "(ecs|ec)[.][a-c]{0,2}(-[0-9]{0,2}t?b?)?[0-9]{0,2}[a-c0-9-]{0,6}", size in "[a-z0-9-]{0,6}"
        ) {
            let [category, generation, same, _] = by_the_provider(&format!("{family}.{size}"));
            prop_assert_eq!(by_us(Named::Family(&family)), [category, generation, same, None]);
        }
    }
}
