//! Calls the real functions of the ledger with the model's small data, and disables a guard by changing their
//! input.
//!
//! Answers are cached by question: the functions are pure, and a million states ask the same few thousand
//! questions.

use std::collections::HashMap;

use poolgate_core::api::MAX_SURGE;
use poolgate_core::nodelimit::ledger::{
    ClaimRequest, ClaimView, CountedClaim, Decision, Denial, Facts, FirstSeen, Full, Ledger, LimitInForce,
    Needs, Observed, RequestVerdict, Step, Uid, Write, decide,
};
use serde_json::{Value, json};

use crate::fingerprint::Fast;
use crate::scenario::{Guard, NO_LIMIT, Scenario};
use crate::times::{LIFETIME, Times, moment};
use crate::world::{Book, CLOSED, CREATES, Copied, SIGHTS, Shown, Sighted, UNSEEN, mask};

/// All inputs of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) copy: Copied,
    pub(crate) view: u8,
    pub(crate) shown: [Option<Shown>; CREATES],
    pub(crate) departed: u8,
    /// The tick of the last LIST, and now.
    pub(crate) listed: Option<u8>,
    pub(crate) tick: u8,
    pub(crate) listed_after_copy: bool,
    pub(crate) pool: u8,
    pub(crate) pool_fresh: bool,
    pub(crate) pool_after_copy: bool,
    pub(crate) first_seen: [u8; SIGHTS],
    pub(crate) sighted: Sighted,
    pub(crate) lists: Lists,
    /// For each waiting call: whether ledger and claims were read since it arrived.
    pub(crate) waiting: [Option<(bool, bool)>; CREATES],
}

/// The outcome of requested LISTs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Lists {
    InTime,
    Late,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Reply {
    Read(Needs),
    Decided { write: Stored, answers: Answers },
}

/// As bits: the denied claims, and those that get a reservation, below the limit or above it. The others are allowed
/// without one. A denial is
/// excused if it may be wrong: because of a late list, or because the ledger was lost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answers {
    pub(crate) denied: u8,
    pub(crate) reserved: u8,
    pub(crate) surged: u8,
    pub(crate) excused: u8,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Stored {
    Nothing,
    Useful(Book),
    Required(Book),
}

/// When everything was first seen, and in which ledger.
type Sights = ([u8; SIGHTS], Sighted);

pub(crate) struct Real<'s> {
    pub(crate) scenario: &'s Scenario,
    /// The guard that is disabled.
    pub(crate) without: Option<Guard>,
    uids: [Uid; CREATES],
    replies: HashMap<Question, Reply, Fast>,
    observed: HashMap<(Sights, Book, u8), Sights, Fast>,
}

impl<'s> Real<'s> {
    pub(crate) fn new(scenario: &'s Scenario, without: Option<Guard>) -> Self {
        Self {
            scenario,
            without,
            uids: std::array::from_fn(uid),
            replies: HashMap::default(),
            observed: HashMap::default(),
        }
    }

    pub(crate) fn lacks(&self, guard: Guard) -> bool {
        self.without == Some(guard)
    }

    /// What the replica does next.
    pub(crate) fn decide(&mut self, question: Question) -> Reply {
        if let Some(reply) = self.replies.get(&question) {
            return *reply;
        }
        let mut reply = self.ask(&question, &self.passed_on(&question));
        // These must show what is admitted above the limit, and nothing else.
        if (self.lacks(Guard::SurgeOnFreshClaims) || self.lacks(Guard::NoSurgeWhileClosed))
            && !matches!(reply, Reply::Decided { answers, .. } if answers.surged > 0)
        {
            reply = self.ask(&question, &question);
        }
        self.replies.insert(question, reply);
        reply
    }

