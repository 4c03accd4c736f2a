//! The patterns in the definitions, each with the function that reads texts as it does: there are no regular expressions
//! at run time.

use crate::value::cron::crd_accepts;
use crate::value::duration::{BudgetDuration, fits_lifetime, fits_lifetime_of_v1beta1, fits_terms};
use crate::value::label::{matches_crd_key, matches_crd_value};
use crate::value::nodes::BudgetNodes;

/// Whether a text matches a pattern, as Go searches for it. `None` for the patterns of quantities: their readers say
/// themselves which mistakes these reject.
pub fn matcher(pattern: &str) -> Option<fn(&str) -> bool> {
    Some(match pattern {
        r"^(([0-9]+(s|m|h))+|Never)$" => fits_lifetime,
        r"^(([0-9]+(s|m|h))+)|(Never)$" => fits_lifetime_of_v1beta1,
        r"^([0-9]+(s|m|h))+$" => fits_terms,
        r"^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$" => BudgetDuration::fits_pattern,
        r"^((100|[0-9]{1,2})%|[0-9]+)$" => BudgetNodes::fits_pattern,
        r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$" => {
            crd_accepts
        }
        r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$" => {
            matches_crd_key
        }
        r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$" => matches_crd_value,
        r"^[^/]*$" => |text| !text.contains('/'),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use proptest::sample::select;
    use regex::Regex;

    use super::*;
    use crate::karpenter::ApiVersion;
    use crate::karpenter::shape::{ConstraintKind, Shape, nodepool};

    const PARTS: &[&str] = &[
        "0", "1", "9", "100", "0s", "h", "m", "s", "%", "Never", "never", "@daily", "@every", "a", "bc", "A",
        "-", ".", "/", "_", "*", " ", "\t", "\n", "\r", "\u{b}", "\u{c}", "\u{a0}", "\u{e9}", "\u{0661}",
    ];

    fn collect(shape: &Shape, patterns: &mut BTreeSet<&'static str>) {
        match shape {
            Shape::Constrained(constraints, shape) => {
                patterns.extend(constraints.iter().filter_map(|constraint| match constraint.kind {
                    ConstraintKind::Matches(pattern) => Some(pattern),
                    _ => None,
                }));
                collect(shape, patterns);
            }
            Shape::List(inner) | Shape::Map(inner) => collect(inner, patterns),
            Shape::Object(fields) | Shape::Open(fields) => {
                for (_, shape) in *fields {
                    collect(shape, patterns);
                }
            }
            _ => {}
        }
    }

    fn patterns() -> BTreeSet<&'static str> {
        let mut patterns = BTreeSet::new();
        for version in [ApiVersion::V1, ApiVersion::V1Beta1] {
            collect(nodepool(version), &mut patterns);
        }
        patterns
    }

    #[test]
    fn each_pattern_but_those_of_quantities_has_a_function() {
        for pattern in patterns() {
            let is_of_quantities = pattern.contains("[KMGTPE]i");
            assert_eq!(matcher(pattern).is_none(), is_of_quantities, "{pattern}");
        }
    }

    #[test]
    fn each_function_reads_texts_as_its_pattern_does() {
        let all = patterns();
        let read = all.iter().filter_map(|pattern| {
            // Go's classes are ASCII.
            let ascii = pattern.replace(r"\s", r"[\t\n\x0c\r ]").replace(r"\d", "[0-9]");
            Some((pattern, Regex::new(&ascii).expect("a pattern"), matcher(pattern)?))
        });
        let read: Vec<_> = read.collect();
        let text = prop::collection::vec(select(PARTS), 0..14).prop_map(|parts| parts.concat());
        let few = prop::collection::vec(select(PARTS), 0..5).prop_map(|parts| parts.concat());
        let any = "\\PC{0,12}";
        proptest!(ProptestConfig::with_cases(4_000), |(text in prop_oneof![few, text, any])| {
            for (pattern, regex, matches) in &read {
                prop_assert_eq!(matches(&text), regex.is_match(&text), "{}", pattern);
            }
        });
    }
}
