//! What becomes of one NodePool and its nodes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use poolgate_core::api::ACKNOWLEDGE_DRIFT_ANNOTATION;
use poolgate_core::budget::Budgets;
use poolgate_core::diagnostic::{Diagnostic, FieldPath, Segment, Severity};
use poolgate_core::drift::{DriftClaim, HashChange};
use poolgate_core::json::Json;
use poolgate_core::karpenter::{
    ApiVersion, KarpenterVersion, NodePool, ReleaseSource, TargetKarpenter, schema_defaults,
};
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, replacement, review};
use poolgate_core::rules::Replacement;
use serde_json::Value;

use super::hours::ChangedHours;
use super::side::{Key, Placed};
use crate::review_args::Policies;

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
#[derive(Debug)]
pub struct PoolChange {
    pub key: Key,
    pub place: String,
    pub fate: Fate,
    /// How many nodes it has, if that is known.
    pub nodes: Option<usize>,
    /// Which nodes are replaced.
    pub drift: Option<Drift>,
    /// What the API server rejects in an update, though a new object may have it.
    pub immutable: Vec<Diagnostic>,
    /// Limits below what is in use.
    pub limits: Vec<Diagnostic>,
    pub hours: ChangedHours,
    /// The fields of the spec that change and replace nothing.
    pub fields: Vec<FieldPath>,
    /// Other findings that OLD has not, and that only OLD has.
    pub new: Vec<Diagnostic>,
    pub gone: Vec<Diagnostic>,
}

/// What becomes of a NodePool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Appears,
    Changes,
    Vanishes,
}

/// Which nodes drift.
#[derive(Debug, Default)]
pub struct Drift {
    /// Such as `this change replaces up to 40 nodes`.
    pub title: String,
    /// How many at most, if that is known.
    pub most: Option<usize>,
    pub fields: Vec<FieldPath>,
    /// Why the hash that Karpenter computes is not known.
    pub doubt: Option<String>,
    pub pace: Option<String>,
    /// The NodeClaims that drift, or may.
    pub claims: Vec<String>,
    /// The value that acknowledges it, if the policy wants one that NEW lacks.
    pub acknowledge: Option<String>,
}

impl PoolChange {
    /// How many nodes are replaced, drained or deleted at most: `None` if nobody knows, 0 for a pool that loses none.
    pub fn at_stake(&self) -> Option<usize> {
        match (&self.drift, self.fate) {
            (_, Fate::Vanishes) => self.nodes,
            _ if !self.immutable.is_empty() => self.nodes,
            (Some(drift), _) => drift.most,
            (None, _) => Some(0),
        }
    }

    /// Whether it has a mistake that OLD has not.
    pub fn is_worse(&self) -> bool {
        let is_unacknowledged = self
            .drift
            .as_ref()
            .is_some_and(|drift| drift.acknowledge.is_some());
        !(self.new.is_empty() && self.limits.is_empty() && self.immutable.is_empty()) || is_unacknowledged
    }

    fn is_nothing(&self) -> bool {
        let lists = [&self.immutable, &self.limits, &self.new, &self.gone];
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
        PoolChange {
            nodes: counted.or(reported),
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
            let status = object.entry("status").or_insert_with(|| serde_json::json!({}));
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
                "limit-below-use" => change.limits.push(finding),
                "node-class-immutable" | "replicas" if !has(&created, &finding) => {
                    change.immutable.push(finding);
                }
                _ => change.new.push(finding),
            }
        }
        if change.immutable.is_empty() {
            let policy = &self.policies.for_folder(&after.folder).policy;
            let replaced = replacement(&old, &new, claims, policy, self.at);
            change.drift = replaced
                .map(|replaced| Drift::of(&replaced, &new, claims, policy))
                .or_else(|| unknown(before, after, &fields, nodes));
        }
        let of_drift = change
            .drift
            .as_ref()
            .map(|drift| drift.fields.clone())
            .unwrap_or_default();
        change.fields = fields
            .into_iter()
            .filter(|field| !of_drift.contains(field))
            .collect();
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
            drift: None,
            immutable: Vec::new(),
            limits: Vec::new(),
            hours: ChangedHours::default(),
            fields: Vec::new(),
            new: Vec::new(),
            gone: Vec::new(),
        }
    }
}

impl Drift {
    fn of(
        replaced: &Replacement<'_>,
        new: &NodePool<'_>,
        claims: Option<&[DriftClaim]>,
        policy: &Policy,
    ) -> Self {
        let change = &replaced.change;
        let drifting = claims.unwrap_or_default().iter();
        let drifting = drifting.filter(|claim| change.replaces(claim) != Some(false));
        let digest = change.digest();
        let is_acknowledged = !policy
            .drift
            .must_be_acknowledged(new.name.present().unwrap_or_default())
            || new
                .annotation(ACKNOWLEDGE_DRIFT_ANNOTATION)
                .and_then(Json::as_str)
                == Some(&digest);
        let mut fields = match change.hash {
            HashChange::None => Vec::new(),
            HashChange::To(_) | HashChange::Unknown(_) => change.fields.clone(),
        };
        if change.is_narrower {
            fields.push(FieldPath::of(&REQUIREMENTS));
        }
        Self {
            title: replaced.title.clone(),
            most: replaced.most,
            fields,
            doubt: match change.hash {
                HashChange::Unknown(doubt) => Some(doubt.to_string()),
                HashChange::None | HashChange::To(_) => None,
            },
            // Nobody knows when it will be applied.
            pace: replaced.pace.and_then(|pace| pace.whenever().clause()),
            claims: drifting.map(|claim| claim.name.to_string()).collect(),
            acknowledge: (!is_acknowledged).then_some(digest),
        }
    }
}

const REQUIREMENTS: [&str; 4] = ["spec", "template", "spec", "requirements"];

/// The drift of a pool in v1beta1, which is not computed.
fn unknown(before: &Placed, after: &Placed, fields: &[FieldPath], nodes: Option<usize>) -> Option<Drift> {
    if before.version == ApiVersion::V1 && after.version == ApiVersion::V1 {
        return None;
    }
    let template = FieldPath::of(&["spec", "template"]);
    let fields = fields
        .iter()
        .filter(|field| field.segments().starts_with(template.segments()));
    let fields: Vec<FieldPath> = fields.cloned().collect();
    (!fields.is_empty()).then(|| Drift {
        title: "this change may replace all nodes of the pool".to_owned(),
        most: nodes,
        fields,
        doubt: Some("drift is computed for karpenter.sh/v1 only".to_owned()),
        ..Drift::default()
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
