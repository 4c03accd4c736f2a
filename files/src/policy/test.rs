//! `poolgate policy test`: runs the cases of an organisation for its policy.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use poolgate_core::diagnostic::{Diagnostic, Severity, counted};
use poolgate_core::facts::{ReleaseSource, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::manifest::{Limits, Lines};
use poolgate_core::policy::Policy;
use poolgate_core::policy_file::{Case, CaseObject, Expected, PolicyTest, parse_policy_test};
use poolgate_core::review::{Request, Subject, review_file};
use serde_json::Value;

use super::{FOUND, UNREADABLE};
use crate::format::summary;
use crate::format::tally::Count;
use crate::input::{InputArgs, Manifests, Project, Unread};
use crate::sources::{Input, Source, Written};
use crate::terminal;

/// Without this text a file has no cases.
const MARK: &str = "PolicyTest";

/// The results of all cases.
#[derive(Debug, Default)]
pub struct Results {
    pub output: String,
    cases: usize,
    failed: usize,
    unreadable: usize,
    /// The release of cases for which none is named, in words.
    assumed: Option<String>,
}

impl Results {
    /// The exit code: 1 if a case failed, 2 if a file could not be read or there is no case.
    pub fn code(&self) -> u8 {
        if self.unreadable > 0 || self.cases == 0 {
            UNREADABLE
        } else if self.failed > 0 {
            FOUND
        } else {
            0
        }
    }
}

/// Runs the cases in these files, and in the files of these folders.
pub fn run(paths: &[PathBuf], args: &InputArgs) -> anyhow::Result<Results> {
    let manifests = args.manifests(paths, &Written::stdout())?;
    let named = args.names_policy().then(|| manifests.projects.elsewhere());
    let run = Run {
        manifests: &manifests,
        named,
    };
    let mut results = Results::default();
    let mut skipped = manifests.skipped();
    for input in &manifests.inputs {
        match manifests.read(input) {
            Ok(source) if source.text.contains(MARK) => results.file(input, &source.text, &run),
            Ok(_) => {}
            Err(Unread::NotText(_)) => skipped.add(Count::NotText, 1),
            Err(Unread::Failed(error)) => results.unreadable(&format!("{}: {error}", input.name)),
        }
    }
    if let Some(skipped) = summary::skipped(&skipped) {
        terminal::remark(&skipped);
    }
    let Results { cases, failed, .. } = results;
    let assumed = results.assumed.as_ref();
    let assumed =
        assumed.map(|called| format!(", for Karpenter {called} (assumed; set karpenter in the file)"));
    let assumed = assumed.unwrap_or_default();
    let _ = match (cases, failed) {
        (0, _) if results.unreadable > 0 => Ok(()),
        (0, _) => writeln!(results.output, "no cases found. A file of cases has kind: {MARK}"),
        (cases, 0) => writeln!(results.output, "{} passed{assumed}", counted(cases, "case")),
        (cases, failed) => writeln!(
            results.output,
            "{failed} of {} failed{assumed}",
            counted(cases, "case")
        ),
    };
    Ok(results)
}

/// What all cases share.
struct Run<'r> {
    manifests: &'r Manifests,
    /// The project of all cases, if the user names it.
    named: Option<&'r Project>,
}

impl Results {
    fn unreadable(&mut self, error: &str) {
        self.unreadable += 1;
        terminal::remark(&format!("error: {error}"));
    }

    fn file(&mut self, input: &Input, text: &str, run: &Run<'_>) {
        let name = &*input.name;
        let parsed = match parse_policy_test(text) {
            Ok(parsed) => parsed,
            Err(mistakes) => {
                for mistake in &mistakes.shown {
                    self.unreadable(&format!("{name}:{mistake}"));
                }
                return;
            }
        };
        let own;
        let project = match run.named {
            Some(named) => named,
            None => match run.manifests.projects.read(&input.folder().join(&parsed.policy)) {
                Ok(read) => {
                    own = read;
                    &own
                }
                Err(error) => {
                    self.unreadable(&format!("{name}: {}", terminal::with_causes(&error)));
                    return;
                }
            },
        };
        let of_run = &run.manifests.karpenter;
        let of_file = parsed.karpenter.map(TargetKarpenter::from);
        let of_file = of_file.filter(|_| of_run.source() == ReleaseSource::Newest);
        let karpenter = project.karpenter(of_file.as_ref().unwrap_or(of_run));
        if let Some(caution) = karpenter.caution() {
            terminal::remark(&format!("{name}: {caution}"));
        }
        for case in &parsed.cases {
            self.case((input, run), (&parsed, case), (&project.policy, karpenter));
        }
    }

