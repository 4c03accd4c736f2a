//! What becomes of one NodePool and its nodes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use poolgate_core::budget::Budgets;
use poolgate_core::diagnostic::{Diagnostic, FieldPath, Segment, Severity};
use poolgate_core::drift::{DriftClaim, converted};
use poolgate_core::facts::{ApiVersion, KarpenterVersion, ReleaseSource, TargetKarpenter};
use poolgate_core::json::Json;
use poolgate_core::pool::NodePool;
use poolgate_core::review::{Request, Subject, removal, replacement, review};
use poolgate_core::rules::{DriftEffect, Removal};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::hours::ChangedHours;
use super::side::{Key, Placed, Side};
use crate::input::Projects;
use crate::sources::depends_on_variable;
use crate::terminal;

/// What each NodePool is judged by.
#[derive(Debug)]
pub struct Judge {
    pub projects: Projects,
    pub karpenter: TargetKarpenter,
    pub at: Timestamp,
    /// How many nodes a pool has, by its name; `None` is every other pool.
    pub nodes: BTreeMap<Option<String>, u32>,
}

/// What happens to one NodePool.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolChange {
    #[serde(flatten)]
    pub key: Key,
    pub place: String,
    #[serde(rename = "change")]
    pub fate: Fate,
    /// How many nodes it has, if that is known.
    pub nodes: Option<usize>,
    /// How many nodes are replaced, drained or deleted at most: `None` if nobody knows, 0 for a pool that loses none.
    pub nodes_at_stake: Option<usize>,
    /// Which nodes are replaced.
    pub drift: Option<DriftEffect>,
    /// Which nodes are deleted without a replacement.
    pub removed: Option<Removal>,
    /// What the API server rejects in an update, though a new object may have it.
    #[serde(serialize_with = "findings")]
    pub immutable: Vec<Diagnostic>,
    #[serde(flatten)]
    pub hours: ChangedHours,
    /// The fields of the spec that change and replace nothing.
    pub fields: Vec<FieldPath>,
    /// Other findings that OLD has not, and that only OLD has.
    #[serde(rename = "newFindings", serialize_with = "findings")]
    pub new: Vec<Diagnostic>,
    #[serde(rename = "goneFindings", serialize_with = "findings")]
    pub gone: Vec<Diagnostic>,
}

/// What becomes of a NodePool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    Appears,
    Changes,
    Vanishes,
}

impl PoolChange {
    /// True if it has a mistake that OLD has not.
    pub fn is_worse(&self) -> bool {
        let is_unacknowledged = self
            .drift
            .as_ref()
            .is_some_and(|drift| drift.acknowledge.is_some());
        !(self.new.is_empty() && self.immutable.is_empty()) || is_unacknowledged
    }

    /// How many nodes are replaced or deleted at most, if that is known.
    fn stake(&self) -> Option<usize> {
        if !self.immutable.is_empty() {
            return self.nodes;
        }
        let replaced = self.drift.as_ref().map_or(Some(0), |drift| drift.at_most);
        let deleted = self.removed.as_ref().map_or(Some(0), |removed| removed.at_most);
        let most = replaced?.saturating_add(deleted?);
        Some(self.nodes.map_or(most, |nodes| most.min(nodes)))
    }

    /// True if nothing happens to it.
    pub fn is_nothing(&self) -> bool {
        let lists = [&self.immutable, &self.new, &self.gone];
        self.fate == Fate::Changes
            && self.drift.is_none()
            && self.removed.is_none()
            && self.fields.is_empty()
            && self.hours == ChangedHours::default()
            && lists.iter().all(|list| list.is_empty())
    }
}

impl Judge {
    /// A NodePool that only OLD has, with this many NodeClaims, if they were listed.
    pub fn vanished(&self, before: &Placed, claims: Option<&[DriftClaim]>) -> PoolChange {
        let nodes = claims.map(<[_]>::len).or_else(|| self.nodes_of(before));
        PoolChange {
            nodes,
            nodes_at_stake: nodes,
            ..PoolChange::new(before, Fate::Vanishes)
        }
    }

    /// A NodePool that only NEW has.
    pub fn appeared(&self, after: &Placed) -> PoolChange {
        let object = self.completed(after);
        PoolChange {
            nodes: Some(0),
            new: without(&self.findings(after, &Json::from(&object), None, None), &[]),
            ..PoolChange::new(after, Fate::Appears)
        }
    }

