//! `poolgate lint`: checks manifests as the webhook would, and shows each finding at the place of the mistake in
//! the text. What is wrong with one text is decided in [`crate::check`].

mod args;
mod from_cluster;
mod parallel;
mod policy_report;
mod reading;
mod together;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use jiff::Timestamp;
use poolgate_core::diagnostic::Severity;
use serde_json::Value;

pub use args::LintArgs;

use crate::check::{CheckedPools, CheckedText, Settings, is_reported_once};
use crate::format::finding::Finding;
use crate::format::output::{self, Outputs};
use crate::format::summary::{Scope, Summary, more_of_rules, rejected_by_older, replaced_by_fixes};
use crate::format::tally::{Count, Tally};
use crate::format::{FileReport, Printer, RulePages};
use crate::input::Manifests;
use crate::sources::cluster::{Cluster, Connect};
use crate::sources::{Input, Renderable, Renderer};
use crate::terminal::{self, Progress};
use args::FailOn;
use policy_report::{ReportApi, StoredPool};
use reading::{Reader, Reading};
use together::{Objects, Together};

/// Exit code if there are findings that make the run fail.
const FOUND: u8 = 1;
/// Exit code if something was not read, so that it was not checked.
const UNREADABLE: u8 = 2;

/// Runs the command. A closed pipe is not a failure: the exit code still gives the verdict.
pub fn run(args: &LintArgs, connect: Connect) -> anyhow::Result<ExitCode> {
    if args.writes_fixes() && args.paths().iter().any(|path| path.as_os_str() == "-") {
        bail!("--fix cannot change standard input. Name the files");
    }
    let rendered = args.rendering.renderable();
    if let (Some(sources), true) = (&rendered, args.fix) {
        let flag = sources.flag();
        bail!("--fix cannot change what {flag} renders. Name the source files instead");
    }
    let mut outputs = Outputs::new(&args.formats(), args.color, RulePages(args.rules_url.as_deref()))?;
    let reading = Progress::of("reading");
    let cluster = args.stored.connect(connect)?;
    let mut tally = Tally::default();
    let mut reader = reader(args, rendered, cluster.as_ref(), &outputs)?;
    tally += &reader.manifests.skipped();
    let stored = together(&mut reader, cluster.as_ref());
    let inputs = &reader.manifests.inputs;
    drop(reading);
    let reports = cluster.as_ref().filter(|_| args.report);
    let reports = reports
        .map(|cluster| anyhow::Ok((cluster, ReportApi::of(cluster)?)))
        .transpose()?;
    let printers = outputs.printers();
    let mut pools = CheckedPools::default();
    outputs.begin()?;
    let mut take = |outcome: Outcome| {
        tally += &outcome.tally;
        pools.extend(&outcome.pools);
        outcome.remarks.iter().for_each(|line| terminal::remark(line));
        if let (Some((cluster, api)), Some(pool), Some(results)) =
            (&reports, stored.get(&outcome.name), &outcome.results)
        {
            tally.add(
                Count::Unreadable,
                policy_report::write(cluster, api, pool, results),
            );
        }
        let new = |finding: &&Finding| is_reported_once(finding) && !tally.rules.contains_key(finding.rule);
        let new: BTreeSet<&'static str> = outcome
            .once
            .iter()
            .flat_map(|once| &once.findings)
            .filter(new)
            .map(|finding| finding.rule)
            .collect();
        match &outcome.once {
            Some(once) if !new.is_empty() => {
                for rule in &new {
                    tally.rules.insert(rule, 1);
                    tally.add_findings(Severity::Note, 1);
                }
                outputs.file(&once.printed(&outcome, &new, &printers))
            }
            _ => outputs.file(&outcome.printed),
        }
    };
    let work = |input: &Input| Outcome::of(reader.read(input), input, &printers, args);
    parallel::in_order(inputs, work, &mut take)?;
    let scope = match &cluster {
        Some(cluster) => Scope::Cluster {
            server: cluster.server.clone(),
            pools: inputs.len(),
        },
        None => Scope::Files(inputs.len()),
    };
    let summary = Summary {
        tally: &tally,
        scope: &scope,
    };
    outputs.end(summary)?;
    if outputs.has_summary() {
        sum_up(summary, &pools, &reader);
    }
    Ok(exit_code(&tally, args).into())
}

/// The inputs, and what each is checked with.
fn reader<'a>(
    args: &'a LintArgs,
    rendered: Option<Renderable>,
    cluster: Option<&Cluster>,
    outputs: &Outputs<'_>,
) -> anyhow::Result<Reader<'a>> {
    let written = outputs.written();
    let manifests = match (&rendered, cluster) {
        (Some(sources), _) => args.input.rendered(sources, &Renderer::of(sources)?, &written),
        (None, Some(_)) => args.input.manifests(&[], &written),
        (None, None) => args.input.manifests(&args.paths(), &written),
    };
    let mut manifests = manifests?;
    if let Some(cluster) = cluster {
        manifests.karpenter = cluster.karpenter(&manifests.karpenter)?;
    }
    Ok(Reader {
        settings: Settings::new(args.at.unwrap_or_else(Timestamp::now)),
        manifests,
        together: Together::default(),
        rendered,
        args,
    })
}

