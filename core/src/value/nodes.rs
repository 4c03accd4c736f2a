//! The `nodes` of a budget: how many nodes may be disrupted at once, as a number or a percentage.

use super::{excerpt, is_cut, is_number};
use crate::diagnostic::Suggestion;

/// The largest count that Karpenter can hold without integer overflow.
const LARGEST_COUNT: &str = "2147483647";

/// How many nodes a budget allows to be disrupted at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BudgetNodes {
    /// A percentage of the pool's nodes, 0 to 100.
    Percent(u8),
    /// A number of nodes, 0 or more.
    Count(i32),
}

/// Why a text cannot be the `nodes` of a budget: a clause without a full stop. Most variants contain the text,
/// shortened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetNodesError {
    /// The text is empty.
    #[error("a number of nodes or a percentage is missing")]
    Empty,
    /// A blank before, after or within it. Holds the text without its blanks.
    #[error("there may be no blanks in it")]
    Blank(String),
    /// A minus sign.
    #[error("it cannot be negative")]
    Negative(String),
    /// A plus sign.
    #[error("it takes no plus sign")]
    PlusSign(String),
    /// A decimal point.
    #[error("fractions are not allowed")]
    Fraction(String),
    /// More than 100 %.
    #[error("a percentage goes from 0% to 100%")]
    AboveHundred(String),
    /// A percentage of three digits or more that begins with a zero. Holds the percentage itself.
    #[error("a percentage has at most two digits, or is 100%")]
    LeadingZeros(u8),
    /// The CRD accepts it, but Karpenter keeps only the lowest 32 bits, or cannot read it.
    #[error("it is above {LARGEST_COUNT}, where Karpenter wraps around to some other limit or to none")]
    CountTooLarge(String),
    /// Anything else.
    #[error("it is neither a number of nodes, such as 5, nor a percentage, such as 10%")]
    NotANumber(String),
}

impl BudgetNodes {
    /// Reads a number or a percentage by the CRD's pattern `^((100|[0-9]{1,2})%|[0-9]+)$`, in the range in which
    /// Karpenter reads numbers correctly.
    pub fn parse(text: &str) -> Result<Self, BudgetNodesError> {
        if let Some(percent) = text.strip_suffix('%').filter(|digits| is_number(digits)) {
            return parse_percent(percent, text);
        }
        if !is_number(text) {
            return Err(diagnose(text));
        }
        let count = text.parse::<i32>();
        count
            .map(Self::Count)
            .map_err(|_| BudgetNodesError::CountTooLarge(excerpt(text)))
    }

    /// Whether the budget allows no disruption, whatever the size of the pool.
    pub const fn is_zero(self) -> bool {
        matches!(self, Self::Percent(0) | Self::Count(0))
    }
}

impl BudgetNodesError {
    /// Whether the CRD nevertheless accepts the text.
    pub const fn is_let_through(&self) -> bool {
        matches!(self, Self::CountTooLarge(_))
    }

    /// What to write instead, if that is certain.
    pub fn suggestion(&self) -> Option<Suggestion> {
        match self {
            Self::AboveHundred(_) => Some("write 100%".into()),
            Self::CountTooLarge(_) => Some("write 100% if all nodes may go at once".into()),
            Self::Blank(joined) => proposal(joined),
            Self::PlusSign(text) => proposal(text.strip_prefix('+')?),
            Self::LeadingZeros(percent) => Some(Suggestion::write(format!("{percent}%"))),
            Self::Fraction(text) => {
                let (whole, fraction) = text.split_once('.')?;
                let zeros = fraction.trim_end_matches('%');
                let sign = if fraction.ends_with('%') { "%" } else { "" };
                if zeros.bytes().any(|byte| byte != b'0') {
                    return None;
                }
                proposal(&format!("{whole}{sign}"))
            }
            Self::Empty | Self::Negative(_) | Self::NotANumber(_) => None,
        }
    }
}

/// Proposes a text if it is legal.
fn proposal(text: &str) -> Option<Suggestion> {
    (!is_cut(text) && BudgetNodes::parse(text).is_ok()).then(|| Suggestion::write(text))
}