    fn case(
        &mut self,
        (input, run): (&Input, &Run<'_>),
        (test, case): (&PolicyTest, &Case),
        by: (&Policy, &TargetKarpenter),
    ) {
        let karpenter = by.1;
        if karpenter.is_assumed() {
            self.assumed = Some(karpenter.called());
        }
        let (name, position) = (&input.name, case.position);
        let faults = match object_of(case, input.folder(), run.manifests) {
            Ok(object) => faults(&object, test, case, by),
            Err(error) => return self.unreadable(&format!("{name}:{position}: {error}")),
        };
        self.cases += 1;
        if faults.is_empty() {
            return;
        }
        self.failed += 1;
        let _ = writeln!(self.output, "{name}:{position}: {}", terminal::clean(&case.name));
        for fault in faults {
            let _ = writeln!(self.output, "  {}", terminal::clean(&fault));
        }
    }
}

fn object_of(case: &Case, folder: &Path, manifests: &Manifests) -> Result<Value, String> {
    let file = match &case.object {
        CaseObject::Inline(object) => return Ok(object.clone()),
        CaseObject::File(file) => folder.join(file),
    };
    let input = Input {
        name: terminal::clean(&file.display().to_string()),
        source: Source::File(file),
        is_named: true,
    };
    let name = &input.name;
    let source = match manifests.read(&input) {
        Ok(source) => source,
        Err(Unread::Failed(error)) => return Err(format!("{name} {error}")),
        Err(Unread::NotText(_)) => return Err(format!("{name} is no text")),
    };
    let lines = Lines::new(&source.text);
    let mut objects = Vec::new();
    for document in source.documents(&Limits::default()) {
        if let Some((offset, why)) = document.unread() {
            return Err(format!("{name}:{}: {why}", lines.position(offset)));
        }
        for found in document.objects() {
            if let Some(reason) = document.left(found.object.value) {
                let position = lines.position(found.span.start());
                return Err(format!("{name}:{position}: the object is not known: {reason}"));
            }
            objects.push(Value::from(found.object.value));
        }
    }
    match <[Value; 1]>::try_from(objects) {
        Ok([object]) => Ok(object),
        Err(objects) => Err(format!(
            "{name} contains {} objects, but a case needs exactly one",
            objects.len()
        )),
    }
}

/// The expected findings that are missing, and the errors that are not expected.
fn faults(
    object: &Value,
    test: &PolicyTest,
    case: &Case,
    (policy, karpenter): (&Policy, &TargetKarpenter),
) -> Vec<String> {
    let field = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = field("apiVersion").split_once('/').unwrap_or_default();
    let Some(subject) = Subject::from_kind(group, version, field("kind")) else {
        return vec!["the object is not a NodePool or NodeClaim of karpenter.sh/v1 or v1beta1".into()];
    };
    let day = test.at.and_then(|day| day.to_zoned(TimeZone::UTC).ok());
    let old = case.old.as_ref().map(Json::from);
    let request = Request {
        subject,
        object: &Json::from(object),
        old: old.as_ref(),
        claims: None,
        at: day.map_or_else(Timestamp::now, |day| day.timestamp()),
    };
    let report = review_file(&request, policy, karpenter).report;
    let found = report.diagnostics();
    let missing = case
        .expect
        .iter()
        .filter(|expected| !found.iter().any(|one| is(expected, one)));
    let missing = missing.map(|expected| {
        let path = expected
            .path
            .as_ref()
            .map(|path| format!(" at {path}"))
            .unwrap_or_default();
        format!(
            "expected, not found: {} [{}]{path}",
            expected.severity, expected.rule
        )
    });
    let errors = report.with_severity(Severity::Error);
    let more = errors.filter(|one| !case.expect.iter().any(|expected| is(expected, one)));
    missing
        .chain(more.map(|one| format!("found, not expected: {}: {one}", one.severity)))
        .collect()
}

fn is(expected: &Expected, found: &Diagnostic) -> bool {
    expected.rule == found.rule.as_str()
        && expected.severity == found.severity
        && expected
            .path
            .as_ref()
            .is_none_or(|path| *path == found.path.to_string())
}
