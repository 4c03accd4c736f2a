//! When a reservation is removed, and what must be read before anything is decided.

use super::*;

#[test]
fn a_reservation_goes_once_its_claim_is_seen_and_older_views_are_kept_out() {
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
    assert_eq!(behind.decided(&[("c", false)]).0, [RequestVerdict::Reserved]);
}

#[test]
fn a_reservation_goes_once_its_claim_was_seen_and_is_gone() {
    let mut pool = known(&["a"], &["a"]);
    pool.listed = None;
    pool.view.remove(&uid("a"), 10);
    let tidied = pool.tidied().unwrap();
    assert_eq!((calls(&tidied), tidied.seen()), (vec![], 5));
}

#[test]
fn a_reservation_goes_after_its_lifetime_only_by_a_list_begun_since() {
    let mut pool = known(&[], &["a"]);
    let over = NOW - LIFETIME;
    assert_eq!(pool.tidied(), None);
    pool.first_seen
        .observe(OBJECT, pool.ledger.as_ref().unwrap(), second(over + 1));
    assert_eq!(pool.tidied(), None);
    let mut older = pool.first_seen.clone();
    older.observe(OBJECT, &Ledger::default(), second(0));
    older.observe(OBJECT, pool.ledger.as_ref().unwrap(), second(over));
    pool.first_seen = older;
    pool.listed = None;
    assert_eq!(pool.tidied(), None);
    pool.listed = Some(NOW - 1);
    assert_eq!(pool.tidied(), None);
    pool.listed = Some(NOW);
    assert_eq!(calls(&pool.tidied().unwrap()), []);
}

#[test]
fn a_denial_asks_for_all_that_was_not_read_since_the_request() {
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
    pool.limit_mut().nodes = 3;
    let limit = Needs {
        limit: true,
        ..Needs::default()
    };
    assert_eq!(
        pool.needs(&[("c", false)]),
        limit,
        "the limit may have been lowered"
    );
    pool.limit_read = Some(NOW);
    assert_eq!(pool.decided(&[("c", false)]).0, [RequestVerdict::Reserved]);
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
    let ledger = required(pool.decided(&[("a", false)]).1);
    assert_eq!((calls(&ledger), ledger.is_closed()), (vec![("a", 1)], false));
    pool.view.upsert(uid("b"), claim(10));
    let ledger = required(pool.decided(&[("a", false)]).1);
    assert!(ledger.is_closed(), "one may have been deleted");
}

#[test]
fn a_closed_ledger_opens_after_a_lifetime_by_a_list_begun_since() {
    let mut pool = known(&["a"], &["b"]);
    let ledger = pool.ledger.as_mut().unwrap();
    ledger.closed = true;
    ledger.seen = 0;
    let over = NOW - LIFETIME;
    pool.first_seen.observe(OBJECT, ledger, second(over + 1));
    assert_eq!(pool.tidied(), None);
    pool.first_seen.observe(OBJECT, &Ledger::default(), second(0));
    pool.first_seen
        .observe(OBJECT, pool.ledger.as_ref().unwrap(), second(over));
    pool.listed = Some(NOW - 1);
    assert_eq!(pool.tidied(), None);
    pool.listed = Some(NOW);
    let opened = pool.tidied().unwrap();
    assert!(!opened.is_closed());
    assert_eq!(opened.seen(), 9, "older views lack what came meanwhile");
    pool.strict = true;
    pool.ledger = Some(opened);
    assert!(matches!(
        pool.decided(&[("c", false)]).0.as_slice(),
        [RequestVerdict::Reserved]
    ));
}

#[test]
fn a_limit_older_than_the_one_in_force_is_read_again() {
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
    // The same limit at an older version is not another limit, and the newer version stays.
    pool.limit_mut().nodes = 1;
    pool.limit_read = Some(NOW);
    let ledger = required(pool.decided(&[("a", false)]).1);
    assert_eq!(ledger.limit().map(|limit| limit.pool_version), Some(4));
    // A newer one replaces it, even without a request.
    pool.limit = Some(LimitInForce {
        pool_version: 5,
        ..hard(3)
    });
    pool.limit_read = None;
    assert_eq!(pool.tidied().unwrap().limit(), pool.limit.as_ref());
}

#[test]
fn the_stricter_of_two_limits_of_one_version_stays() {
    let mut pool = known(&["a"], &[]);
    pool.ledger.as_mut().unwrap().limit = Some(LimitInForce {
        mode: NodeLimitMode::Soft,
        ..hard(1)
    });
    let (answers, write) = pool.decided(&[("b", false)]);
    assert!(matches!(
        answers.as_slice(),
        [RequestVerdict::Deny(Denial::Full(_))]
    ));
    let Write::Useful(ledger) = write else {
        panic!("{write:?}")
    };
    assert_eq!(ledger.limit(), Some(&hard(1)));
}

#[test]
fn without_a_limit_the_ledger_is_read_and_closed_before_a_claim_is_admitted() {
    let mut pool = known(&[], &["a"]);
    pool.limit = None;
    pool.ledger_read = None;
    pool.listed = None;
    let needs = Needs {
        ledger: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("b", false)]), needs);
    assert_eq!(pool.decided(&[("b", true)]).1, Write::Nothing, "a dry run");
    assert_eq!(pool.tidied(), None);
    pool.ledger_read = Some(NOW);
    let (answers, write) = pool.decided(&[("b", false)]);
    assert_eq!(answers, [RequestVerdict::Allow]);
    let closed = required(write);
    assert_eq!(
        (closed.closed, closed.closed_over, closed.limit()),
        (true, VERSION, None)
    );
    assert_eq!(calls(&closed), [("a", 1)], "it may still be created");
    pool.ledger = Some(closed);
    assert_eq!(pool.decided(&[("b", false)]).1, Write::Nothing, "closed already");
    // While there was a limit, it may have begun to open.
    pool.ledger.as_mut().unwrap().limit = Some(hard(2));
    assert_eq!(required(pool.decided(&[("b", false)]).1).limit(), None);
    pool.ledger = None;
    assert_eq!(pool.decided(&[("b", false)]).1, Write::Nothing);
    pool.limit_read = None;
    let needs = Needs {
        limit: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("b", false)]), needs);
}

#[test]
fn a_ledger_of_another_history_is_replaced_by_what_is_read_after_it() {
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
    pool.ledger_read = None;
    let all = Needs { ledger: true, ..both };
    assert_eq!(pool.needs(&[("b", false)]), all, "no read follows a watch");
    pool.ledger_read = Some(NOW);
    assert_eq!(pool.needs(&[("b", false)]), both);
    pool.listed = Some(NOW);
    pool.limit_read = Some(NOW);
    let fixed = required(pool.decided(&[("b", false)]).1);
    assert_eq!((fixed.seen(), fixed.limit()), (9, Some(&hard(2))));
}
