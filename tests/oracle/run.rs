//! Many cases at once: on every core an oracle of its own, and every kind of difference told once.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use super::case::Case;
use super::compare::{Kind, Mismatch, mismatches, opinion};
use super::explained::is_explained;
use super::program::Oracle;
use super::shrink::shrink;

/// How many cases an oracle is asked at once.
const BATCH: u64 = 100;

/// How many kinds of difference are shrunk and told in full; of the rest, only the kind.
const TOLD: usize = 30;

/// How much to do, from the environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) seed: u64,
    pub(crate) first: u64,
    pub(crate) cases: u64,
}

impl Effort {
    /// `bounded` cases, or `full` where all tests are wanted; `POOLGATE_ORACLE_CASES` overrules both,
    /// `POOLGATE_ORACLE_CASE` picks one.
    pub(crate) fn wanted(bounded: u64, full: u64) -> Self {
        let seed = number("POOLGATE_ORACLE_SEED").unwrap_or(1);
        if let Some(first) = number("POOLGATE_ORACLE_CASE") {
            return Self {
                seed,
                first,
                cases: 1,
            };
        }
        let usual = if env::var_os("POOLGATE_TEST_FULL").is_some() {
            full
        } else {
            bounded
        };
        let cases = number("POOLGATE_ORACLE_CASES").unwrap_or(usual);
        Self {
            seed,
            first: 0,
            cases,
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}

/// What came of all cases.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many both sides judged.
    pub(crate) judged: u64,
    /// How many the API server refused for what they have in common with every kind.
    pub(crate) unjudged: u64,
    differences: BTreeMap<(Kind, String), Difference>,
}

#[derive(Debug)]
struct Difference {
    count: u64,
    number: u64,
    case: Case,
    mismatch: Mismatch,
}

/// Compares all cases that `effort` names.
pub(crate) fn run(effort: Effort, corpus: &[Value]) -> Outcome {
    let next = AtomicU64::new(effort.first);
    let end = effort.first + effort.cases;
    let outcome = Mutex::new(Outcome::default());
    let workers = thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut oracle = Oracle::start();
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= end {
                        return;
                    }
                    let numbers: Vec<u64> = (first..end.min(first + BATCH)).collect();
                    let cases: Vec<Case> = numbers
                        .iter()
                        .map(|number| Case::generate(effort.seed, *number, corpus))
                        .collect();
                    let found = mismatches(&mut oracle, &cases);
                    let mut outcome = outcome.lock().expect("no worker panicked");
                    for ((number, case), found) in numbers.into_iter().zip(cases).zip(found) {
                        outcome.take(number, &case, found);
                    }
                }
            });
        }
    });
    outcome.into_inner().expect("no worker panicked")
}

impl Outcome {
    fn take(&mut self, number: u64, case: &Case, found: Option<Vec<Mismatch>>) {
        let Some(found) = found else {
            self.unjudged += 1;
            return;
        };
        self.judged += 1;
        for mismatch in found {
            if is_explained(case, &mismatch) {
                continue;
            }
            let key = (mismatch.kind, mismatch.signature.clone());
            let seen = self.differences.entry(key).or_insert_with(|| Difference {
                count: 0,
                number,
                case: case.clone(),
                mismatch,
            });
            seen.count += 1;
        }
    }

    /// How many differences there are that nothing explains.
    pub(crate) fn unexplained(&self) -> u64 {
        self.differences.values().map(|difference| difference.count).sum()
    }

    /// Every kind of difference, with its smallest case.
    pub(crate) fn report(&self, seed: u64) -> String {
        let mut oracle = Oracle::start();
        let mut text = String::new();
        for (told, ((kind, signature), difference)) in self.differences.iter().enumerate() {
            let Difference { count, number, .. } = difference;
            let _ = writeln!(
                text,
                "\n{kind:?}, {count} times, first in case {number} of seed {seed}: {signature}"
            );
            if told >= TOLD {
                continue;
            }
            let (case, mismatch) = shrink(&mut oracle, &difference.case, &difference.mismatch);
            let _ = writeln!(text, "  object: {}", case.object);
            if let Some(old) = &case.old {
                let _ = writeln!(text, "  stored: {old}");
            }
            let _ = writeln!(text, "  difference: {}", mismatch.what.replace('\n', "\n    "));
            let _ = writeln!(text, "  poolgate:\n{}", opinion(&mut oracle, &case));
        }
        text
    }
}
