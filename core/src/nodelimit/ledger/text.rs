//! The ledger as text: compact JSON with a version.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::state::{Ledger, MAX_RESERVATIONS, Termination, TooManyVictims};

/// The version of the text that is written, and the highest that is read. Raise it only if an older release would
/// count wrongly; a field that older releases may ignore does not need it.
pub const VERSION: u64 = 1;

/// The longest text that is read, in bytes: the most that a ConfigMap may hold.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// Why a text is not a ledger. Nothing may be admitted by it: its reservations are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnreadableLedger {
    /// It is longer than [`MAX_TEXT`]; it is not parsed.
    #[error("the ledger has {0} bytes, more than {MAX_TEXT}")]
    TooLong(usize),
    /// Not JSON, or not that of a ledger: what is wrong, and where.
    #[error("the ledger cannot be parsed: {0}")]
    Malformed(String),
    /// Written by a later release.
    #[error("the ledger has version {0}, but this release reads up to {VERSION}. Run one release everywhere")]
    Newer(u64),
    /// A reservation for no call.
    #[error("the ledger has a reservation for 0 calls")]
    NoCall,
    /// More reservations than a ledger can have.
    #[error("the ledger has {0} reservations, more than {MAX_RESERVATIONS}")]
    TooManyReservations(usize),
    /// More victims than a ledger can have.
    #[error("in `termination` of the ledger: {0}")]
    TooManyVictims(#[from] TooManyVictims),
}

/// What is read first: the other fields of a later release may be of other types.
#[derive(Deserialize)]
struct Version {
    version: u64,
}

/// The parts that are objects, with all their fields.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parts {
    denied: Value,
    limit: Value,
    replacement: Value,
    stopped: Value,
    termination: Value,
}

impl Parts {
    /// The fields in them that this release does not know: those that it does not write.
    fn unknown(self, ledger: &Ledger) -> BTreeMap<&'static str, Map<String, Value>> {
        let parts = [
            ("denied", self.denied, json!(ledger.denied)),
            ("limit", self.limit, json!(ledger.limit)),
            ("replacement", self.replacement, json!(ledger.replacement)),
            ("stopped", self.stopped, json!(ledger.stopped)),
            ("termination", self.termination, json!(ledger.termination)),
        ];
        let unknown = parts.into_iter().filter_map(|(name, read, written)| {
            let Value::Object(mut fields) = read else {
                return None;
            };
            fields.retain(|field, _| written.get(field).is_none());
            (!fields.is_empty()).then_some((name, fields))
        });
        unknown.collect()
    }
}

impl Ledger {
    /// Parses a ledger. Fields that this release does not know are kept and written again.
    pub fn parse(text: &str) -> Result<Self, UnreadableLedger> {
        if text.len() > MAX_TEXT {
            return Err(UnreadableLedger::TooLong(text.len()));
        }
        let Version { version } = parse(text)?;
        if version > VERSION {
            return Err(UnreadableLedger::Newer(version));
        }
        let mut ledger: Self = parse(text)?;
        ledger.unknown.remove("version");
        ledger.unknown_inside = parse::<Parts>(text)?.unknown(&ledger);
        if !ledger.closed {
            ledger.closed_over = 0;
        }
        if ledger.reservations.len() > MAX_RESERVATIONS {
            return Err(UnreadableLedger::TooManyReservations(ledger.reservations.len()));
        }
        if ledger.reservations.values().any(|calls| *calls == 0) {
            return Err(UnreadableLedger::NoCall);
        }
        if let Some(Termination { began, victims }) = ledger.termination {
            ledger.termination = Some(Termination::new(began, victims)?);
        }
        Ok(ledger)
    }

    /// The text to store: fields in alphabetical order. [`Ledger::parse`] reads the same ledger from it.
    pub fn write(&self) -> String {
        let mut written = json!(self);
        if let Some(fields) = written.as_object_mut() {
            fields.insert("version".to_owned(), VERSION.into());
            for (part, unknown) in &self.unknown_inside {
                let Some(Value::Object(part)) = fields.get_mut(*part) else {
                    continue;
                };
                for (field, value) in unknown {
                    part.entry(field).or_insert_with(|| value.clone());
                }
            }
            if !self.closed {
                fields.remove("closed");
                fields.remove("closedOver");
            }
        }
        written.to_string()
    }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, UnreadableLedger> {
    serde_json::from_str(text).map_err(|error| UnreadableLedger::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests;
