//! `computeRequirements` of `pkg/providers/instancetype/types.go` in `karpenter-provider-gcp` 0.5.0 (the same since 0.2.0) and
//! in 0.1.0: a split at the hyphens, `extractCategory` and `extractGeneration`.

use std::borrow::Cow;

use super::{Named, Part};

pub(super) const LABELS: &[(&str, Part)] = &[
    ("instance-category", Part::Category),
    ("instance-family", Part::Family),
    ("instance-generation", Part::Generation),
    ("instance-shape", Part::Shape),
    ("instance-size", Part::Size),
];

pub(super) fn cut(named: Named<'_>, part: Part) -> Option<Cow<'_, str>> {
    let (series, rest) = split(named)?;
    let value = match part {
        Part::Category => category(series),
        // The last character, or of three the second: n2d is of generation 2, but ct5lp of p.
        Part::Generation => nth_last(series, if series.len() == 3 { 2 } else { 1 })?,
        Part::Family => match named {
            Named::Type(_) => series,
            Named::Family(family) => family,
        },
        Part::Shape => rest?.split('-').next()?,
        // Of four and more pieces, such as a2-highgpu-1g-nolssd, the last but one.
        Part::Size => rest?
            .rsplit('-')
            .nth(usize::from(rest?.matches('-').count() > 1))?,
        _ => return None,
    };
    Some(Cow::Borrowed(value))
}

pub(super) fn cut_before_0_2(named: Named<'_>, part: Part) -> Option<Cow<'_, str>> {
    let (series, rest) = split(named)?;
    let value = match (part, named) {
        (Part::Category, _) => category(series),
        (Part::Generation, _) => nth_last(series, 1)?,
        (Part::Family, Named::Family(family)) => family,
        (Part::Family, Named::Type(name)) => match rest?.matches('-').count() {
            0 => series,
            // Such as n1-standard of n1-standard-4.
            1 => name.rsplit_once('-')?.0,
            _ => return None,
        },
        (Part::Size, _) => rest?.rsplit('-').next()?,
        // That release had no label for it, and its domain is closed: the pool is for another one.
        (Part::Shape, _) => rest?.split('-').next()?,
        _ => return None,
    };
    Some(Cow::Borrowed(value))
}

/// What is before the first hyphen, and the rest; a name without one gets no label. Releases do not agree on whether a family
/// has a hyphen.
fn split(named: Named<'_>) -> Option<(&str, Option<&str>)> {
    match named {
        Named::Type(name) => name.split_once('-').map(|(series, rest)| (series, Some(rest))),
        Named::Family(family) => family.split('-').next().map(|series| (series, None)),
    }
}

fn category(series: &str) -> &str {
    series
        .split(|letter: char| letter.is_ascii_digit())
        .next()
        .unwrap_or(series)
}

/// The character `offset` positions from the end.
fn nth_last(series: &str, offset: usize) -> Option<&str> {
    let at = series.len().checked_sub(offset)?;
    series.get(at..=at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARTS: [Part; 5] = [
        Part::Category,
        Part::Generation,
        Part::Family,
        Part::Shape,
        Part::Size,
    ];

    /// The provider's own lines of 0.5.0.
    fn by_the_provider(name: &str) -> [Option<String>; 5] {
        let pieces: Vec<&str> = name.split('-').collect();
        if pieces.len() < 2 {
            return [const { None }; 5];
        }
        let series = pieces[0];
        let letters = series.chars().take_while(|letter| !letter.is_ascii_digit());
        let offset = if series.len() == 3 { 2 } else { 1 };
        let size_offset = if pieces.len() > 3 { 2 } else { 1 };
        // Of an empty text, the provider would panic.
        let generation = series
            .len()
            .checked_sub(offset)
            .and_then(|at| Some(series.chars().nth(at)?.to_string()));
        [
            Some(letters.collect()),
            generation,
            Some(series.to_owned()),
            Some(pieces[1].to_owned()),
            Some(pieces[pieces.len() - size_offset].to_owned()),
        ]
    }

    fn by(cut: super::super::Cut, named: Named<'_>) -> [Option<String>; 5] {
        PARTS.map(|part| cut(named, part).map(Cow::into_owned))
    }

    #[test]
    fn names_of_two_to_four_pieces_are_cut() {
        let newest = |name| by(cut, Named::Type(name)).map(Option::unwrap);
        assert_eq!(newest("e2-medium"), ["e", "2", "e2", "medium", "medium"]);
        assert_eq!(newest("n2d-standard-4"), ["n", "2", "n2d", "standard", "4"]);
        assert_eq!(newest("a2-highgpu-1g-nolssd"), ["a", "2", "a2", "highgpu", "1g"]);
        assert_eq!(newest("ct5lp-hightpu-4t"), ["ct", "p", "ct5lp", "hightpu", "4t"]);
    }

    #[test]
    fn the_first_release_had_other_families_and_generations() {
        let first = |name| by(cut_before_0_2, Named::Type(name));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(first("e2-medium")[2], text("e2"));
        assert_eq!(first("n2d-standard-4")[1..3], [text("d"), text("n2d-standard")]);
        assert_eq!(
            first("a2-highgpu-1g-nolssd")[2..5],
            [None, text("highgpu"), text("nolssd")]
        );
        let family = by(cut_before_0_2, Named::Family("n1-standard"));
        assert_eq!(family[..3], [text("n"), text("1"), text("n1-standard")]);
    }

    proptest! {
        #[test]
        fn any_name_is_cut_as_the_provider_cuts_it(name in "[a-c]{0,2}[0-9]?[a-d]{0,2}(-[a-c0-9]{0,3}){0,4}") {
            prop_assert_eq!(by(cut, Named::Type(&name)), by_the_provider(&name));
        }

        #[test]
        fn a_family_shows_what_every_type_of_it_has(
            family in "[a-c]{0,2}[0-9]?[a-d]{0,2}", rest in "[a-c0-9]{0,3}(-[a-c0-9]{0,3}){0,2}"
        ) {
            let [category, generation, same, ..] = by_the_provider(&format!("{family}-{rest}"));
            prop_assert_eq!(by(cut, Named::Family(&family)), [category, generation, same, None, None]);
        }
    }
}
