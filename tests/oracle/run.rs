//! Runs many cases in parallel: one oracle per core, and each kind of difference is reported once.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use super::case::Case;
use super::compare::{Comparison, compare, opinion};
use super::effort::{Effort, is_set};
use super::explained::{EXPLAINED, explained};
use super::mismatch::{Kind, Mismatch};
use super::program::Oracles;
use super::regressions::{line, record, regressions};
use super::shrink::shrink;

/// How many cases are sent to an oracle at once.
const BATCH: u64 = 100;

/// How many kinds of difference are shrunk and reported in full; of the others, only the kind.
const TOLD: usize = 30;

/// The result of all cases.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// How many cases both sides checked.
    pub(crate) judged: u64,
    /// How many of them only by the definition: Karpenter's types for them are not linked.
    pub(crate) by_definition: u64,
    /// How many the API server rejected for something that all kinds have in common.
    pub(crate) unjudged: u64,
    /// How many have an intended difference, by its name.
    excused: BTreeMap<&'static str, u64>,
    differences: BTreeMap<(Kind, String), Difference>,
}

#[derive(Debug)]
struct Difference {
    count: u64,
    source: Source,
    case: Case,
    mismatch: Mismatch,
}

/// The source of a case.
#[derive(Debug, Clone, Copy)]
enum Source {
    /// A line of the regressions.
    Regression(usize),
    /// Its number under the seed.
    Generated(u64),
}

/// Compares the regressions and all cases selected by `effort`.
pub(crate) fn run(effort: Effort, corpus: &[Value]) -> Outcome {
    let next = AtomicU64::new(effort.first);
    let end = effort.first + effort.cases;
    let outcome = Mutex::new(Outcome::default());
    if effort.is_whole() {
        outcome.lock().expect("nobody panicked").take_regressions();
    }
    let workers = thread::available_parallelism()
        .map_or(2, std::num::NonZero::get)
        .min(8);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut oracles = Oracles::start();
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
                    let compared = compare(&mut oracles, &cases);
                    let mut outcome = outcome.lock().expect("no worker panicked");
                    for ((number, case), comparison) in numbers.into_iter().zip(cases).zip(compared) {
                        outcome.take(Source::Generated(number), &case, comparison);
                    }
                }
            });
        }
    });
    outcome.into_inner().expect("no worker panicked")
}

impl Outcome {
    fn take_regressions(&mut self) {
        let cases = regressions();
        let compared = compare(&mut Oracles::start(), &cases);
        for (number, (case, comparison)) in (1..).zip(cases.iter().zip(compared)) {
            self.take(Source::Regression(number), case, comparison);
        }
    }

    fn take(&mut self, source: Source, case: &Case, comparison: Comparison) {
        let Comparison::Judged { followed, mismatches } = comparison else {
            self.unjudged += 1;
            return;
        };
        self.judged += 1;
        self.by_definition += u64::from(!followed);
        let mut excuses = Vec::new();
        for mismatch in mismatches {
            if let Some(name) = explained(case, &mismatch) {
                excuses.push(name);
                continue;
            }
            let key = (mismatch.kind, mismatch.signature.clone());
            let seen = self.differences.entry(key).or_insert_with(|| Difference {
                count: 0,
                source,
                case: case.clone(),
                mismatch,
            });
            seen.count += 1;
        }
        excuses.sort_unstable();
        excuses.dedup();
        for name in excuses {
            *self.excused.entry(name).or_default() += 1;
        }
    }

    /// How many unexplained differences there are.
    pub(crate) fn unexplained(&self) -> u64 {
        self.differences.values().map(|difference| difference.count).sum()
    }

    /// How many cases were checked, and how many were excused for which reason.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!(
            "{} cases judged, {} of them by the definition alone; {} not judged; excused:",
            self.judged, self.by_definition, self.unjudged
        );
        for explained in EXPLAINED {
            let count = self.excused.get(explained.name).unwrap_or(&0);
            let _ = write!(text, "\n  {count:>8}  {}", explained.name);
        }
        text
    }

    /// Every kind of difference, with its smallest case.
    pub(crate) fn report(&self, seed: u64) -> String {
        let mut oracles = Oracles::start();
        let mut text = String::new();
        let mut lines = Vec::new();
        for (reported, ((kind, signature), difference)) in self.differences.iter().enumerate() {
            let first = match difference.source {
                Source::Regression(number) => format!("line {number} of the regressions"),
                Source::Generated(number) => format!("case {number} of seed {seed}"),
            };
            let _ = writeln!(
                text,
                "\n{kind:?}, {} times, first in {first}: {signature}",
                difference.count
            );
            if reported >= TOLD {
                continue;
            }
            let (case, mismatch) = shrink(&mut oracles, &difference.case, &difference.mismatch);
            let line = line(&case, &format!("{kind:?}: {signature}"));
            let _ = writeln!(text, "  difference: {}", mismatch.what.replace('\n', "\n    "));
            let _ = writeln!(text, "  poolgate:\n{}", opinion(&mut oracles, &case));
            let _ = writeln!(text, "  for tests/oracle/regressions.jsonl:\n{line}");
            if matches!(difference.source, Source::Generated(_)) {
                lines.push(line);
            }
        }
        if is_set("POOLGATE_ORACLE_RECORD") {
            record(&lines);
        }
        text
    }
}
