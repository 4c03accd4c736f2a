//! Malicious texts: each is handled in bounded time and memory, with a message.
//!
//! The time limit is far above what an unoptimised build needs and far below what any of them takes if the work
//! grows faster than the text. Time that a thread waits on a busy machine does not count.

use std::fmt::Write as _;
use std::time::Duration;

use super::super::{Limits, NodeRef, ProblemKind, parse};
use crate::diagnostic::FieldPath;
use crate::json::Json;
use crate::test_cost::{assert_in_proportion, computed};

/// The kinds of the problems of a text, read within the time limit.
fn kinds(text: &str) -> Vec<ProblemKind> {
    let begun = computed();
    let mut kinds = Vec::new();
    for document in parse(text, &Limits::default()) {
        kinds.extend(document.problems().iter().map(|problem| problem.kind.clone()));
    }
    if let (Some(begun), Some(ended)) = (begun, computed()) {
        let taken = ended.saturating_sub(begun);
        assert!(taken < Duration::from_secs(20), "{taken:?}");
    }
    kinds
}

/// Asserts that exactly this one problem is reported.
fn assert_only(text: &str, expected: &ProblemKind) {
    let found = kinds(text);
    assert!(
        matches!(found.as_slice(), [only] if only == expected),
        "{text:.40}: {found:?}"
    );
}

#[test]
fn deep_nesting_is_rejected_in_every_style() {
    let deep = ProblemKind::TooDeep { limit: 255 };
    for text in [
        format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)),
        "[".repeat(200_000),
        "{a: ".repeat(50_000),
        "- ".repeat(100_000),
        "? ".repeat(100_000),
        (0..2000).fold(String::new(), |mut text, depth| {
            let _ = writeln!(text, "{}a:", " ".repeat(depth));
            text
        }),
        format!("{}{}{}", "- ".repeat(200), "[".repeat(200), "]".repeat(200)),
    ] {
        assert_only(&text, &deep);
    }
}

#[test]
fn aliases_cannot_be_multiplied_into_depth() {
    let mut text = String::from("a0: &a0 [x]\n");
    for level in 1..3000 {
        let _ = writeln!(text, "a{level}: &a{level} [*a{}]", level - 1);
    }
    assert!(kinds(&text).contains(&ProblemKind::TooDeep { limit: 255 }));
    let merges = text
        .replace('[', "{<<: ")
        .replace(']', "}")
        .replace("<<: x", "x: 1");
    assert!(kinds(&merges).contains(&ProblemKind::TooDeep { limit: 255 }));
}

#[test]
fn aliases_cannot_be_multiplied_into_size() {
    let mut laughs = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    let mut merges = String::from("a0: &a0 {a: 1, b: 2}\n");
    for level in 1..10 {
        let above = vec![format!("*a{}", level - 1); 9].join(",");
        let _ = writeln!(laughs, "a{level}: &a{level} [{above}]");
        let _ = writeln!(merges, "a{level}: &a{level} {{<<: [{above}]}}");
    }
    let aliased = ProblemKind::TooMuchAliased;
    assert_only(&laughs, &aliased);
    assert_only(&merges, &aliased);
    let copies = vec!["*a"; 20_000].join(",");
    assert_only(
        &format!("a: &a {}\nb: [{copies}]\n", "x".repeat(100_000)),
        &aliased,
    );
    // The bound holds for the whole text, however it is split into documents.
    let many = vec![laughs.as_str(); 2000].join("---\n");
    let found = kinds(&many);
    assert!(found.len() == 2000 && found.iter().all(|kind| *kind == aliased));
}

