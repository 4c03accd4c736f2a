//! Durations: as Go reads them, as Karpenter reads them if `Never` is legal, and as the budgets of its CRD allow
//! them.

mod budget;
mod go;
mod nillable;

pub use budget::BudgetDuration;
pub use go::{GoDuration, GoDurationError};
pub use nillable::{NillableDuration, NillableDurationError};

/// The unit that a spelling means, and how many of it one of them is.
fn unit(spelling: &str) -> Option<(char, u64)> {
    match spelling {
        "s" | "S" | "sec" | "secs" | "second" | "seconds" => Some(('s', 1)),
        // `M` may as well mean months.
        "m" | "min" | "mins" | "minute" | "minutes" => Some(('m', 1)),
        "h" | "H" | "hr" | "hrs" | "hour" | "hours" => Some(('h', 1)),
        "d" | "day" | "days" => Some(('h', 24)),
        "w" | "week" | "weeks" => Some(('h', 7 * 24)),
        _ => None,
    }
}

/// A length such as `1d12h` or `8hr30min` in hours, minutes and seconds; `None` if a unit is unknown or missing.
fn in_known_units(text: &str) -> Option<String> {
    let mut amounts = [('h', None::<u64>), ('m', None), ('s', None)];
    let mut rest = text;
    while !rest.is_empty() {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let count: u64 = rest.strip_suffix(behind)?.parse().ok()?;
        rest = behind.trim_start_matches(char::is_alphabetic);
        let (unit, factor) = unit(behind.strip_suffix(rest)?)?;
        let (_, amount) = amounts.iter_mut().find(|(known, _)| *known == unit)?;
        *amount = Some(amount.unwrap_or(0).checked_add(count.checked_mul(factor)?)?);
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
            ("6M", None),
            ("1H30m", Some("1h30m")),
            ("h", None),
            ("1.5h", None),
            ("99999999999999999999d", None),
            ("18446744073709551615d", None),
        ] {
            assert_eq!(in_known_units(text).as_deref(), known, "{text}");
        }
    }
}
