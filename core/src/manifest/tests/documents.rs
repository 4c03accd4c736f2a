//! Several documents, broken ones among them, and what is reported for each.

use crate::diagnostic::Severity;
use serde_json::{Value, json};

use super::super::{Limits, Lines, ProblemKind, parse};
use super::{Document, all, one, problems};

fn values(text: &str) -> Vec<Value> {
    all(text).into_iter().map(Document::into_value).collect()
}

#[test]
fn a_broken_document_hides_none_of_its_neighbours() {
    let text = "a: 1\n---\nb: [1, 2\n---\nc: 3\n---\nd: 'x\n---\ne: 5\n";
    assert_eq!(
        values(text),
        [
            json!({"a": 1}),
            Value::Null,
            json!({"c": 3}),
            Value::Null,
            json!({"e": 5})
        ]
    );
    let starts = all(text)
        .iter()
        .map(|document| document.span().start())
        .collect::<Vec<_>>();
    let lines = Lines::new(text);
    let starts: Vec<_> = starts
        .into_iter()
        .map(|start| lines.position(start).line)
        .collect();
    assert_eq!(starts, [1, 2, 4, 6, 8]);
    assert!(all(text)[1].unreadable().is_some());
    assert!(all(text)[2].unreadable().is_none());
}

#[test]
fn empty_documents_are_null_and_a_text_of_comments_has_none() {
    assert_eq!(
        values("---\n---\na: 1\n...\n---\n"),
        [Value::Null, json!({"a": 1}), Value::Null]
    );
    assert_eq!(values(""), [] as [Value; 0]);
    assert_eq!(values("# nothing\n\n# here\n"), [] as [Value; 0]);
    assert!(all("---\n")[0].unreadable().is_none());
}

#[test]
fn byte_order_marks_are_taken_where_files_were_joined() {
    assert_eq!(values("\u{feff}a: 1\n"), [json!({"a": 1})]);
    let text = "\u{feff}a: 1\n---\n\u{feff}b: 2\n---\nc: 3\n";
    assert_eq!(values(text), [json!({"a": 1}), json!({"b": 2}), json!({"c": 3})]);
    let at = all(text)[2].root().unwrap().span().start();
    assert_eq!(at, text.rfind('c').unwrap());
    assert_eq!(
        problems("a: 1\n\u{feff}b: 2\n"),
        [
            "2:1 a byte order mark is inside the document, as if two files were joined. Put `---` between the files"
        ]
    );
}

#[test]
fn json_objects_may_follow_one_another() {
    let text = "{\"a\": 1}\n{\"b\": [2]} {\"c\": 3}\n---\nd: 4\n";
    assert_eq!(
        values(text),
        [
            json!({"a": 1}),
            json!({"b": [2]}),
            json!({"c": 3}),
            json!({"d": 4})
        ]
    );
    let b = all(text)[1].root().unwrap().span();
    assert_eq!(b.slice(text), "{\"b\": [2]}");
}

#[test]
fn comments_belong_to_the_document_below_or_around_them() {
    let text = "# one\na: 1 # two\n# three\n---\n# Source: x/y.yaml\nb: 2\n";
    let comments = |index: usize| -> Vec<String> {
        let documents = all(text);
        let comments = documents[index].comments().iter();
        comments
            .map(|comment| {
                assert_eq!(comment.span.slice(text), format!("#{}", comment.text));
                comment.text.to_owned()
            })
            .collect()
    };
    assert_eq!(comments(0), [" one", " two", " three"]);
    assert_eq!(comments(1), [" Source: x/y.yaml"]);
}

