//! Reasons as they are named on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use poolgate_core::budget::Reason;

/// Reads the name of a reason, in upper or lower case if the argument ignores case.
pub fn on_command_line() -> impl TypedValueParser<Value = Reason> {
    PossibleValuesParser::new(Reason::ALL.map(Reason::as_str)).try_map(|name| {
        let mut reasons = Reason::ALL.into_iter();
        let named = reasons.find(|reason| reason.as_str().eq_ignore_ascii_case(&name));
        named.ok_or("there is no such reason")
    })
}