fn parse_percent(digits: &str, text: &str) -> Result<BudgetNodes, BudgetNodesError> {
    let percent = digits.parse::<u8>().ok().filter(|percent| *percent <= 100);
    let Some(percent) = percent else {
        return Err(BudgetNodesError::AboveHundred(excerpt(text)));
    };
    if digits.len() > 2 && digits != "100" {
        return Err(BudgetNodesError::LeadingZeros(percent));
    }
    Ok(BudgetNodes::Percent(percent))
}

/// What is wrong with a text that does not match the pattern for a reason other than its size.
fn diagnose(text: &str) -> BudgetNodesError {
    let shown = excerpt(text);
    let number = text.strip_suffix('%').unwrap_or(text);
    if text.is_empty() {
        return BudgetNodesError::Empty;
    }
    if text.contains(char::is_whitespace) {
        let joined: String = text.split_whitespace().collect();
        return BudgetNodesError::Blank(excerpt(&joined));
    }
    if number.strip_prefix('-').is_some_and(is_number) {
        return BudgetNodesError::Negative(shown);
    }
    if number.strip_prefix('+').is_some_and(is_number) {
        return BudgetNodesError::PlusSign(shown);
    }
    if let Some((whole, fraction)) = number.split_once('.')
        && is_number(whole)
        && is_number(fraction)
    {
        return BudgetNodesError::Fraction(shown);
    }
    BudgetNodesError::NotANumber(shown)
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
        use BudgetNodesError as E;
        type Kind = fn(String) -> E;
        let too_large = Some("write 100% if all nodes may go at once");
        let cases: [(&str, Kind, Option<&str>); 23] = [
            ("101%", E::AboveHundred, Some("write 100%")),
            ("1000%", E::AboveHundred, Some("write 100%")),
            ("2147483648", E::CountTooLarge, too_large),
            ("4294967297", E::CountTooLarge, too_large),
            ("99999999999999999999", E::CountTooLarge, too_large),
            ("-1", E::Negative, None),
            ("-5%", E::Negative, None),
            ("+1", E::PlusSign, Some("write \"1\"")),
            ("+5%", E::PlusSign, Some("write 5%")),
            ("1.5", E::Fraction, None),
            ("1.0", E::Fraction, Some("write \"1\"")),
            ("50.0%", E::Fraction, Some("write 50%")),
            ("0.5%", E::Fraction, None),
            ("10 %", E::Blank, Some("write 10%")),
            (" 10", E::Blank, Some("write \"10\"")),
            ("10\n", E::Blank, Some("write \"10\"")),
            ("ten nodes", E::Blank, None),
            ("%", E::NotANumber, None),
            ("10%%", E::NotANumber, None),
            ("1e3", E::NotANumber, None),
            ("five", E::NotANumber, None),
            ("１", E::NotANumber, None),
            ("10％", E::NotANumber, None),
        ];
        for (text, kind, suggestion) in cases {
            let error = BudgetNodes::parse(text).unwrap_err();
            let joined: String = text.split_whitespace().collect();
            assert_eq!(error, kind(joined), "{text}");
            assert_eq!(
                error.suggestion().map(|one| one.text).as_deref(),
                suggestion,
                "{text}"
            );
        }
        assert_eq!(BudgetNodes::parse(""), Err(E::Empty));
        for (text, percent) in [("005%", 5), ("0100%", 100), ("000%", 0)] {
            let error = BudgetNodes::parse(text).unwrap_err();
            assert_eq!(error, E::LeadingZeros(percent), "{text}");
            assert_eq!(
                error.suggestion(),
                Some(Suggestion::write(format!("{percent}%"))),
                "{text}"
            );
        }
    }

    #[test]
    fn mistakes_read_as_clauses() {
        let error = BudgetNodes::parse("2147483648").unwrap_err();
        assert_eq!(
            error.to_string(),
            "it is above 2147483647, where Karpenter wraps around to some other limit or to none"
        );
    }

    proptest! {
        #[test]
        fn all_that_fits_the_pattern_is_read_or_too_large(text in r"[0-9]{0,4}[%. +-]?[0-9]{0,12}%?|\PC*") {
            let pattern = regex::Regex::new("^((100|[0-9]{1,2})%|[0-9]+)$").unwrap();
            let fits = match BudgetNodes::parse(&text) {
                Ok(_) | Err(BudgetNodesError::CountTooLarge(_)) => true,
                Err(error) => {
                    let _ = error.suggestion();
                    false
                }
            };
            prop_assert_eq!(fits, pattern.is_match(&text));
        }
    }
}
