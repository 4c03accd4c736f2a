//! The policy and the Karpenter release that a command without a cluster checks against.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use poolgate_core::facts::{Installed, KarpenterVersion, ReleaseSource, TargetKarpenter};
use poolgate_core::manifest::{self, Limits};
use poolgate_core::policy::Policy;
use serde_json::Value;

use crate::crd::definition::among;
use crate::policy_file::{self, LoadError};
use crate::sources::Written;
use crate::sources::read_bytes;

/// The file with the policy of a folder and of everything below it.
const NEARBY: &str = ".poolgate.yaml";

/// The flags for it.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// The policy file [default: the built-in policy]
    #[arg(long, env = "POOLGATE_POLICY", value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The Karpenter release of the cluster, such as 1.14.1
    /// [default: from the policy (cluster.providerVersion or cluster.karpenter), else the newest known]
    #[arg(
        long,
        env = "POOLGATE_KARPENTER_VERSION",
        value_name = "VERSION",
        conflicts_with = "crd"
    )]
    karpenter_version: Option<KarpenterVersion>,

    #[command(flatten)]
    crd: CrdArg,
}

/// The flag for a definition that differs from those of all releases.
#[derive(Debug, Args)]
pub(crate) struct CrdArg {
    /// The definition of NodePools (CRD) in the cluster, if it is patched. Its defaults and constraints replace those of
    /// the release
    #[arg(long, value_name = "FILE", value_parser = definition)]
    crd: Option<DefinitionFile>,
}

/// A file with a definition of NodePools.
#[derive(Debug, Clone)]
struct DefinitionFile {
    definition: Arc<Value>,
    installed: Arc<Installed>,
}

impl CrdArg {
    /// The Karpenter with this definition, if one is given, whatever release is named beside it.
    pub(crate) fn of(&self, karpenter: TargetKarpenter) -> TargetKarpenter {
        match &self.crd {
            Some(file) => TargetKarpenter::default().with_definition(Arc::clone(&file.installed)),
            None => karpenter,
        }
    }

    /// The whole definition, if one is given.
    pub(crate) fn definition(&self) -> Option<&Value> {
        Some(&*self.crd.as_ref()?.definition)
    }
}

/// The largest file with a definition: those of Karpenter have 60 kB.
const MOST_BYTES: usize = 8 << 20;

/// Reads the definition in a file, in YAML or JSON, alone or among other objects.
fn definition(name: &str) -> Result<DefinitionFile, String> {
    let bytes = read_bytes(Path::new(name), MOST_BYTES).map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut documents = manifest::parse(&text, &Limits::default()).map(manifest::Document::into_value);
    let definition = documents.find_map(|mut document| {
        let mut definitions = among(&mut document).into_iter();
        definitions.next().map(Value::take)
    });
    let definition = definition.ok_or("it contains no NodePool CRD of the group karpenter.sh")?;
    let installed = Installed::parse(&definition).map_err(|error| error.to_string())?;
    Ok(DefinitionFile {
        definition: Arc::new(definition),
        installed: Arc::new(installed.of_file(name)),
    })
}

/// An instant, or the beginning of a day in UTC.
pub(crate) fn instant(text: &str) -> Result<Timestamp, &'static str> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok();
    let instant = text.parse().ok().or_else(|| Some(day()?.timestamp()));
    instant.ok_or("write 2027-06-30T12:00:00Z, or a day (UTC) such as 2027-06-30")
}

impl ReviewArgs {
    /// The policy of the file, or the built-in one if no file is given.
    pub fn policy(&self) -> Result<Policy, LoadError> {
        Ok(self.named_policy()?.unwrap_or_default())
    }

    /// Fails if the run would overwrite the policy.
    pub(crate) fn spare_by(&self, written: &Written) -> anyhow::Result<()> {
        let file = self.policy.as_deref();
        file.map_or(Ok(()), |file| written.spare_file(file, &file.to_string_lossy()))
    }

    /// The policy of the file, if one is given.
    pub(crate) fn named_policy(&self) -> Result<Option<Policy>, LoadError> {
        let read = |path| Ok(policy_file::load(path)?.policy);
        self.policy.as_deref().map(read).transpose()
    }

    /// The Karpenter release that NodePools are checked for.
    pub fn karpenter(&self) -> TargetKarpenter {
        let named = self.karpenter_version.map(TargetKarpenter::from);
        self.crd.of(named.unwrap_or_default())
    }

    /// The same for a command that has read this policy.
    pub fn karpenter_for(&self, policy: &Policy) -> TargetKarpenter {
        let of_run = self.karpenter();
        match policy.cluster.target() {
            Some(declared) if of_run.source() == ReleaseSource::Newest => declared,
            _ => of_run,
        }
    }
}

