//! Units of time in other spellings than Karpenter's `h`, `m` and `s`.

/// A spelling of a unit, the unit, and how many of it one of them is.
const SPELLINGS: [(&str, char, u64); 24] = [
    ("s", 's', 1),
    ("S", 's', 1),
    ("sec", 's', 1),
    ("secs", 's', 1),
    ("second", 's', 1),
    ("seconds", 's', 1),
    ("m", 'm', 1),
    ("M", 'm', 1),
    ("min", 'm', 1),
    ("mins", 'm', 1),
    ("minute", 'm', 1),
    ("minutes", 'm', 1),
    ("h", 'h', 1),
    ("H", 'h', 1),
    ("hr", 'h', 1),
    ("hrs", 'h', 1),
    ("hour", 'h', 1),
    ("hours", 'h', 1),
    ("d", 'h', 24),
    ("day", 'h', 24),
    ("days", 'h', 24),
    ("w", 'h', 7 * 24),
    ("week", 'h', 7 * 24),
    ("weeks", 'h', 7 * 24),
];

/// A length such as `1d12h` or `8hr30min` in hours, minutes and seconds; `None` if a unit is unknown or missing.
pub(super) fn in_known_units(text: &str) -> Option<String> {
    let mut amounts = [('h', None::<u64>), ('m', None), ('s', None)];
    let mut rest = text;
    while !rest.is_empty() {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let count: u64 = rest.strip_suffix(behind)?.parse().ok()?;
        rest = behind.trim_start_matches(char::is_alphabetic);
        let written = behind.strip_suffix(rest)?;
        let (_, unit, factor) = SPELLINGS.iter().find(|(spelling, ..)| *spelling == written)?;
        let (_, amount) = amounts.iter_mut().find(|(known, _)| known == unit)?;
        *amount = Some(amount.unwrap_or(0).checked_add(count.checked_mul(*factor)?)?);
    }
    let terms = amounts
        .iter()
        .filter_map(|(unit, amount)| Some(format!("{}{unit}", (*amount)?)));
    Some(terms.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_become_hours_minutes_and_seconds() {
        for (text, known) in [
            ("30d", Some("720h")),
            ("1d12h", Some("36h")),
            ("8hr30min", Some("8h30m")),
            ("90sec", Some("90s")),
            ("2w", Some("336h")),
            ("0d", Some("0h")),
            ("5", None),
            ("1month", None),
            ("h", None),
            ("1.5h", None),
            ("99999999999999999999d", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(in_known_units(text).as_deref(), known, "{text}");
        }
    }
}
