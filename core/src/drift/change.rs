//! The effect of an edit of a stored NodePool on its nodes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::hash::{HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION, template_hash};
use super::requirements::{Demanded, demands};
use crate::diagnostic::FieldPath;
use crate::facts::{ApiVersion, Provider, TargetKarpenter};
use crate::json::{Json, Object};
use crate::pool::NodePool;
use crate::sha256::sha256;

/// A change of `spec.template` that makes Karpenter replace nodes, or may.
#[derive(Debug)]
pub struct TemplateChange<'a> {
    /// The fields that count for the hash and differ: labels and annotations each by itself, lists as a whole.
    pub fields: Vec<FieldPath>,
    /// The change of the hash.
    pub hash: HashChange,
    /// Whether the labels of a node may match the old requirements and not the new ones.
    pub is_narrower: bool,
    new: &'a NodePool<'a>,
    /// `None` if a requirement cannot be read.
    demanded: Option<Demanded<'a>>,
}

/// How the hash of a template changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashChange {
    /// Not at all: no node drifts because of it.
    None,
    /// To this hash: every node that has another one drifts.
    To(u64),
    /// Not known before Karpenter has computed it.
    Unknown(Doubt),
}

/// Why the hash that Karpenter will compute is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The template has a field of a newer release, or a value that cannot be decoded.
    #[error("the template has a field that poolgate does not know")]
    Field,
    /// Karpenter's hash of the stored template has another version.
    #[error("Karpenter's hash has another version than {HASH_VERSION}")]
    Version,
    /// Karpenter's hash of the stored template is not the one that is computed here.
    #[error("Karpenter's hash of the stored template differs from poolgate's")]
    Stored,
}

impl Doubt {
    /// The word for metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Version => "version",
            Self::Stored => "stored",
        }
    }
}

/// A NodeClaim of the pool, as far as drift depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriftClaim {
    /// Its name.
    pub name: Box<str>,
    /// All of its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotation [`HASH_ANNOTATION`].
    pub hash: Option<Box<str>>,
    /// Its annotation [`HASH_VERSION_ANNOTATION`].
    pub hash_version: Option<Box<str>>,
    /// What keeps its node although it drifts, if that was asked.
    pub kept: Option<Box<str>>,
}

impl DriftClaim {
    /// Whether it carries a hash of the version that is computed here, and another one.
    pub(super) fn has_another_hash(&self, hash: u64) -> bool {
        let own = self.hash.as_deref();
        self.hash_version.as_deref() == Some(HASH_VERSION) && own.is_some_and(|own| own != hash.to_string())
    }
}

/// Whether one of two is true, if that is known.
pub(super) fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

impl<'a> TemplateChange<'a> {
    /// The change from a stored NodePool to a new one, both completed by the definition's defaults; `None` if no node drifts
    /// because of it. Both are of v1.
    pub fn of(old: &NodePool<'_>, new: &'a NodePool<'a>) -> Option<Self> {
        if new.version != ApiVersion::V1 || old.version != ApiVersion::V1 {
            return None;
        }
        let (before, after) = (template(old)?, template(new)?);
        if before == after {
            return None;
        }
        let provider = new.template.provider();
        let change = Self {
            fields: hashed_differences(before, after),
            hash: hash_change(old, before, after),
            is_narrower: is_narrower(old, new, provider),
            new,
            demanded: Demanded::of(&new.template, provider),
        };
        (change.hash != HashChange::None || change.is_narrower).then_some(change)
    }

    /// Whether a NodeClaim drifts because of it; `None` if that is not known. A NodeClaim that already carries the new hash
    /// does not: a change back replaces nothing twice.
    pub fn replaces(&self, claim: &DriftClaim) -> Option<bool> {
        let by_hash = match self.hash {
            HashChange::None => Some(false),
            HashChange::To(hash) => Some(claim.has_another_hash(hash)),
            HashChange::Unknown(_) => None,
        };
        let demanded = self.demanded.as_ref();
        either(by_hash, demanded.map(|demanded| !demanded.matches(&claim.labels)))
    }

    /// The value by which a user acknowledges exactly this change: a digest of the new template with its requirements, as it
    /// is stored, whoever reads it where.
    pub fn digest(&self) -> String {
        let template = template(self.new).map(Value::from).unwrap_or_default();
        let pool = json!({"spec": {"template": template}});
        let stored = TargetKarpenter::default().stored(&pool, ApiVersion::V1);
        let template = stored.pointer("/spec/template").unwrap_or(&template);
        let mut digest = sha256(template.to_string().as_bytes());
        digest.truncate(DIGITS);
        digest
    }
}

/// How many digits a digest has: they are typed by people, and compared with those of one object.
const DIGITS: usize = 12;

fn template<'p, 'a>(pool: &'p NodePool<'a>) -> Option<&'p Json<'a>> {
    pool.object.get("spec")?.get("template")
}

fn hash_change(old: &NodePool<'_>, before: &Json<'_>, after: &Json<'_>) -> HashChange {
    let (Some(was), Some(becomes)) = (template_hash(before), template_hash(after)) else {
        return HashChange::Unknown(Doubt::Field);
    };
    let annotation = |key| old.annotation(key).and_then(Json::as_str);
    if annotation(HASH_VERSION_ANNOTATION).is_some_and(|version| version != HASH_VERSION) {
        return HashChange::Unknown(Doubt::Version);
    }
    if annotation(HASH_ANNOTATION).is_some_and(|stored| stored != was.to_string()) {
        return HashChange::Unknown(Doubt::Stored);
    }
    if was == becomes {
        HashChange::None
    } else {
        HashChange::To(becomes)
    }
}

/// Whether a node that matches the old requirements may fail the new ones.
fn is_narrower(old: &NodePool<'_>, new: &NodePool<'_>, provider: Option<&Provider>) -> bool {
    let (Some(before), Some(after)) = (demands(&old.template, provider), demands(&new.template, provider))
    else {
        return true;
    };
    after.into_iter().any(|(key, demanded)| match before.get(key) {
        Some(before) => {
            let lost_absence = before.allows_absence() && !demanded.allows_absence();
            lost_absence || before.clone().and(demanded) != *before
        }
        None => true,
    })
}

/// The paths of the fields of a template that the hash covers and that differ.
fn hashed_differences(before: &Json<'_>, after: &Json<'_>) -> Vec<FieldPath> {
    let mut paths = Vec::new();
    for part in [
        &["metadata", "labels"][..],
        &["metadata", "annotations"],
        &["spec"],
    ] {
        let path = part
            .iter()
            .fold(FieldPath::of(&["spec", "template"]), |path, key| path.key(*key));
        let [before, after] = [find(before, part), find(after, part)];
        let mut names: Vec<&str> = [before, after]
            .into_iter()
            .flatten()
            .flat_map(Object::keys)
            .collect();
        names.sort_unstable();
        names.dedup();
        paths.extend(
            names
                .into_iter()
                .filter(|name| *name != "requirements" && differs(before, after, name))
                .map(|name| path.clone().key(name.to_owned())),
        );
    }
    paths
}

fn find<'j, 'a>(template: &'j Json<'a>, path: &[&str]) -> Option<&'j Object<'a>> {
    let found = path.iter().try_fold(template, |json, key| json.get(key));
    found?.as_object()
}

/// Whether a field differs; null is as absent.
fn differs(before: Option<&Object<'_>>, after: Option<&Object<'_>>, name: &str) -> bool {
    let present = |value: &&Json<'_>| !value.is_null();
    let before = before.and_then(|object| object.get(name)).filter(present);
    let after = after.and_then(|object| object.get(name)).filter(present);
    before != after
}
