//! Replacements that a pool with a surge may have above its limit.

use super::*;

/// A pool with a limit of two and a surge, with two claims of which these many are being disrupted.
fn surging(surge: u32, disrupted: usize) -> Known {
    let mut pool = known(&["a", "b"], &[]);
    pool.limit_mut().surge = surge;
    pool.ledger.as_mut().unwrap().limit = pool.limit;
    for (text, version) in ["a", "b"].into_iter().take(disrupted).zip(10..) {
        disrupt(&mut pool, text, version);
    }
    pool
}

fn disrupt(pool: &mut Known, text: &str, version: u64) {
    let disrupted = CountedClaim {
        disrupted: true,
        ..claim(version)
    };
    pool.view.upsert(uid(text), disrupted);
}

fn admitted(pool: &Known, asked: &[&str]) -> usize {
    let asked: Vec<(&str, bool)> = asked.iter().map(|text| (*text, false)).collect();
    let (answers, _) = pool.decided(&asked);
    let reserved = answers
        .iter()
        .filter(|answer| **answer == RequestVerdict::Reserved);
    reserved.count()
}

#[test]
fn one_is_admitted_above_the_limit_for_each_that_is_disrupted_and_no_more_than_the_surge() {
    for (surge, disrupted, expected) in [(0, 2, 0), (1, 0, 0), (1, 1, 1), (1, 2, 1), (2, 1, 1), (5, 2, 2)] {
        let pool = surging(surge, disrupted);
        assert_eq!(
            admitted(&pool, &["c", "d", "e"]),
            expected,
            "surge {surge}, {disrupted} disrupted"
        );
    }
}

#[test]
fn what_is_admitted_above_the_limit_is_recorded_and_what_is_below_is_not() {
    let mut pool = surging(1, 1);
    pool.limit_mut().nodes = 3;
    let (answers, write) = pool.decided(&[("c", false), ("d", false), ("e", false)]);
    let full = Full {
        limit: pool.limit.unwrap(),
        occupied: 4,
        terminating: 0,
        outstanding: 2,
        disrupted: 1,
        stale: false,
    };
    let denied = RequestVerdict::Deny(Denial::Full(full));
    assert_eq!(
        answers,
        [RequestVerdict::Reserved, RequestVerdict::Reserved, denied]
    );
    let ledger = required(write);
    assert_eq!(ledger.surged(), [uid("d")]);

    // A repeated call does not count twice, and a dry run does not count.
    pool.ledger = Some(ledger);
    let ledger = required(pool.decided(&[("d", false)]).1);
    assert_eq!(ledger.surged(), [uid("d")]);
    pool.ledger = Some(ledger.release([&uid("d"), &uid("d")]).unwrap());
    assert_eq!(pool.decided(&[("e", true)]).0, [RequestVerdict::Allow]);
    assert_eq!(pool.tidied().unwrap().surged(), [], "it was never created");
}

#[test]
fn only_claims_that_stay_until_their_replacements_are_there_make_room() {
    let is_denied = |change: fn(&mut CountedClaim)| {
        let mut pool = surging(1, 1);
        let mut other = *pool.view.get(&uid("a")).unwrap();
        other.version = 20;
        change(&mut other);
        pool.view.upsert(uid("a"), other);
        admitted(&pool, &["c"]) == 0
    };
    assert!(!is_denied(|_| {}));
    assert!(is_denied(|claim| claim.disrupted = false));
    assert!(is_denied(|claim| claim.deleting = true));
    assert!(is_denied(|claim| claim.initialized = false));
}

#[test]
fn an_admission_above_the_limit_asks_for_all_that_was_not_read_since_the_request() {
    let mut pool = surging(1, 1);
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
    pool.ledger_read = Some(NOW);
    pool.limit_read = Some(NOW);
    let claims = Needs {
        claims: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("c", false)]), claims);
    pool.listed = None;
    assert_eq!(pool.needs(&[("c", false)]), claims, "a watch may be silent");
    pool.claims_late = true;
    let (answers, _) = pool.decided(&[("c", false)]);
    assert!(matches!(
        answers.as_slice(),
        [RequestVerdict::Deny(Denial::Full(full))] if full.stale
    ));
}

#[test]
fn a_surge_ends_with_its_claim_or_when_the_pool_is_at_its_limit_again() {
    let above = || {
        let mut pool = surging(2, 2);
        pool.ledger = Some(required(pool.decided(&[("c", false), ("d", false)]).1));
        pool.view.upsert(uid("c"), claim(20));
        pool.view.upsert(uid("d"), claim(21));
        pool
    };
    let surged = |pool: &Known| pool.tidied().unwrap().surged().to_vec();
    let mut pool = above();
    assert_eq!(surged(&pool), [uid("c"), uid("d")]);
    pool.view.remove(&uid("d"), 22);
    assert_eq!(surged(&pool), [uid("c")]);

    let mut pool = above();
    pool.view.remove(&uid("a"), 22);
    assert_eq!(surged(&pool), [uid("d")], "the oldest takes the free room");
    pool.limit_mut().nodes = 3;
    assert_eq!(surged(&pool), []);
}

#[test]
fn no_surge_ends_by_an_outdated_view() {
    let mut pool = surging(1, 1);
    let ledger = pool.ledger.as_mut().unwrap();
    ledger.surged = vec![uid("c")];
    ledger.seen = 1_000;
    pool.listed = None;
    pool.claims_late = true;
    let (_, write) = pool.decided(&[("d", false)]);
    let Write::Useful(ledger) = write else {
        panic!("{write:?}")
    };
    assert_eq!(ledger.surged(), [uid("c")]);
}

#[test]
fn nothing_is_admitted_above_the_limit_by_a_closed_ledger() {
    let mut pool = surging(1, 1);
    pool.ledger = Some(Ledger::closed(VERSION));
    let (answers, _) = pool.decided(&[("c", false)]);
    assert_eq!(answers, [RequestVerdict::Deny(Denial::LedgerLost)]);
}

#[test]
fn a_surge_that_changes_is_another_limit() {
    let mut pool = surging(0, 1);
    pool.ledger.as_mut().unwrap().limit = Some(LimitInForce {
        surge: 1,
        pool_version: 4,
        ..hard(2)
    });
    pool.limit_read = None;
    let limit = Needs {
        limit: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[]), limit);
    pool.limit_mut().pool_version = 5;
    pool.limit_read = Some(NOW);
    assert_eq!(pool.tidied().unwrap().limit(), pool.limit.as_ref());
}
