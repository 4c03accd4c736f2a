//! The mistakes in a schedule.

use super::fields::CronField;
use crate::value::duration::GoDurationError;

/// Why Karpenter cannot read a schedule: a clause without a full stop. Because of a schedule that it cannot read,
/// Karpenter allows no disruption for any reason in the whole NodePool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has fewer or more than five fields.
    #[error("a schedule has 5 fields (minute hour day month weekday), not {found}")]
    FieldCount {
        /// How many there are.
        found: usize,
        /// Why the number of fields is probably wrong.
        cause: CountCause,
    },
    /// A text with `@` that is not one of the macros.
    #[error("Karpenter has no macro `{name}`")]
    UnknownMacro {
        /// The text with its `@`, shortened.
        name: String,
    },
    /// `@every` without a duration that Go can read.
    #[error("the interval of @every is not a valid duration")]
    BadEvery {
        /// The text after `@every`, shortened.
        delay: String,
        /// What is wrong with it.
        source: GoDurationError,
    },
    /// Not a number, and not a legal name.
    #[error("{field} {}", not_a_number(*.field, .item, .piece))]
    NotANumber {
        /// The field at fault.
        field: CronField,
        /// The item of the list, shortened.
        item: String,
        /// The part of the item, shortened. Empty for a missing number.
        piece: String,
    },
    /// A range with more than two ends.
    #[error("the range {item} has more than one hyphen")]
    TooManyHyphens {
        /// The item of the list, shortened.
        item: String,
    },
    /// A step of a step.
    #[error("{item} has more than one slash")]
    TooManySlashes {
        /// The item of the list, shortened.
        item: String,
    },
    /// A value below the smallest of the field.
    #[error("{field} {value} is below {}", .field.lowest())]
    BelowMinimum {
        /// The field at fault.
        field: CronField,
        /// The value as a number.
        value: u64,
    },
    /// A value above the largest of the field.
    #[error("{} {} is above {}", .0.field, .0.high, .0.field.highest())]
    AboveMaximum(RangeItem),
    /// A range whose start is after its end. Ranges do not wrap around.
    #[error("the range {} runs backwards ({} to {})", .0.text, .0.low, .0.high)]
    Backwards(RangeItem),
    /// A step of 0.
    #[error("the step of {item} is 0")]
    ZeroStep {
        /// The item of the list, shortened.
        item: String,
    },
    /// A step below 0.
    #[error("the step of {item} is negative")]
    NegativeStep {
        /// The item of the list, shortened.
        item: String,
    },
}

/// An item of a field that was parsed as a range of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeItem {
    /// The field at fault.
    pub field: CronField,
    /// The item as written, shortened.
    pub text: String,
    /// The first value of the range.
    pub low: u64,
    /// Its last value; the same as `low` for a single number.
    pub high: u64,
    /// Whether a step follows.
    pub(crate) stepped: bool,
}

/// The probable reason why a schedule has too many or too few fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountCause {
    /// It begins with `TZ=` or `CRON_TZ=`.
    TimeZone,
    /// A comment follows the fifth field.
    Comment,
    /// It is this macro without the `@`.
    MacroWithoutAt(&'static str),
    /// It has more than five fields, probably one for seconds or years.
    TooMany,
    /// It has fewer than five fields.
    TooFew,
}

fn not_a_number(field: CronField, item: &str, piece: &str) -> String {
    if piece.is_empty() {
        return format!("`{item}` lacks a number");
    }
    let place = if piece == item {
        String::new()
    } else {
        format!(" in `{item}`")
    };
    if field.names().is_empty() {
        format!("`{piece}`{place} is not a number")
    } else {
        format!("`{piece}`{place} is neither a number nor a three-letter name")
    }
}
