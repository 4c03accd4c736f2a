use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::claims::Claim;
use super::super::sightings::TICKET_LIFETIME;
use super::*;
use crate::karpenter::NodeLimitMode;

/// One pool as one replica knows it, all of it read at the second 100.
struct Known {
    ledger: Option<Ledger>,
    ledger_read: Option<u64>,
    view: ClaimView,
    listed: Option<u64>,
    limit: LimitInForce,
    limit_read: Option<u64>,
    sightings: Sightings,
    untold: u64,
    clock: u64,
}

const NOW: u64 = 100;

fn second(second: u64) -> Moment {
    Moment::at(Duration::from_secs(second))
}

fn reading<T>(value: T, read: Option<u64>) -> Reading<T> {
    match read {
        Some(at) => Reading::read(value, second(at), second(at)),
        None => Reading::kept(value),
    }
}

fn uid(text: &str) -> Uid {
    Uid::new(text).unwrap()
}

fn claim(version: u64) -> Claim {
    Claim {
        version,
        deleting: false,
        disrupted: false,
    }
}

fn ledger(seen: u64, tickets: &[&str]) -> Ledger {
    Ledger {
        tickets: tickets.iter().map(|text| (uid(text), 1)).collect(),
        seen,
        limit: Some(hard(2)),
        ..Ledger::default()
    }
}

fn hard(nodes: u32) -> LimitInForce {
    LimitInForce {
        nodes,
        mode: NodeLimitMode::Hard,
        pool_version: 1,
    }
}

/// A pool of two places, with these claims and tickets.
fn known(claims: &[&str], tickets: &[&str]) -> Known {
    Known {
        ledger: Some(ledger(5, tickets)),
        ledger_read: Some(NOW),
        view: ClaimView::listed(9, claims.iter().map(|text| (uid(text), claim(7)))),
        listed: Some(NOW),
        limit: hard(2),
        limit_read: Some(NOW),
        sightings: Sightings::default(),
        untold: 0,
        clock: 1_000,
    }
}

impl Known {
    fn ask(&self, requests: &[(&str, bool)]) -> Step {
        let uids: Vec<Uid> = requests.iter().map(|(text, _)| uid(text)).collect();
        let requests: Vec<Request<'_>> = requests
            .iter()
            .zip(&uids)
            .map(|((name, dry_run), uid)| Request {
                uid,
                name,
                arrived: second(NOW),
                dry_run: *dry_run,
            })
            .collect();
        let facts = Facts {
            ledger: reading(self.ledger.as_ref(), self.ledger_read),
            claims: reading(&self.view, self.listed),
            limit: reading(self.limit, self.limit_read),
            sightings: &self.sightings,
            clock: self.clock,
            untold: self.untold,
        };
        decide(&facts, &requests)
    }

