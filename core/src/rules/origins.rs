//! Who else notices a mistake, if that depends on more than the rule.

use crate::diagnostic::Origin;
use crate::value::quantity::QuantityError;

/// Who else notices a string that is not a quantity.
pub fn by_quantity(error: &QuantityError) -> Origin {
    match error {
        QuantityError::ExponentOutOfBounds { exponent } if !is_endless(exponent) => Origin::Poolgate,
        QuantityError::TooLong { .. } => Origin::Poolgate,
        QuantityError::FractionalExponent { .. } | QuantityError::ExponentOutOfBounds { .. } => {
            Origin::Silent
        }
        QuantityError::Empty
        | QuantityError::Blank { .. }
        | QuantityError::UnknownSuffix { .. }
        | QuantityError::NotANumber => Origin::Schema,
    }
}

/// Whether Karpenter hangs on an exponent, for many seconds or forever: if it has nine digits or more. Seven digits
/// take a second.
fn is_endless(exponent: &str) -> bool {
    let digits = exponent.trim_start_matches(['+', '-', '0']);
    digits.len() > 8
}
