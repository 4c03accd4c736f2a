//! What goes wrong, drawn from the seed: few kinds in one run, and those often.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::time::Instant;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Calls take seconds.
    Slow,
    /// Calls are lost on their way.
    LostCalls,
    /// Answers are lost on their way; what was asked for is done.
    LostAnswers,
    /// Calls are done after their caller has stopped waiting.
    LateCalls,
    /// 409, 429 and 500.
    Refusals,
    /// The second page of a list is refused.
    CutLists,
    /// Kept connections die without a word for longer than a reservation lives.
    DeadConnections,
    /// Watches show everything late.
    Lag,
    /// Watches end.
    Cuts,
    /// The version to continue from is too old.
    Compaction,
    /// Watches say nothing any more.
    SilentWatches,
    /// Processes are killed and started again.
    Crashes,
    /// Processes stand still, some for longer than a reservation lives.
    Pauses,
    /// Ledgers are deleted, twice in a row.
    LedgersDeleted,
    /// A ledger is deleted right after it has opened.
    OpenedDeleted,
    /// A ledger's text is overwritten.
    LedgersSpoilt,
    /// Limits rise and fall.
    OtherLimits,
    /// Limits go and come back.
    LimitsGo,
    /// NodePools are deleted and created again under their names.
    PoolsReplaced,
    /// The API server calls the webhook again with the same NodeClaim.
    RepeatedCalls,
    /// The API server waits for the webhook for two seconds.
    ShortTimeouts,
    /// The API server stores what was admitted as late as it may.
    LateCommits,
    /// Another webhook denies what the gate has admitted.
    OtherWebhook,
    /// LISTs of NodeClaims take two seconds, or never end.
    SlowLists,
    /// Strangers ask the gates, with the shortest and the longest deadline.
    Strangers,
    /// Watches are served by an API server whose cache stands still.
    OldCaches,
    /// Users give NodeClaims another pool, or none.
    Relabelled,
    /// The Lease is deleted.
    LeaseDeleted,
    /// A later release writes ledgers too.
    LaterRelease,
    /// The ledgers move to another namespace.
    LedgersMoved,
}

const ALL: [Fault; 30] = [
    Fault::Slow,
    Fault::LostCalls,
    Fault::LostAnswers,
    Fault::LateCalls,
    Fault::Refusals,
    Fault::CutLists,
    Fault::DeadConnections,
    Fault::Lag,
    Fault::Cuts,
    Fault::Compaction,
    Fault::SilentWatches,
    Fault::Crashes,
    Fault::Pauses,
    Fault::LedgersDeleted,
    Fault::OpenedDeleted,
    Fault::LedgersSpoilt,
    Fault::OtherLimits,
    Fault::LimitsGo,
    Fault::PoolsReplaced,
    Fault::RepeatedCalls,
    Fault::ShortTimeouts,
    Fault::LateCommits,
    Fault::OtherWebhook,
    Fault::SlowLists,
    Fault::Strangers,
    Fault::OldCaches,
    Fault::Relabelled,
    Fault::LeaseDeleted,
    Fault::LaterRelease,
    Fault::LedgersMoved,
];

/// Faults that are worse together: what is lost is not known to somebody who sees it late.
const TOGETHER: [&[Fault]; 12] = [
    &[Fault::OpenedDeleted, Fault::Lag, Fault::LateCommits],
    &[Fault::OpenedDeleted, Fault::SilentWatches, Fault::LateCommits],
    &[Fault::LedgersDeleted, Fault::Lag, Fault::LateCommits],
    &[Fault::LedgersDeleted, Fault::Crashes, Fault::OtherLimits],
    &[Fault::LimitsGo, Fault::Lag, Fault::LateCommits],
    &[Fault::PoolsReplaced, Fault::Lag, Fault::LateCalls],
    &[Fault::OtherLimits, Fault::Pauses, Fault::Lag],
    &[Fault::RepeatedCalls, Fault::LostAnswers, Fault::ShortTimeouts],
    &[Fault::PoolsReplaced, Fault::LateCommits],
    &[Fault::LedgersMoved, Fault::LateCommits],
    &[Fault::Strangers, Fault::SlowLists],
    &[Fault::LaterRelease, Fault::OtherLimits],
];

/// How long the API server works on a call at most: a create may be stored so long after it came.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(34);

/// What becomes of a call.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub(super) before: Duration,
    pub(super) after: Duration,
    pub(super) is_lost: bool,
    pub(super) is_unanswered: bool,
    pub(super) refused: Option<u16>,
}

/// The faults of a run. They have a generator of their own, so that a change of what is simulated meets the same ones.
#[derive(Debug)]
pub(super) struct Faults {
    random: StdRng,
    pub(super) kinds: BTreeSet<Fault>,
    until: Instant,
}

impl Faults {
    /// The faults of this seed, until that time.
    pub(super) fn of(seed: u64, until: Instant) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0x005e_ed0f_fa17);
        let together = TOGETHER.choose(&mut random).filter(|_| random.random_bool(0.5));
        let count = random.random_range(0..=if together.is_some() { 1 } else { 4 });
        let mut kinds: BTreeSet<_> = ALL.sample(&mut random, count).copied().collect();
        kinds.extend(together.into_iter().copied().flatten());
        Self { random, kinds, until }
    }

    /// The same, of these kinds.
    pub(super) fn of_kinds(self, kinds: &[Fault]) -> Self {
        let kinds = kinds.iter().copied().collect();
        Self { kinds, ..self }
    }

    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Whether this kind happens in this run, and has not ended.
    pub(super) fn has(&self, kind: Fault) -> bool {
        self.kinds.contains(&kind) && Instant::now() < self.until
    }

    /// Whether nothing goes wrong but what these are.
    pub(super) fn are_only(&self, kinds: &[Fault]) -> bool {
        self.kinds.iter().all(|kind| kinds.contains(kind))
    }

    /// Whether it happens now, with this probability.
    pub(super) fn strikes(&mut self, kind: Fault, probability: f64) -> bool {
        self.has(kind) && self.random.random_bool(probability)
    }

    /// A time in between, in milliseconds.
    pub(super) fn between(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.random.random_range(least..=most))
    }

    /// A number below this one.
    pub(super) fn below(&mut self, number: usize) -> usize {
        self.random.random_range(0..number.max(1))
    }

    /// What becomes of a call of poolgate to the API server, which may be a LIST of NodeClaims.
    pub(super) fn fate(&mut self, is_list: bool) -> Fate {
        let mut fate = Fate {
            before: self.between(0, 4),
            after: self.between(0, 4),
            ..Fate::default()
        };
        if self.strikes(Fault::Slow, 0.5) {
            fate.before = self.between(10, 3_000);
        }
        if self.strikes(Fault::LateCalls, 0.15) {
            fate.before = self.between(2_000, 30_000);
        }
        fate.is_lost = self.strikes(Fault::LostCalls, 0.25);
        if is_list && self.strikes(Fault::SlowLists, 0.8) {
            fate.before = Duration::from_secs(2);
            fate.is_lost |= self.random.random_bool(0.2);
        }
        fate.is_unanswered = self.strikes(Fault::LostAnswers, 0.25);
        if self.strikes(Fault::Refusals, 0.3) {
            fate.refused = [409, 429, 500].choose(&mut self.random).copied();
        }
        fate
    }

    /// How long after its admission a NodeClaim is stored.
    pub(super) fn commit(&mut self, left: Duration) -> Duration {
        let usual = self.between(0, 20);
        if self.strikes(Fault::LateCommits, 0.8) {
            return left.mul_f64(self.random.random_range(0.3..1.0));
        }
        usual.min(left)
    }
}
