//! `poolgate lint`: checks manifests as the webhook would, and shows each finding at the place of the mistake in
//! the text.
//!
//! The verdict is that of `poolgate_core::review::review`, nothing else. Does not depend on HTTP.

mod args;
mod baseline;
mod check;
mod comments;
mod diagnosed;
mod finding;
mod fix;
mod format;
mod from_cluster;
mod json;
mod misnamed;
mod note;
mod notes;
mod output;
mod parallel;
mod policy_report;
mod problem_rules;
mod rendered;
mod review_fixes;
mod selection;
mod settings;
mod source_range;
mod subjects;
mod suppress;
mod tally;
mod together;
mod unserved;
mod variables;

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use poolgate_core::diagnostic::{FieldPath, Severity};
use serde_json::Value;

pub use args::LintArgs;

use crate::cluster::Connect;
use crate::files::{self, Excluded, Input, Inputs, Patches, Source};
use crate::review_args::Policies;
use crate::text_rules;
use args::FailOn;
use baseline::{Baseline, BaselineEntry, NewBaseline};
use check::{Manifest, check};
use finding::Finding;
use fix::TextEdit;
use format::{FileReport, Printer, RulePages};
use output::Outputs;
use policy_report::{ReportApi, StoredPool};
use settings::Settings;
use source_range::SourceRange;
use tally::Tally;
use together::{Objects, Together};

/// Exit code if there are findings that make the run fail.
const FOUND: u8 = 1;
/// Exit code if something was not read, so that it was not checked.
const UNREADABLE: u8 = 2;
/// How often a fixed text is checked again for more to fix.
const MAX_ROUNDS: usize = 20;

/// The result of one input.
struct LintOutcome {
    /// Its findings as each output prints them.
    printed: Vec<String>,
    /// Findings that are reported once in a run, with their rule.
    once: Vec<(&'static str, Vec<String>)>,
    tally: Tally,
    /// Messages besides the findings, one line each.
    remarks: Vec<String>,
    /// The entries for a new baseline.
    entries: Vec<BaselineEntry>,
    /// The stored pool that it is, with the results for its policy report.
    reported: Option<(StoredPool, Vec<Value>)>,
}

/// A text with its findings.
#[derive(Default)]
struct Reading {
    text: String,
    findings: Vec<Finding>,
    tally: Tally,
}

/// How each input is checked.
struct LintRun<'a> {
    settings: Settings,
    policies: Policies,
    printers: Vec<Printer<'a>>,
    baseline: Baseline,
    patches: Patches,
    together: Together,
    /// The stored pools, by the names of their inputs, if reports on them are written.
    stored: HashMap<String, StoredPool>,
    args: &'a LintArgs,
}

