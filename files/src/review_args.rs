//! The flags for the policy and the Karpenter release that a command checks by.

use std::path::{Path, PathBuf};
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
use crate::sources::read_bytes;

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
pub(crate) struct DefinitionFile {
    definition: Arc<Value>,
    installed: Arc<Installed>,
}

impl DefinitionFile {
    /// Reads the definition in a file, in YAML or JSON, alone or among other objects. It is called `name` in messages.
    pub(crate) fn read(path: &Path, name: &str) -> Result<Self, String> {
        let bytes = read_bytes(path, MOST_BYTES).map_err(|error| error.to_string())?;
        let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
        let mut documents = manifest::parse(&text, &Limits::default()).map(manifest::Document::into_value);
        let definition = documents.find_map(|mut document| {
            let mut definitions = among(&mut document).into_iter();
            definitions.next().map(Value::take)
        });
        let definition = definition.ok_or("it contains no NodePool CRD of the group karpenter.sh")?;
        let installed = Installed::parse(&definition).map_err(|error| error.to_string())?;
        Ok(Self {
            definition: Arc::new(definition),
            installed: Arc::new(installed.of_file(name)),
        })
    }

    /// The Karpenter that has installed it.
    pub(crate) fn karpenter(&self) -> TargetKarpenter {
        TargetKarpenter::default().with_definition(Arc::clone(&self.installed))
    }
}

impl CrdArg {
    /// The Karpenter with this definition, if one is given, whatever release is named beside it.
    pub(crate) fn of(&self, karpenter: TargetKarpenter) -> TargetKarpenter {
        self.crd.as_ref().map_or(karpenter, DefinitionFile::karpenter)
    }

    /// The whole definition, if one is given.
    pub(crate) fn definition(&self) -> Option<&Value> {
        Some(&*self.crd.as_ref()?.definition)
    }
}

/// The largest file with a definition: those of Karpenter have 60 kB.
const MOST_BYTES: usize = 8 << 20;

fn definition(name: &str) -> Result<DefinitionFile, String> {
    DefinitionFile::read(Path::new(name), name)
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
        let read = |path| Ok(policy_file::load(path)?.policy);
        Ok(self.policy_file().map(read).transpose()?.unwrap_or_default())
    }

    /// The policy file, if one is given.
    pub(crate) fn policy_file(&self) -> Option<&Path> {
        self.policy.as_deref()
    }

    /// Whether verdicts follow more than a release: a policy, or an installed definition.
    pub(crate) fn differs_from_release(&self) -> bool {
        self.policy.is_some() || self.crd.crd.is_some()
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