#[test]
fn mistakes_in_the_syntax_are_named_and_placed() {
    for (text, expected) in [
        (
            "a: 'x\nb: 1\n",
            "2:1 a quoted string is not closed, or continues with less indentation. Look for a missing quote above (see 1:4)",
        ),
        (
            "a: [1, 2\nb: 3\n",
            "2:2 a bracket is not closed before this place (see 1:4)",
        ),
        (
            "a: b: c\n",
            "1:5 this is a second `: ` on one line, or a key at the wrong indentation. Quote a string that contains `: `",
        ),
        (
            "a: @x\n",
            "1:4 an unquoted string cannot begin with `@`. Quote it",
        ),
        (
            "a: %10\n",
            "1:4 an unquoted string cannot begin with `%`. Quote it",
        ),
        (
            "a:\n\tb: 1\n",
            "2:1 YAML allows only spaces here, not a tab. Indent with spaces",
        ),
        (
            "a:\n  b: 5\n  \tc: {}\n",
            "3:3 YAML allows only spaces here, not a tab. Indent with spaces",
        ),
        (
            "a:\n  b: 5\n\n# a\tb\n\tc: {}\n",
            "5:1 YAML allows only spaces here, not a tab. Indent with spaces",
        ),
        (
            "\ta: 1\n",
            "1:2 YAML allows only spaces here, not a tab. Indent with spaces",
        ),
        (
            "a: x\u{7}\n",
            "1:4 the character U+0007 is not allowed in a manifest",
        ),
        (
            "a: \"\\q\"\n",
            "1:4 this escape in double quotes is unknown. Write `\\\\` for a backslash, or use single quotes",
        ),
        (
            "a: {{ .Values.a }}-b\n",
            "1:19 this looks like an unrendered template. Check the output of `helm template` instead",
        ),
        (
            "a: {{ .Values.a }}\n",
            "1:5 this looks like an unrendered template. Check the output of `helm template` instead",
        ),
        (
            "{{- if .Values.a }}\na: 1\n{{- end }}\n",
            "1:3 this looks like an unrendered template. Check the output of `helm template` instead",
        ),
        (
            "a: *.example.com\n",
            "1:4 there is no anchor named \".example.com\" above. Quote the value if it should begin with `*`",
        ),
        (
            "a: .inf\n",
            "1:4 JSON has no infinity and no \"not a number\". Quote it if it should be a string. The file is rejected by kubectl",
        ),
        (
            "a: !!int x\n",
            "1:10 \"x\" is not a valid !!int. The file is rejected by kubectl",
        ),
    ] {
        let found = problems(text);
        assert_eq!(found.first().map(String::as_str), Some(expected), "{text:?}");
    }
}

#[test]
fn a_template_that_begins_as_a_mapping_is_found_behind_it() {
    for (text, line) in [
        ("{{ if .Values.a }}\na: 1\n{{ end }}\n", 1),
        ("{{/* a comment */}}\na: 1\n", 1),
        ("{{ if .Values.a }}\n{{ if .Values.b }}\na: 1\n", 2),
        ("---\n{{/* A comment: with a colon */}}\na: 1\n", 2),
        ("{{/*\nA comment: of two lines\n*/}}\na: 1\n", 1),
        ("a: 1\n---\n{{ if .Values.a }}\nb: 1\n", 3),
        ("{{ if a }}\na: 1\n{{ else }}\na: 2\n", 1),
    ] {
        let found = all(text);
        let unreadable = found.iter().find_map(Document::unreadable).unwrap();
        let is_helms = text.contains(".Values");
        assert_eq!(unreadable.kind, ProblemKind::Template { is_helms }, "{text:?}");
        let place = Lines::new(text).position(unreadable.span.start());
        assert_eq!((place.line, place.column), (line, 2), "{text:?}");
    }
    let json = all("{a: {b: {}}}\nc: 1\n");
    let unreadable = json.iter().find_map(Document::unreadable).unwrap();
    assert!(!matches!(unreadable.kind, ProblemKind::Template { .. }));
}