    /// A NodePool of both sides.
    pub fn changed(&self, before: &Placed, after: &Placed, claims: Option<&[DriftClaim]>) -> PoolChange {
        let policy = &self.projects.for_folder(&after.folder).policy;
        let (completed, wanted) = (self.completed(before), self.completed(after));
        let (with_status, wanted) = (self.with_nodes(before, completed), Json::from(&wanted));
        let old = Json::from(&with_status);
        let known = self.findings(before, &old, None, None);
        let created = self.findings(after, &wanted, None, None);
        let updated = self.findings(after, &wanted, Some(&old), claims);
        let nodes = claims.map(<[_]>::len).or_else(|| self.nodes_of(before));
        let mut change = PoolChange {
            nodes,
            gone: without(&known, &created),
            ..PoolChange::new(after, Fate::Changes)
        };
        for finding in without(&updated, &known) {
            match finding.rule.as_str() {
                "drift" | "policy-drift-acknowledged" => {}
                "node-class-immutable" | "replicas" if !has(&created, &finding) => {
                    change.immutable.push(finding);
                }
                _ => change.new.push(finding),
            }
        }
        let (stored, wanted) = (self.with_nodes(before, self.stored(before)), self.stored(after));
        let mut fields = changed_fields((before, &stored), (after, &wanted));
        let (stored, wanted) = (Json::from(&stored), Json::from(&wanted));
        let (old, new) = (
            NodePool::view(before.version, &stored),
            NodePool::view(after.version, &wanted),
        );
        if change.immutable.is_empty() {
            change.drift = if self.hashes_v1(before) && self.hashes_v1(after) {
                replacement(&old, &new, claims, policy, self.at)
            } else {
                unknown(&fields, nodes)
            };
            change.removed = removal(&old, &new, nodes, policy);
        }
        change.nodes_at_stake = change.stake();
        let of_drift = change.drift.iter().flat_map(|drift| &drift.fields);
        let causes: Vec<&FieldPath> = of_drift
            .chain(change.removed.iter().map(|removed| &removed.field))
            .collect();
        fields.retain(|field| !causes.iter().any(|cause| is_within(field, cause)));
        change.fields = fields;
        if let (Ok(before), Ok(after)) = (Budgets::parse(&old), Budgets::parse(&new)) {
            let nodes = nodes.and_then(|nodes| u32::try_from(nodes).ok());
            change.hours = ChangedHours::between(&before, &after, nodes, self.at);
        }
        change
    }

    /// How many nodes a pool has, if that is known: the number that the user gives, that of its status, or its replicas.
    pub fn nodes_of(&self, pool: &Placed) -> Option<usize> {
        let named = self.nodes.get(&Some(pool.key.name.clone()));
        if let Some(nodes) = named.or_else(|| self.nodes.get(&None)) {
            return usize::try_from(*nodes).ok();
        }
        let object = Json::from(&pool.object);
        let view = NodePool::view(pool.version, &object);
        let replicas = || usize::try_from(view.replicas.present()?).ok();
        view.reported_nodes().or_else(replicas)
    }

    /// A pool whose status has as many nodes as are known.
    fn with_nodes(&self, placed: &Placed, mut pool: Value) -> Value {
        if let (Some(nodes), Some(object)) = (self.nodes_of(placed), pool.as_object_mut()) {
            let status = object.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.insert("nodes".to_owned(), nodes.into());
            }
        }
        pool
    }

    /// True if Karpenter hashes the template as in v1.
    fn hashes_v1(&self, placed: &Placed) -> bool {
        let release = self.karpenter(placed).release();
        placed.version == ApiVersion::V1 || release.has(KarpenterVersion::V1_STORED)
    }

    /// The Karpenter that an object is read by.
    fn karpenter(&self, placed: &Placed) -> TargetKarpenter {
        let found = self
            .projects
            .for_folder(&placed.folder)
            .karpenter(&self.karpenter);
        match placed.version {
            ApiVersion::V1Beta1 if found.source() == ReleaseSource::Newest => {
                KarpenterVersion::LAST_OF_V1BETA1.into()
            }
            _ => found.clone(),
        }
    }

    /// A line on the releases that are assumed; empty if each is known.
    pub fn assumed(&self, old: &Side, new: &Side) -> String {
        let pools = old.pools.iter().chain(&new.pools);
        let found = pools.filter_map(|pool| {
            let policy = self.projects.for_folder(&pool.folder);
            let is_assumed = policy.karpenter(&self.karpenter).is_assumed();
            is_assumed.then(|| TargetKarpenter::assumed(self.karpenter(pool).release()).called())
        });
        let releases: BTreeSet<String> = found.collect();
        if releases.is_empty() {
            return String::new();
        }
        let releases = releases.into_iter().collect::<Vec<_>>().join(" and ");
        format!(
            "compared as for Karpenter {releases} {}\n",
            terminal::ASSUMED_RELEASE
        )
    }

    fn completed(&self, placed: &Placed) -> Value {
        self.karpenter(placed).completed(&placed.object, placed.version)
    }

    /// As the API server stores it.
    fn stored(&self, placed: &Placed) -> Value {
        self.karpenter(placed).stored(&placed.object, placed.version)
    }

    fn findings(
        &self,
        placed: &Placed,
        object: &Json<'_>,
        old: Option<&Json<'_>>,
        claims: Option<&[DriftClaim]>,
    ) -> Vec<Diagnostic> {
        let request = Request {
            subject: Subject::NodePool(placed.version),
            object,
            old,
            claims,
            at: self.at,
        };
        let policy = &self.projects.for_folder(&placed.folder).policy;
        let report = review(&request, policy, &self.karpenter(placed))
            .report
            .into_iter();
        report
            .filter(|finding| !depends_on_variable(finding, object))
            .collect()
    }
}

