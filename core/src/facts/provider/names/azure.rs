//! `computeRequirements` of `pkg/providers/instancetype/instancetype.go` in `karpenter-provider-azure` 1.14.2: family, series
//! and version by `GetVMSize` of `vmsize.go` in `Azure/skewer` 0.0.24, the version by `ExtractVersionFromVMSize` of
//! `pkg/utils/utils.go`.

use std::borrow::Cow;

use super::aws::leading;
use super::{Named, Part};

pub(super) const LABELS: &[(&str, Part)] = &[
    ("sku-name", Part::Name),
    ("sku-family", Part::Family),
    ("sku-series", Part::Series),
    ("sku-version", Part::Version),
];

pub(super) fn cut(named: Named<'_>, part: Part) -> Option<Cow<'_, str>> {
    // In all of skewer's test data, a name is a tier and the size; sizes of other tiers are not judged.
    let Named::Type(name) = named else {
        return None;
    };
    let size = Size::parse(name.strip_prefix("Standard_")?)?;
    match part {
        Part::Family => size.letters.get(..1).map(Cow::Borrowed),
        Part::Version => Some(Cow::Borrowed(size.version.get(1..).unwrap_or("1"))),
        Part::Series => {
            let version = if size.version.is_empty() { "" } else { "_" };
            Some(
                [size.letters, size.features, version, size.version]
                    .concat()
                    .into(),
            )
        }
        _ => None,
    }
}

/// The parts of a size of which labels are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size<'s> {
    /// The family and the subfamily, if it has one: three letters at most.
    letters: &'s str,
    /// The letters after the number of CPUs.
    features: &'s str,
    /// Such as `v5`; empty if it has none.
    version: &'s str,
}

impl<'s> Size<'s> {
    /// As `GetVMSize` does it, by `skuSizeScheme`: `^([A-Z])([A-Z]?)([A-Z]?)([0-9]+)-?((?:[0-9]+)?)((?:[abcdeiflmnotspPr]+|C+|NP)?)_?`
    /// `(?:(xl_[A-Z]+[0-9]+[A-Z]*|[A-Z]+[0-9]+)_?)?(_cc_)?(_[0-9]+_)?(_MI300X_)?(_H100_)?((?:[vV][1-9])?)?(_Promo)?$`.
    /// Each piece is as long as possible, unless the rest then does not fit.
    fn parse(text: &'s str) -> Option<Self> {
        // The one size that the expression does not match, and that GetVMSize knows by name.
        if text == "M416s_8_v2" {
            return Some(Self {
                letters: "M",
                features: "s",
                version: "v2",
            });
        }
        let (letters, rest) = leading(text, |byte| byte.is_ascii_uppercase());
        let (cpus, rest) = leading(rest, |byte| byte.is_ascii_digit());
        if !(1..=3).contains(&letters.len()) || cpus.is_empty() {
            return None;
        }
        let rest = rest.strip_prefix('-').unwrap_or(rest);
        let (_constrained, rest) = leading(rest, |byte| byte.is_ascii_digit());
        features(rest).find_map(|features| {
            let version = accelerator(rest.get(features.len()..)?)?;
            Some(Self {
                letters,
                features,
                version,
            })
        })
    }
}

/// What the additive features may be, the longest first.
fn features(text: &str) -> impl Iterator<Item = &str> {
    let (set, _) = leading(text, |byte| b"abcdeiflmnotspPr".contains(&byte));
    let (confidential, _) = leading(text, |byte| byte == b'C');
    let both = if set.is_empty() { confidential } else { set };
    // An accelerator begins with capitals, so it may begin with the last one of the features.
    let shorter = both.strip_suffix(['P', 'C']);
    let other = text.starts_with("NP").then_some("NP");
    [
        Some(both).filter(|both| !both.is_empty()),
        shorter,
        other,
        Some(""),
    ]
    .into_iter()
    .flatten()
}

/// The version after `_?(?:(xl_[A-Z]+[0-9]+[A-Z]*|[A-Z]+[0-9]+)_?)?`.
fn accelerator(text: &str) -> Option<&str> {
    or_without(text, "_").find_map(|text| {
        let (is_large, name) = text
            .strip_prefix("xl_")
            .map_or((false, text), |name| (true, name));
        let (letters, rest) = leading(name, |byte| byte.is_ascii_uppercase());
        let (digits, rest) = leading(rest, |byte| byte.is_ascii_digit());
        let (model, after_model) = leading(rest, |byte| byte.is_ascii_uppercase() && is_large);
        // Its last capital may be the V of the version.
        let shorter = model.strip_suffix('V').and_then(|model| rest.get(model.len()..));
        let is_accelerator = !letters.is_empty() && !digits.is_empty();
        let ends = [Some(after_model), shorter].into_iter().flatten();
        let with = ends
            .filter(|_| is_accelerator)
            .flat_map(|end| or_without(end, "_"));
        with.chain([text]).find_map(version)
    })
}

/// A text after an optional beginning, then all of it.
fn or_without<'t>(text: &'t str, beginning: &str) -> impl Iterator<Item = &'t str> {
    [text.strip_prefix(beginning), Some(text)].into_iter().flatten()
}

