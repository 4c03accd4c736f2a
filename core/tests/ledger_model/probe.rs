//! Whether the free places can be used: checked in every world, as if all creates had ended and one reservation
//! lifetime had passed.

use std::collections::HashSet;

use poolgate_core::nodelimit::ledger::{
    ClaimRequest, ClaimView, CountedClaim, Facts, Ledger, Moment, Observed, RequestVerdict, Step, Write,
    decide,
};

use crate::fingerprint::Fast;
use crate::real::{Real, object, uid};
use crate::scenario::{Guard, NO_LIMIT};
use crate::steps::Violation;
use crate::times::{LIFETIME, moment};
use crate::world::{Book, CREATES, SIGHTS, Shown, Sighted, UNSEEN, World};

/// The inputs of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Rest {
    ledger: Option<Book>,
    shown: [Option<Shown>; CREATES],
    revision: u8,
    pool: u8,
    first_seen: [u8; SIGHTS],
    sighted: Sighted,
}

/// Worlds that were found correct.
#[derive(Debug, Default)]
pub(crate) struct Probe(HashSet<Rest, Fast>);

impl Probe {
    /// Requests every free place and one more, from a replica of this world and from one that has just started.
    pub(crate) fn look(&mut self, world: &World, real: &Real<'_>) -> Option<Violation> {
        let known = world.replicas.iter().take(real.scenario.replicas);
        let sights = known.map(|replica| (replica.first_seen, replica.sighted));
        let new = ([UNSEEN; SIGHTS], Sighted::default());
        for (first_seen, sighted) in std::iter::once(new).chain(sights) {
            let rest = Rest {
                ledger: world.ledger,
                shown: world.shown(world.revision),
                revision: world.revision,
                pool: world.pool,
                first_seen,
                sighted,
            };
            if self.0.insert(rest)
                && let Some(violation) = ask(&rest, real)
            {
                return Some(violation);
            }
        }
        None
    }
}

fn ask(rest: &Rest, real: &Real<'_>) -> Option<Violation> {
    if real.scenario.limit(rest.pool) == NO_LIMIT {
        return None;
    }
    let looked = moment(UNSEEN - 1);
    let later = looked.plus(LIFETIME);
    let mut first_seen = real.first_seen(rest.first_seen, rest.sighted);
    // A sweep, or the first denial, has stored what a decision by the limit makes of it.
    let missing = || {
        real.book(
            &Ledger::in_place_of_missing(rest.shown.iter().any(Option::is_some)),
            Book::default(),
        )
    };
    let book = rest.ledger.unwrap_or_else(missing);
    let book = Book {
        pool: rest.pool,
        ..book
    };
    let ledger = real.ledger(book);
    first_seen.observe(&object(book.object), &ledger, looked);
    if real.lacks(Guard::ReservationsEnd) {
        first_seen = real.first_seen([UNSEEN; SIGHTS], Sighted::default());
    }
    let claims = (0..CREATES).filter_map(|claim| Some((claim, rest.shown[claim]?)));
    let view = ClaimView::listed(
        u64::from(rest.revision),
        claims.map(|(claim, shown)| {
            let claim_now = CountedClaim {
                version: u64::from(shown.version),
                deleting: shown.deleting,
                disrupted: shown.disrupted,
                initialized: true,
            };
            (uid(claim), claim_now)
        }),
    );
    let limit = real.limit(rest.pool);
    let [nodes, surge] = [limit.nodes, limit.surge].map(|number| usize::try_from(number).unwrap());
    let counted = view.counts().counted(limit.mode);
    let surge = surge.min(view.disrupted());
    let free = (nodes + surge).saturating_sub(counted);
    let facts = Facts {
        ledger: Observed::read(Some(&ledger), later, later),
        version: 1,
        claims: Observed::read(&view, later, later),
        claims_late: false,
        limit: Observed::read(Some(limit), later, later),
        first_seen: &first_seen,
        clock: 0,
        untold: 0,
    };
    if surged_at_last(&facts, real) > counted.saturating_sub(nodes) {
        return Some(Violation::SurgeKept);
    }
    let had = places(&facts, free + 1, later, real.scenario.strict);
    match had.cmp(&free) {
        std::cmp::Ordering::Less => Some(Violation::HeldForEver),
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(Violation::TooManyAfterwards),
    }
}

/// How many claims are still recorded as admitted above the limit.
fn surged_at_last(facts: &Facts<'_>, real: &Real<'_>) -> usize {
    let surged = |ledger: &Ledger| ledger.surged().len();
    let swept = match decide(facts, &[]) {
        Step::Decided(decision) => decision.write,
        Step::Read(needs) => panic!("all was read, and yet it asks for {needs:?}"),
    };
    match swept {
        Write::Useful(ledger) if !real.lacks(Guard::SurgesEnd) => surged(&ledger),
        _ => facts.ledger.value.map_or(0, surged),
    }
}

/// How many of this many new claims are allowed.
fn places(facts: &Facts<'_>, asked: usize, arrived: Moment, strict: bool) -> usize {
    let uids: Vec<_> = (CREATES..CREATES + asked).map(uid).collect();
    let requests: Vec<_> = uids
        .iter()
        .map(|uid| ClaimRequest {
            uid,
            name: "probe",
            arrived,
            strict,
            observed: false,
            dry_run: false,
        })
        .collect();
    match decide(facts, &requests) {
        Step::Decided(decision) => decision
            .answers
            .iter()
            .filter(|answer| **answer == RequestVerdict::Reserved)
            .count(),
        Step::Read(needs) => panic!("all was read, and yet it asks for {needs:?}"),
    }
}
