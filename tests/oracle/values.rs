//! Compares the grammars of `poolgate_core::value` with the parsers that Karpenter is built from, on generated
//! texts.

use std::fmt::Debug;

use jiff::Timestamp;
use poolgate_core::value::cron::{Schedule, ScheduleError};
use poolgate_core::value::duration::GoDuration;
use poolgate_core::value::quantity::{Quantity, QuantityError};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::effort::Effort;
use super::program::{Answer, Oracle};
use super::words;

/// How many texts are sent to an oracle at once.
const BATCH: u64 = 1_000;

/// How many fire times are compared.
const FIRES: usize = 5;

/// Sends generated texts to the oracle and asserts that `check` of text and answer finds nothing.
fn compare<Q: Debug>(
    generate: impl Fn(&mut StdRng) -> Q,
    question: impl Fn(&Q) -> Value,
    check: impl Fn(&Q, &Answer) -> Result<(), String>,
) {
    let effort = Effort::wanted(10_000, 1_000_000);
    let mut oracle = Oracle::start();
    let mut failures = Vec::new();
    let mut first = effort.first;
    let end = effort.first + effort.cases;
    while first < end {
        let asked: Vec<Q> = (first..end.min(first + BATCH))
            .map(|number| generate(&mut StdRng::seed_from_u64(effort.seed.rotate_left(32) ^ number)))
            .collect();
        let questions: Vec<Value> = asked.iter().map(&question).collect();
        for (number, (asked, answer)) in (first..).zip(asked.iter().zip(oracle.ask(&questions))) {
            if let Err(why) = check(asked, &answer) {
                let why: String = why.chars().take(400).collect();
                failures.push(format!("case {number}: {asked:?}: {why}"));
            }
        }
        first += BATCH;
    }
    // The shortest is the most helpful.
    failures.sort_by_key(String::len);
    failures.truncate(20);
    assert!(
        failures.is_empty(),
        "seed {}:\n{}",
        effort.seed,
        failures.join("\n")
    );
}

fn nanos(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Given(answer) => answer["nanos"].as_str(),
        Answer::Harmed(_) => None,
    }
}

#[test]
fn durations_are_read_as_go_reads_them() {
    compare(
        words::duration,
        |text| json!({"kind": "duration", "text": text}),
        |text, answer| {
            let ours = GoDuration::parse(text).map(|duration| duration.as_nanos().to_string());
            let same = ours.as_deref().ok() == nanos(answer);
            if same {
                Ok(())
            } else {
                Err(format!("we say {ours:?}, Go says {answer:?}"))
            }
        },
    );
}

/// poolgate reads what both the definition's pattern and Kubernetes' parser accept, within its own bounds.
#[test]
fn quantities_are_read_as_kubernetes_reads_them() {
    let pattern = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";
    let pattern = regex::Regex::new(pattern).expect("the pattern is valid");
    compare(
        words::quantity,
        |text| json!({"kind": "quantity", "text": text}),
        |text, answer| {
            let ours = Quantity::parse(text);
            let theirs = nanos(answer).filter(|_| pattern.is_match(text));
            let same = match (&ours, theirs) {
                (Ok(ours), Some(nanos)) => exactly(nanos).as_ref() == Ok(ours),
                (Err(QuantityError::ExponentOutOfBounds { .. } | QuantityError::TooLong { .. }), _) => true,
                (ours, theirs) => ours.is_err() && theirs.is_none(),
            };
            if same {
                Ok(())
            } else {
                Err(format!("we say {ours:?}, Kubernetes says {answer:?}"))
            }
        },
    );
}

/// A whole number of nanos as a quantity, short enough to be read whatever its size.
fn exactly(nanos: &str) -> Result<Quantity, QuantityError> {
    let digits = nanos.trim_end_matches('0');
    let zeros = i64::try_from(nanos.len() - digits.len()).expect("the length of a text fits");
    Quantity::parse(&format!(
        "{}e{}",
        if digits.is_empty() { "0" } else { digits },
        zeros - 9
    ))
}

#[test]
fn a_quantity_that_hangs_karpenter_is_rejected() {
    let mut oracle = Oracle::start();
    for text in words::HARMFUL_QUANTITIES {
        let answer = oracle.ask_one(json!({"kind": "quantity", "text": text}));
        assert!(matches!(answer, Answer::Harmed(_)), "{text}: {answer:?}");
        assert!(Quantity::parse(text).is_err(), "{text}");
    }
}

#[test]
fn schedules_are_read_and_fire_as_karpenters_parser_has_it() {
    compare(
        |rng| {
            (
                words::schedule(rng),
                Timestamp::from_second(rng.random_range(0..3_900_000_000)).expect("in range"),
            )
        },
        |(text, at)| json!({"kind": "cron", "text": text, "at": at.to_string(), "count": FIRES}),
        |(text, at), answer| {
            let answer = answer.clone().given();
            let theirs = answer["next"].as_array().map(|next| {
                let time = |time: &Value| time.as_str().and_then(|time| time.parse::<Timestamp>().ok());
                next.iter()
                    .map(time)
                    .collect::<Option<Vec<_>>>()
                    .expect("fire times are times")
            });
            let ours = fires(text, *at);
            if ours.as_ref().ok() == theirs.as_ref() {
                Ok(())
            } else {
                Err(format!("we say {ours:?}, robfig/cron says {answer}"))
            }
        },
    );
}

fn fires(text: &str, at: Timestamp) -> Result<Vec<Timestamp>, ScheduleError> {
    let fire_times = Schedule::parse(text)?.fire_times();
    let mut fires = Vec::new();
    let mut last = at;
    while let Some(next) = fire_times.next_after(last).filter(|_| fires.len() < FIRES) {
        fires.push(next);
        last = next;
    }
    Ok(fires)
}
