//! What becomes of one NodePool and its nodes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use poolgate_core::budget::Budgets;
use poolgate_core::diagnostic::{Diagnostic, FieldPath, Segment, Severity};
use poolgate_core::drift::DriftClaim;
use poolgate_core::json::Json;
use poolgate_core::karpenter::{
    ApiVersion, KarpenterVersion, NodePool, ReleaseSource, TargetKarpenter, schema_defaults,
};
use poolgate_core::review::{Request, Subject, replacement, review};
use poolgate_core::rules::Replacement;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::hours::ChangedHours;
use super::side::{Key, Placed, Side};
use crate::review_args::Policies;
use crate::terminal;

/// What each NodePool is judged by.
#[derive(Debug)]
pub struct Judge {
    pub policies: Policies,
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
    pub drift: Option<Replacement>,
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
    /// Whether it has a mistake that OLD has not.
    pub fn is_worse(&self) -> bool {
        let is_unacknowledged = self
            .drift
            .as_ref()
            .is_some_and(|drift| drift.acknowledge.is_some());
        !(self.new.is_empty() && self.immutable.is_empty()) || is_unacknowledged
    }

    fn is_nothing(&self) -> bool {
        let lists = [&self.immutable, &self.new, &self.gone];
        self.fate == Fate::Changes
            && self.drift.is_none()
            && self.fields.is_empty()
            && self.hours == ChangedHours::default()
            && lists.iter().all(|list| list.is_empty())
    }
}

impl Judge {
    /// A NodePool that only OLD has, with this many NodeClaims, if they were listed.
    pub fn vanished(&self, before: &Placed, claims: Option<&[DriftClaim]>) -> PoolChange {
        let object = Json::from(&before.object);
        let reported = NodePool::view(before.version, &object).reported_nodes();
        let counted = claims.map(<[_]>::len).or_else(|| self.nodes_of(before));
        let nodes = counted.or(reported);
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

    /// A NodePool of both sides; `None` if nothing happens to it.
    pub fn changed(
        &self,
        before: &Placed,
        after: &Placed,
        claims: Option<&[DriftClaim]>,
    ) -> Option<PoolChange> {
        let change = self.change(before, after, claims);
        (!change.is_nothing()).then_some(change)
    }

    fn change(&self, before: &Placed, after: &Placed, claims: Option<&[DriftClaim]>) -> PoolChange {
        let (mut stored, wanted) = (self.completed(before), self.completed(after));
        if let (Some(nodes), Some(object)) = (self.nodes_of(before), stored.as_object_mut()) {
            let status = object.entry("status").or_insert_with(|| json!({}));
            if let Some(status) = status.as_object_mut() {
                status.insert("nodes".to_owned(), nodes.into());
            }
        }
        let fields = differing(&FieldPath::of(&["spec"]), stored.get("spec"), wanted.get("spec"));
        let (stored, wanted) = (Json::from(&stored), Json::from(&wanted));
        let (old, new) = (
            NodePool::view(before.version, &stored),
            NodePool::view(after.version, &wanted),
        );
        let nodes = claims.map(<[_]>::len).or_else(|| old.reported_nodes());
        let known = self.findings(before, &stored, None, None);
        let created = self.findings(after, &wanted, None, None);
        let updated = self.findings(after, &wanted, Some(&stored), claims);
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
        if change.immutable.is_empty() {
            let policy = &self.policies.for_folder(&after.folder).policy;
            change.drift = replacement(&old, &new, claims, policy, self.at)
                .or_else(|| unknown(before, after, &fields, nodes));
        }
        change.nodes_at_stake = match &change.drift {
            _ if !change.immutable.is_empty() => nodes,
            Some(drift) => drift.at_most,
            None => Some(0),
        };
        let of_drift = change.drift.as_ref().map(|drift| &*drift.fields);
        let of_drift = of_drift.unwrap_or_default();
        let fields = fields.into_iter();
        change.fields = fields.filter(|field| !of_drift.contains(field)).collect();
        if let (Ok(before), Ok(after)) = (Budgets::parse(&old), Budgets::parse(&new)) {
            let nodes = nodes.and_then(|nodes| u32::try_from(nodes).ok());
            change.hours = ChangedHours::between(&before, &after, nodes, self.at);
        }
        change
    }

    /// The number of nodes that the user gives.
    fn nodes_of(&self, pool: &Placed) -> Option<usize> {
        let named = self.nodes.get(&Some(pool.key.name.clone()));
        let nodes = named.or_else(|| self.nodes.get(&None))?;
        usize::try_from(*nodes).ok()
    }

    /// The Karpenter that an object is read by.
    fn karpenter(&self, placed: &Placed) -> TargetKarpenter {
        let found = self
            .policies
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
            let policy = self.policies.for_folder(&pool.folder);
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
        schema_defaults(&placed.object, placed.version, self.karpenter(placed).release())
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
        let policy = &self.policies.for_folder(&placed.folder).policy;
        review(&request, policy, &self.karpenter(placed))
            .report
            .into_iter()
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
            immutable: Vec::new(),
            hours: ChangedHours::default(),
            fields: Vec::new(),
            new: Vec::new(),
            gone: Vec::new(),
        }
    }
}

/// The drift of a pool in v1beta1, which is not computed.
fn unknown(
    before: &Placed,
    after: &Placed,
    fields: &[FieldPath],
    nodes: Option<usize>,
) -> Option<Replacement> {
    if before.version == ApiVersion::V1 && after.version == ApiVersion::V1 {
        return None;
    }
    let template = FieldPath::of(&["spec", "template"]);
    let fields = fields
        .iter()
        .filter(|field| field.segments().starts_with(template.segments()));
    let fields: Vec<FieldPath> = fields.cloned().collect();
    (!fields.is_empty()).then(|| Replacement {
        title: "this change may replace all nodes of the pool".to_owned(),
        at_most: nodes,
        fields,
        doubt: Some("drift is computed for karpenter.sh/v1 only".to_owned()),
        ..Replacement::default()
    })
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
