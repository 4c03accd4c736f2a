//! What every object has.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;

/// The metadata that is looked at.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Meta {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: Option<String>,
    creation_timestamp: Option<String>,
    deletion_timestamp: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<Owner>>,
}

/// Who owns an object.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Owner {
    api_version: String,
    kind: String,
}

impl Owner {
    /// Whether it is of this kind in the group `apps`.
    pub(super) fn is_app(&self, kind: &str) -> bool {
        self.kind == kind && self.api_version.starts_with("apps/")
    }
}

impl Meta {
    pub(super) fn created(&self) -> Option<Timestamp> {
        instant(self.creation_timestamp.as_deref())
    }

    pub(super) fn deleted(&self) -> Option<Timestamp> {
        instant(self.deletion_timestamp.as_deref())
    }

    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.labels.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(key).map(String::as_str)
    }

    pub(super) fn labels(&self) -> impl Iterator<Item = (&String, &String)> {
        self.labels.iter().flatten()
    }

    pub(super) fn owners(&self) -> &[Owner] {
        self.owner_references.as_deref().unwrap_or_default()
    }
}

/// Reads an instant as the API server writes it.
pub(super) fn instant(text: Option<&str>) -> Option<Timestamp> {
    text?.parse().ok()
}
