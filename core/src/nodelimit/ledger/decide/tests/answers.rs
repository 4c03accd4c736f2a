//! Which requests are admitted, and what is stored for them.

use super::*;

#[test]
fn the_first_come_in_and_the_others_read_the_count() {
    let (answers, write) = known(&["a"], &[]).decided(&[("b", false), ("c", false)]);
    let full = Full {
        limit: hard(2),
        occupied: 2,
        terminating: 0,
        outstanding: 1,
        disrupted: 0,
        stale: false,
    };
    assert_eq!(
        answers,
        [RequestVerdict::Reserved, RequestVerdict::Deny(Denial::Full(full))]
    );
    let ledger = required(write);
    assert_eq!(calls(&ledger), [("b", 1)]);
    assert_eq!(
        ledger.denied(),
        Some(&DenialRecord {
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
            CountedClaim {
                version: 10,
                deleting,
                disrupted,
                initialized: true,
            },
        );
        let (answers, _) = pool.decided(&[("d", false)]);
        let full = Full {
            limit: hard(2),
            occupied: 3,
            terminating: usize::from(deleting),
            outstanding: 1,
            disrupted: 0,
            stale: false,
        };
        assert_eq!(answers, [RequestVerdict::Deny(Denial::Full(full))]);
        pool.limit_mut().mode = NodeLimitMode::Soft;
        pool.limit_mut().nodes = 3;
        assert_eq!(pool.decided(&[("d", false)]).0, [RequestVerdict::Reserved]);
    }
}

#[test]
fn a_dry_run_is_answered_by_the_count_and_leaves_nothing() {
    let (answers, write) = known(&["a"], &[]).decided(&[("b", true), ("c", true)]);
    assert_eq!(
        (answers.as_slice(), write),
        ([RequestVerdict::Allow; 2].as_slice(), Write::Nothing)
    );
    let (answers, write) = known(&["a"], &["b"]).decided(&[("c", true)]);
    assert!(matches!(answers.as_slice(), [RequestVerdict::Deny(_)]));
    assert_eq!(write, Write::Nothing);
}

#[test]
fn a_repeated_call_finds_its_place_and_gives_back_only_its_own_share() {
    let (answers, write) = known(&["a"], &["b"]).decided(&[("b", false)]);
    assert_eq!(answers, [RequestVerdict::Reserved]);
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
        (vec![RequestVerdict::Allow], Write::Nothing)
    );
    pool.view.remove(&uid("b"), 10);
    pool.view.upsert(uid("c"), claim(11));
    assert_eq!(
        pool.decided(&[("b", false)]),
        (vec![RequestVerdict::Allow], Write::Nothing)
    );
}

#[test]
fn denials_are_written_down_once_a_second_and_none_is_lost() {
    let mut pool = known(&["a", "b"], &[]);
    pool.untold = 3;
    let (_, write) = pool.decided(&[("c", false), ("d", false), ("e", true)]);
    let Write::Useful(ledger) = write else {
        panic!("{write:?}")
    };
    let denied = DenialRecord {
        at: 1_000,
        total: 5,
        claim: "d".into(),
    };
    assert_eq!(ledger.denied(), Some(&denied));
    pool.ledger = Some(ledger);
    assert_eq!(pool.decided(&[("c", false)]).1, Write::Nothing);
}

#[test]
fn a_full_ledger_turns_requests_away_though_there_is_room() {
    let mut pool = known(&[], &[]);
    pool.limit_mut().nodes = u32::MAX;
    let reservations = &mut pool.ledger.as_mut().unwrap().reservations;
    reservations.extend((0..MAX_RESERVATIONS).map(|number| (uid(&number.to_string()), 1)));
    let (answers, _) = pool.decided(&[("a", false), ("7", false)]);
    assert_eq!(
        answers,
        [RequestVerdict::Deny(Denial::Busy), RequestVerdict::Reserved]
    );
}

#[test]
fn a_full_pool_stays_full_while_its_claims_take_long_to_list() {
    let mut pool = known(&["a"], &["b"]);
    pool.listed = Some(NOW - 1);
    pool.claims_late = true;
    let full = Full {
        limit: hard(2),
        occupied: 2,
        terminating: 0,
        outstanding: 1,
        disrupted: 0,
        stale: true,
    };
    assert_eq!(
        pool.decided(&[("c", false)]).0,
        [RequestVerdict::Deny(Denial::Full(full))]
    );
    pool.ledger_read = None;
    pool.limit_read = Some(NOW - 1);
    let needs = Needs {
        ledger: true,
        claims: false,
        limit: true,
    };
    assert_eq!(
        pool.needs(&[("c", false)]),
        needs,
        "what can be read in time is read"
    );
}

