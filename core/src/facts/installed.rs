//! What the cluster's own NodePool definition says, read from its JSON.
//!
//! A definition does not name a release: its one annotation is the version of a generator. So the release is
//! recognised by the definition's constraints. The definition's own constraints have priority over the table of
//! releases, so that values of a Karpenter newer than poolgate are not denied.

mod label_rules;
mod recognise;
mod schema;

use serde_json::Value;

use super::{ApiVersion, KarpenterVersion, ReleaseRange};
pub use schema::Schema;

/// The name of the definition of NodePools.
pub const NODEPOOL_DEFINITION: &str = "nodepools.karpenter.sh";

/// The content of a cluster's NodePool definition.
#[derive(Debug, Clone, PartialEq)]
pub struct Installed {
    /// The releases that ship a definition like this; `None` if they are older than all known ones.
    pub releases: Option<ReleaseRange>,
    /// The file that it is from; none for that of a cluster.
    file: Option<String>,
    versions: Vec<Schema>,
}

/// Why a definition says nothing about NodePools of a version that poolgate knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableDefinition {
    /// It defines something else.
    #[error("it defines `{0}`, not {NODEPOOL_DEFINITION}")]
    OtherName(String),
    /// No version of it has a schema for `spec` that poolgate can read.
    #[error("none of its versions is karpenter.sh/v1 or v1beta1 with a schema for spec.disruption")]
    NoVersion,
}

impl Installed {
    /// Reads the definition of NodePools: a whole `CustomResourceDefinition`.
    pub fn parse(definition: &Value) -> Result<Self, UnreadableDefinition> {
        let name = definition.pointer("/metadata/name").and_then(Value::as_str);
        if name != Some(NODEPOOL_DEFINITION) {
            let name = name.unwrap_or_default().chars().take(100).collect();
            return Err(UnreadableDefinition::OtherName(name));
        }
        let schemas: Vec<Schema> = definition
            .pointer("/spec/versions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Schema::parse)
            .collect();
        if schemas.is_empty() {
            return Err(UnreadableDefinition::NoVersion);
        }
        Ok(Self {
            releases: recognise::releases(&schemas),
            file: None,
            versions: schemas,
        })
    }

    /// The same definition, read from this file.
    #[must_use]
    pub fn of_file(self, name: &str) -> Self {
        Self {
            file: Some(name.to_owned()),
            ..self
        }
    }

    /// The file that it is from.
    pub(crate) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// The release that NodePools of this cluster are checked against.
    pub fn release(&self) -> KarpenterVersion {
        self.releases
            .map_or(KarpenterVersion::OLDEST, |releases| releases.newest)
    }

    /// The definition of one version.
    pub fn version(&self, version: ApiVersion) -> Option<&Schema> {
        self.versions
            .iter()
            .find(|installed| installed.version == version)
    }
}