    /// When everything was first seen, after this ledger was read.
    pub(crate) fn observe(
        &mut self,
        first_seen: [u8; SIGHTS],
        mut sighted: Sighted,
        book: Book,
        tick: u8,
    ) -> Sights {
        // Nothing else of it is looked at.
        let mut book = Book {
            calls: book.calls.map(|calls| calls.min(1)),
            seen: 0,
            surged: 0,
            ..book
        };
        if self.lacks(Guard::LossesAreToldApart) {
            sighted = sighted_in(book);
        }
        if self.lacks(Guard::ClosedAgesWithLimit) {
            book.pool = 1;
        }
        let key = ((first_seen, sighted), book, tick);
        if let Some(after) = self.observed.get(&key) {
            return *after;
        }
        let mut real = self.first_seen(first_seen, sighted);
        let ledger = self.ledger(book);
        real.observe(&object(book.object), &ledger, moment(tick));
        let after = std::array::from_fn(|sight| {
            let over = match self.uids.get(sight) {
                Some(uid) => real.over_at(uid),
                None => real.opens_at(&ledger),
            };
            let first = |tick: &u8| over == Some(moment(*tick).plus(LIFETIME));
            (0..=tick).find(first).unwrap_or(UNSEEN)
        });
        let after = (after, sighted_in(book));
        self.observed.insert(key, after);
        after
    }

    /// The ledger after a reservation is released.
    pub(crate) fn release(&self, book: Book, claim: usize) -> Book {
        self.ledger(book)
            .release([&self.uids[claim]])
            .map_or(book, |ledger| self.book(&ledger, book))
    }

    fn ask(&self, question: &Question, sent: &Question) -> Reply {
        let ledger = sent.copy.book.map(|book| self.ledger(book));
        let view = self.view(sent);
        let first_seen = self.first_seen(sent.first_seen, sent.sighted);
        let times = Times::of(sent);
        let facts = Facts {
            ledger: Observed {
                value: ledger.as_ref(),
                read: times.ledger,
            },
            version: sent.copy.book.map_or(0, |book| u64::from(book.mark) + 1),
            claims: Observed {
                value: &view,
                read: times.claims,
            },
            claims_late: sent.lists == Lists::Late,
            limit: Observed {
                value: self.limit_of(sent.pool),
                read: times.limit,
            },
            first_seen: &first_seen,
            clock: 0,
            untold: 0,
        };
        let claims: Vec<usize> = (0..CREATES)
            .filter(|claim| sent.waiting[*claim].is_some())
            .collect();
        let requests: Vec<ClaimRequest<'_>> = (0..CREATES)
            .filter_map(|claim| Some((claim, sent.waiting[claim]?)))
            .map(|(claim, (ledger, claims))| ClaimRequest {
                uid: &self.uids[claim],
                name: "claim",
                arrived: times.arrived(ledger, claims),
                strict: self.scenario.strict && !self.lacks(Guard::ClosedLedgerDenies),
                observed: false,
                dry_run: self.scenario.is_dry(claim) && !self.lacks(Guard::DryRunReservesNothing),
            })
            .collect();
        match decide(&facts, &requests) {
            Step::Read(needs) => Reply::Read(needs),
            Step::Decided(decision) => self.decided(question, &decision, &claims),
        }
    }

    /// The decision in the model's data. Its answers are for these claims.
    fn decided(&self, question: &Question, decision: &Decision, claims: &[usize]) -> Reply {
        let of = |answer: fn(&RequestVerdict) -> bool| {
            let place = |claim| claims.iter().position(|asked| *asked == claim);
            mask(|claim| place(claim).is_some_and(|place| answer(&decision.answers[place])))
        };
        let surged_before = question.copy.book.map_or(0, |book| book.surged);
        let surged = match &decision.write {
            Write::Required(ledger) => self.book(ledger, Book::default()).surged & !surged_before,
            Write::Nothing | Write::Useful(_) => 0,
        };
        Reply::Decided {
            answers: Answers {
                surged,
                denied: of(|answer| matches!(answer, RequestVerdict::Deny(_))),
                reserved: of(|answer| *answer == RequestVerdict::Reserved),
                excused: of(|answer| {
                    matches!(
                        answer,
                        RequestVerdict::Deny(Denial::LedgerLost | Denial::Full(Full { stale: true, .. }))
                    )
                }),
            },
            write: match &decision.write {
                Write::Nothing => Stored::Nothing,
                Write::Useful(ledger) => Stored::Useful(self.taken_over(question, ledger)),
                Write::Required(_)
                    if self.lacks(Guard::ClosedWithoutLimit) && self.limit_of(question.pool).is_none() =>
                {
                    Stored::Nothing
                }
                Write::Required(ledger) => Stored::Required(self.taken_over(question, ledger)),
            },
        }
    }