    fn decided(&self, requests: &[(&str, bool)]) -> (Vec<Answer>, Write) {
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

    /// The ledger after housekeeping, if that changes it.
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
        .tickets
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

#[test]
fn the_first_come_in_and_the_others_read_the_count() {
    let (answers, write) = known(&["a"], &[]).decided(&[("b", false), ("c", false)]);
    let full = Full {
        limit: hard(2),
        occupied: 2,
        terminating: 0,
        outstanding: 1,
    };
    assert_eq!(answers, [Answer::Reserved, Answer::Deny(Refused::Full(full))]);
    let ledger = required(write);
    assert_eq!(calls(&ledger), [("b", 1)]);
    assert_eq!(
        ledger.refused(),
        Some(&Refusal {
            at: 1_000,
            total: 1,
            claim: "c".into()
        })
    );
}

#[test]
fn a_terminating_claim_holds_its_place_under_hard_and_not_under_soft() {
    for (deleting, disrupted) in [(true, false), (false, true)] {
        let mut pool = known(&["a"], &["b"]);
        pool.view.upsert(
            uid("c"),
            Claim {
                version: 10,
                deleting,
                disrupted,
            },
        );
        let (answers, _) = pool.decided(&[("d", false)]);
        let full = Full {
            limit: hard(2),
            occupied: 3,
            terminating: usize::from(deleting),
            outstanding: 1,
        };
        assert_eq!(answers, [Answer::Deny(Refused::Full(full))]);
        pool.limit.mode = NodeLimitMode::Soft;
        pool.limit.nodes = 3;
        assert_eq!(pool.decided(&[("d", false)]).0, [Answer::Reserved]);
    }
}

#[test]
fn a_dry_run_is_answered_by_the_count_and_leaves_nothing() {
    let (answers, write) = known(&["a"], &[]).decided(&[("b", true), ("c", true)]);
    assert_eq!(
        (answers.as_slice(), write),
        ([Answer::Allow; 2].as_slice(), Write::Nothing)
    );
    let (answers, write) = known(&["a"], &["b"]).decided(&[("c", true)]);
    assert!(matches!(answers.as_slice(), [Answer::Deny(_)]));
    assert_eq!(write, Write::Nothing);
}

#[test]
fn a_repeated_call_finds_its_place_and_gives_back_only_its_own_share() {
    let (answers, write) = known(&["a"], &["b"]).decided(&[("b", false)]);
    assert_eq!(answers, [Answer::Reserved]);
    let ledger = required(write);
    assert_eq!(calls(&ledger), [("b", 2)]);
    let once = ledger.release([&uid("b"), &uid("x")]).unwrap();
    assert_eq!(calls(&once), [("b", 1)]);
    let twice = once.release([&uid("b")]).unwrap();
    assert_eq!(calls(&twice), []);
    assert_eq!(twice.release([&uid("b")]), None);
}

#[test]
fn a_call_for_what_is_created_already_needs_no_place() {
    let mut pool = known(&["a", "b"], &[]);
    assert_eq!(
        pool.decided(&[("b", false)]),
        (vec![Answer::Allow], Write::Nothing)
    );
    pool.view.remove(&uid("b"), 10);
    pool.view.upsert(uid("c"), claim(11));
    assert_eq!(
        pool.decided(&[("b", false)]),
        (vec![Answer::Allow], Write::Nothing)
    );
}

#[test]
fn a_ticket_goes_once_its_claim_is_seen_and_older_views_are_kept_out() {
    let pool = known(&["a"], &["a", "b"]);
    let tidied = pool.tidied().unwrap();
    assert_eq!((calls(&tidied), tidied.seen()), (vec![("b", 1)], 7));
    let mut behind = known(&[], &[]);
    behind.ledger = Some(tidied);
    behind.view = ClaimView::listed(6, []);
    behind.listed = None;
    let claims = Needs {
        claims: true,
        ..Needs::default()
    };
    assert_eq!(behind.needs(&[("c", false)]), claims);
    behind.view.advance_to(7);
    assert_eq!(behind.decided(&[("c", false)]).0, [Answer::Reserved]);
}

#[test]
fn a_ticket_goes_once_its_claim_was_seen_and_is_gone() {
    let mut pool = known(&["a"], &["a"]);
    pool.listed = None;
    pool.view.remove(&uid("a"), 10);
    let tidied = pool.tidied().unwrap();
    assert_eq!((calls(&tidied), tidied.seen()), (vec![], 5));
}

#[test]
fn a_ticket_goes_after_its_lifetime_only_by_a_list_begun_since() {
    let mut pool = known(&[], &["a"]);
    let over = NOW - TICKET_LIFETIME.as_secs();
    assert_eq!(pool.tidied(), None);
    pool.sightings
        .observe(pool.ledger.as_ref().unwrap(), second(over + 1));
    assert_eq!(pool.tidied(), None);
    let mut older = pool.sightings.clone();
    older.observe(&Ledger::default(), second(0));
    older.observe(pool.ledger.as_ref().unwrap(), second(over));
    pool.sightings = older;
    pool.listed = None;
    assert_eq!(pool.tidied(), None);
    pool.listed = Some(NOW - 1);
    assert_eq!(pool.tidied(), None);
    pool.listed = Some(NOW);
    assert_eq!(calls(&pool.tidied().unwrap()), []);
}

#[test]
fn a_refusal_asks_for_all_that_was_not_read_since_the_request() {
    let mut pool = known(&["a", "b"], &[]);
    pool.ledger_read = None;
    pool.listed = Some(NOW - 1);
    pool.limit_read = None;
    let all = Needs {
        ledger: true,
        claims: true,
        limit: true,
    };
    assert_eq!(pool.needs(&[("c", false)]), all);
    assert_eq!(pool.needs(&[("c", true)]), all);
    pool.limit.nodes = 3;
    assert_eq!(pool.decided(&[("c", false)]).0, [Answer::Reserved]);
}

#[test]
fn without_a_ledger_the_claims_are_listed_first() {
    let mut pool = known(&[], &[]);
    pool.ledger = None;
    pool.ledger_read = None;
    let needs = |ledger, claims| Needs {
        ledger,
        claims,
        limit: false,
    };
    assert_eq!(pool.needs(&[("a", false)]), needs(true, true));
    pool.ledger_read = Some(NOW);
    pool.listed = Some(NOW - 1);
    assert_eq!(pool.needs(&[("a", false)]), needs(false, true));
    pool.listed = Some(NOW);
    assert_eq!(calls(&required(pool.decided(&[("a", false)]).1)), [("a", 1)]);
}

#[test]
fn a_limit_older_than_the_one_in_force_is_read_anew() {
    let mut pool = known(&[], &[]);
    pool.ledger.as_mut().unwrap().limit = Some(LimitInForce {
        pool_version: 4,
        ..hard(1)
    });
    pool.limit_read = None;
    let limit = Needs {
        limit: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("a", false)]), limit);
    // The same limit at an older version is no other limit, and the newer version stays.
    pool.limit.nodes = 1;
    let ledger = required(pool.decided(&[("a", false)]).1);
    assert_eq!(ledger.limit().map(|limit| limit.pool_version), Some(4));
    // A newer one takes its place, even where nobody asks.
    pool.limit = LimitInForce {
        pool_version: 5,
        ..hard(3)
    };
    assert_eq!(pool.tidied().unwrap().limit(), Some(&pool.limit));
}

