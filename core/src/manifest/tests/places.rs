//! The positions of values, and what is at a position.

use crate::diagnostic::FieldPath;

use super::super::{Form, Lines, NodeKind, Style};
use super::one;

/// A path from `a.b.0.c`.
fn path(dotted: &str) -> FieldPath {
    dotted
        .split('.')
        .fold(FieldPath::root(), |path, part| match part.parse() {
            Ok(index) => path.index(index),
            Err(_) => path.key(part.to_owned()),
        })
}

const POOL: &str = "\
# header
spec:
  disruption:
    budgets:
    - nodes: \"0\"
      schedule: '0 9 * * sat-sun' # why
    -   nodes: 10%
  limits: {cpu: 100, memory: 1Gi}
  text: |
    one
    two

  empty:
";

fn value(text: &str, dotted: &str) -> Option<String> {
    Some(one(text).span_of(&path(dotted))?.slice(text).to_owned())
}

#[test]
fn every_value_and_key_is_found_in_the_text() {
    for (dotted, expected) in [
        ("spec.disruption.budgets.0.nodes", "\"0\""),
        ("spec.disruption.budgets.0.schedule", "'0 9 * * sat-sun'"),
        ("spec.disruption.budgets.1", "nodes: 10%"),
        ("spec.disruption.budgets.1.nodes", "10%"),
        ("spec.limits", "{cpu: 100, memory: 1Gi}"),
        ("spec.limits.memory", "1Gi"),
        ("spec.text", "one\n    two"),
        ("spec.empty", ""),
    ] {
        assert_eq!(value(POOL, dotted).as_deref(), Some(expected), "{dotted}");
    }
    let document = one(POOL);
    let key = document
        .key_span_of(&path("spec.disruption.budgets.0.schedule"))
        .unwrap();
    assert_eq!(key.slice(POOL), "schedule");
    let lines = Lines::new(POOL);
    let place = lines.position(key.start());
    assert_eq!((place.line, place.column), (6, 7));
    assert_eq!(document.key_span_of(&path("spec.disruption.budgets.0")), None);
}

#[test]
fn a_list_begins_at_its_dash_and_ends_with_its_last_word() {
    let list = value(POOL, "spec.disruption.budgets").unwrap();
    assert!(list.starts_with("- nodes: \"0\"\n"), "{list}");
    assert!(list.ends_with("-   nodes: 10%"), "{list}");
    let indented = "a:\n  - b\n  - c\n\n\nd: 1\n";
    assert_eq!(value(indented, "a").as_deref(), Some("- b\n  - c"));
    let nested = "a:\n- - b\n  - c\n";
    assert_eq!(value(nested, "a").as_deref(), Some("- - b\n  - c"));
    assert_eq!(value(nested, "a.0").as_deref(), Some("- b\n  - c"));
}

#[test]
fn what_is_not_there_has_no_place() {
    for dotted in [
        "spec.none",
        "spec.limits.0",
        "spec.disruption.budgets.nodes",
        "spec.disruption.budgets.2",
        "spec.text.x",
    ] {
        assert_eq!(value(POOL, dotted), None, "{dotted}");
    }
}

#[test]
fn an_alias_is_pointed_at_by_its_own_position() {
    let text = "base: &base {nodes: 1}\nlist: [*base]\nmap:\n  <<: *base\n  x: 2\n";
    let document = one(text);
    let place = document.locate(&path("list.0.nodes")).unwrap();
    assert_eq!(place.alias.unwrap().slice(text), "*base");
    assert_eq!((place.value.start(), place.value.slice(text)), (20, "1"));
    let merged = document.locate(&path("map.nodes")).unwrap();
    assert_eq!(merged.alias.unwrap().start(), text.rfind("*base").unwrap());
    assert_eq!(document.span_of(&path("map.x")).unwrap().slice(text), "2");
    assert_eq!(document.span_of(&path("map.nodes")).unwrap().slice(text), "*base");
}

#[test]
fn what_may_replace_a_value_depends_on_its_block_and_its_tag() {
    let text =
        "a: |\n  x\nb: >-\n  x\n  y\nc: 'x'\nd: &d x\ne: !!str 5\nf: !own x\ng: !!int 5\n? |-\n  h\n: x\n";
    let document = one(text);
    for (dotted, key, value) in [
        ("a", Form::Open, Form::Fixed),
        ("b", Form::Open, Form::Fixed),
        ("c", Form::Open, Form::Open),
        ("d", Form::Open, Form::Open),
        ("e", Form::Open, Form::Text),
        ("f", Form::Open, Form::Text),
        ("g", Form::Open, Form::Fixed),
        ("h", Form::Fixed, Form::Open),
    ] {
        let place = document.locate(&path(dotted)).unwrap();
        assert_eq!((place.key_form, place.value_form), (key, value), "{dotted}");
    }
    let block = document.locate(&path("b")).unwrap();
    assert_eq!(block.value.slice(text), "x\n  y", "without its header");
}

#[test]
fn of_several_values_the_position_is_that_of_the_one_that_counts() {
    let text =
        "x: &x {a: 1}\ny: &y {a: 2, b: 3}\nz: {<<: [*x, *y], b: 4}\nw: {b: 5, <<: *y}\nv: {c: 6, c: 7}\n";
    let document = one(text);
    for (dotted, expected) in [("z.a", "1"), ("z.b", "4"), ("w.b", "3"), ("v.c", "7")] {
        let place = document.locate(&path(dotted)).unwrap();
        assert_eq!(place.value.slice(text), expected, "{dotted}");
        assert_eq!(path(dotted).find(document.value()).unwrap().to_string(), expected);
    }
}

#[test]
fn keys_are_found_by_the_name_that_the_api_server_sees() {
    let text = "spec:\n  yes: 1\n  017: 2\n  \"a\\u0062\": 3\n";
    assert_eq!(value(text, "spec.true").as_deref(), Some("1"));
    assert_eq!(
        one(text)
            .span_of(&FieldPath::of(&["spec", "15"]))
            .unwrap()
            .slice(text),
        "2"
    );
    assert_eq!(value(text, "spec.ab").as_deref(), Some("3"));
}

#[test]
fn the_path_of_a_place_is_found() {
    let document = one(POOL);
    for (at, expected) in [
        ("sat-sun", "spec.disruption.budgets[0].schedule"),
        ("schedule", "spec.disruption.budgets[0].schedule"),
        ("10%", "spec.disruption.budgets[1].nodes"),
        ("1Gi", "spec.limits.memory"),
        ("two", "spec.text"),
        ("empty", "spec.empty"),
    ] {
        assert_eq!(
            document.path_at(POOL.find(at).unwrap()).to_string(),
            expected,
            "{at}"
        );
    }
    assert_eq!(document.path_at(0), FieldPath::root());
}

#[test]
fn the_tree_says_how_a_thing_is_written() {
    let document = one("a: {b: [1]}\nc:\n- 1\n- *x\n");
    let root = document.root().unwrap();
    assert_eq!(root.kind(), NodeKind::Mapping(Style::Block));
    let a = root.get("a").unwrap();
    assert_eq!(a.kind(), NodeKind::Mapping(Style::Flow));
    assert_eq!(a.get("b").unwrap().kind(), NodeKind::Sequence(Style::Flow));
    let items: Vec<_> = root
        .get("c")
        .unwrap()
        .items()
        .map(super::super::NodeRef::kind)
        .collect();
    assert_eq!(items, [NodeKind::Scalar, NodeKind::Alias]);
    assert_eq!(a.items().count(), 0);
}