/// Takes the inputs of the cluster, if there is one, and compares the inputs with each other if all are there. Returns which
/// stored pool each is.
fn together(reader: &mut Reader<'_>, cluster: Option<&Cluster>) -> HashMap<String, StoredPool> {
    let mut stored = HashMap::new();
    let manifests = &mut reader.manifests;
    if let Some(cluster) = cluster {
        let pools = from_cluster::all(cluster);
        (manifests.inputs, stored) = (pools.inputs, pools.stored);
        let here = manifests.projects.for_folder(Path::new("."));
        from_cluster::tell_of_modes(&pools.without_mode, &here.policy);
    } else if reader.args.together {
        let inputs = std::mem::take(&mut manifests.inputs).into_iter();
        manifests.inputs = inputs.map(Input::held).collect();
    } else {
        return stored;
    }
    let objects = Objects::collect(manifests);
    let classes = match cluster {
        Some(cluster) => from_cluster::classes(cluster, &objects.class_kinds()),
        None => objects.classes(),
    };
    reader.together = Together::among(&objects, &classes, &manifests.projects);
    stored
}

/// Prints the summary, and remarks on the release and the policies.
fn sum_up(summary: Summary<'_>, pools: &CheckedPools, reader: &Reader<'_>) {
    terminal::remark(&summary.to_string());
    let Manifests {
        projects, karpenter, ..
    } = &reader.manifests;
    let cautions = projects.cautions(karpenter).into_iter();
    let misnamed = pools.misnamed(projects, reader.settings.at);
    let lines = cautions
        .chain(more_of_rules(summary.tally))
        .chain(rejected_by_older(summary.tally))
        .chain(replaced_by_fixes(summary.tally))
        .chain(misnamed);
    lines.for_each(|line| terminal::remark(&line));
}

/// 2 if the run itself is not reliable, whatever was found; 1 for findings; otherwise 0.
fn exit_code(tally: &Tally, args: &LintArgs) -> u8 {
    if !tally.is_reliable() {
        return UNREADABLE;
    }
    let is_held_against = if args.instead.diff {
        tally.of(Count::Fixable) > 0
    } else {
        tally.of(Count::Errors) + tally.of(Count::Lowered) > 0
            || (args.failure.fail_on == FailOn::Warning && tally.of(Count::Warnings) > 0)
            || (args.failure.fail_if_empty && tally.of(Count::Objects) == 0)
    };
    if is_held_against && !args.failure.exit_zero {
        FOUND
    } else {
        0
    }
}

/// What one input adds to the results of the run.
struct Outcome {
    name: String,
    /// Its findings as each output prints them, without those that are reported once in a run.
    printed: Vec<String>,
    /// All of them, if some are reported once in a run.
    once: Option<WithOnce>,
    tally: Tally,
    pools: CheckedPools,
    /// Messages besides the findings, one line each.
    remarks: Vec<String>,
    /// The results for a policy report, if all was read.
    results: Option<Vec<Value>>,
}

impl Outcome {
    fn of(reading: Reading, input: &Input, printers: &[Printer<'_>], args: &LintArgs) -> Self {
        let Reading {
            checked,
            shown,
            mut remarks,
        } = reading;
        let CheckedText {
            text,
            findings,
            mut tally,
            pools,
        } = checked;
        let is_read = tally.of(Count::Unreadable) == 0;
        let has_once = findings.iter().any(is_reported_once);
        let all = has_once.then(|| findings.clone());
        let findings: Vec<Finding> = findings
            .into_iter()
            .filter(|finding| !is_reported_once(finding))
            .collect();
        tally.add_all(&findings);
        if tally.of(Count::Omitted) > 0 {
            let (name, more) = (&input.name, tally.of(Count::Omitted));
            remarks.push(format!("{name}: {more} more findings are not shown"));
        }
        let report = FileReport {
            name: &input.name,
            text: &text,
            objects: tally.of(Count::Objects),
            findings: &findings,
            fixed: shown.as_deref(),
        };
        let printed = output::print(printers, &report);
        let results = (args.report && is_read).then(|| policy_report::results(&findings));
        Self {
            name: input.name.clone(),
            printed,
            once: all.map(|findings| WithOnce {
                text,
                shown,
                findings,
            }),
            results,
            tally,
            pools,
            remarks,
        }
    }
}

/// What is printed of an input if it is the first with a finding that is reported once in a run.
struct WithOnce {
    text: String,
    shown: Option<String>,
    /// In the order of the text.
    findings: Vec<Finding>,
}

impl WithOnce {
    /// The findings as each output prints them: of those that are reported once, the first of each of these rules.
    fn printed(
        &self,
        outcome: &Outcome,
        rules: &BTreeSet<&'static str>,
        printers: &[Printer<'_>],
    ) -> Vec<String> {
        let mut left = rules.clone();
        let findings = self.findings.iter();
        let findings = findings.filter(|finding| !is_reported_once(finding) || left.remove(finding.rule));
        let findings: Vec<Finding> = findings.cloned().collect();
        let report = FileReport {
            name: &outcome.name,
            text: &self.text,
            objects: outcome.tally.of(Count::Objects),
            findings: &findings,
            fixed: self.shown.as_deref(),
        };
        output::print(printers, &report)
    }
}
