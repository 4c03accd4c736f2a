//! `poolgate why pod -f`: which NodePool takes a pod, and why the others do not.

mod answer;
mod json;
mod pods;
mod pools;
mod words;

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, ensure};
use clap::Args;
use poolgate_core::diagnostic::FieldPath;
use poolgate_core::pods::InstanceType;
use serde::Serialize;

use crate::format::summary;
use crate::input::Applied;
use crate::input::{InputArgs, Rest};
use crate::sources::Written;
use crate::terminal::{self, OutputFormat, Progress};
pub use answer::{Answer, Known, Verdict};
pub use json::{PodReport, report};
pub use pods::Asked;
pub use pools::Candidate;
pub use words::paragraph;

/// Every NodePool refuses a pod.
const REFUSED: u8 = 1;

/// The examples at the end of its `--help`. A test runs every line.
const EXAMPLES: &str = "\
Examples:
  poolgate why pod -f deploy.yaml pools/
  poolgate why pod -f deploy.yaml -f daemonsets.yaml --instance-types types.json pools/";

/// The flags of `why pod` for files.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PodArgs {
    /// The pod, or with --file the files or directories of the NodePools
    #[arg(value_name = "NAMESPACE/NAME | POOLS", required = true)]
    names: Vec<PathBuf>,

    /// A file of pods, or of what makes them, such as Deployments and Jobs. May be repeated
    #[arg(short, long, value_name = "FILE")]
    file: Vec<PathBuf>,

    /// The provider's instance types, as a JSON list
    ///
    /// In the form of Karpenter's kwok provider, optionally with `requirements` and `allocatable`. Without it, no answer
    /// depends on the size of machines. DaemonSets in the files, if there are any, count as all of the cluster.
    #[arg(long, value_name = "FILE")]
    instance_types: Option<PathBuf>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: OutputFormat,

    #[command(flatten, next_help_heading = "Read")]
    input: InputArgs,
}

impl PodArgs {
    /// Namespace and name of the pod of a cluster; `None` if the pods are in files.
    pub fn of_cluster(&self) -> anyhow::Result<Option<(&str, &str)>> {
        if !self.file.is_empty() {
            return Ok(None);
        }
        let named = match self.names.as_slice() {
            [name] => name.to_str().and_then(|name| name.split_once('/')),
            _ => None,
        };
        let is_name = |text: &str| !text.is_empty() && !text.contains('/');
        let named = named.filter(|(namespace, name)| is_name(namespace) && is_name(name));
        named
            .map(Some)
            .context("write the pod as NAMESPACE/NAME, or name the file of the pods: --file FILE POOLS")
    }

    /// The instance types, if a file of them is named.
    pub fn types(&self) -> anyhow::Result<Option<Vec<InstanceType>>> {
        let types = self.instance_types.as_ref().map(|path| {
            let text =
                fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
            InstanceType::parse(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
        });
        types.transpose()
    }

    /// The output format.
    pub const fn output(&self) -> OutputFormat {
        self.output
    }
}

/// Where something stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    file: String,
    /// From 1.
    line: usize,
}

impl Place {
    fn of(applied: &Applied<'_, '_>, path: &FieldPath) -> Self {
        Self {
            file: applied.file.to_owned(),
            line: applied.line(path),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Runs the command. A closed pipe is not a failure.
pub fn run(args: &PodArgs) -> anyhow::Result<ExitCode> {
    ensure!(!args.file.is_empty(), "name the file of the pods: --file FILE");
    let types = args.types()?;
    let written = Written::stdout();
    let (of_pods, of_pools) = {
        let _reading = Progress::of("reading");
        (
            args.input.manifests(&args.file, &written)?,
            args.input.manifests(&args.names, &written)?,
        )
    };
    for caution in of_pools.projects.cautions(&of_pools.karpenter) {
        terminal::remark(&caution);
    }
    let (mut asked, mut daemons, mut pools) = (Vec::new(), Vec::new(), Vec::new());
    let pods = pods::PODS.each(&of_pods, &mut |applied| {
        pods::add(applied, &mut asked, &mut daemons)
    });
    let rest = pools::POOLS.each(&of_pools, &mut |applied| {
        pools.extend(Candidate::of(applied));
        Ok(())
    });
    if let Some(skipped) = summary::skipped(&rest.skipped) {
        terminal::remark(&skipped);
    }
    ensure!(
        !asked.is_empty() || pods.code > 0,
        "no pod found in {}",
        listed(&args.file)
    );
    ensure!(
        !pools.is_empty() || rest.code > 0,
        "no NodePool found in {}",
        listed(&args.names)
    );
    let code = pods.code.max(rest.code);
    let complaints: Vec<String> = [pods, rest]
        .into_iter()
        .flat_map(|rest: Rest| rest.complaints)
        .collect();
    for complaint in &complaints {
        terminal::remark(complaint);
    }
    // Without a pool, nothing is known of a pod.
    if pools.is_empty() {
        return Ok(code.into());
    }
    pools.sort_by(Candidate::order);
    let known = Known {
        types: types.as_deref(),
        daemons: (!daemons.is_empty()).then_some(&*daemons),
        ..Known::default()
    };
    let answers: Vec<Answer<'_>> = Answer::all(&asked, &pools, known);
    terminal::print(match args.output {
        OutputFormat::Json => serde_json::to_string_pretty(&json::report(&answers, &complaints))? + "\n",
        OutputFormat::Human => answers
            .iter()
            .map(words::paragraph)
            .collect::<Vec<_>>()
            .join("\n"),
    })?;
    let refused = answers.iter().any(Answer::is_refused_by_all);
    Ok(code.max(if refused { REFUSED } else { 0 }).into())
}

fn listed(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
