//! `poolgate policy test`: runs the cases of an organisation for its policy.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use poolgate_core::diagnostic::{Diagnostic, Severity, counted};
use poolgate_core::facts::TargetKarpenter;
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Limits};
use poolgate_core::policy::Policy;
use poolgate_core::policy_file::{Case, CaseObject, Expected, MAX_BYTES, PolicyTest, parse_policy_test};
use poolgate_core::review::{Request, Subject, review_file};
use serde_json::Value;

use super::{FOUND, UNREADABLE};
use crate::policy_file::{self, placed};
use crate::review_args::CrdArg;
use crate::sources::{self, Excluded, Source, read_bytes};
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
pub fn run(paths: &[PathBuf], crd: &CrdArg) -> Results {
    let mut results = Results::default();
    for input in &sources::find(paths, None, &Excluded::nothing()).files {
        match (&input.source, input.read()) {
            (Source::File(path), Ok(text)) if text.contains(MARK) => results.file(path, &text, crd),
            (_, Ok(_)) => {}
            (_, Err(error)) => results.unreadable(&format!("{}: {error}", input.name)),
        }
    }
    let Results { cases, failed, .. } = results;
    let assumed = results.assumed.as_ref();
    let assumed =
        assumed.map(|called| format!(", for Karpenter {called} (assumed; set karpenter in the file)"));
    let assumed = assumed.unwrap_or_default();
    let _ = match (cases, failed) {
        (0, _) => writeln!(results.output, "no cases found. A file of cases has kind: {MARK}"),
        (cases, 0) => writeln!(results.output, "{} passed{assumed}", counted(cases, "case")),
        (cases, failed) => writeln!(
            results.output,
            "{failed} of {} failed{assumed}",
            counted(cases, "case")
        ),
    };
    results
}

impl Results {
    fn unreadable(&mut self, error: &str) {
        self.unreadable += 1;
        terminal::remark(&format!("error: {error}"));
    }

    fn file(&mut self, path: &Path, text: &str, crd: &CrdArg) {
        let parsed = match parse_policy_test(text) {
            Ok(parsed) => parsed,
            Err(mistakes) => {
                for mistake in &mistakes.shown {
                    self.unreadable(&placed(path, mistake));
                }
                return;
            }
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        match policy_file::load(&folder.join(&parsed.policy)) {
            Ok(read) => {
                let named = parsed.karpenter.map(TargetKarpenter::from);
                let karpenter = crd.of(named.or_else(|| read.policy.cluster.target()).unwrap_or_default());
                if let Some(caution) = karpenter.caution() {
                    terminal::remark(&format!("{}: {caution}", path.display()));
                }
                for case in &parsed.cases {
                    self.case(path, (&parsed, case), (&read.policy, &karpenter));
                }
            }
            Err(error) => self.unreadable(&format!("{}: {error}", path.display())),
        }
    }

    fn case(&mut self, path: &Path, (test, case): (&PolicyTest, &Case), by: (&Policy, &TargetKarpenter)) {
        self.cases += 1;
        let karpenter = by.1;
        if karpenter.is_assumed() {
            self.assumed = Some(karpenter.called());
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let faults = match object_of(case, folder) {
            Ok(object) => faults(&object, test, case, by),
            Err(error) => vec![error],
        };
        if faults.is_empty() {
            return;
        }
        self.failed += 1;
        let (name, position) = (path.display(), case.position);
        let _ = writeln!(self.output, "{name}:{position}: {}", terminal::clean(&case.name));
        for fault in faults {
            let _ = writeln!(self.output, "  {}", terminal::clean(&fault));
        }
    }
}

fn object_of(case: &Case, folder: &Path) -> Result<Value, String> {
    let file = match &case.object {
        CaseObject::Inline(object) => return Ok(object.clone()),
        CaseObject::File(file) => folder.join(file),
    };
    let name = file.display();
    let bytes = read_bytes(&file, MAX_BYTES).map_err(|error| format!("{name} cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| format!("{name} cannot be read: {error}"))?;
    let mut documents = manifest::parse(&text, &Limits::default());
    let objects: Vec<Value> = documents
        .by_ref()
        .map(manifest::Document::into_value)
        .filter(|value| !value.is_null())
        .collect();
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
