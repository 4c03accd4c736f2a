//! `poolgate why`: why a node stays, and which NodePool takes a pod.
//!
//! Karpenter alone knows its candidates, so its own events come first. Core finds the causes, from the same objects that
//! Karpenter looks at.

mod look;
mod page;
mod pod;
mod report;
mod volumes;

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use poolgate_files::terminal::{self, OutputFormat};
use poolgate_files::why::{Answer, PodArgs};

use super::explainer::Explainer;
use super::facts::{Facts, KnownClaim, Read};
use super::look::{Look, LookArgs};
use super::{ShowArgs, UNREAD, WRONG, exit_code, read};
use crate::cluster::ClusterReader;
use crate::cluster::objects::NODES;
use pod::PodWhy;
pub use report::{Keeps, Why, Whys};

/// The examples at the end of the `--help` of what asks a cluster. A test runs every line.
const EXAMPLES: &str = "\
Examples:
  poolgate why node ip-10-0-1-2.ec2.internal
  poolgate why pool general --watch";

/// What to explain.
#[derive(Debug, Args)]
pub struct WhyArgs {
    #[command(subcommand)]
    about: About,
}

#[derive(Debug, Subcommand)]
enum About {
    /// Explain why a node stays
    #[command(after_help = EXAMPLES)]
    Node(NodeArgs),
    /// Explain why drifted, expired, unhealthy, empty or deleted nodes of a NodePool stay
    #[command(after_help = EXAMPLES)]
    Pool(PoolArgs),
    /// Show which NodePool takes a pod, and why the others do not
    ///
    /// Exit codes: 0 a NodePool takes each pod, or may; 1 every NodePool refuses one of them; 2 something could not be read.
    Pod(Box<PodQuestion>),
}

#[derive(Debug, Args)]
struct NodeArgs {
    /// The name of the node, or of its NodeClaim
    name: String,

    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Debug, Args)]
struct PoolArgs {
    /// The name of the NodePool
    name: String,

    #[command(flatten)]
    answer: AnswerArgs,
}

#[derive(Debug, Args)]
struct PodQuestion {
    #[command(flatten)]
    pod: PodArgs,

    #[command(flatten, next_help_heading = "Cluster")]
    look: LookArgs,
}

#[derive(Debug, Args)]
struct AnswerArgs {
    #[command(flatten)]
    look: LookArgs,

    #[command(flatten)]
    show: ShowArgs,
}

/// Answers, once or repeatedly. Returns the exit code.
pub fn why(args: &WhyArgs) -> anyhow::Result<ExitCode> {
    match &args.about {
        About::Node(NodeArgs { name, answer }) => answer.about(Question::Node(name)),
        About::Pool(PoolArgs { name, answer }) => answer.about(Question::Pool(name)),
        About::Pod(question) => question.answer(),
    }
}

impl PodQuestion {
    fn answer(&self) -> anyhow::Result<ExitCode> {
        let Some((namespace, name)) = self.pod.of_cluster()? else {
            return poolgate_files::why::run(&self.pod);
        };
        let (runtime, client) = ClusterReader::connect(&self.look.cluster)?.into_parts();
        let look = self.look.look(&client, false);
        let why = read(&runtime, PodWhy::read(&look, namespace, name, self.pod.types()?))?;
        terminal::print(match self.pod.output() {
            OutputFormat::Human => why.text(),
            OutputFormat::Json => serde_json::to_string_pretty(&why.json()?)? + "\n",
        })?;
        let problems = why.answers().iter().any(Answer::is_refused_by_all);
        Ok(match (why.unread.is_empty(), problems) {
            (false, _) => UNREAD.into(),
            (true, true) => WRONG.into(),
            (true, false) => ExitCode::SUCCESS,
        })
    }
}

impl AnswerArgs {
    fn about(&self, question: Question<'_>) -> anyhow::Result<ExitCode> {
        let (runtime, client) = ClusterReader::connect(&self.look.cluster)?.into_parts();
        let look = self.look.look(&client, false);
        self.show.repeat(|| {
            let whys = read(&runtime, question.answer(&look))?;
            self.show.show(|| whys.json(), |width| whys.text(width))?;
            Ok(exit_code(&[], &whys.unread))
        })
    }
}

/// The requested nodes.
#[derive(Debug, Clone, Copy)]
pub enum Question<'a> {
    /// The one of this name, or of the NodeClaim of this name.
    Node(&'a str),
    /// Those of this NodePool that should go.
    Pool(&'a str),
}

impl Question<'_> {
    /// Reads the cluster once, and answers.
    pub async fn answer(self, look: &Look<'_>) -> anyhow::Result<Whys> {
        let facts = look.once().await;
        let claims = self.claims(&facts)?;
        if claims.is_empty() {
            let found = match self {
                Self::Node(name) => look.is_there(NODES, name).await,
                Self::Pool(name) => {
                    let pools = facts.pools.as_ref().map_err(Clone::clone);
                    pools.map(|pools| pools.iter().any(|pool| &*pool.metadata.name == name))
                }
            };
            bail!(self.without_claims(&found));
        }
        let one = match (self, &*claims) {
            (Self::Node(_), [claim]) => {
                let node = claim.details.node_name.as_deref().unwrap_or_default();
                Some((node, &*claim.claim.name))
            }
            _ => None,
        };
        let kept = look.kept(one).await;
        let explainer = Explainer::of(&facts, Some(&kept), facts.policy().as_ref());
        let mut whys = Whys::of(&facts, &explainer, &claims);
        if let Self::Pool(_) = self {
            whys.keep_those_that_should_go();
        }
        Ok(whys)
    }

    /// The requested NodeClaims.
    fn claims(self, facts: &Facts) -> anyhow::Result<Vec<&KnownClaim>> {
        let all = match &facts.claims {
            Ok(claims) => claims.iter(),
            Err(error) => bail!("NodeClaims could not be read: {error}"),
        };
        Ok(match self {
            Self::Node(name) => all
                .filter(|known| {
                    known.details.node_name.as_deref() == Some(name) || &*known.claim.name == name
                })
                .take(1)
                .collect(),
            Self::Pool(name) => all.filter(|known| &*known.pool == name).collect(),
        })
    }

    /// What to answer if there is no NodeClaim, but the node or the NodePool may be there.
    fn without_claims(self, is_there: &Read<bool>) -> String {
        match (self, is_there) {
            (Self::Node(name), Ok(true)) => {
                format!(
                    "node {name:?} belongs to no NodeClaim of a NodePool, so Karpenter does not manage it"
                )
            }
            (Self::Node(name), Ok(false)) => format!("node or NodeClaim {name:?} does not exist (any more)"),
            (Self::Node(name), Err(error)) => {
                format!("no NodeClaim of a NodePool matches {name:?}, and Nodes could not be read: {error}")
            }
            (Self::Pool(name), Ok(false)) => format!("NodePool {name:?} does not exist"),
            (Self::Pool(name), _) => format!("NodePool {name:?} has no NodeClaims"),
        }
    }
}

#[cfg(test)]
mod tests;
