//! What Karpenter and poolgate make of a case, held against each other.

use std::fmt::Write as _;

use poolgate_core::defaults::DefaultValue;
use poolgate_core::diagnostic::{Diagnostic, Segment, Severity};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Review, review};
use poolgate_core::rules;
use serde::Deserialize;
use serde_json::{Value, json};

use super::case::Case;
use super::program::{Answer, Oracle};

/// A difference that one of the two has to answer for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    pub(crate) kind: Kind,
    /// What Karpenter says, or the rule of poolgate that is alone with its opinion.
    pub(crate) what: String,
    /// The same without what differs from object to object.
    pub(crate) signature: String,
}

/// Who says what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The API server refuses by the definition, poolgate accepts.
    MissedSchema,
    /// Karpenter cannot read what is stored, poolgate accepts.
    MissedDecode,
    /// Karpenter sets the pool aside, poolgate accepts.
    MissedRuntime,
    /// Karpenter hangs or dies, poolgate accepts.
    MissedHarm,
    /// The API server refuses the NodeClaim that Karpenter makes of the pool, poolgate says nothing at all.
    MissedClaim,
    /// The API server holds against an update what poolgate forgives it as stored already.
    RatchetStricter,
    /// A rule that claims to repeat the definition or Karpenter refuses what both take.
    Invented,
    /// poolgate judges what the user wrote and what the API server made of it differently.
    ViewsDiffer,
    /// poolgate judges an object with its own defaults differently.
    DefaultsDiffer,
}

/// What `judge` answers, and of an object that is stored `suffer`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Judgement {
    metadata: Vec<Finding>,
    schema: Vec<Finding>,
    decode: Option<String>,
    runtime: Option<String>,
    launch: Option<String>,
    claim: Vec<Finding>,
}

#[derive(Debug, Default, Deserialize)]
struct Finding {
    field: String,
    detail: String,
}

impl Judgement {
    /// What was answered; nothing where the oracle did not survive the question.
    fn of(answer: &Answer) -> Self {
        match answer {
            Answer::Given(answer) => Self::deserialize(answer).expect("judge answers as documented"),
            Answer::Harmed(_) => Self::default(),
        }
    }
}

/// A case on its way through both.
struct Passage<'a> {
    case: &'a Case,
    stored: Option<Value>,
    review: Review,
    patched: Value,
}

/// The differences in each case. None where the API server cannot even decode the object or refuses its metadata,
/// and where what it is said to have stored before cannot have come there.
pub(crate) fn mismatches(oracle: &mut Oracle, cases: &[Case]) -> Vec<Option<Vec<Mismatch>>> {
    let questions: Vec<Value> = cases
        .iter()
        .map(|case| question("admit", &case.object, case.old.as_ref()))
        .collect();
    let passages: Vec<Option<Passage<'_>>> = cases
        .iter()
        .zip(oracle.ask(&questions))
        .map(|(case, answer)| Passage::begin(case, &answer.given()))
        .collect();
    let questions: Vec<Value> = passages
        .iter()
        .flatten()
        .map(|passage| question("judge", passage.sent(), passage.stored.as_ref()))
        .collect();
    let mut answers = oracle.ask(&questions).into_iter();
    passages
        .into_iter()
        .map(|passage| {
            let passage = passage?;
            let answer = answers.next().expect("an answer for each question");
            passage.compare(&answer, oracle)
        })
        .collect()
}

fn question(kind: &str, object: &Value, old: Option<&Value>) -> Value {
    let mut question = json!({"kind": kind, "object": object});
    if let Some(old) = old {
        question["old"] = old.clone();
    }
    question
}

fn judge(case: &Case, object: &Value, old: Option<&Value>) -> Review {
    let request = Request {
        subject: case.subject(),
        object,
        old,
        claims: None,
    };
    review(&request, &Policy::default(), &case.release().into())
}

