use std::collections::BTreeMap;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::super::state::{DenialRecord, LimitInForce, MAX_VICTIMS, ReplacedFor, Replacement, Stopped};
use super::super::uid::{MAX_UID, Uid};
use super::*;
use crate::api::{MAX_SURGE, NodeLimitMode};

fn error(text: &str) -> String {
    Ledger::parse(text).unwrap_err().to_string()
}

#[test]
fn a_ledger_that_was_edited_by_hand_names_the_place() {
    let ledger = |more: &str| format!(r#"{{"version":1,"seen":7,"reservations":{{}}{more}}}"#);
    assert!(Ledger::parse(&ledger("")).is_ok());
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
            &ledger(r#","limit":null"#),
            &ledger(r#","closed":null"#),
            &ledger(r#","denied":null"#),
            &ledger(r#","termination":null"#),
            &ledger(r#","denied":{"at":1,"total":1}"#),
            &ledger(r#","denied":{"total":1,"claim":"a"}"#),
            &ledger(r#","termination":{"began":1,"victims":[""]}"#),
            &ledger(r#","termination":{"began":1,"victims":[1]}"#),
            &ledger(r#","termination":{"victims":[]}"#),
        ]
        .map(error)
        .join("\n"),
        @r"
    the ledger cannot be parsed: EOF while parsing a value at line 1 column 0
    the ledger cannot be parsed: invalid length 0, expected struct Version with 1 element at line 1 column 2
    the ledger cannot be parsed: EOF while parsing an object at line 4 column 1
    the ledger cannot be parsed: missing field `version` at line 1 column 28
    the ledger has version 2, but this release reads up to 1. Run one release everywhere
    the ledger cannot be parsed: missing field `reservations` at line 1 column 39
    the ledger cannot be parsed: missing field `seen` at line 1 column 31
    the ledger cannot be parsed: invalid value: integer `-7`, expected u64 at line 1 column 22
    the ledger cannot be parsed: invalid type: sequence, expected a map at line 1 column 37
    the ledger has a reservation for 0 calls
    the ledger cannot be parsed: the uid contains ' ' at line 1 column 43
    the ledger cannot be parsed: invalid value: integer `4294967296`, expected u32 at line 1 column 67
    the ledger cannot be parsed: unknown variant `hard`, expected `Hard` or `Soft` at line 1 column 72
    the ledger cannot be parsed: missing field `poolVersion` at line 1 column 73
    the ledger cannot be parsed: invalid type: integer `5`, expected struct LimitInForce at line 1 column 49
    the ledger cannot be parsed: invalid type: null, expected struct LimitInForce at line 1 column 52
    the ledger cannot be parsed: invalid type: null, expected a boolean at line 1 column 53
    the ledger cannot be parsed: invalid type: null, expected struct DenialRecord at line 1 column 53
    the ledger cannot be parsed: invalid type: null, expected struct Termination at line 1 column 58
    the ledger cannot be parsed: missing field `claim` at line 1 column 67
    the ledger cannot be parsed: missing field `at` at line 1 column 72
    the ledger cannot be parsed: the uid is empty at line 1 column 79
    the ledger cannot be parsed: invalid type: integer `1`, expected a string at line 1 column 77
    the ledger cannot be parsed: missing field `began` at line 1 column 68
    "
    );
}

#[test]
fn a_ledger_larger_than_any_is_not_read() {
    assert_eq!(
        Ledger::parse(&" ".repeat(MAX_TEXT + 1)),
        Err(UnreadableLedger::TooLong(MAX_TEXT + 1))
    );
    let many = |count: usize| -> Vec<String> { (0..count).map(|number| format!("{number:064}")).collect() };
    let reservations: Map<String, Value> = many(MAX_RESERVATIONS + 1)
        .into_iter()
        .map(|uid| (uid, 1.into()))
        .collect();
    let text = json!({"version": 1, "seen": 0, "reservations": reservations}).to_string();
    assert_eq!(
        Ledger::parse(&text),
        Err(UnreadableLedger::TooManyReservations(MAX_RESERVATIONS + 1))
    );
    let termination = json!({"began": 0, "victims": many(MAX_VICTIMS + 1)});
    let text = json!({"version": 1, "seen": 0, "reservations": {}, "termination": termination}).to_string();
    assert!(matches!(
        Ledger::parse(&text),
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
        closed_over: u64::MAX,
        limit: Some(LimitInForce {
            nodes: u32::MAX,
            mode: NodeLimitMode::Hard,
            surge: MAX_SURGE,
            pool_version: u64::MAX,
        }),
        denied: Some(DenialRecord {
            at: u64::MAX,
            total: u64::MAX,
            claim: "c".repeat(253).into(),
        }),
        termination: Some(Termination::new(u64::MAX, (0..MAX_VICTIMS).map(uid).collect()).unwrap()),
        replacement: Some(Replacement {
            uid: uid(0),
            claim: "c".repeat(253).into(),
            node: "n".repeat(253).into(),
            reason: ReplacedFor::Unhealthy,
            newest: i64::MAX,
        }),
        stopped: Some(Stopped {
            at: i64::MAX,
            template: u64::MAX,
            class_ready_since: Some(i64::MAX),
        }),
        surged: (0..MAX_SURGE as usize).map(uid).collect(),
        unknown: Map::new(),
        unknown_inside: BTreeMap::new(),
    };
    let text = ledger.write();
    assert!(text.len() < MAX_TEXT * 8 / 10, "{}", text.len());
    assert_eq!(Ledger::parse(&text).as_ref(), Ok(&ledger));
}

#[test]
fn a_ledger_is_written_as_every_release_reads_it() {
    let uid = |text| Uid::new(text).unwrap();
    let mut ledger = Ledger {
        reservations: [(uid("b"), 2), (uid("a"), 1)].into(),
        seen: 7,
        limit: Some(LimitInForce {
            nodes: 5,
            mode: NodeLimitMode::Soft,
            surge: 0,
            pool_version: 3,
        }),
        ..Ledger::default()
    };
    let limit = r#""limit":{"mode":"Soft","nodes":5,"poolVersion":3}"#;
    let rest = r#""reservations":{"a":1,"b":2},"seen":7"#;
    assert_eq!(ledger.write(), format!(r#"{{{limit},{rest},"version":1}}"#));
    ledger.close(0);
    ledger.denied = Some(DenialRecord {
        at: 1,
        total: 2,
        claim: "c".into(),
    });
    ledger.termination = Some(Termination::new(4, vec![uid("z"), uid("y")]).unwrap());
    ledger.surged = vec![uid("b"), uid("a")];
    let closed = r#""closed":true,"closedOver":0,"denied":{"at":1,"claim":"c","total":2}"#;
    let termination = r#""surged":["b","a"],"termination":{"began":4,"victims":["z","y"]}"#;
    assert_eq!(
        ledger.write(),
        format!(r#"{{{closed},{rest},{termination},"version":1}}"#)
    );
}

#[test]
fn fields_of_a_later_release_are_kept() {
    let text = r#"{"later":{"a":[1]},"reservations":{"a":2},"seen":7,"version":1}"#;
    assert_eq!(Ledger::parse(text).unwrap().write(), text);
    let text = concat!(
        r#"{"denied":{"at":1,"claim":"a","later":{"x":1},"total":2},"#,
        r#""limit":{"later":[1],"mode":"Hard","nodes":5,"poolVersion":1},"#,
        r#""replacement":{"claim":"a","later":null,"newest":1,"node":"a","reason":"Drifted","uid":"a"},"#,
        r#""reservations":{},"seen":7,"#,
        r#""stopped":{"at":1,"later":"x","template":7},"#,
        r#""termination":{"began":1,"later":7,"victims":["a"]},"version":1}"#,
    );
    let ledger = Ledger::parse(text).unwrap();
    assert_eq!(ledger.write(), text);
    let same = ledger
        .clone()
        .with_termination(ledger.termination.clone())
        .with_replacement(ledger.replacement.clone(), ledger.stopped);
    assert_eq!(same, ledger);
    // They say more about what was there.
    let other = |uid: &str| Uid::new(uid).unwrap();
    let replacement = ledger.replacement.clone().map(|replacement| Replacement {
        uid: other("b"),
        ..replacement
    });
    let stopped = ledger.stopped.map(|stopped| Stopped { at: 2, ..stopped });
    let next = ledger
        .with_termination(Some(Termination::new(1, vec![other("b")]).unwrap()))
        .with_replacement(replacement, stopped)
        .write();
    assert_eq!(next.matches("later").count(), 2, "{next}");
}

fn uids() -> impl Strategy<Value = Uid> {
    "[!#-\\[\\]-~]{1,64}".prop_map(|text| Uid::new(&text).unwrap())
}

prop_compose! {
    fn limits()(
        nodes in any::<u32>(),
        soft in any::<bool>(),
        surge in 0..3_u32,
        pool_version in any::<u64>(),
    ) -> LimitInForce {
        let mode = if soft { NodeLimitMode::Soft } else { NodeLimitMode::Hard };
        LimitInForce { nodes, mode, surge, pool_version }
    }
}

prop_compose! {
    fn replacements()(
        uid in uids(),
        (claim, node) in any::<(String, String)>(),
        is_drifted in any::<bool>(),
        newest in any::<i64>(),
    ) -> Replacement {
        let reason = if is_drifted { ReplacedFor::Drifted } else { ReplacedFor::Unhealthy };
        Replacement { uid, claim: claim.into(), node: node.into(), reason, newest }
    }
}

prop_compose! {
    fn stops()(
        at in any::<i64>(),
        template in any::<u64>(),
        class_ready_since in option::of(any::<i64>()),
    ) -> Stopped {
        Stopped { at, template, class_ready_since }
    }
}

prop_compose! {
    fn ledgers()(
        reservations in btree_map(uids(), 1_u32.., 0..5),
        seen in any::<u64>(),
        closed in option::of(any::<u64>()),
        limit in option::of(limits()),
        denied in option::of((any::<u64>(), any::<u64>(), any::<String>())),
        termination in option::of((any::<u64>(), btree_set(uids(), 0..5))),
        (replacement, stopped) in (option::of(replacements()), option::of(stops())),
        surged in vec(uids(), 0..3),
    ) -> Ledger {
        Ledger {
            reservations,
            seen,
            closed: closed.is_some(),
            closed_over: closed.unwrap_or_default(),
            limit,
            denied: denied.map(|(at, total, claim)| DenialRecord { at, total, claim: claim.into() }),
            termination: termination.map(|(began, victims)| Termination::new(began, victims.into_iter().collect()).unwrap()),
            replacement,
            stopped,
            surged,
            unknown: Map::new(),
            unknown_inside: BTreeMap::new(),
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(ledger in ledgers()) {
        prop_assert_eq!(Ledger::parse(&ledger.write()), Ok(ledger));
    }

    #[test]
    fn no_text_is_more_than_an_error(text in any::<String>(), cut in any::<prop::sample::Index>(), ledger in ledgers()) {
        let _ = Ledger::parse(&text);
        let whole = ledger.write();
        let half: String = whole.chars().take(cut.index(whole.chars().count())).collect();
        prop_assert!(Ledger::parse(&half).is_err());
    }
}