impl PoolChange {
    fn new(placed: &Placed, fate: Fate) -> Self {
        Self {
            key: placed.key.clone(),
            place: placed.place.clone(),
            fate,
            nodes: None,
            nodes_at_stake: Some(0),
            drift: None,
            removed: None,
            immutable: Vec::new(),
            hours: ChangedHours::default(),
            fields: Vec::new(),
            new: Vec::new(),
            gone: Vec::new(),
        }
    }
}

/// The drift of a pool before Karpenter 1.0, which is not computed. An expiry there is not hashed, but nodes that are older go.
fn unknown(fields: &[FieldPath], nodes: Option<usize>) -> Option<DriftEffect> {
    let causes = [
        FieldPath::of(&["spec", "template"]),
        FieldPath::of(&["spec", "disruption", "expireAfter"]),
    ];
    let is_cause = |field: &&FieldPath| causes.iter().any(|cause| is_within(field, cause));
    let fields: Vec<FieldPath> = fields.iter().filter(is_cause).cloned().collect();
    (!fields.is_empty() && nodes != Some(0)).then(|| DriftEffect {
        title: "this change may replace all nodes of the pool".to_owned(),
        at_most: nodes,
        fields,
        doubt: Some("drift is computed for Karpenter 1.0 and newer only".to_owned()),
        ..DriftEffect::default()
    })
}

/// True if one of two paths is that of the other, or leads to it.
fn is_within(one: &FieldPath, other: &FieldPath) -> bool {
    let (one, other) = (one.segments(), other.segments());
    one.starts_with(other) || other.starts_with(one)
}

/// The paths of the spec at which two stored pools differ; those of v1 if they are of different versions.
fn changed_fields((before, old): (&Placed, &Value), (after, new): (&Placed, &Value)) -> Vec<FieldPath> {
    let spec = FieldPath::of(&["spec"]);
    let differing = |old: &Value, new: &Value| differing(&spec, old.get("spec"), new.get("spec"));
    match (before.version, after.version) {
        (ApiVersion::V1Beta1, ApiVersion::V1) => differing(&converted(old, new), new),
        (ApiVersion::V1, ApiVersion::V1Beta1) => differing(old, &converted(new, old)),
        _ => differing(old, new),
    }
}

/// The paths at which two values differ: those of maps key by key, lists as a whole.
pub fn differing(path: &FieldPath, old: Option<&Value>, new: Option<&Value>) -> Vec<FieldPath> {
    match (old, new) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            let below =
                |key: &String| differing(&path.clone().key(key.clone()), before.get(key), after.get(key));
            keys.into_iter().flat_map(below).collect()
        }
        (None | Some(Value::Null), None | Some(Value::Null)) => Vec::new(),
        _ if old == new => Vec::new(),
        _ => vec![path.clone()],
    }
}

fn findings<S: Serializer>(findings: &[Diagnostic], serializer: S) -> Result<S::Ok, S::Error> {
    let finding = |finding: &Diagnostic| {
        json!({
            "severity": finding.severity.as_str(),
            "rule": finding.rule.as_str(),
            "field": finding.path.to_string(),
            "title": finding.title,
            "consequence": finding.consequence,
            "help": finding.help.as_ref().map(|help| &help.text),
        })
    };
    serializer.collect_seq(findings.iter().map(finding))
}

/// The findings of one list that the other has not, however their places in lists have changed. Notes do not count.
fn without(findings: &[Diagnostic], others: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for other in others {
        *known.entry(identity(other)).or_default() += 1;
    }
    let is_new = |finding: &&Diagnostic| match known.get_mut(&identity(finding)) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => is_counted(finding),
    };
    findings.iter().filter(is_new).cloned().collect()
}

fn has(findings: &[Diagnostic], one: &Diagnostic) -> bool {
    findings.iter().any(|finding| identity(finding) == identity(one))
}

fn identity(finding: &Diagnostic) -> (&'static str, FieldPath) {
    let path = finding.path.segments().iter();
    let keys = path.filter(|segment| matches!(segment, Segment::Key(_)));
    (finding.rule.as_str(), keys.cloned().collect())
}

fn is_counted(finding: &Diagnostic) -> bool {
    finding.severity != Severity::Note
}