#[test]
fn long_flat_texts_are_read() {
    assert_eq!(kinds(&format!("[{}]", vec!["1"; 100_000].join(","))), []);
    assert_eq!(kinds(&format!("a: {}\n", "x".repeat(10 << 20))), []);
    assert_eq!(kinds(&format!("a: \"{}\"\n", "x".repeat(10 << 20))), []);
    assert_eq!(kinds(&format!("a: {}\n", "1".repeat(1 << 20))), []);
    assert_eq!(kinds(&format!("a:\n{}- x\n", "# comment\n".repeat(100_000))), []);
    assert_eq!(kinds(&format!("{}a: 1\n", "# comment\n".repeat(100_000))), []);
}

#[test]
fn what_is_more_than_allowed_is_rejected() {
    let limits = Limits {
        bytes: 1 << 20,
        documents: 1000,
        nodes: 1000,
        comments: 1000,
        ..Limits::default()
    };
    let comments = ProblemKind::TooManyComments { limit: 1000 };
    let nodes = ProblemKind::TooManyNodes { limit: 1000 };
    let documents = ProblemKind::TooManyDocuments { limit: 1000 };
    let bytes = ProblemKind::TooLarge { limit: 1 << 20 };
    for (text, expected) in [
        (format!("a:\n{}- x\n", "#\n".repeat(2000)), &comments),
        (format!("a: 1\n{}", "#\n".repeat(2000)), &comments),
        ("#\n".repeat(2000), &comments),
        (format!("[{}]\n---\na: 1\n", "1,".repeat(2000)), &nodes),
        ("---\n".repeat(2000), &documents),
        ("{}\n".repeat(2000), &documents),
        (" ".repeat((1 << 20) + 1), &bytes),
    ] {
        let found: Vec<_> = parse(&text, &limits)
            .flat_map(|document| document.problems().to_vec())
            .collect();
        let [only] = found.as_slice() else {
            panic!("{text:.40}: {found:?}")
        };
        assert_eq!(&only.kind, expected);
        assert!(only.kind.is_limit());
    }
    let broken = "}\n---\n".repeat(2000);
    assert_eq!(parse(&broken, &limits).count(), 1001);
}

#[test]
fn a_hundred_thousand_mistakes_cost_no_more_than_a_few() {
    let keys = |count: usize, indent: &str, value: u8| {
        (0..count).fold(String::new(), |mut keys, number| {
            let _ = writeln!(keys, "{indent}k{number}: {value}");
            keys
        })
    };
    assert_eq!(kinds(&keys(50_000, "", 1).repeat(2)).len(), 100);
    assert_eq!(kinds(&"a: *nope\n---\n".repeat(20_000)).len(), 20_000);
    assert_eq!(kinds(&"a: [\n---\n".repeat(20_000)).len(), 20_000);
    let base = keys(20_000, "  ", 1);
    let replaced = format!("a: &a\n{base}b:\n{}  <<: *a\n", keys(20_000, "  ", 2));
    assert_eq!(kinds(&replaced).len(), 100);
}

#[test]
fn every_line_of_a_template_is_reported_without_another_walk_of_the_text() {
    for line in ["{{ a }}: 1\n", "{{ a }}: [\n---\n", "? {a: b}\n: 1\n"] {
        assert_in_proportion(
            1 << 14,
            |lines| line.repeat(lines),
            |text| {
                assert!(parse(text, &Limits::default()).count() > 0);
            },
        );
    }
}

#[test]
fn items_are_located_without_a_count_from_the_first() {
    let list = |size: usize| format!("items: [{}]", "{},".repeat(size));
    assert_in_proportion(1 << 14, list, |text| {
        let document = parse(text, &Limits::default()).next().expect("a document");
        let items = document.value().get("items").and_then(Json::as_array);
        let root = document
            .root()
            .and_then(|root| root.get("items"))
            .expect("a list");
        for index in 0..items.expect("a list").len() {
            let path = FieldPath::of(&["items"]).index(index);
            let span = document.span_of(&path).expect("an item");
            assert_eq!(span.slice(text), "{}");
            assert_eq!(root.item(index).map(NodeRef::span), Some(span));
        }
    });
}