impl<'a> Passage<'a> {
    fn begin(case: &'a Case, answer: &Value) -> Option<Self> {
        let incoming = answer.get("incoming")?.clone();
        let stored = answer.get("stored").cloned();
        let review = judge(case, &incoming, stored.as_ref());
        let mut patched = incoming;
        for default in &review.defaults {
            write(&mut patched, default);
        }
        Some(Self {
            case,
            stored,
            review,
            patched,
        })
    }

    /// What the API server goes on with. An empty patch leaves its object as it was decoded from the request.
    fn sent(&self) -> &Value {
        if self.review.defaults.is_empty() {
            &self.case.object
        } else {
            &self.patched
        }
    }

    fn compare(&self, answer: &Answer, oracle: &mut Oracle) -> Option<Vec<Mismatch>> {
        let judgement = Judgement::of(answer);
        // Refused whatever the kind; the API server then says less of the rest.
        if !judgement.metadata.is_empty() {
            return None;
        }
        let (karpenter, claim) = verdict(answer);
        let refuses = self.review.report.refuses();
        let mut found = Vec::new();
        match karpenter {
            Some(missed) if !refuses => found.extend(self.unforgiven(missed, answer, oracle)),
            None if refuses => found.extend(self.errors().filter_map(invented)),
            _ => {}
        }
        let is_silent = self.review.report.diagnostics().is_empty();
        found.extend(claim.filter(|_| is_silent));
        // On an update, what the user wrote may differ from what is stored merely by defaults.
        if self.case.old.is_none() {
            found.extend(self.views_differ(&self.case.object, Kind::ViewsDiffer));
        }
        found.extend(self.views_differ(&self.patched, Kind::DefaultsDiffer));
        Some(found)
    }

    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.review.report.with_severity(Severity::Error)
    }

    /// What is left of a missed refusal of an update that leaves the mistake alone, of which poolgate warns.
    fn unforgiven(&self, missed: Mismatch, answer: &Answer, oracle: &mut Oracle) -> Option<Mismatch> {
        let forgiven: Vec<String> = self
            .review
            .report
            .with_severity(Severity::Warning)
            .filter(|finding| {
                rules::find(finding.rule.as_str()).is_some_and(|rule| rule.severity == Severity::Error)
            })
            .map(|finding| finding.path.to_string())
            .collect();
        let Some(stored) = self.stored.as_ref().filter(|_| !forgiven.is_empty()) else {
            return Some(missed);
        };
        if missed.kind == Kind::MissedSchema {
            let is_warned = Judgement::of(answer).schema.iter().all(|found| {
                found.detail.contains("some validation rules were not checked")
                    || forgiven.iter().any(|path| is_around(path, &found.field))
            });
            return Some(if is_warned {
                Mismatch {
                    kind: Kind::RatchetStricter,
                    ..missed
                }
            } else {
                missed
            });
        }
        // Karpenter suffers from the stored object already, and no less.
        let before = verdict(&oracle.ask_one(question("suffer", stored, None))).0;
        before
            .is_none_or(|before| !is_as_bad(before.kind, missed.kind))
            .then_some(missed)
    }

    fn views_differ(&self, object: &Value, kind: Kind) -> Option<Mismatch> {
        let other = judge(self.case, object, self.stored.as_ref());
        if other.report.refuses() == self.review.report.refuses() {
            return None;
        }
        let errors = other.report.with_severity(Severity::Error).chain(self.errors());
        Some(Mismatch {
            kind,
            what: errors.map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            signature: errors_of(&other, &self.review),
        })
    }

    /// What poolgate has to say, for a report.
    fn opinion(&self) -> String {
        let mut text = String::new();
        for finding in self.review.report.diagnostics() {
            let _ = writeln!(text, "  {}: {finding}", finding.severity);
        }
        text
    }
}

/// Whether Karpenter suffers from what is stored at least as it will: of a pool that it cannot read, it reads no other
/// either; one that it sets aside harms nobody.
fn is_as_bad(before: Kind, after: Kind) -> bool {
    before == after || before == Kind::MissedDecode
}

