//! The `nodes` of a budget: how many nodes may be disrupted simultaneously, as a number or a percentage.

use super::mistake::LONGEST;
use super::{Mistake, is_number};
use crate::diagnostic::Suggestion;

/// How many nodes a budget allows to be disrupted simultaneously.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BudgetNodes {
    /// A percentage of the pool's nodes, 0 to 100.
    Percent(u8),
    /// A number of nodes, 0 or more.
    Count(i32),
}

impl BudgetNodes {
    /// Reads a number or a percentage by the CRD's pattern `^((100|[0-9]{1,2})%|[0-9]+)$`, in the range in which
    /// Karpenter reads numbers correctly.
    // karpenter: pkg/apis/v1/nodepool.go Budget.Nodes
    // karpenter: pkg/apis/v1/nodepool.go GetIntStrFromValue
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        if let Some(percent) = text.strip_suffix('%').filter(|digits| is_number(digits)) {
            return parse_percent(percent);
        }
        if !is_number(text) {
            return Err(diagnose(text));
        }
        text.parse().map(Self::Count).map_err(|_| {
            Mistake::new("a number above 2147483647 wraps around in Karpenter")
                .suggest(Some("write 100% to allow all nodes".into()))
        })
    }

    /// Whether the budget allows no disruption, whatever the size of the pool.
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Percent(0) | Self::Count(0))
    }
}

fn parse_percent(digits: &str) -> Result<BudgetNodes, Mistake> {
    let percent = digits.parse::<u8>().ok().filter(|percent| *percent <= 100);
    let Some(percent) = percent else {
        return Err(Mistake::new("a percentage must be from 0% to 100%").suggest(Some("write 100%".into())));
    };
    if digits.len() > 2 && digits != "100" {
        let suggestion = Suggestion::write(format!("{percent}%"));
        return Err(
            Mistake::new("a percentage must have at most two digits, or be 100%").suggest(Some(suggestion)),
        );
    }
    Ok(BudgetNodes::Percent(percent))
}

/// The mistake in a string that does not match the pattern for a reason other than its size.
fn diagnose(text: &str) -> Mistake {
    let number = text.strip_suffix('%').unwrap_or(text);
    if text.is_empty() {
        return Mistake::new("a number of nodes or a percentage is missing");
    }
    if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        return Mistake::new("a number of nodes must not contain spaces").suggest(proposal(&joined));
    }
    if number.strip_prefix('-').is_some_and(is_number) {
        return Mistake::new("a number of nodes must not be negative");
    }
    if number.strip_prefix('+').is_some_and(is_number) {
        return Mistake::new("a number of nodes must not have a plus sign")
            .suggest(text.strip_prefix('+').and_then(proposal));
    }
    if let Some((whole, fraction)) = number.split_once('.')
        && is_number(whole)
        && is_number(fraction)
    {
        let is_whole = fraction.bytes().all(|digit| digit == b'0');
        let sign = if text.ends_with('%') { "%" } else { "" };
        let suggestion = proposal(&format!("{whole}{sign}")).filter(|_| is_whole);
        return Mistake::new("a number of nodes must not have a fraction").suggest(suggestion);
    }
    Mistake::new("a budget takes a number of nodes such as 5, or a percentage such as 10%")
}

/// Proposes a text if it is legal, and not a megabyte of zeros.
fn proposal(text: &str) -> Option<Suggestion> {
    (text.len() <= LONGEST && BudgetNodes::parse(text).is_ok()).then(|| Suggestion::write(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_percentages_are_read() {
        use BudgetNodes::{Count, Percent};
        for (text, expected) in [
            ("0", Count(0)),
            ("00", Count(0)),
            ("007", Count(7)),
            ("2147483647", Count(i32::MAX)),
            ("0000000000000000000000000000005", Count(5)),
            ("0%", Percent(0)),
            ("00%", Percent(0)),
            ("05%", Percent(5)),
            ("99%", Percent(99)),
            ("100%", Percent(100)),
        ] {
            assert_eq!(BudgetNodes::parse(text), Ok(expected), "{text}");
        }
        assert!(Percent(0).is_zero() && Count(0).is_zero() && !Percent(1).is_zero());
    }

    #[test]
    fn each_mistake_is_distinguished_and_corrected_if_that_is_certain() {
        let too_large = Some("write 100% to allow all nodes");
        for (text, why, suggestion) in [
            ("", "a number of nodes or a percentage is missing", None),
            ("101%", "from 0% to 100%", Some("write 100%")),
            ("1000%", "from 0% to 100%", Some("write 100%")),
            ("005%", "at most two digits", Some("write 5%")),
            ("0100%", "at most two digits", Some("write 100%")),
            ("000%", "at most two digits", Some("write 0%")),
            ("2147483648", "above 2147483647", too_large),
            ("4294967297", "above 2147483647", too_large),
            ("99999999999999999999", "above 2147483647", too_large),
            ("-1", "negative", None),
            ("-5%", "negative", None),
            ("+1", "plus sign", Some("write \"1\"")),
            ("+5%", "plus sign", Some("write 5%")),
            ("1.5", "a fraction", None),
            ("1.0", "a fraction", Some("write \"1\"")),
            ("50.0%", "a fraction", Some("write 50%")),
            ("0.5%", "a fraction", None),
            ("10 %", "spaces", Some("write 10%")),
            (" 10", "spaces", Some("write \"10\"")),
            ("10\n", "spaces", Some("write \"10\"")),
            ("ten nodes", "spaces", None),
            ("%", "such as 10%", None),
            ("10%%", "such as 10%", None),
            ("1e3", "such as 10%", None),
            ("five", "such as 10%", None),
            ("１", "such as 10%", None),
            ("10％", "such as 10%", None),
        ] {
            let mistake = BudgetNodes::parse(text).unwrap_err();
            assert!(mistake.why.contains(why), "{text}: {mistake}");
            assert_eq!(
                mistake.suggestion.map(|one| one.text).as_deref(),
                suggestion,
                "{text}"
            );
        }
    }

    #[test]
    fn nothing_long_is_proposed() {
        let zeros = "0".repeat(1_000_000);
        assert!(BudgetNodes::parse(&zeros).is_ok());
        assert_eq!(
            BudgetNodes::parse(&format!("+{zeros}")).unwrap_err().suggestion,
            None
        );
    }

    #[test]
    fn mistakes_read_as_clauses() {
        let mistake = BudgetNodes::parse("2147483648").unwrap_err();
        assert_eq!(
            mistake.to_string(),
            "a number above 2147483647 wraps around in Karpenter"
        );
    }

    proptest! {
        #[test]
        fn all_that_fits_the_pattern_is_read_or_too_large(text in r"[0-9]{0,4}[%. +-]?[0-9]{0,12}%?|\PC*") {
            let is_read = BudgetNodes::parse(&text).map_or_else(|mistake| mistake.why.contains("above"), |_| true);
            let pattern = regex::Regex::new("^((100|[0-9]{1,2})%|[0-9]+)$").unwrap();
            prop_assert_eq!(is_read, pattern.is_match(&text));
        }
    }
}
