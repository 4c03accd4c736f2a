//! The text of a ledger.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use poolgate_core::nodelimit::ledger::Ledger;
use poolgate_fuzz::{corpus, mutate};
use serde_json::Value;

/// What this release reads. Everything else is of a later one, and stays as it is.
const KNOWN: &[&str] = &[
    "closed",
    "closedOver",
    "denied",
    "limit",
    "replacement",
    "reservations",
    "seen",
    "stopped",
    "surged",
    "termination",
    "version",
];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::json(data, size, max_size, seed)
});

fuzz_target!(init: corpus::write(corpus::ledgers), |data: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(data) else {
        return Corpus::Reject;
    };
    let ledger = match Ledger::parse(text) {
        Ok(ledger) => ledger,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Corpus::Keep;
        }
    };
    let written = ledger.write();
    let again = Ledger::parse(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(again, ledger, "{written}");
    assert_eq!(again.write(), written);
    let (old, new): (Value, Value) = (parsed(text), parsed(&written));
    for (field, value) in old.as_object().into_iter().flatten().filter(|(field, _)| !KNOWN.contains(&field.as_str())) {
        assert_eq!(Some(value), new.get(field), "{field} of a later release is lost: {written}");
    }
    Corpus::Keep
});

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}
