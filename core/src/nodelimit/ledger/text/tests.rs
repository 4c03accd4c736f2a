use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;

use super::super::state::MAX_VICTIMS;
use super::super::uid::MAX_UID;
use super::*;

fn error(text: &str) -> String {
    Ledger::read(text).unwrap_err().to_string()
}

#[test]
fn a_ledger_that_was_edited_by_hand_names_the_place() {
    let ledger = |more: &str| format!(r#"{{"version":1,"seen":7,"reservations":{{}}{more}}}"#);
    assert!(Ledger::read(&ledger("")).is_ok());
    insta::assert_snapshot!(
        [
            "",
            "[]",
            "{\n \"version\": 1,\n \"reservations\": {\n}",
            r#"{"seen":7,"reservations":{}}"#,
            r#"{"version":2,"seen":7,"reservations":{}}"#,
            r#"{"version":1,"seen":7,"reservation":{}}"#,
            r#"{"version":1,"reservations":{}}"#,
            r#"{"version":1,"seen":-7,"reservations":{}}"#,
            r#"{"version":1,"seen":7,"reservations":["a"]}"#,
            r#"{"version":1,"seen":7,"reservations":{"a":0}}"#,
            r#"{"version":1,"seen":7,"reservations":{"a b":1}}"#,
            &ledger(r#","limit":{"nodes":4294967296,"mode":"Hard","poolVersion":1}"#),
            &ledger(r#","limit":{"nodes":5,"mode":"hard","poolVersion":1}"#),
            &ledger(r#","limit":{"nodes":5,"mode":"Hard"}"#),
            &ledger(r#","limit":5"#),
            &ledger(r#","denied":{"at":1,"total":1}"#),
            &ledger(r#","denied":{"total":1,"claim":"a"}"#),
            &ledger(r#","termination":{"began":1,"victims":[""]}"#),
            &ledger(r#","termination":{"began":1,"victims":[1]}"#),
            &ledger(r#","termination":{"victims":[]}"#),
        ]
        .map(error)
        .join("\n"),
        @r"
    the ledger is no JSON: EOF while parsing a value at line 1 column 0
    the ledger is no JSON object
    the ledger is no JSON: EOF while parsing an object at line 4 column 1
    the ledger has no `version`
    the ledger has version 2, this release reads up to 1: run one release everywhere
    the ledger has no `reservations`
    the ledger has no `seen`
    `seen` of the ledger should be a whole number
    `reservations` of the ledger should be an object of UIDs with a number from 1 each
    `reservations` of the ledger should be an object of UIDs with a number from 1 each
    in `reservations` of the ledger the uid holds ' '
    `limit.nodes` of the ledger should be a number below 2^32
    `limit.mode` of the ledger should be `Hard` or `Soft`
    the ledger has no `limit.poolVersion`
    the ledger has no `limit.nodes`
    `denied.claim` of the ledger should be a name
    the ledger has no `denied.at`
    in `termination.victims` of the ledger the uid is empty
    `termination.victims` of the ledger should be a list of UIDs
    the ledger has no `termination.began`
    "
    );
}

#[test]
fn a_ledger_larger_than_any_is_not_read() {
    assert_eq!(
        Ledger::read(&" ".repeat(MAX_TEXT + 1)),
        Err(UnreadableLedger::TooLong(MAX_TEXT + 1))
    );
    let many = |count: usize| -> Vec<String> { (0..count).map(|number| format!("{number:064}")).collect() };
    let reservations: Map<String, Value> = many(MAX_RESERVATIONS + 1)
        .into_iter()
        .map(|uid| (uid, 1.into()))
        .collect();
    let text = json!({"version": 1, "seen": 0, "reservations": reservations}).to_string();
    assert_eq!(
        Ledger::read(&text),
        Err(UnreadableLedger::TooManyReservations(MAX_RESERVATIONS + 1))
    );
    let termination = json!({"began": 0, "victims": many(MAX_VICTIMS + 1)});
    let text = json!({"version": 1, "seen": 0, "reservations": {}, "termination": termination}).to_string();
    assert!(matches!(
        Ledger::read(&text),
        Err(UnreadableLedger::TooManyVictims(_))
    ));
}

#[test]
fn the_largest_ledger_fits_where_it_is_stored() {
    let uid = |number: usize| Uid::new(&format!("{number:0MAX_UID$}")).unwrap();
    let ledger = Ledger {
        reservations: (0..MAX_RESERVATIONS)
            .map(|number| (uid(number), u32::MAX))
            .collect(),
        seen: u64::MAX,
        closed: true,
        limit: Some(LimitInForce {
            nodes: u32::MAX,
            mode: NodeLimitMode::Hard,
            pool_version: u64::MAX,
        }),
        denied: Some(DenialRecord {
            at: u64::MAX,
            total: u64::MAX,
            claim: "c".repeat(253).into(),
        }),
        termination: Some(Termination::new(u64::MAX, (0..MAX_VICTIMS).map(uid).collect()).unwrap()),
        unknown: Map::new(),
    };
    let text = ledger.write();
    assert!(text.len() < MAX_TEXT * 8 / 10, "{}", text.len());
    assert_eq!(Ledger::read(&text).as_ref(), Ok(&ledger));
}

#[test]
fn fields_of_a_later_release_are_kept() {
    let text = r#"{"later":{"a":[1]},"reservations":{"a":2},"seen":7,"version":1}"#;
    assert_eq!(Ledger::read(text).unwrap().write(), text);
}

fn uids() -> impl Strategy<Value = Uid> {
    "[!#-\\[\\]-~]{1,64}".prop_map(|text| Uid::new(&text).unwrap())
}

prop_compose! {
    fn limits()(nodes in any::<u32>(), soft in any::<bool>(), pool_version in any::<u64>()) -> LimitInForce {
        let mode = if soft { NodeLimitMode::Soft } else { NodeLimitMode::Hard };
        LimitInForce { nodes, mode, pool_version }
    }
}

prop_compose! {
    fn ledgers()(
        reservations in btree_map(uids(), 1_u32.., 0..5),
        seen in any::<u64>(),
        closed in any::<bool>(),
        limit in option::of(limits()),
        denied in option::of((any::<u64>(), any::<u64>(), any::<String>())),
        termination in option::of((any::<u64>(), btree_set(uids(), 0..5))),
    ) -> Ledger {
        Ledger {
            reservations,
            seen,
            closed,
            limit,
            denied: denied.map(|(at, total, claim)| DenialRecord { at, total, claim: claim.into() }),
            termination: termination.map(|(began, victims)| Termination::new(began, victims.into_iter().collect()).unwrap()),
            unknown: Map::new(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(ledger in ledgers()) {
        prop_assert_eq!(Ledger::read(&ledger.write()), Ok(ledger));
    }

    #[test]
    fn no_text_is_more_than_an_error(text in any::<String>(), cut in any::<prop::sample::Index>(), ledger in ledgers()) {
        let _ = Ledger::read(&text);
        let whole = ledger.write();
        let half: String = whole.chars().take(cut.index(whole.chars().count())).collect();
        prop_assert!(Ledger::read(&half).is_err());
    }
}