#[test]
fn equal_keys_are_found_after_they_are_resolved() {
    assert_eq!(
        problems("a: 1\nb: 2\na: 3\n"),
        [
            "3:1 the key \"a\" is already set. The last value counts for kubectl, and kustomize rejects the file (see 1:1)"
        ]
    );
    assert_eq!(one("a: 1\na: 3\n").into_value(), json!({"a": 3}));
    let found = problems("1: a\n'1': b\n1.0: c\n");
    let duplicates: Vec<_> = found.iter().filter(|text| text.contains("already set")).collect();
    assert_eq!(duplicates.len(), 2, "{found:?}");
    assert!(duplicates.iter().all(|text| text.ends_with("(see 1:1)")));
    assert_eq!(
        problems("spec:\n  yes: 1\n"),
        ["2:3 this key is not a string, and kubectl converts it to \"true\". Quote it"]
    );
    let document = one("1: a\n");
    assert_eq!(document.problems()[0].kind.severity(), Severity::Warning);
}

#[test]
fn keys_that_cannot_be_are_rejected() {
    for (text, expected) in [
        (
            "~: 1\n",
            "1:1 a key must not be null or empty. The file is rejected by kubectl",
        ),
        (
            "null: 1\n",
            "1:1 a key must not be null or empty. The file is rejected by kubectl",
        ),
        (
            "? [a]\n: 1\n",
            "1:3 a key must be a string, not a list or a mapping. The file is rejected by kubectl",
        ),
        (
            "18446744073709551615: 1\n",
            "1:1 a number of this size cannot be a key. Quote it. The file is rejected by kubectl",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text:?}");
    }
}

#[test]
fn merges_are_applied_where_they_stand() {
    let above = "x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3\n";
    assert_eq!(one(above).into_value()["z"], json!({"a": 1, "b": 3}));
    assert_eq!(problems(above), [] as [String; 0]);
    let below = "x: &x {a: 1, b: 2}\nz:\n  b: 3\n  <<: *x\n";
    assert_eq!(one(below).into_value()["z"], json!({"a": 1, "b": 2}));
    assert_eq!(
        problems(below),
        [
            "4:3 `<<` replaces the value of \"b\". Put `<<` first. The later value counts for kubectl, the explicit one for kustomize"
        ]
    );
    assert_eq!(problems(&below.replace("b: 3", "b: 2")), [] as [String; 0]);
    let twice = "x: &x {a: 1}\nz:\n  b: 1\n  <<: *x\n  b: 2\n";
    assert!(problems(twice)[0].starts_with("5:3 the key \"b\" is already set"));
    let none = problems("a: {<<: 5}\n");
    assert!(
        none[0].contains("the value of `<<` must be a mapping"),
        "{none:?}"
    );
}

#[test]
fn an_alias_inside_of_its_anchor_ends_there() {
    for text in [
        "a: &a [1, *a]\n",
        "a: &a {b: *a}\n",
        "a: &a {<<: *a}\n",
        "a: &a {<<: [*a, *a]}\n",
    ] {
        let document = one(text);
        assert_eq!(document.problems()[0].kind, ProblemKind::RecursiveAlias, "{text}");
    }
}

#[test]
fn problems_are_kept_up_to_a_bound_and_counted_beyond() {
    let text = "a: 1\n".repeat(5000);
    let document = one(&text);
    assert_eq!(document.problems().len(), 100);
    assert_eq!(document.omitted_problems(), 4899);
}

#[test]
fn too_many_documents_end_the_reading() {
    let limits = Limits {
        documents: 3,
        ..Limits::default()
    };
    let documents: Vec<_> = parse("a: 1\n---\na: 2\n---\na: 3\n---\na: 4\n---\na: 5\n", &limits).collect();
    assert_eq!(documents.len(), 4);
    assert_eq!(
        documents[3].problems()[0].kind,
        ProblemKind::TooManyDocuments { limit: 3 }
    );
    assert!(documents[3].problems()[0].kind.is_limit());
    let exact: Vec<_> = parse("a: 1\n---\na: 2\n---\na: 3\n", &limits).collect();
    assert!(exact.iter().all(|document| document.problems().is_empty()));
}
