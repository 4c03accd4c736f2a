//! Compares Karpenter's and poolgate's verdicts on a case.

use std::fmt::Write as _;

use poolgate_core::defaults::DefaultValue;
use poolgate_core::diagnostic::{Diagnostic, Origin, Segment, Severity};
use poolgate_core::facts::ApiVersion::{V1, V1Beta1};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Review, review};
use serde_json::Value;

use super::case::Case;
use super::judgement::{Judgement, Objection, Step, fields_behind, is_around, is_same, plain};
use super::mismatch::{Kind, Mismatch};
use super::program::{Oracle, Oracles, question};
use super::reasons::{is_together, stands_for};
use super::symptoms::{SuspectPool, symptom};

/// The result for one case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Comparison {
    /// The API server cannot decode the object or rejects its metadata, or the supposedly stored object could not
    /// have been stored.
    Unjudged,
    /// Both gave a verdict.
    Judged {
        /// Whether Karpenter's own code was run, not only the definition.
        followed: bool,
        /// The differences.
        mismatches: Vec<Mismatch>,
    },
}

/// A case while both sides check it.
struct Passage<'a> {
    case: &'a Case,
    stored: Option<Value>,
    review: Review,
    patched: Value,
}

/// The result for each case.
pub(crate) fn compare(oracles: &mut Oracles, cases: &[Case]) -> Vec<Comparison> {
    let mut compared = vec![Comparison::Unjudged; cases.len()];
    for definition in [(V1, false), (V1, true), (V1Beta1, false)] {
        let of_definition = cases
            .iter()
            .enumerate()
            .filter(|(_, case)| (case.version, case.is_behind) == definition);
        let (places, cases): (Vec<usize>, Vec<&Case>) = of_definition.unzip();
        let Some(first) = cases.first() else { continue };
        for (place, comparison) in places.into_iter().zip(compare_all(oracles.of(first), &cases)) {
            compared[place] = comparison;
        }
    }
    compared
}

fn compare_all(oracle: &mut Oracle, cases: &[&Case]) -> Vec<Comparison> {
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
    let compared = passages.into_iter().map(|passage| {
        let passage = passage?;
        let answer = answers.next().expect("an answer for each question");
        let judgement = Judgement::of(&answer);
        let judgement = if passage.case.is_behind {
            judgement.by_definition()
        } else {
            judgement
        };
        passage.compare(&judgement, oracle)
    });
    compared
        .map(|compared| compared.unwrap_or(Comparison::Unjudged))
        .collect()
}