/// The version in `(_cc_)?(_[0-9]+_)?(_MI300X_)?(_H100_)?((?:[vV][1-9])?)?(_Promo)?$`.
fn version(text: &str) -> Option<&str> {
    let text = text.strip_prefix("_cc_").unwrap_or(text);
    let numbered = text
        .strip_prefix('_')
        .map(|rest| leading(rest, |byte| byte.is_ascii_digit()));
    let after_number = numbered
        .filter(|(number, _)| !number.is_empty())
        .and_then(|(_, rest)| rest.strip_prefix('_'));
    let text = after_number.unwrap_or(text);
    let text = text.strip_prefix("_MI300X_").unwrap_or(text);
    let text = text.strip_prefix("_H100_").unwrap_or(text);
    let is_version = matches!(text.as_bytes(), [b'v' | b'V', b'1'..=b'9', ..]);
    let (version, rest) = text.split_at_checked(if is_version { 2 } else { 0 })?;
    matches!(rest, "" | "_Promo").then_some(version)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    /// The groups that the provider uses: family and subfamily, additive features, version.
    fn by_skewer(scheme: &Regex, size: &str) -> Option<[String; 3]> {
        let found = scheme.captures(size)?;
        let group = |index| found.get(index).map_or("", |group| group.as_str());
        let letters = [group(1), group(2), group(3)].concat();
        Some([letters, group(6).to_owned(), group(12).to_owned()])
    }

    fn scheme() -> Regex {
        Regex::new(concat!(
            "^([A-Z])([A-Z]?)([A-Z]?)([0-9]+)-?((?:[0-9]+)?)((?:[abcdeiflmnotspPr]+|C+|NP)?)_?",
            "(?:(xl_[A-Z]+[0-9]+[A-Z]*|[A-Z]+[0-9]+)_?)?",
            "(_cc_)?(_[0-9]+_)?(_MI300X_)?(_H100_)?((?:[vV][1-9])?)?(_Promo)?$"
        ))
        .unwrap()
    }

    fn by_us(size: &str) -> Option<[String; 3]> {
        let size = Size::parse(size)?;
        Some([size.letters, size.features, size.version].map(str::to_owned))
    }

    #[test]
    fn names_of_all_kinds_have_the_labels_that_the_provider_gives_them() {
        for (name, [family, series, version]) in [
            ("Standard_D4s_v5", ["D", "Ds_v5", "5"]),
            ("Standard_D4pls_v6", ["D", "Dpls_v6", "6"]),
            ("Standard_B1ls", ["B", "Bls", "1"]),
            ("Standard_A2_v2", ["A", "A_v2", "2"]),
            ("Standard_DC4as_cc_v5", ["D", "DCas_v5", "5"]),
            ("Standard_NC24ads_A100_v4", ["N", "NCads_v4", "4"]),
            ("Standard_NC288ds_xl_RTXPRO6000BSE_v6", ["N", "NCds_v6", "6"]),
            ("Standard_ND96isr_MI300X_v5", ["N", "NDisr_v5", "5"]),
            ("Standard_M96s_2_v3", ["M", "Ms_v3", "3"]),
            ("Standard_M416s_8_v2", ["M", "Ms_v2", "2"]),
            ("Standard_E4-2ds_v4", ["E", "Eds_v4", "4"]),
            ("Standard_DS2_v2_Promo", ["D", "DS_v2", "2"]),
            ("Standard_NP10s", ["N", "NPs", "1"]),
        ] {
            let of = |part| cut(Named::Type(name), part).map(Cow::into_owned);
            assert_eq!(of(Part::Family).as_deref(), Some(family), "{name}");
            assert_eq!(of(Part::Series).as_deref(), Some(series), "{name}");
            assert_eq!(of(Part::Version).as_deref(), Some(version), "{name}");
        }
    }

    #[test]
    fn what_the_provider_cannot_parse_gets_nothing() {
        for name in [
            "Standard_",
            "Basic_A1",
            "standard_d4s_v5",
            "D4s_v5",
            "Standard_D4s_v0",
            "",
        ] {
            assert_eq!(cut(Named::Type(name), Part::Family), None, "{name}");
        }
        assert_eq!(cut(Named::Family("D"), Part::Version), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn any_size_is_cut_as_the_provider_cuts_it(
            pieces in prop::collection::vec(
                prop::sample::select(&[
                    "D", "NC", "P", "C", "CC", "NP", "4", "96", "-", "2", "s", "ads", "_", "xl_", "RTX", "V", "v", "5",
                    "A100", "_cc_", "_1_", "_MI300X_", "_H100_", "v5", "V2", "_Promo", "_v6", "x",
                ][..]),
                0..8,
            ),
            start in prop::sample::select(&["", "D4", "NC24ads", "M96s_", "D4P", "NV6xl_"][..]),
        ) {
            let size = format!("{start}{}", pieces.concat());
            prop_assert_eq!(by_us(&size), by_skewer(&scheme(), &size), "{}", size);
        }
    }
}
