//! What holds for every text.

use crate::diagnostic::{FieldPath, Segment};
use crate::json::Json;
use proptest::prelude::*;
use serde_json::Value;

use super::super::{Limits, Lines, parse};
use super::one;

/// Any JSON that a manifest may hold: no control characters (YAML rejects them), no fractions (kubectl turns
/// some of them into integers).
fn json() -> impl Strategy<Value = Value> {
    let text = || "[ -~äß日🚀\\n\\t]{0,12}";
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Texts of the characters and words that have a meaning in YAML.
fn yamlish() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "b",
        "key",
        ": ",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        "\t",
        " ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&a ",
        "*a",
        "<<: ",
        "!!int ",
        "!t ",
        "'",
        "\"",
        "|\n",
        ">-\n",
        "# c",
        "\n---\n",
        "\n...\n",
        "? ",
        "%YAML 1.2\n",
        "1",
        "017",
        "yes",
        "~",
        ".inf",
        "\u{feff}",
        "é",
        "🚀",
        "\r\n",
        "\\",
        "{{ x }}",
        "1e3",
    ]);
    prop::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

/// All paths of a value.
fn paths(value: &Value, at: &FieldPath, out: &mut Vec<FieldPath>) {
    out.push(at.clone());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                paths(item, &at.clone().index(index), out);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                paths(item, &at.clone().key(key.clone()), out);
            }
        }
        _ => {}
    }
}

/// Reads a text and calls everything on it.
fn exercise(text: &str) {
    let lines = Lines::new(text);
    for document in parse(text, &Limits::default()) {
        for problem in document.problems() {
            assert!(!problem.to_string().is_empty());
            assert!(text.get(problem.span.range()).is_some(), "{problem:?}");
            let _ = lines.position(problem.span.start());
        }
        for comment in document.comments() {
            assert!(comment.span.slice(text).starts_with('#'));
        }
        let mut all = Vec::new();
        paths(&Value::from(document.value()), &FieldPath::root(), &mut all);
        for path in all.iter().take(200) {
            let place = document.locate(path);
            assert!(
                place.is_some() || document.value().is_null(),
                "{path} in {text:?}"
            );
            if let Some(place) = place {
                assert!(text.get(place.value.range()).is_some());
                let _ = document.path_at(place.value.start());
            }
        }
    }
}

proptest! {
    // A failing case becomes a test with a name, not a file of seeds.
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_is_too_strange(text in any::<String>()) {
        exercise(&text);
    }

    #[test]
    fn no_yaml_is_too_strange(text in yamlish()) {
        exercise(&text);
    }

    #[test]
    fn json_means_what_it_says(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let document = one(&text);
        prop_assert_eq!(document.problems(), &[]);
        prop_assert_eq!(document.value(), &Json::from(&value));
        let mut all = Vec::new();
        paths(&value, &FieldPath::root(), &mut all);
        for path in all {
            let span = document.span_of(&path).unwrap();
            let expected = path.segments().iter().fold(&value, |value, segment| match segment {
                Segment::Key(key) => &value[key.as_ref()],
                Segment::Index(index) => &value[*index],
            });
            let written: Value = serde_json::from_str(span.slice(&text)).unwrap();
            prop_assert_eq!(&written, expected);
            if !matches!(expected, Value::Array(_) | Value::Object(_)) {
                prop_assert_eq!(document.path_at(span.start()), path);
            }
        }
    }

    /// What a comment contains never changes what is read beside it.
    #[test]
    fn a_text_is_read_the_same_without_its_comments(text in yamlish()) {
        let unheard = Limits { comments: 0, ..Limits::default() };
        let read = |limits: &Limits| -> Vec<_> {
            let documents = parse(&text, limits);
            documents
                .map(|document| (document.value().clone(), document.span(), document.problems().to_vec()))
                .collect()
        };
        prop_assert_eq!(read(&unheard), read(&Limits::default()));
        prop_assert!(parse(&text, &unheard).all(|document| document.comments().is_empty()));
    }
}