fn judge(case: &Case, object: &Value, old: Option<&Value>) -> Review {
    let old = old.map(Json::from);
    let request = Request {
        subject: case.subject(),
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at: jiff::Timestamp::default(),
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

    /// The object that the API server continues with. An empty patch leaves it as it was decoded from the request.
    fn sent(&self) -> &Value {
        if self.review.defaults.is_empty() {
            &self.case.object
        } else {
            &self.patched
        }
    }

    fn compare(&self, judgement: &Judgement, oracle: &mut Oracle) -> Option<Comparison> {
        // Rejected whatever the kind; the API server then reports less of the rest.
        if !judgement.metadata.is_empty() {
            return None;
        }
        let mut mismatches = Vec::new();
        if let Some((step, objections)) = judgement.rejection() {
            if self.review.report.denies() {
                self.compare_reasons(step, &objections, &mut mismatches);
            } else {
                self.find_missed(step, &objections, oracle, &mut mismatches);
                self.find_spoiled(step, &objections, oracle, &mut mismatches);
            }
        }
        for finding in self.errors() {
            mismatches.extend(invented(finding, judgement));
            mismatches.extend(self.not_silent(finding, judgement));
            mismatches.extend(self.unfounded(finding, judgement, oracle));
        }
        self.compare_claims(&judgement.claim, &mut mismatches);
        // On an update, what the user wrote may differ from what is stored by defaults alone.
        if self.case.old.is_none() {
            mismatches.extend(self.views_differ(&self.case.object, Kind::ViewsDiffer));
        }
        mismatches.extend(self.views_differ(&self.patched, Kind::DefaultsDiffer));
        Some(Comparison::Judged {
            followed: judgement.followed,
            mismatches,
        })
    }

    fn findings(&self) -> &[Diagnostic] {
        self.review.report.diagnostics()
    }

    fn errors(&self) -> impl Iterator<Item = &Diagnostic> {
        self.review.report.with_severity(Severity::Error)
    }

    /// What the other side rejects and poolgate admits.
    fn find_missed(
        &self,
        step: Step,
        objections: &[Objection],
        oracle: &mut Oracle,
        mismatches: &mut Vec<Mismatch>,
    ) {
        if step != Step::Schema && self.suffers_already(step, oracle) {
            return;
        }
        for objection in objections.iter().filter(|objection| !objection.is_note()) {
            let is_forgiven = step == Step::Schema && self.forgives(objection);
            let kind = match step {
                Step::Schema if is_forgiven => Kind::RatchetStricter,
                Step::Schema => Kind::MissedSchema,
                Step::Decode => Kind::MissedDecode,
                Step::Runtime => Kind::MissedRuntime,
                Step::Harm => Kind::MissedHarm,
            };
            mismatches.push(Mismatch::theirs(kind, objection));
        }
    }

    /// What the API server rejects only because poolgate's defaults are written.
    fn find_spoiled(
        &self,
        step: Step,
        objections: &[Objection],
        oracle: &mut Oracle,
        mismatches: &mut Vec<Mismatch>,
    ) {
        if step != Step::Schema || self.review.defaults.is_empty() {
            return;
        }
        let without = question("judge", &self.case.object, self.stored.as_ref());
        let without = Judgement::of(&oracle.ask_one(without));
        if without.schema.is_empty() {
            let mismatch = |objection| Mismatch::theirs(Kind::DefaultRejected, objection);
            mismatches.extend(objections.iter().map(mismatch));
        }
    }

    /// Whether poolgate only warns of what it would deny in a new object. Whether others reject that depends on the
    /// definition at the time when it was stored.
    fn is_forgiven(&self, finding: &Diagnostic) -> bool {
        self.stored.is_some() && finding.severity == Severity::Warning && is_error(finding)
    }

    fn forgives(&self, objection: &Objection) -> bool {
        let mut forgiven = self.findings().iter().filter(|finding| self.is_forgiven(finding));
        forgiven.any(|finding| is_around(&plain(&finding.path), &objection.field))
    }

    /// Whether Karpenter has the same problem or a worse one with the stored object already: a pool that it cannot
    /// read makes all pools unreadable; a pool that it ignores does no harm.
    fn suffers_already(&self, step: Step, oracle: &mut Oracle) -> bool {
        let has_warned = self.findings().iter().any(is_error);
        let Some(stored) = self.stored.as_ref().filter(|_| has_warned) else {
            return false;
        };
        let before = Judgement::of(&oracle.ask_one(question("suffer", stored, None)));
        let before = before.rejection().map(|(before, _)| before);
        before.is_some_and(|before| before == step || before == Step::Decode)
    }

    /// Whether poolgate denies for the same reasons: for each, there is a finding at that field or around it, of
    /// the origin that the rejection proves.
    fn compare_reasons(&self, step: Step, objections: &[Objection], mismatches: &mut Vec<Mismatch>) {
        for objection in objections.iter().filter(|objection| !objection.is_note()) {
            let stands_there =
                |finding: &&Diagnostic| is_error(finding) && stands_for(finding, objection, step);
            let there: Vec<&Diagnostic> = self.findings().iter().filter(stands_there).collect();
            if there.is_empty() {
                mismatches.push(Mismatch::theirs(Kind::MissedReason, objection));
            } else if !there
                .iter()
                .any(|finding| finding.origin == step.origin() || self.is_forgiven(finding))
            {
                mismatches.push(Mismatch::both(Kind::Misclassified, there[0], objection));
            }
        }
    }

    /// A finding that claims that nothing else rejects the object, at a field that the API server rejects for no
    /// other reason that poolgate knows.
    fn not_silent(&self, finding: &Diagnostic, judgement: &Judgement) -> Option<Mismatch> {
        let is_at =
            |finding: &Diagnostic, objection: &Objection| is_same(&plain(&finding.path), &objection.field);
        let is_explained = |objection: &Objection| {
            let mut others = self.findings().iter();
            others.any(|other| other.origin == Origin::Schema && is_at(other, objection))
        };
        let objection = judgement
            .schema
            .iter()
            .find(|objection| {
                is_at(finding, objection) && !is_together(objection) && !is_explained(objection)
            })
            .filter(|_| !finding.origin.is_karpenters())?;
        Some(Mismatch::both(Kind::Misclassified, finding, objection))
    }

    /// A finding that by its origin claims that Karpenter fails, if it does not.
    fn unfounded(
        &self,
        finding: &Diagnostic,
        judgement: &Judgement,
        oracle: &mut Oracle,
    ) -> Option<Mismatch> {
        if finding.origin != Origin::Silent || !judgement.schema.is_empty() {
            return None;
        }
        let shows = symptom(finding.rule.as_str())?;
        let mut suspect = SuspectPool {
            oracle,
            object: &self.patched,
            judgement,
        };
        let is_well = shows(&mut suspect, &finding.path) == Some(false);
        is_well.then(|| Mismatch::ours(Kind::Unfounded, finding))
    }

    /// Whether there is a finding for each field because of which the API server rejects the NodeClaim.
    fn compare_claims(&self, objections: &[Objection], mismatches: &mut Vec<Mismatch>) {
        for objection in objections.iter().filter(|objection| !objection.is_note()) {
            let fields = fields_behind(&objection.field);
            let mut findings = self.findings().iter().map(|finding| plain(&finding.path));
            if !findings.any(|path| fields.iter().any(|field| is_around(field, &path))) {
                mismatches.push(Mismatch::theirs(Kind::MissedClaim, objection));
            }
        }
    }

    fn views_differ(&self, object: &Value, kind: Kind) -> Option<Mismatch> {
        let other = judge(self.case, object, self.stored.as_ref());
        if other.report.denies() == self.review.report.denies() {
            return None;
        }
        let errors = other.report.with_severity(Severity::Error).chain(self.errors());
        Some(Mismatch {
            kind,
            what: errors.map(ToString::to_string).collect::<Vec<_>>().join("\n"),
            signature: errors_of(&other, &self.review),
            ours: None,
            theirs: None,
        })
    }

    /// poolgate's findings, for a report.
    fn opinion(&self) -> String {
        let mut text = String::new();
        for finding in self.findings() {
            let _ = writeln!(text, "  {}, {:?}: {finding}", finding.severity, finding.origin);
        }
        text
    }
}

/// Whether a finding denies, even if it is tolerated here.
fn is_error(finding: &Diagnostic) -> bool {
    finding.own_severity == Severity::Error
}

/// A finding that claims that the API server or Karpenter rejects it, if they do not.
fn invented(finding: &Diagnostic, judgement: &Judgement) -> Option<Mismatch> {
    // Of several repetitions in one list the API server reports only one.
    let field = match finding.path.parent() {
        Some(list) if finding.title.contains("already in the list") => plain(&list),
        _ => plain(&finding.path),
    };
    let confirms = |objections: &[Objection]| {
        let mut objections = objections.iter().filter(|objection| !objection.is_note());
        objections.any(|objection| is_around(&field, &objection.field))
    };
    let is_invented = match finding.origin {
        // After errors in single fields the API server skips rules that concern several fields.
        Origin::Schema => !confirms(&judgement.schema) && !judgement.is_unchecked(),
        Origin::Runtime => judgement.is_validated() && !confirms(&judgement.runtime),
        Origin::Silent | Origin::Poolgate => false,
    };
    is_invented.then(|| Mismatch::ours(Kind::Invented, finding))
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

/// poolgate's findings on a case on a server, for a report.
pub(crate) fn opinion(oracles: &mut Oracles, case: &Case) -> String {
    let answer = oracles
        .of(case)
        .ask_one(question("admit", &case.object, case.old.as_ref()))
        .given();
    Passage::begin(case, &answer).map_or_else(String::new, |passage| passage.opinion())
}

/// Writes a default as the API server would.
fn write(object: &mut Value, default: &DefaultValue) {
    let mut place = object;
    for segment in default.path.segments() {
        let Segment::Key(key) = segment else {
            panic!("no default is in a list")
        };
        let parent = place.as_object_mut().expect("a default's parent is an object");
        place = parent.entry(key.to_string()).or_insert(Value::Null);
    }
    *place = default.value.clone();
}