#[test]
fn no_claim_is_admitted_by_an_outdated_view_however_late_the_list_is() {
    let mut pool = known(&["a"], &[]);
    pool.ledger.as_mut().unwrap().seen = 1_000;
    pool.listed = None;
    pool.claims_late = true;
    let claims = Needs {
        claims: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("b", false)]), claims);
    pool.limit_mut().nodes = 1;
    let (answers, write) = pool.decided(&[("b", false)]);
    assert!(matches!(
        answers.as_slice(),
        [RequestVerdict::Deny(Denial::Full(full))] if full.stale
    ));
    let Write::Useful(ledger) = write else {
        panic!("{write:?}")
    };
    assert_eq!(ledger.seen(), 1_000, "a late view is not believed");
}

#[test]
fn a_closed_ledger_denies_a_strict_call_whose_uid_another_path_has_admitted() {
    let mut pool = known(&["a"], &[]);
    pool.ledger = Some(Ledger::closed(VERSION));
    pool.ledger = Some(required(pool.decided(&[("b", false)]).1));
    pool.strict = true;
    let (answers, _) = pool.decided(&[("b", false)]);
    assert_eq!(answers, [RequestVerdict::Deny(Denial::LedgerLost)]);
}

#[test]
fn a_closed_ledger_admits_only_by_a_list_since_the_request() {
    let mut pool = known(&["a"], &[]);
    pool.ledger = Some(Ledger::closed(VERSION));
    pool.listed = Some(NOW - 1);
    let claims = Needs {
        claims: true,
        ..Needs::default()
    };
    assert_eq!(pool.needs(&[("b", false)]), claims);
}

#[test]
fn an_observed_request_gets_a_reservation_whatever_the_answer() {
    let mut pool = known(&["a", "b"], &[]);
    pool.observed = true;
    let (answers, write) = pool.decided(&[("c", false), ("d", true)]);
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, RequestVerdict::Deny(Denial::Full(_))))
    );
    let ledger = required(write);
    assert_eq!((calls(&ledger), ledger.surged()), (vec![("c", 1)], [].as_slice()));
}

#[test]
fn a_closed_ledger_admits_by_the_count_and_denies_where_that_is_not_enough() {
    let mut pool = known(&["a"], &[]);
    pool.ledger = Some(Ledger::closed(VERSION));
    let ledger = required(pool.decided(&[("b", false)]).1);
    assert!(ledger.is_closed());
    pool.strict = true;
    for dry_run in [false, true] {
        let (answers, _) = pool.decided(&[("b", dry_run)]);
        assert_eq!(answers, [RequestVerdict::Deny(Denial::LedgerLost)]);
    }
    pool.limit_mut().nodes = 1;
    let (answers, _) = pool.decided(&[("b", false)]);
    assert!(matches!(
        answers.as_slice(),
        [RequestVerdict::Deny(Denial::Full(_))]
    ));
}

#[test]
fn what_a_later_release_wrote_about_limit_and_denial_stays_as_long_as_they_do() {
    let later = |limit: &str, denied: &str| {
        format!(
            r#"{{"denied":{{"at":1,"claim":"{denied}","later":1,"total":1}},"limit":{{"later":1,{limit},"mode":"Hard"}},"reservations":{{}},"seen":9,"version":1}}"#
        )
    };
    // A version of the pool alone is no other limit.
    let same = r#""nodes":2,"poolVersion":1"#;
    for (limit, denied, kept) in [
        (same, "c", 2),
        (same, "x", 1),
        (r#""nodes":3,"poolVersion":1"#, "c", 1),
    ] {
        let mut pool = known(&["a", "b"], &[]);
        pool.ledger = Some(Ledger::parse(&later(limit, denied)).unwrap());
        let Write::Useful(ledger) = pool.decided(&[("c", false)]).1 else {
            panic!("a denial is recorded")
        };
        let text = ledger.write();
        assert_eq!(text.matches("later").count(), kept, "{text}");
    }
}
