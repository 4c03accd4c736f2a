//! Instants for the real functions, computed from the order of events.

use std::time::Duration;

use poolgate_core::nodelimit::ledger::{Moment, ReadSpan};

use crate::real::Question;

/// Two ticks are the API server's limit for a create, three are more than a reservation's lifetime.
const TICK: Duration = Duration::from_secs(17);
pub(crate) const LIFETIME: Duration = Duration::from_secs(45);
const MILLI: Duration = Duration::from_millis(1);

/// The beginning of a tick on each replica's monotonic clock.
pub(crate) fn moment(tick: u8) -> Moment {
    Moment::at(TICK * u32::from(tick))
}

/// Instants in the same order as the replica's actions.
pub(crate) struct Times {
    pub(crate) ledger: Option<ReadSpan>,
    pub(crate) claims: Option<ReadSpan>,
    pub(crate) limit: Option<ReadSpan>,
    ledger_begun: Moment,
    claims_begun: Moment,
}

impl Times {
    pub(crate) fn of(question: &Question) -> Self {
        let late = moment(u8::MAX);
        // Leaves room for what happens before a LIST of the first tick.
        let claims_begun = moment(question.listed.unwrap_or(question.tick)).plus(MILLI * 20);
        let ledger_only = question
            .waiting
            .iter()
            .flatten()
            .any(|(ledger, claims)| *ledger && !claims);
        let before_list = if ledger_only { 40 } else { 10 };
        let ledger_begun = moment(question.listed.unwrap_or(question.tick)).plus(MILLI * before_list);
        let ledger_done = if question.listed_after_copy {
            claims_begun
        } else {
            late
        };
        // Some call arrived after the ledger was read, or taken over from an own write.
        let ledger_is_older = question.waiting.iter().flatten().any(|(ledger, _)| !ledger);
        let limit_begun = if question.pool_after_copy || (question.pool_fresh && ledger_is_older) {
            Some(late.plus(TICK * 2))
        } else if question.pool_fresh {
            Some(moment(question.listed.unwrap_or(question.tick)).plus(MILLI * (before_list - 1)))
        } else {
            None
        };
        let span = |begun, done| ReadSpan { begun, done };
        Self {
            ledger: question.copy.read.then(|| span(ledger_begun, ledger_done)),
            claims: question.listed.map(|_| span(claims_begun, claims_begun)),
            limit: limit_begun.map(|begun| span(begun, begun)),
            ledger_begun,
            claims_begun,
        }
    }

    /// An instant before or after those reads, depending on whether they were made since the call arrived.
    pub(crate) fn arrived(&self, ledger: bool, claims: bool) -> Moment {
        match (ledger, claims) {
            (true, true) => Moment::at(Duration::ZERO),
            (true, false) => self.ledger_begun,
            (false, true) => self.claims_begun,
            (false, false) => moment(u8::MAX).plus(TICK),
        }
    }
}
