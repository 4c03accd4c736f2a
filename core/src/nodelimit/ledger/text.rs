//! The ledger as text: compact JSON with a version.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::state::{DenialRecord, Ledger, LimitInForce, MAX_RESERVATIONS, Termination, TooManyVictims};
use super::uid::{Uid, UnusableUid};
use crate::karpenter::NodeLimitMode;

/// The version of the text that is written, and the highest that is read. Raise it only if an older release would
/// count wrongly; a field that older releases may ignore does not need it.
pub const VERSION: u64 = 1;

/// The longest text that is read, in bytes: the most that a ConfigMap may hold.
pub const MAX_TEXT: usize = 1 << 20;

/// Why a text is not a ledger. Nothing may be admitted by it: its reservations are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnreadableLedger {
    /// Longer than [`MAX_TEXT`].
    #[error("the ledger is {0} bytes long, more than the {MAX_TEXT} that are read")]
    TooLong(usize),
    /// Not JSON, with the position.
    #[error("the ledger is no JSON: {0}")]
    NotJson(String),
    /// JSON, but not an object.
    #[error("the ledger is no JSON object")]
    NotAnObject,
    /// Written by a later release.
    #[error("the ledger has version {0}, this release reads up to {VERSION}: run one release everywhere")]
    Newer(u64),
    /// A required field is missing.
    #[error("the ledger has no `{0}`")]
    Missing(&'static str),
    /// A field that cannot be read.
    #[error("`{field}` of the ledger should be {expected}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What is expected there.
        expected: &'static str,
    },
    /// A UID that is not valid.
    #[error("in `{field}` of the ledger {fault}")]
    Uid {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        fault: UnusableUid,
    },
    /// More reservations than a ledger can have.
    #[error("the ledger has {0} reservations, more than {MAX_RESERVATIONS}")]
    TooManyReservations(usize),
    /// More victims than a ledger can have.
    #[error("in `termination` of the ledger {0}")]
    TooManyVictims(#[from] TooManyVictims),
}

impl Ledger {
    /// Parses a ledger. Fields that this release does not know are kept and written again.
    pub fn read(text: &str) -> Result<Self, UnreadableLedger> {
        if text.len() > MAX_TEXT {
            return Err(UnreadableLedger::TooLong(text.len()));
        }
        let value =
            serde_json::from_str(text).map_err(|error| UnreadableLedger::NotJson(error.to_string()))?;
        let Value::Object(mut fields) = value else {
            return Err(UnreadableLedger::NotAnObject);
        };
        let version = number("version", fields.remove("version").as_ref())?;
        if version > VERSION {
            return Err(UnreadableLedger::Newer(version));
        }
        let reservations = fields
            .remove("reservations")
            .ok_or(UnreadableLedger::Missing("reservations"))?;
        Ok(Self {
            reservations: read_reservations(&reservations)?,
            seen: number("seen", fields.remove("seen").as_ref())?,
            closed: fields.remove("closed").as_ref().map_or(Ok(false), read_closed)?,
            limit: fields.remove("limit").as_ref().map(read_limit).transpose()?,
            denied: fields.remove("denied").as_ref().map(read_denial).transpose()?,
            termination: fields
                .remove("termination")
                .as_ref()
                .map(read_termination)
                .transpose()?,
            unknown: fields,
        })
    }

    /// The text to store. [`Ledger::read`] reads the same ledger from it.
    pub fn write(&self) -> String {
        let mut fields = self.unknown.clone();
        let reservations: Map<String, Value> = self
            .reservations
            .iter()
            .map(|(uid, calls)| (uid.as_str().to_owned(), (*calls).into()))
            .collect();
        let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
        put("version", VERSION.into());
        put("reservations", reservations.into());
        put("seen", self.seen.into());
        if self.closed {
            put("closed", true.into());
        }
        if let Some(limit) = &self.limit {
            put(
                "limit",
                json!({"nodes": limit.nodes, "mode": limit.mode.as_str(), "poolVersion": limit.pool_version}),
            );
        }
        if let Some(denied) = &self.denied {
            put(
                "denied",
                json!({"at": denied.at, "total": denied.total, "claim": &*denied.claim}),
            );
        }
        if let Some(termination) = &self.termination {
            let victims: Vec<&str> = termination.victims().iter().map(Uid::as_str).collect();
            put(
                "termination",
                json!({"began": termination.began(), "victims": victims}),
            );
        }
        Value::Object(fields).to_string()
    }
}

const fn wrong(field: &'static str, expected: &'static str) -> UnreadableLedger {
    UnreadableLedger::Field { field, expected }
}

fn number(field: &'static str, value: Option<&Value>) -> Result<u64, UnreadableLedger> {
    value
        .ok_or(UnreadableLedger::Missing(field))?
        .as_u64()
        .ok_or(wrong(field, "a whole number"))
}

fn read_closed(value: &Value) -> Result<bool, UnreadableLedger> {
    value.as_bool().ok_or(wrong("closed", "`true` or `false`"))
}

fn uid(field: &'static str, text: &str) -> Result<Uid, UnreadableLedger> {
    Uid::new(text).map_err(|fault| UnreadableLedger::Uid { field, fault })
}

fn read_reservations(value: &Value) -> Result<BTreeMap<Uid, u32>, UnreadableLedger> {
    const EXPECTED: UnreadableLedger = wrong("reservations", "an object of UIDs with a number from 1 each");
    let reservations = value.as_object().ok_or(EXPECTED)?;
    if reservations.len() > MAX_RESERVATIONS {
        return Err(UnreadableLedger::TooManyReservations(reservations.len()));
    }
    reservations
        .iter()
        .map(|(text, calls)| {
            let calls = calls.as_u64().and_then(|calls| u32::try_from(calls).ok());
            let calls = calls.filter(|calls| *calls > 0).ok_or(EXPECTED)?;
            Ok((uid("reservations", text)?, calls))
        })
        .collect()
}

fn read_limit(value: &Value) -> Result<LimitInForce, UnreadableLedger> {
    let nodes = number("limit.nodes", value.get("nodes"))?;
    let mode = value.get("mode").and_then(Value::as_str);
    Ok(LimitInForce {
        nodes: u32::try_from(nodes).map_err(|_| wrong("limit.nodes", "a number below 2^32"))?,
        mode: mode
            .and_then(NodeLimitMode::parse)
            .ok_or(wrong("limit.mode", "`Hard` or `Soft`"))?,
        pool_version: number("limit.poolVersion", value.get("poolVersion"))?,
    })
}

fn read_denial(value: &Value) -> Result<DenialRecord, UnreadableLedger> {
    let claim = value.get("claim").and_then(Value::as_str);
    Ok(DenialRecord {
        at: number("denied.at", value.get("at"))?,
        total: number("denied.total", value.get("total"))?,
        claim: claim.ok_or(wrong("denied.claim", "a name"))?.into(),
    })
}

fn read_termination(value: &Value) -> Result<Termination, UnreadableLedger> {
    const VICTIMS: &str = "termination.victims";
    let texts = value.get("victims").and_then(Value::as_array);
    let victims: Vec<Uid> = texts
        .ok_or(wrong(VICTIMS, "a list of UIDs"))?
        .iter()
        .map(|text| uid(VICTIMS, text.as_str().ok_or(wrong(VICTIMS, "a list of UIDs"))?))
        .collect::<Result<_, _>>()?;
    Ok(Termination::new(
        number("termination.began", value.get("began"))?,
        victims,
    )?)
}

#[cfg(test)]
mod tests;
