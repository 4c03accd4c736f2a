//! The decision, for a pool with a limit of two where everything was read in the same second.

mod answers;
mod evidence;
mod properties;
mod surge;

use std::time::Duration;

use super::super::claims::CountedClaim;
use super::*;
use crate::api::NodeLimitMode;

/// One pool as one replica knows it.
struct Known {
    ledger: Option<Ledger>,
    ledger_read: Option<u64>,
    view: ClaimView,
    listed: Option<u64>,
    limit: Option<LimitInForce>,
    limit_read: Option<u64>,
    first_seen: FirstSeen,
    untold: u64,
    clock: u64,
    claims_late: bool,
    strict: bool,
    observed: bool,
}

const NOW: u64 = 100;

const LIFETIME: u64 = 45;

/// The resourceVersion and the UID of the ledger's object.
const VERSION: u64 = 50;
const OBJECT: &str = "ledger-1";

fn second(second: u64) -> Moment {
    Moment::at(Duration::from_secs(second))
}

fn reading<T>(value: T, read: Option<u64>) -> Observed<T> {
    match read {
        Some(at) => Observed::read(value, second(at), second(at)),
        None => Observed::kept(value),
    }
}

fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

fn claim(version: u64) -> CountedClaim {
    CountedClaim {
        version,
        deleting: false,
        disrupted: false,
        initialized: true,
    }
}

fn ledger(seen: u64, reservations: &[&str]) -> Ledger {
    Ledger {
        reservations: reservations.iter().map(|text| (uid(text), 1)).collect(),
        seen,
        limit: Some(hard(2)),
        ..Ledger::default()
    }
}

fn hard(nodes: u32) -> LimitInForce {
    LimitInForce {
        nodes,
        mode: NodeLimitMode::Hard,
        surge: 0,
        pool_version: 1,
    }
}

/// A pool with a limit of two, with these claims and reservations.
fn known(claims: &[&str], reservations: &[&str]) -> Known {
    Known {
        ledger: Some(ledger(5, reservations)),
        ledger_read: Some(NOW),
        view: ClaimView::listed(9, claims.iter().map(|text| (uid(text), claim(7)))),
        listed: Some(NOW),
        limit: Some(hard(2)),
        limit_read: Some(NOW),
        first_seen: FirstSeen::new(Duration::from_secs(LIFETIME)),
        untold: 0,
        clock: 1_000,
        claims_late: false,
        strict: false,
        observed: false,
    }
}

impl Known {
    /// The limit of a new version of the pool.
    fn limit_mut(&mut self) -> &mut LimitInForce {
        let limit = self.limit.as_mut().unwrap();
        limit.pool_version += 1;
        limit
    }

    fn ask(&self, requests: &[(&str, bool)]) -> Step {
        let uids: Vec<Uid> = requests.iter().map(|(text, _)| uid(text)).collect();
        let requests: Vec<ClaimRequest<'_>> = requests
            .iter()
            .zip(&uids)
            .map(|((name, dry_run), uid)| ClaimRequest {
                uid,
                name,
                arrived: second(NOW),
                strict: self.strict,
                observed: self.observed,
                dry_run: *dry_run,
            })
            .collect();
        let facts = Facts {
            ledger: reading(self.ledger.as_ref(), self.ledger_read),
            version: self.ledger.as_ref().map_or(0, |_| VERSION),
            claims: reading(&self.view, self.listed),
            claims_late: self.claims_late,
            limit: reading(self.limit, self.limit_read),
            first_seen: &self.first_seen,
            clock: self.clock,
            untold: self.untold,
        };
        decide(&facts, &requests)
    }

    fn decided(&self, requests: &[(&str, bool)]) -> (Vec<RequestVerdict>, Write) {
        match self.ask(requests) {
            Step::Decided(decision) => (decision.answers, decision.write),
            Step::Read(needs) => panic!("{needs:?}"),
        }
    }

    fn needs(&self, requests: &[(&str, bool)]) -> Needs {
        match self.ask(requests) {
            Step::Read(needs) => needs,
            Step::Decided(decision) => panic!("{decision:?}"),
        }
    }

    /// The ledger after a sweep, if that changes it.
    fn tidied(&self) -> Option<Ledger> {
        match self.decided(&[]) {
            (_, Write::Useful(ledger)) => Some(ledger),
            (_, Write::Nothing) => None,
            (_, Write::Required(ledger)) => panic!("{ledger:?}"),
        }
    }
}

fn calls(ledger: &Ledger) -> Vec<(&str, u32)> {
    ledger
        .reservations
        .iter()
        .map(|(uid, calls)| (uid.as_str(), *calls))
        .collect()
}

fn required(write: Write) -> Ledger {
    match write {
        Write::Required(ledger) => ledger,
        other => panic!("{other:?}"),
    }
}