fn errors_of(one: &Review, other: &Review) -> String {
    let mut rules: Vec<&str> = [one, other]
        .iter()
        .flat_map(|review| review.report.with_severity(Severity::Error))
        .map(|finding| finding.rule.as_str())
        .collect();
    rules.sort_unstable();
    rules.dedup();
    rules.join(" ")
}

/// What poolgate says of a case on a server, for a report.
pub(crate) fn opinion(oracle: &mut Oracle, case: &Case) -> String {
    let answer = oracle
        .ask_one(question("admit", &case.object, case.old.as_ref()))
        .given();
    Passage::begin(case, &answer).map_or_else(String::new, |passage| passage.opinion())
}

/// Whether one of two fields is within the other, or both are one.
fn is_around(one: &str, other: &str) -> bool {
    let steps = |path: &str| -> Vec<String> {
        path.split(['.', '[', ']'])
            .filter(|step| !step.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (one, other) = (steps(one), steps(other));
    one.starts_with(&other) || other.starts_with(&one)
}

/// Why Karpenter or the API server refuses, and why they refuse the NodeClaim, where they do.
fn verdict(answer: &Answer) -> (Option<Mismatch>, Option<Mismatch>) {
    let judgement: Judgement = match answer {
        Answer::Given(_) => Judgement::of(answer),
        Answer::Harmed(why) => return (Some(missed(Kind::MissedHarm, "", why)), None),
    };
    let listed = |kind, findings: &[Finding]| {
        let first = findings.first()?;
        let all: Vec<String> = findings
            .iter()
            .map(|found| format!("{}: {}", found.field, found.detail))
            .collect();
        Some(Mismatch {
            what: all.join("\n"),
            ..missed(kind, &first.field, &first.detail)
        })
    };
    let said = |kind, text: &Option<String>| text.as_ref().map(|text| missed(kind, "", text));
    let karpenter = listed(Kind::MissedSchema, &judgement.schema)
        .or_else(|| said(Kind::MissedDecode, &judgement.decode))
        .or_else(|| said(Kind::MissedRuntime, &judgement.runtime))
        .or_else(|| said(Kind::MissedHarm, &judgement.launch));
    (karpenter, listed(Kind::MissedClaim, &judgement.claim))
}

fn missed(kind: Kind, field: &str, what: &str) -> Mismatch {
    Mismatch {
        kind,
        what: what.to_owned(),
        signature: format!("{} {}", place(field), without_particulars(what)),
    }
}

/// The finding where its rule claims that somebody else refuses too.
fn invented(finding: &Diagnostic) -> Option<Mismatch> {
    finding.origin.is_karpenters().then(|| Mismatch {
        kind: Kind::Invented,
        what: finding.to_string(),
        signature: finding.rule.to_string(),
    })
}

/// A field without the keys of maps and the places in lists.
fn place(field: &str) -> String {
    let map = ["labels.", "annotations.", "limits."]
        .iter()
        .find_map(|map| Some(field.find(map)? + map.len()));
    let general = map.and_then(|end| field.get(..end)).unwrap_or(field);
    general.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// The words of a text that are words, without what stands in quotes; as much as a sentence.
fn without_particulars(text: &str) -> String {
    let mut kept = String::new();
    let unquoted = text
        .split(['"', '\''])
        .step_by(2)
        .flat_map(|part| part.split([' ', ',']));
    for word in unquoted {
        let is_word = word
            .chars()
            .all(|c| c.is_ascii_alphabetic() || ".:[]()'=".contains(c));
        if is_word && !word.is_empty() && kept.len() < 80 {
            kept.push_str(word);
            kept.push(' ');
        }
    }
    kept
}

/// Puts a default where the API server would put it.
fn write(object: &mut Value, default: &DefaultValue) {
    let mut place = object;
    for segment in default.path.segments() {
        let Segment::Key(key) = segment else {
            panic!("no default stands in a list")
        };
        let parent = place.as_object_mut().expect("a default's parent is an object");
        place = parent.entry(key.to_string()).or_insert(Value::Null);
    }
    *place = default.value.clone();
}