    /// The question that the real functions get: without what the disabled guard would have checked.
    fn passed_on(&self, question: &Question) -> Question {
        let mut sent = *question;
        match self.without {
            Some(Guard::ReservationsCount) => {
                if let Some(book) = &mut sent.copy.book {
                    book.calls = [0; CREATES];
                }
            }
            Some(Guard::ViewNotOlderThanSeen) => {
                sent.view = sent.view.max(sent.copy.book.map_or(0, |book| book.seen));
            }
            Some(Guard::LifetimeOutlivesCreate) => {
                sent.first_seen = sent.first_seen.map(|first| match first {
                    UNSEEN => UNSEEN,
                    first => first - 1,
                });
            }
            Some(Guard::WatchIsNoEvidence) => sent.listed = Some(sent.tick),
            Some(Guard::ListAfterLifetime) => sent.listed = sent.listed.map(|_| sent.tick),
            Some(Guard::ReservationsEnd) => sent.first_seen = [UNSEEN; SIGHTS],
            Some(Guard::ListWithoutLedger) => sent.copy.book = sent.copy.book.or(Some(Book::default())),
            Some(Guard::DenialOnFreshClaims | Guard::SurgeOnFreshClaims) => {
                sent.listed = sent.listed.or(Some(0));
                sent.waiting = sent.waiting.map(|call| call.map(|(ledger, _)| (ledger, true)));
            }
            Some(Guard::DenialOnFreshLedger) => {
                sent.copy.read = true;
                sent.waiting = sent.waiting.map(|call| call.map(|(_, claims)| (true, claims)));
            }
            Some(Guard::DenialOnFreshLimit) => sent.pool_fresh = true,
            Some(Guard::ClosedForALifetime) if sent.first_seen[CLOSED] != UNSEEN => {
                sent.first_seen[CLOSED] = 0;
            }
            Some(Guard::NoSurgeWhileClosed) => {
                if let Some(book) = &mut sent.copy.book {
                    book.closed = 0;
                }
            }
            Some(Guard::SurgeOnlyForDisrupted) => {
                sent.shown = sent.shown.map(|shown| {
                    Some(Shown {
                        disrupted: true,
                        ..shown?
                    })
                });
            }
            Some(Guard::AdmissionOnFreshLimit) if self.limit_of(sent.pool).is_none() => {
                (sent.pool_fresh, sent.pool_after_copy) = (true, true);
            }
            Some(Guard::ClosedByFreshLedger) if self.limit_of(sent.pool).is_none() => {
                sent.copy.read = true;
                sent.waiting = sent.waiting.map(|call| call.map(|(_, claims)| (true, claims)));
            }
            Some(Guard::NewestLimit) => {
                if let Some(book) = &mut sent.copy.book {
                    book.pool = 0;
                }
            }
            _ => {}
        }
        sent
    }

    /// The resulting ledger, without what the disabled guard would have added.
    fn taken_over(&self, question: &Question, ledger: &Ledger) -> Book {
        let mut book = self.book(ledger, question.copy.book.unwrap_or_default());
        match self.without {
            Some(Guard::SeenIsRaised) => book.seen = question.copy.book.map_or(0, |book| book.seen),
            Some(Guard::OpenedAboveOlderViews) if question.copy.book.is_some_and(|book| book.closed > 0) => {
                book.seen = 0;
            }
            Some(Guard::SurgedIsRecorded) => book.surged = question.copy.book.map_or(0, |book| book.surged),
            Some(Guard::RepeatedCallsCount) => book.calls = book.calls.map(|calls| calls.min(1)),
            _ => {}
        }
        book
    }

    pub(crate) fn limit(&self, pool: u8) -> LimitInForce {
        let surge = if self.lacks(Guard::SurgeIsBounded) {
            MAX_SURGE
        } else {
            u32::from(self.scenario.surge)
        };
        LimitInForce {
            nodes: u32::from(self.scenario.limit(pool)),
            mode: self.scenario.mode,
            surge,
            pool_version: u64::from(pool),
        }
    }