/// Policy and release for a command that uses the policy nearest to each file.
#[derive(Debug, Args)]
#[command(mut_arg("policy", |arg| arg.help(
    "The policy file [default: the nearest .poolgate.yaml, else the built-in policy]"
)))]
pub(crate) struct NearestReviewArgs {
    #[command(flatten)]
    review_args: ReviewArgs,

    /// Do not look for .poolgate.yaml
    #[arg(long)]
    isolated: bool,
}

impl NearestReviewArgs {
    /// The policies of all files in these folders. With --policy all of them have that one.
    pub(crate) fn policies<'f>(
        &self,
        folders: impl Iterator<Item = &'f Path>,
    ) -> Result<Policies, LoadError> {
        let file = self.review_args.policy.as_deref();
        let mut policies = Policies {
            elsewhere: FoundPolicy::new(
                self.review_args.policy()?,
                file.map(|file| file.display().to_string()),
            ),
            ..Policies::default()
        };
        if file.is_none() && !self.isolated {
            for folder in folders {
                policies.look_from(folder)?;
            }
        }
        Ok(policies)
    }

    /// The Karpenter release that NodePools are checked for.
    pub(crate) fn karpenter(&self) -> TargetKarpenter {
        self.review_args.karpenter()
    }
}

/// A policy and its file; `None` for the built-in one.
#[derive(Debug, Default)]
pub(crate) struct FoundPolicy {
    pub(crate) policy: Policy,
    pub(crate) file: Option<String>,
    /// The Karpenter that the policy declares.
    declared: Option<TargetKarpenter>,
}

impl FoundPolicy {
    fn new(policy: Policy, file: Option<String>) -> Self {
        Self {
            declared: policy.cluster.target(),
            policy,
            file,
        }
    }

    /// The Karpenter that objects are checked for: the one that the policy declares, if the user has named none and no
    /// cluster is read.
    pub(crate) fn karpenter<'k>(&'k self, of_run: &'k TargetKarpenter) -> &'k TargetKarpenter {
        match &self.declared {
            Some(declared) if of_run.source() == ReleaseSource::Newest => declared,
            _ => of_run,
        }
    }
}

/// The policy of every folder that was searched.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    /// The policy of folders that have none.
    elsewhere: FoundPolicy,
    found: Vec<FoundPolicy>,
    /// The number of the policy of each folder.
    nearest: HashMap<PathBuf, Option<usize>>,
}

impl Policies {
    /// The policy of the files in a folder.
    pub(crate) fn for_folder(&self, folder: &Path) -> &FoundPolicy {
        let found = self.nearest.get(folder).copied().flatten();
        found
            .and_then(|index| self.found.get(index))
            .unwrap_or(&self.elsewhere)
    }

    /// A remark on each release that objects are checked for and that is older or newer than all known ones.
    pub(crate) fn cautions(&self, of_run: &TargetKarpenter) -> BTreeSet<String> {
        let targets = self.all().map(|policy| policy.karpenter(of_run));
        targets.filter_map(TargetKarpenter::caution).collect()
    }

    /// All policies of the run, and the built-in one.
    pub(crate) fn all(&self) -> impl Iterator<Item = &FoundPolicy> {
        self.found.iter().chain([&self.elsewhere])
    }

    /// All policies that were found in folders.
    pub(crate) fn found(&self) -> impl Iterator<Item = &FoundPolicy> {
        self.found.iter()
    }

    /// Fails if the run would overwrite the file of one of them.
    pub(crate) fn spare_by(&self, written: &Written) -> anyhow::Result<()> {
        let mut files = self.all().filter_map(|policy| policy.file.as_deref());
        files.try_for_each(|file| written.spare_file(Path::new(file), file))
    }

    fn look_from(&mut self, folder: &Path) -> Result<(), LoadError> {
        if !self.nearest.contains_key(folder) {
            let from_root = fs::canonicalize(folder).or_else(|_| path::absolute(folder));
            let found = self.upwards(&from_root.unwrap_or_default())?;
            self.nearest.insert(folder.to_owned(), found);
        }
        Ok(())
    }

    /// The nearest policy of a folder: its own, or that of a folder above. The search ends at the root of the
    /// repository: files above it belong to something else.
    fn upwards(&mut self, folder: &Path) -> Result<Option<usize>, LoadError> {
        if let Some(known) = self.nearest.get(folder) {
            return Ok(*known);
        }
        let file = folder.join(NEARBY);
        let found = if file.is_file() {
            let file = shown(file);
            let policy = policy_file::load(&file)?.policy;
            self.found
                .push(FoundPolicy::new(policy, Some(file.display().to_string())));
            self.found.len().checked_sub(1)
        } else if folder.join(".git").exists() {
            None
        } else if let Some(above) = folder.parent() {
            self.upwards(above)?
        } else {
            None
        };
        self.nearest.insert(folder.to_owned(), found);
        Ok(found)
    }
}

/// An absolute path as people write it: relative to the current folder if it is below that.
fn shown(path: PathBuf) -> PathBuf {
    let here = fs::canonicalize(".").unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or(path)
}
