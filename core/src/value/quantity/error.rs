//! The mistakes in a quantity.

use super::{MAX_EXPONENT, MAX_LENGTH, Quantity};
use crate::diagnostic::Suggestion;
use crate::value::is_cut;

/// Why a text is not a quantity: a clause without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is empty.
    #[error("a quantity is missing")]
    Empty,
    /// A space before, after or within it.
    #[error("a quantity must not contain spaces")]
    Blank {
        /// The text without its spaces, shortened.
        joined: String,
    },
    /// A longer text than any reasonable quantity needs; the CRD accepts it.
    #[error("poolgate reads a quantity of at most {MAX_LENGTH} bytes, not {length}")]
    TooLong {
        /// The length of the text, in bytes.
        length: usize,
    },
    /// A number followed by something that is not a suffix.
    #[error("`{suffix}` is not a suffix of a quantity")]
    UnknownSuffix {
        /// What follows the number, shortened.
        suffix: String,
    },
    /// An exponent with a decimal point. The CRD accepts it, but Karpenter cannot decode it, and then can decode no
    /// NodePool of the cluster.
    #[error("the exponent `{exponent}` must not have a fraction")]
    FractionalExponent {
        /// The exponent with its fraction, shortened.
        exponent: String,
    },
    /// An exponent so large that Karpenter must not read it.
    #[error("the exponent `{exponent}` is beyond ±{MAX_EXPONENT}")]
    ExponentOutOfBounds {
        /// The exponent as written, shortened.
        exponent: String,
    },
    /// There is no number at the beginning.
    #[error("a quantity is a number with an optional suffix, such as 500m, 1000 or 64Gi")]
    NotANumber,
}

/// The letters of the suffixes from 10^3 and 2^10 on. Each is 10^3 or 2^10 times the one before.
const LARGE: [char; 6] = ['k', 'M', 'G', 'T', 'P', 'E'];

impl QuantityError {
    /// What to write instead, if that is certain.
    pub fn suggestion(&self) -> Option<Suggestion> {
        match self {
            Self::Blank { joined } => {
                let is_legal = !is_cut(joined) && Quantity::parse(joined).is_ok();
                is_legal.then(|| Suggestion::write(joined))
            }
            Self::UnknownSuffix { suffix } => other_suffix(suffix).map(Into::into),
            Self::FractionalExponent { exponent } => {
                let (whole, fraction) = exponent.split_once('.')?;
                let certain =
                    !whole.is_empty() && !is_cut(fraction) && fraction.bytes().all(|byte| byte == b'0');
                certain.then(|| format!("write {whole} as the exponent").into())
            }
            Self::Empty | Self::TooLong { .. } | Self::ExponentOutOfBounds { .. } | Self::NotANumber => None,
        }
    }
}

/// The correct suffix for a misspelt one: `K`, `gi`, `GB`, `GiB` and the like.
fn other_suffix(suffix: &str) -> Option<String> {
    if suffix.eq_ignore_ascii_case("b") {
        return Some("remove the suffix, because memory is counted in bytes".into());
    }
    let mut letters = suffix.chars();
    let first = letters.next()?;
    let rest = letters.as_str().to_ascii_lowercase();
    let mut powers = (1..).zip(LARGE);
    let (power, letter) = powers.find(|(_, letter)| letter.eq_ignore_ascii_case(&first))?;
    let binary = format!("{}i", letter.to_ascii_uppercase());
    match rest.as_str() {
        "" => Some(format!("write {letter}")),
        "i" | "ib" => Some(format!("write {binary}")),
        "b" => Some(format!(
            "write {letter} (10^{}) or {binary} (2^{})",
            3 * power,
            10 * power
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> (String, Option<String>) {
        let error = Quantity::parse(text).unwrap_err();
        (error.to_string(), error.suggestion().map(|one| one.text))
    }

    #[test]
    fn misspelt_suffixes_are_corrected() {
        for (text, suggestion) in [
            ("64GB", "write G (10^9) or Gi (2^30)"),
            ("64gb", "write G (10^9) or Gi (2^30)"),
            ("64KB", "write k (10^3) or Ki (2^10)"),
            ("64K", "write k"),
            ("64g", "write G"),
            ("64gi", "write Gi"),
            ("64GI", "write Gi"),
            ("64GiB", "write Gi"),
            ("64Gib", "write Gi"),
            ("64ki", "write Ki"),
            ("64B", "remove the suffix, because memory is counted in bytes"),
            ("64 Gi", "write 64Gi"),
            (" 1\n", "write \"1\""),
            ("1e3.", "write 3 as the exponent"),
            ("1E-3.00", "write -3 as the exponent"),
        ] {
            assert_eq!(said(text).1.as_deref(), Some(suggestion), "{text}");
        }
        for text in [
            "", "1e1.5", "1e.5", "1e.", "1i", "10%", "1_000", "four", "1e5000", "4 cores", "1.5.5",
        ] {
            assert_eq!(said(text).1, None, "{text}");
        }
    }

    #[test]
    fn mistakes_read_as_clauses() {
        assert_eq!(
            said("1e2147483648").0,
            "the exponent `2147483648` is beyond ±4096"
        );
        assert_eq!(said("10%").0, "`%` is not a suffix of a quantity");
        assert_eq!(
            said("ten").0,
            "a quantity is a number with an optional suffix, such as 500m, 1000 or 64Gi"
        );
        assert_eq!(
            said(&"1".repeat(2_000)).0,
            "poolgate reads a quantity of at most 1024 bytes, not 2000"
        );
    }
}
