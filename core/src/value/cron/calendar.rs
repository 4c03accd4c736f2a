//! The five fields of a schedule once they are parsed, and the macros that replace them.

use super::days::Days;

/// The macros and the fields that they mean.
pub const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

/// The calendar times at which a schedule fires. Bit n of a set is the value n.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    pub minutes: u64,
    pub hours: u64,
    pub months: u64,
    pub days: Days,
}