/// Runs the command. A closed pipe is not a failure: the exit code still gives the verdict.
pub fn run(args: &LintArgs, connect: Connect) -> anyhow::Result<ExitCode> {
    if args.writes_fixes() && args.paths.iter().any(|path| path.as_os_str() == "-") {
        bail!("--fix changes files, not standard input: name the files");
    }
    let mut outputs = Outputs::new(&args.formats(), args.color, RulePages(args.rules_url.as_deref()))?;
    let cluster = args.stored.connect(connect)?;
    let mut karpenter = args.review_args.karpenter();
    let mut report_api = None;
    if let Some(cluster) = &cluster {
        karpenter = from_cluster::karpenter(cluster, &karpenter)?;
        report_api = args.report.then(|| ReportApi::of(cluster)).transpose()?;
    }
    let Inputs {
        mut files,
        template_folders,
        foreign,
    } = files::find(
        &args.paths,
        args.stdin_filename.as_deref(),
        &Excluded::matching(&args.exclude).context("--exclude")?,
    );
    outputs.leave_out(&mut files, &args.paths)?;
    let policies = args.review_args.policies(files::folders(&files))?;
    let (settings, patches) = (
        Settings::new(
            karpenter,
            args.variables()?,
            args.at.unwrap_or_else(Timestamp::now),
        ),
        Patches::among(&files),
    );
    let (mut together, mut stored) = (Together::default(), HashMap::new());
    if let Some(cluster) = &cluster {
        let pools = from_cluster::all(cluster);
        (files, stored) = (pools.inputs, pools.stored);
        let found = policies.for_folder(files.first().map_or(Path::new("."), Input::folder));
        from_cluster::tell_of_modes(&pools.without_mode, &found.policy);
        let objects = Objects::collect(&files, &settings, &patches);
        together = Together::among(
            &objects,
            &from_cluster::classes(cluster, &objects.class_kinds()),
            &policies,
        );
    } else if args.together {
        files = files.into_iter().map(Input::held).collect();
        let objects = Objects::collect(&files, &settings, &patches);
        together = Together::among(&objects, &objects.classes(), &policies);
    }
    let work = LintRun {
        settings,
        policies,
        printers: outputs.printers(),
        baseline: match &args.baseline {
            Some(path) => Baseline::load(path)?,
            None => Baseline::default(),
        },
        patches,
        together,
        stored,
        args,
    };
    let mut tally = Tally {
        files: files.len(),
        template_folders,
        foreign,
        cluster: cluster.as_ref().map(|cluster| cluster.server.clone()),
        ..Tally::default()
    };
    let mut new_baseline = NewBaseline::default();
    outputs.begin()?;
    let mut take = |outcome: LintOutcome| {
        tally += &outcome.tally;
        outcome.remarks.iter().for_each(|line| files::remark(line));
        if let (Some((pool, results)), Some(cluster), Some(api)) = (&outcome.reported, &cluster, &report_api)
        {
            tally.unreadable += policy_report::write(cluster, api, pool, results);
        }
        new_baseline.add(outcome.entries);
        outputs.file(&outcome.printed)?;
        for (rule, printed) in &outcome.once {
            if !tally.rules.contains_key(rule) {
                tally.rules.insert(rule, 1);
                tally.count(Severity::Info, 1);
                outputs.file(printed)?;
            }
        }
        anyhow::Ok(())
    };
    parallel::in_order(&files, |input| work.on(input), &mut take)?;
    outputs.end(&tally)?;
    if let Some(path) = &args.write_baseline {
        new_baseline.write(path)?;
    }
    if outputs.has_summary() {
        work.sum_up(&tally);
    }
    let gone = expected(&work.baseline, &files).saturating_sub(tally.known);
    if gone > 0 && args.write_baseline.is_none() {
        files::remark(&format!(
            "{gone} of the baseline were not found any more: write it again with --write-baseline"
        ));
    }
    Ok(exit_code(&tally, args).into())
}

/// How many findings of the baseline should be found in these files, or in files that are gone.
fn expected(baseline: &Baseline, files: &[Input]) -> usize {
    let checked: HashSet<&str> = files.iter().map(|input| &*input.name).collect();
    baseline.count(|file| checked.contains(file) || !Path::new(file).exists())
}

/// 2 if the run itself is not reliable, whatever was found; 1 for findings; otherwise 0.
fn exit_code(tally: &Tally, args: &LintArgs) -> u8 {
    if !tally.is_reliable() {
        return UNREADABLE;
    }
    let is_held_against = if args.instead.diff {
        tally.fixable > 0
    } else {
        tally.errors + tally.lowered > 0
            || (args.failure.fail_on == FailOn::Warning && tally.warnings > 0)
            || (args.failure.fail_if_empty && tally.objects == 0)
    };
    if is_held_against && !args.failure.exit_zero {
        FOUND
    } else {
        0
    }
}

