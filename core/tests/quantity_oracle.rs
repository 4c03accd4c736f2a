//! Compares our verdict on each quantity and Go duration with the recorded one; see `data/README.md`.

use poolgate_core::value::duration::GoDuration;
use poolgate_core::value::quantity::Quantity;
use serde_json::Value;

const QUANTITIES: &str = include_str!("data/quantity-oracle.jsonl");
const DURATIONS: &str = include_str!("data/duration-oracle.jsonl");

/// A recorded number of nanos as it is kept: no more than 1.7 × 10^29 units either way.
fn kept(nano: &str) -> i128 {
    let most = i128::MAX / 1_000_000_000 * 1_000_000_000;
    let beyond = if nano.starts_with('-') { -most } else { most };
    nano.parse()
        .map_or(beyond, |value: i128| value.clamp(-most, most))
}

/// A recorded number of nanos written as an unambiguous quantity.
fn exactly(nano: &str) -> Option<Quantity> {
    Quantity::parse(&format!("{nano}n")).ok()
}

#[test]
fn quantities_are_accepted_by_us_if_both_crd_and_parser_accept_them() {
    let (mut accepted, mut beyond) = (Vec::new(), 0);
    for (number, line) in (1..).zip(QUANTITIES.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap();
        let nano = row["nano"].as_str().filter(|_| row["crd"] == true);
        let ours = Quantity::parse(text);
        assert_eq!(ours.is_ok(), nano.is_some(), "line {number}: {text:?}");
        let (Ok(ours), Some(nano)) = (ours, nano) else {
            continue;
        };
        assert_eq!(Some(&ours), exactly(nano).as_ref(), "line {number}: {text:?}");
        let value = kept(nano);
        beyond += usize::from(nano != value.to_string());
        assert_eq!(
            ours.is_negative(),
            nano.starts_with('-'),
            "line {number}: {text:?}"
        );
        assert_eq!(ours.is_zero(), nano == "0", "line {number}: {text:?}");
        assert_eq!(
            ours.is_whole(),
            value % 1_000_000_000 == 0,
            "line {number}: {text:?}"
        );
        accepted.push((value, ours));
    }
    assert!(accepted.len() > 1_000, "{}", accepted.len());
    assert!(beyond > 0, "no recorded quantity is beyond what is kept");
    // Sorted by one, sorted by the other: all pairs compare the same.
    accepted.sort_by_key(|(value, _)| *value);
    assert!(accepted.is_sorted_by(|one, other| one.1 <= other.1 && (one.0 == other.0) == (one.1 == other.1)));
}

#[test]
fn durations_are_as_long_as_go_says() {
    for (number, line) in (1..).zip(DURATIONS.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let text = row["text"].as_str().unwrap();
        let ours = GoDuration::parse(text).ok().map(GoDuration::as_nanos);
        assert_eq!(ours, row["nanos"].as_i64(), "line {number}: {text:?}");
    }
    assert!(DURATIONS.lines().count() > 2_000);
}
