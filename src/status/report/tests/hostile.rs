//! Texts that others have written into the cluster.

use super::*;

/// Clears the screen, begins the line again, adds a line, and turns the reading direction; as an eight-bit control, too.
const HOSTILE: &str = "\x1b[2J\r\u{9b}2J\nProblems:\u{202e}";

#[test]
fn what_others_wrote_neither_moves_the_cursor_nor_forges_a_line() {
    let plain = table::render(&Report::of(&written_by_others(""), None), WIDE);
    let text = table::render(&Report::of(&written_by_others(HOSTILE), None), WIDE);
    let is_unsafe =
        |character: char| (character.is_control() && character != '\n') || character == '\u{202e}';
    assert!(!text.contains(is_unsafe), "{text:?}");
    assert_eq!(text.lines().count(), plain.lines().count(), "{text}");
    assert!(!text.contains("\nProblems:"), "{text}");
    for said in [
        "general: ReplacementDropped: ",
        "one",
        "forbidden",
        "gates",
        "dry run of a NodePool: denied",
    ] {
        let escaped = format!(r"{said}\u{{1b}}[2J\r\u{{9b}}2J\nProblems:\u{{202e}}");
        assert!(text.contains(&escaped), "{escaped}: {text}");
    }
}

/// A cluster whose events, Lease and answers hold this text.
fn written_by_others(text: &str) -> Facts {
    let denied = Asked {
        reports: Vec::new(),
        error: Some(format!("denied{text}")),
    };
    let event = json!({
        "involvedObject": {"uid": "u-pool"}, "reason": "ReplacementDropped", "message": text,
        "reportingComponent": "poolgate",
    });
    let mut facts = Facts {
        namespace: format!("gates{text}"),
        asked: Some(Ok(denied.clone())),
        events: Ok(vec![read(event)]),
        nodes: Err(format!("forbidden{text}")),
        reconciler: Ok(Some(Reconciler {
            holder: format!("one{text}"),
            renewed: None,
            leads: true,
            is_gone: false,
        })),
        ..well()
    };
    facts.asked_of_claims.insert("general".into(), Ok(denied));
    facts
}