    /// The view of a replica: a list, and before it one of the claims that are gone.
    pub(crate) fn view(&self, question: &Question) -> ClaimView {
        let claims = (0..CREATES).filter_map(|claim| Some((claim, question.shown[claim]?)));
        let list = claims.map(|(claim, shown)| {
            let claim_now = CountedClaim {
                version: u64::from(shown.version),
                deleting: shown.deleting,
                disrupted: shown.disrupted,
                initialized: true,
            };
            (self.uids[claim].clone(), claim_now)
        });
        let gone = (0..CREATES).filter(|claim| question.departed & (1 << claim) != 0);
        let before = gone.map(|claim| {
            let claim_then = CountedClaim {
                version: 0,
                deleting: true,
                disrupted: false,
                initialized: true,
            };
            (self.uids[claim].clone(), claim_then)
        });
        let mut view = ClaimView::listed(0, before);
        view.relist(ClaimView::listed(u64::from(question.view), list));
        view
    }

    /// The limit that a version of the NodePool sets, if it sets one.
    pub(crate) fn limit_of(&self, pool: u8) -> Option<LimitInForce> {
        (self.scenario.limit(pool) != NO_LIMIT).then(|| self.limit(pool))
    }

    pub(crate) fn first_seen(&self, ticks: [u8; SIGHTS], sighted: Sighted) -> FirstSeen {
        let mut first_seen = FirstSeen::new(LIFETIME);
        for tick in 0..UNSEEN {
            let known = Book {
                calls: std::array::from_fn(|claim| u8::from(ticks[claim] <= tick)),
                closed: if ticks[CLOSED] <= tick { sighted.closed } else { 0 },
                // What is seen as closed has a limit.
                pool: 1,
                ..Book::default()
            };
            if ticks.contains(&tick) {
                first_seen.observe(&object(sighted.object), &self.ledger(known), moment(tick));
            }
        }
        first_seen
    }

    pub(crate) fn ledger(&self, book: Book) -> Ledger {
        // A denial of this same second: then a denial alone causes no write, and there are fewer states.
        let denied = json!({"at": 0, "total": 1, "claim": "claim"});
        let mut text = json!({"version": 1, "seen": book.seen, "reservations": {}, "denied": denied});
        for claim in 0..CREATES {
            if book.calls[claim] > 0 {
                text["reservations"][self.uids[claim].as_str()] = json!(book.calls[claim]);
            }
        }
        if book.closed > 0 {
            text["closed"] = json!(true);
            text["closedOver"] = json!(book.closed - 1);
        }
        if book.pool > 0 {
            let limit = self.limit(book.pool);
            text["limit"] = json!({
                "nodes": limit.nodes,
                "mode": limit.mode.as_str(),
                "surge": limit.surge,
                "poolVersion": limit.pool_version,
            });
        }
        let surged = (0..CREATES).filter(|claim| book.surged & (1 << claim) != 0);
        text["surged"] = surged.map(|claim| self.uids[claim].as_str()).collect();
        Ledger::parse(&text.to_string()).unwrap()
    }

    /// A ledger that follows this one.
    pub(crate) fn book(&self, ledger: &Ledger, before: Book) -> Book {
        let text: Value = serde_json::from_str(&ledger.write()).unwrap();
        let small = |value: &Value| u8::try_from(value.as_u64().unwrap_or(0)).unwrap();
        let over = small(&text["closedOver"]);
        Book {
            calls: std::array::from_fn(|claim| small(&text["reservations"][self.uids[claim].as_str()])),
            seen: small(&text["seen"]),
            closed: if ledger.is_closed() { over + 1 } else { 0 },
            mark: before.mark.max(over),
            object: before.object,
            pool: small(&text["limit"]["poolVersion"]),
            surged: mask(|claim| ledger.surged().contains(&self.uids[claim])),
        }
    }
}

/// Which ledger is seen, if this one is.
fn sighted_in(book: Book) -> Sighted {
    Sighted {
        object: book.object,
        closed: if book.pool > 0 { book.closed } else { 0 },
    }
}

/// The UID of an object that a ledger is stored in.
pub(crate) fn object(number: u8) -> String {
    format!("ledger-{number}")
}

pub(crate) fn uid(claim: usize) -> Uid {
    Uid::new(&format!("claim-{claim}")).unwrap()
}