#[test]
fn a_ledger_of_another_history_is_mended_by_what_is_read_after_it() {
    let mut pool = known(&["a"], &[]);
    let ledger = pool.ledger.as_mut().unwrap();
    ledger.seen = 1_000;
    ledger.limit = Some(LimitInForce {
        pool_version: 1_000,
        ..hard(7)
    });
    pool.listed = Some(NOW - 1);
    pool.limit_read = Some(NOW - 1);
    let both = Needs {
        ledger: false,
        claims: true,
        limit: true,
    };
    assert_eq!(pool.needs(&[("b", false)]), both);
    pool.listed = Some(NOW);
    pool.limit_read = Some(NOW);
    let mended = required(pool.decided(&[("b", false)]).1);
    assert_eq!((mended.seen(), mended.limit()), (9, Some(&hard(2))));
}

#[test]
fn refusals_are_written_down_once_a_second_and_none_is_lost() {
    let mut pool = known(&["a", "b"], &[]);
    pool.untold = 3;
    let (_, write) = pool.decided(&[("c", false), ("d", false), ("e", true)]);
    let Write::Useful(ledger) = write else {
        panic!("{write:?}")
    };
    let refused = Refusal {
        at: 1_000,
        total: 5,
        claim: "d".into(),
    };
    assert_eq!(ledger.refused(), Some(&refused));
    pool.ledger = Some(ledger);
    assert_eq!(pool.decided(&[("c", false)]).1, Write::Nothing);
}

#[test]
fn a_full_ledger_turns_requests_away_though_there_is_room() {
    let mut pool = known(&[], &[]);
    pool.limit.nodes = u32::MAX;
    let tickets = &mut pool.ledger.as_mut().unwrap().tickets;
    tickets.extend((0..MAX_TICKETS).map(|number| (uid(&number.to_string()), 1)));
    let (answers, _) = pool.decided(&[("a", false), ("7", false)]);
    assert_eq!(answers, [Answer::Deny(Refused::Busy), Answer::Reserved]);
}

proptest! {
    #[test]
    fn as_many_come_in_as_there_are_free_places_and_asking_again_changes_nothing(
        claims in vec((0..12_usize, any::<bool>()), 0..6),
        tickets in vec(0..12_usize, 0..6),
        asked in vec((0..12_usize, any::<bool>()), 0..8),
        nodes in 0..10_u32,
        soft in any::<bool>(),
        clock in any::<u64>(),
    ) {
        let names: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        let tickets: Vec<&str> = tickets.iter().map(|number| names[*number].as_str()).collect();
        let asked: Vec<(&str, bool)> = asked.iter().map(|(number, dry)| (names[*number].as_str(), *dry)).collect();
        let mut pool = known(&[], &tickets);
        pool.limit.nodes = nodes;
        if soft {
            pool.limit.mode = NodeLimitMode::Soft;
        }
        for (number, deleting) in &claims {
            let version = pool.view.version() + 1;
            pool.view.upsert(uid(&names[*number]), Claim { version, deleting: *deleting, disrupted: false });
        }
        let occupied = |ledger: &Ledger| {
            let outside = ledger.tickets().filter(|uid| pool.view.get(uid).is_none()).count();
            pool.view.counted(pool.limit.mode) + outside
        };
        let before = occupied(pool.ledger.as_ref().unwrap());
        let (answers, write) = pool.decided(&asked);
        let after = match &write {
            Write::Nothing => pool.ledger.clone().unwrap(),
            Write::Useful(ledger) | Write::Required(ledger) => ledger.clone(),
        };
        let limit = usize::try_from(nodes).unwrap();
        prop_assert!(occupied(&after) <= limit.max(before));
        let refused = answers.iter().any(|answer| matches!(answer, Answer::Deny(_)));
        prop_assert!(!refused || occupied(&after) >= limit);
        let reserved = answers.contains(&Answer::Reserved);
        prop_assert_eq!(reserved, matches!(write, Write::Required(_)));

        // Whatever the wall clock says.
        pool.clock = clock;
        let (same, write) = pool.decided(&asked);
        prop_assert_eq!(&same, &answers);
        if let Write::Useful(ledger) | Write::Required(ledger) = write {
            prop_assert_eq!(calls(&ledger), calls(&after));
        }

        pool.ledger = Some(after);
        prop_assert_eq!(pool.tidied(), None);
        let (again, _) = pool.decided(&asked);
        for (first, second) in answers.iter().zip(&again) {
            let refused = |answer: &Answer| matches!(answer, Answer::Deny(_));
            prop_assert!(refused(first) || !refused(second) || *first == Answer::Allow);
        }
    }
}
