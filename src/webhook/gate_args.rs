//! What the user says about the gate of node limits.

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args};

use crate::gate::{GateSettings, OnError};

/// What the user says about the gate.
#[derive(Debug, Args)]
pub(crate) struct GateArgs {
    /// Answer at /gate whether a NodePool has a place left for a NodeClaim that is about to be created, by
    /// spec.limits.nodes. Needs a cluster
    #[arg(
        long,
        env = "POOLGATE_GATE",
        action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new()
    )]
    gate: bool,

    /// What becomes of a NodeClaim while the gate cannot decide
    #[arg(
        long,
        env = "POOLGATE_GATE_ON_ERROR",
        value_enum,
        default_value = "allow",
        value_name = "ALLOW|DENY"
    )]
    gate_on_error: OnError,

    /// Admit NodeClaims for which there is no place left, and only count them
    #[arg(
        long,
        env = "POOLGATE_GATE_OBSERVE",
        action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new()
    )]
    gate_observe: bool,
}

/// There is nothing to observe.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("--gate-observe changes what --gate does: add --gate, or leave it out")]
pub(crate) struct ObserveWithoutGate;

impl GateArgs {
    /// How the node gate is meant; none where it stays shut.
    pub(super) fn settings(&self) -> Result<Option<GateSettings>, ObserveWithoutGate> {
        if self.gate_observe && !self.gate {
            return Err(ObserveWithoutGate);
        }
        Ok(self.gate.then_some(GateSettings {
            on_error: self.gate_on_error,
            observe: self.gate_observe,
        }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        gate: GateArgs,
    }

    fn parse(line: &str) -> GateArgs {
        let words = std::iter::once("serve").chain(line.split_whitespace());
        Line::try_parse_from(words).expect(line).gate
    }

    #[test]
    fn the_gate_is_open_where_it_is_asked_for() {
        assert!(parse("").settings().is_ok_and(|gate| gate.is_none()));
        let settings = |line: &str| parse(line).settings().expect(line).expect(line);
        let plain = settings("--gate");
        assert_eq!((plain.on_error, plain.observe), (OnError::Allow, false));
        let strict = settings("--gate --gate-on-error deny --gate-observe");
        assert_eq!((strict.on_error, strict.observe), (OnError::Deny, true));
        assert_eq!(parse("--gate-observe").settings().err(), Some(ObserveWithoutGate));
    }
}
