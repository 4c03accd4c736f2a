//! Cases for a policy: objects, and what must be found in each.

use serde_json::Value;

use super::decode::Cursor;
use super::fields::POLICY_TEST;
use super::mistakes::{At, Found, Mistakes};
use super::read::CheckedFile;
use crate::diagnostic::{FieldPath, Severity};
use crate::karpenter::KarpenterVersion;
use crate::manifest::Position;

/// A file of cases.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyTest {
    /// The file of the policy.
    pub policy: String,
    /// The Karpenter release, if the file names one.
    pub karpenter: Option<KarpenterVersion>,
    /// The day (UTC) on which the cases are reviewed, if the file names one.
    pub at: Option<jiff::civil::Date>,
    /// The cases, in their order.
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Where it begins.
    pub position: Position,
    /// What it shows.
    pub name: String,
    /// The object.
    pub object: CaseObject,
    /// The stored object that it replaces.
    pub old: Option<Value>,
    /// What must be found in it.
    pub expect: Vec<Expected>,
}

/// Where the object of a case is.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseObject {
    /// Here.
    Inline(Value),
    /// In a file of this name.
    File(String),
}

/// A finding that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The rule.
    pub rule: String,
    /// Its severity.
    pub severity: Severity,
    /// The field, as findings name it; `None` for any.
    pub path: Option<String>,
}

/// Reads a file of cases: exactly one document, with no field that poolgate does not know.
pub fn parse_policy_test(text: &str) -> Result<PolicyTest, Mistakes> {
    let checked = CheckedFile::read(text, &POLICY_TEST, "test of a policy")?;
    let root = Cursor::root(&checked.value);
    let mut found = Found::default();
    let mut cases = Vec::new();
    for (number, case) in root.at("cases").elements().enumerate() {
        let path = FieldPath::of(&["cases"]).index(number);
        let object = match (case.at("object").value(), case.at("file").owned()) {
            (Some(object), None) => CaseObject::Inline(object.clone()),
            (None, Some(file)) => CaseObject::File(file),
            (Some(_), Some(_)) => {
                let wrong = "the case has an object and names a file";
                found.push(&path.key("file"), At::Key, wrong, Some("remove one of them"));
                continue;
            }
            (None, None) => {
                found.push(
                    &path,
                    At::Value,
                    "the case has no object",
                    Some("add object, or file"),
                );
                continue;
            }
        };
        let span = checked.document.span_of(&path);
        cases.push(Case {
            position: checked
                .lines
                .position(span.map_or(0, crate::manifest::Span::start)),
            name: case.at("name").owned().unwrap_or_default(),
            object,
            old: case.at("old").value().cloned(),
            expect: case.at("expect").elements().map(expected).collect(),
        });
    }
    checked.none_wrong(found)?;
    Ok(PolicyTest {
        policy: root.at("policy").owned().unwrap_or_default(),
        karpenter: root
            .at("karpenterVersion")
            .text()
            .and_then(|text| text.parse().ok()),
        at: root.at("at").text().and_then(|text| text.parse().ok()),
        cases,
    })
}

fn expected(value: Cursor<'_>) -> Expected {
    Expected {
        rule: value.at("rule").owned().unwrap_or_default(),
        severity: match value.at("severity").text() {
            Some("warning") => Severity::Warning,
            Some("info") => Severity::Info,
            _ => Severity::Error,
        },
        path: value.at("path").owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: poolgate.dev/v1alpha1\nkind: PolicyTest\npolicy: policy.yaml\n";

    fn mistakes(cases: &str) -> Vec<String> {
        let read = parse_policy_test(&format!("{HEAD}{cases}"));
        let mistakes = read.expect_err("mistakes").shown;
        mistakes.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cases_are_read_with_their_places() {
        let cases = "cases:\n- name: a\n  object: {kind: NodePool}\n  expect: [{rule: weight}]\n- name: b\n  file: b.yaml\n  expect: []\n";
        let read = parse_policy_test(&format!("{HEAD}{cases}")).expect("cases");
        let [first, second] = &read.cases[..] else {
            panic!("{read:?}");
        };
        assert_eq!((first.position.line, second.position.line), (5, 8));
        let expected = Expected {
            rule: "weight".into(),
            severity: Severity::Error,
            path: None,
        };
        assert_eq!(first.expect, [expected]);
        assert_eq!(second.object, CaseObject::File("b.yaml".into()));
    }

    #[test]
    fn a_case_has_one_object_and_no_field_that_is_not_known() {
        assert_eq!(
            mistakes("cases:\n- name: a\n  expect: []\n"),
            ["5:3: the case has no object; add object, or file"]
        );
        assert_eq!(
            mistakes("cases:\n- {name: a, object: {}, file: a.yaml, expect: []}\n"),
            ["5:25: the case has an object and names a file; remove one of them"]
        );
        assert_eq!(
            mistakes("cases:\n- {name: a, object: {}, expects: []}\n"),
            [
                "5:3: expect is missing; add it: What must be found. An error that is not listed here fails the case; an empty list says that it is admitted",
                "5:25: there is no field \"expects\"; did you mean expect?"
            ]
        );
        assert_eq!(
            mistakes("cases: []\n"),
            ["4:8: the list is empty; write at least one, or leave the list out"]
        );
    }
}