impl LintRun<'_> {
    /// Says what was found in all, and what to know of release and policies.
    fn sum_up(&self, tally: &Tally) {
        files::remark(&tally.to_string());
        let cautions = self.policies.cautions(&self.settings.karpenter).into_iter();
        let misnamed = tally.pools.misnamed(&self.policies, self.settings.at);
        let lines = cautions.chain(tally.rejected_by_older()).chain(misnamed);
        lines.for_each(|line| files::remark(&line));
    }

    fn on(&self, input: &Input) -> LintOutcome {
        let mut remarks = Vec::new();
        let mut reading = match input.read() {
            Ok(text) => self.reading(input, text),
            Err(error) => {
                let mut reading = Reading::default();
                remarks.push(reading.fail(input, &error.to_string()));
                reading
            }
        };
        let fixed = if self.args.fix {
            self.fixed(input, &reading)
        } else {
            None
        };
        let mut shown = None;
        match (fixed, &input.source) {
            (Some(fixed), _) if self.args.instead.diff => {
                reading.tally.fixable = fixed.tally.fixed;
                shown = Some(fixed.text);
            }
            (Some(fixed), Source::File(path)) => match files::replace(path, &fixed.text) {
                Ok(()) => reading = fixed,
                Err(error) => remarks.push(reading.fail(input, &format!("cannot be changed: {error}"))),
            },
            _ => {}
        }
        reading
            .findings
            .retain(|finding| self.args.selection.has(finding.rule));
        if self.args.writes_fixes() && reading.tally.unreadable == 0 {
            remarks.extend(finding::left(&input.name, &reading.findings));
        }
        let Reading {
            text,
            mut findings,
            mut tally,
        } = reading;
        let entries = if self.args.write_baseline.is_some() && tally.unreadable == 0 {
            NewBaseline::entries(&input.name, &mut findings)
        } else {
            Vec::new()
        };
        tally.known += entries.len();
        let (mut once, findings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(problem_rules::is_reported_once);
        once.sort_by_key(|finding| finding.rule);
        once.dedup_by_key(|finding| finding.rule);
        tally.count_all(&findings);
        if tally.omitted > 0 {
            remarks.push(format!(
                "{}: {} more findings are not shown",
                input.name, tally.omitted
            ));
        }
        let report = FileReport {
            name: &input.name,
            text: &text,
            objects: tally.objects,
            findings: &findings,
            fixed: shown.as_deref(),
        };
        let printed = output::print(&self.printers, &report);
        let once = once.chunks(1).filter_map(|findings| {
            let rule = findings.first()?.rule;
            Some((
                rule,
                output::print(&self.printers, &FileReport { findings, ..report }),
            ))
        });
        let once = once.collect();
        let pool = self.stored.get(&input.name).filter(|_| self.args.report);
        let reported = pool.filter(|_| tally.unreadable == 0);
        let reported = reported.map(|pool| (pool.clone(), policy_report::results(&findings)));
        LintOutcome {
            printed,
            once,
            tally,
            remarks,
            entries,
            reported,
        }
    }

    /// The text with every fix; `None` if there is none. The fixed text is checked again, because a report is
    /// bounded and there may be more to fix. A fix can depend on another one that a comment or the baseline
    /// prevents: a text in which the changes cause an error is not written.
    fn fixed(&self, input: &Input, first: &Reading) -> Option<Reading> {
        let mut fixed: Option<Reading> = None;
        for _ in 0..MAX_ROUNDS {
            let last = fixed.as_ref().unwrap_or(first);
            let selected = |finding: &&Finding| self.args.selection.has(finding.rule);
            let findings = last.findings.iter().filter(selected);
            let edits = findings.filter_map(|finding| finding.edit.as_ref());
            let Some((text, count)) = fix::apply(&last.text, edits.clone()) else {
                break;
            };
            let mut next = self.reading(input, text);
            let changed: Vec<FieldPath> = edits.map(TextEdit::changed).collect();
            if next.has_error_beyond(last, &changed) {
                break;
            }
            next.tally.fixed = last.tally.fixed + count;
            fixed = Some(next);
        }
        fixed
    }

    /// A text with its findings.
    fn reading(&self, input: &Input, text: String) -> Reading {
        let mut tally = Tally::default();
        let found = self.policies.for_folder(input.folder());
        let manifest = Manifest {
            policy: &found.policy,
            policy_file: found.file.as_deref(),
            karpenter: found.karpenter(&self.settings.karpenter),
            across: self.together.findings_in(&input.name),
            text: &text,
            whole: self.patches.whole(input),
            is_json: !matches!(input.source, Source::Text(_))
                && Path::new(&input.name)
                    .extension()
                    .is_some_and(|end| end == "json"),
        };
        let mut findings = check(manifest, &self.settings, &mut tally);
        if tally.objects > 0 {
            tally.policies.insert(found.file.as_deref().map(files::clean));
        }
        tally.known = self.baseline.subtract(&input.name, &mut findings);
        Reading {
            text,
            findings,
            tally,
        }
    }
}

impl Reading {
    /// Adds that the file was not read or written, as its first finding. Returns the line that says so.
    fn fail(&mut self, input: &Input, message: &str) -> String {
        self.tally.unreadable = 1;
        let place = SourceRange::beginning();
        let finding = Finding {
            message: files::clean(message),
            ..Finding::of_manifest(text_rules::UNREADABLE, Severity::Error, place)
        };
        self.findings.insert(0, finding);
        format!("error: {} {message}", input.name)
    }

    fn errors(&self) -> impl Iterator<Item = &Finding> {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.severity == Severity::Error)
    }

    /// Whether there is an error that another reading did not have, shown or only counted, and that rests on one of the
    /// fields that were changed since, or on none that is known.
    fn has_error_beyond(&self, other: &Self, changed: &[FieldPath]) -> bool {
        let id = |error: &Finding| (error.rule, error.field.clone(), error.object.clone());
        let before: HashSet<_> = other.errors().map(id).collect();
        let new = self.errors().filter(|error| !before.contains(&id(error)));
        let caused = new.filter(|error| {
            let field = error.field.as_ref();
            field.is_none_or(|field| fix::rests_on(field, &error.related_fields, changed))
        });
        caused.count() > other.tally.omitted
    }
}
