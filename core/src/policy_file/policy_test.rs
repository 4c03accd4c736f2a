//! Cases for a policy: objects and their expected findings.

use serde_json::Value;

use super::document::{File, Mistakes};
use super::policy::{RULE, read_head};
use crate::diagnostic::{FieldPath, Severity};
use crate::facts::KarpenterVersion;
use crate::manifest::Position;
use crate::policy::Level;
use crate::policy::kinds::{Anything, List, word};
use crate::policy::record::{At, Fields, Found, Record, object};
use crate::policy::texts::{DATE, FREE_TEXT, RELEASE};

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
    /// Its name.
    pub name: String,
    /// The object.
    pub object: CaseObject,
    /// The stored object that it replaces.
    pub old: Option<Value>,
    /// The expected findings.
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
    let (mut read, file) = File::read::<PolicyTest>(text, "PolicyTest", "test of a policy")?;
    file.none_wrong(Found::default())?;
    for (number, case) in read.cases.iter_mut().enumerate() {
        case.position = file.position(&FieldPath::of(&["cases"]).index(number), At::Value);
    }
    Ok(read)
}

impl Record for PolicyTest {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let called = "The name of this file. poolgate ignores it.";
        let head = read_head(fields, &["PolicyTest"], called);
        let about = "The policy file, relative to the folder of this file.";
        let policy = fields.required("policy", &FREE_TEXT, about);
        let about = "The Karpenter release. Default: the newest known.";
        let karpenter = fields.optional("karpenterVersion", &RELEASE, about);
        let about = "The day on which the cases are reviewed, in UTC. Default: today.";
        let at = fields.optional("at", &DATE, about);
        let cases = fields.required("cases", &List(1, object()), "The cases.");
        head?;
        Some(Self {
            policy: policy?,
            karpenter,
            at,
            cases: cases?,
        })
    }
}

impl Record for Case {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let name = fields.required("name", &FREE_TEXT, "The name of the case.");
        let about = "The NodePool or NodeClaim.";
        let object_here = fields.optional("object", &Anything, about);
        let about = "A file with only this object, relative to the folder of this file.";
        let file = fields.optional("file", &FREE_TEXT, about);
        let about = "The stored object that it replaces. Default: the object is new.";
        let old = fields.optional("old", &Anything, about);
        let about = "The expected findings. An error that is not listed fails the case. An empty list expects that the object is \
                     admitted.";
        let expect = fields.required("expect", &List(0, object()), about);
        match (fields.has("object"), fields.has("file")) {
            (true, true) => {
                let wrong = "a case must not have both object and file";
                fields.report(Some("file"), At::Key, wrong, "remove one of them");
            }
            (false, false) => fields.report(
                None,
                At::Value,
                "a case must have an object",
                "add object or file",
            ),
            _ => {}
        }
        Some(Self {
            position: Position { line: 1, column: 1 },
            name: name?,
            object: object_here
                .map(CaseObject::Inline)
                .or(file.map(CaseObject::File))?,
            old,
            expect: expect?,
        })
    }
}

impl Record for Expected {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let rule = fields.required("rule", &RULE, "The rule.");
        let levels = word(&["error", "warning", "note"], |level| {
            match Level::parse(level)? {
                Level::Severity(severity) => Some(severity),
                Level::Off => None,
            }
        });
        let severity = fields.optional("severity", &levels, "The severity. Default: error.");
        let about = "The field, as findings name it. Default: any.";
        let path = fields.optional("path", &FREE_TEXT, about);
        Some(Self {
            rule: rule?.as_str().to_owned(),
            severity: severity.unwrap_or(Severity::Error),
            path,
        })
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
            ["5:3: a case must have an object. Add object or file"]
        );
        assert_eq!(
            mistakes("cases:\n- {name: a, object: {}, file: a.yaml, expect: []}\n"),
            ["5:25: a case must not have both object and file. Remove one of them"]
        );
        assert_eq!(
            mistakes("cases:\n- {name: a, object: {}, expects: []}\n"),
            [
                "5:3: expect is missing. Add it: The expected findings. An error that is not listed fails the case. An empty list expects that the object is admitted",
                "5:25: there is no field \"expects\". Did you mean expect?"
            ]
        );
        assert_eq!(
            mistakes("cases: []\n"),
            ["4:8: the list is empty. Write at least one element, or remove the list"]
        );
    }
}
