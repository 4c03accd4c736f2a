//! The entry point shared by webhook and command line: an object in, defaults and findings out.

use jiff::Timestamp;
use serde_json::Value;

use crate::defaults::{DefaultValue, defaults};
use crate::diagnostic::{FieldPath, Report, Segment};
use crate::drift::{DriftClaim, HashChange, TemplateChange};
use crate::facts::shape::nodepool;
use crate::facts::{ApiVersion, GROUP, OtherKind, TargetKarpenter};
use crate::json::{FieldMask, Json};
use crate::policy::Policy;
use crate::pool::NodePool;
use crate::rules::{self, Context, DriftEffect, PoolLimits, Removal};

/// What kind of object is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A NodePool of this version.
    NodePool(ApiVersion),
    /// A NodeClaim of this version. Karpenter writes those: only their requirements are counted.
    NodeClaim(ApiVersion),
    /// Another kind that Karpenter reads.
    Other(OtherKind),
}

impl Subject {
    /// The subject for a group, version and kind; `None` for objects that poolgate does not check.
    pub fn from_kind(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            (GROUP, "NodePool") => ApiVersion::parse(version).map(Self::NodePool),
            (GROUP, "NodeClaim") => ApiVersion::parse(version).map(Self::NodeClaim),
            _ => OtherKind::parse(group, version, kind).map(Self::Other),
        }
    }
}

/// The parts of an object that rules read. The rest is often the larger part of a stored one.
pub const REVIEWED: FieldMask<'_> = FieldMask::AllBut(&[
    (
        "metadata",
        FieldMask::AllBut(&[
            (
                "annotations",
                FieldMask::AllBut(&[(
                    "kubectl.kubernetes.io/last-applied-configuration",
                    FieldMask::Nothing,
                )]),
            ),
            ("managedFields", FieldMask::Nothing),
        ]),
    ),
    ("status", FieldMask::AllBut(&[("conditions", FieldMask::Nothing)])),
]);

/// An object that is about to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The kind of the object.
    pub subject: Subject,
    /// The object as received; of any shape.
    pub object: &'a Json<'a>,
    /// The stored object that this one replaces, on an update.
    pub old: Option<&'a Json<'a>>,
    /// The NodeClaims of the stored NodePool, if they were listed: then it is known which of them a change replaces.
    pub claims: Option<&'a [DriftClaim]>,
    /// The time: exemptions of the policy may have an end.
    pub at: Timestamp,
}

/// The result of checking an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// What to write into the object.
    pub defaults: Vec<DefaultValue>,
    /// What is wrong with the object.
    pub report: Report,
}

/// Checks an object. An object that is being deleted is admitted unchanged: whatever is wrong with it, its
/// finalizers must be removable. The stored object decides that, because a client can write anything into a new
/// one.
pub fn review(request: &Request<'_>, policy: &Policy, karpenter: &TargetKarpenter) -> Review {
    review_as(request, None, policy, karpenter)
}

/// Checks an object of a file like [`review`], as the API server of this Karpenter completes it. A webhook gets it so.
pub fn review_file(request: &Request<'_>, policy: &Policy, karpenter: &TargetKarpenter) -> Review {
    let Subject::NodePool(version) = request.subject else {
        return review(request, policy, karpenter);
    };
    let completed = |object: &Json<'_>| karpenter.completed(&Value::from(object), version);
    let (object, old) = (completed(request.object), request.old.map(completed));
    let (object, old) = (Json::from(&object), old.as_ref().map(Json::from));
    let stored = Request {
        object: &object,
        old: old.as_ref(),
        ..*request
    };
    let mut review = review_as(&stored, Some(request.object), policy, karpenter);
    for finding in review.report.diagnostics_mut() {
        if finding.path.find(&object).is_some() && finding.path.find(request.object).is_none() {
            finding.path = unwritten(&finding.path, request.object);
            // Only the author can write the field.
            if let Some(help) = &mut finding.help {
                help.edit = None;
            }
        }
    }
    review
}

/// The path of a field that the API server writes, as far as its author can write it: not into a list that is not there.
fn unwritten(path: &FieldPath, written: &Json<'_>) -> FieldPath {
    let mut place = FieldPath::root();
    for segment in path.segments() {
        if matches!(segment, Segment::Index(_)) && place.find(written).is_none() {
            break;
        }
        place = match segment {
            Segment::Key(key) => place.key(key.clone()),
            Segment::Index(index) => place.index(*index),
        };
    }
    place
}

/// Checks an object that its author wrote like this, if that is known.
fn review_as(
    request: &Request<'_>,
    written: Option<&Json<'_>>,
    policy: &Policy,
    karpenter: &TargetKarpenter,
) -> Review {
    if request.old.is_some_and(is_being_deleted) {
        return Review::default();
    }
    let context = |shape| Context::new(shape, request.claims, request.at, policy, karpenter);
    match request.subject {
        Subject::NodePool(version) => {
            let context = context(nodepool(version));
            let pool = NodePool::view(version, request.object).written_as(written);
            let old = request.old.map(|old| NodePool::view(version, old));
            Review {
                defaults: defaults(&pool, old.as_ref(), request.old, &policy.defaults, karpenter),
                report: rules::check(&pool, old.as_ref(), request.old, context),
            }
        }
        Subject::NodeClaim(version) => Review {
            defaults: Vec::new(),
            report: rules::check_nodeclaim(request.object, version, request.old, context(nodepool(version))),
        },
        Subject::Other(kind) => Review {
            defaults: Vec::new(),
            report: rules::check_other(request.object, kind, request.old, context(kind.shape())),
        },
    }
}

/// Checks the deletion of a stored NodePool. One that is being deleted already is let go.
pub fn review_deletion(
    stored: &Json<'_>,
    version: ApiVersion,
    at: Timestamp,
    policy: &Policy,
    karpenter: &TargetKarpenter,
) -> Report {
    if is_being_deleted(stored) {
        return Report::default();
    }
    let context = Context::new(nodepool(version), None, at, policy, karpenter);
    rules::check_deletion(&NodePool::view(version, stored), context)
}

/// How the hash of the template changes, if an update of a NodePool may make Karpenter replace nodes: then a review says
/// more with the pool's NodeClaims.
pub fn replaces_nodes(subject: Subject, object: &Json<'_>, old: &Json<'_>) -> Option<HashChange> {
    let Subject::NodePool(version) = subject else {
        return None;
    };
    // Most updates leave the template as it is, and then no view is needed.
    let path = FieldPath::of(&["spec", "template"]);
    if path.find(old) == path.find(object) {
        return None;
    }
    let (old, new) = (NodePool::view(version, old), NodePool::view(version, object));
    Some(TemplateChange::of(&old, &new)?.hash)
}

/// What an update of a NodePool does to its nodes, if it replaces any: said before anybody applies it. Both are as they are
/// stored.
pub fn replacement(
    old: &NodePool<'_>,
    new: &NodePool<'_>,
    claims: Option<&[DriftClaim]>,
    policy: &Policy,
    at: Timestamp,
) -> Option<DriftEffect> {
    let limits = PoolLimits::parse(new, Some(old), policy);
    DriftEffect::of(new, old, &limits, claims, policy, at)
}

/// What an update of a NodePool with this many nodes, if that is known, deletes of them without a replacement.
pub fn removal(
    old: &NodePool<'_>,
    new: &NodePool<'_>,
    nodes: Option<usize>,
    policy: &Policy,
) -> Option<Removal> {
    let limits = PoolLimits::parse(new, Some(old), policy);
    Removal::of(new, old, &limits, nodes, policy)
}

/// True if a stored object is being deleted.
pub(crate) fn is_being_deleted(stored: &Json<'_>) -> bool {
    FieldPath::of(&["metadata", "deletionTimestamp"])
        .find(stored)
        .is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostic::Severity;

    fn pool(spec: &Value) -> Value {
        let mut pool = json!({
            "metadata": {"name": "general", "annotations": {"team": "blue"}},
            "spec": {
                "disruption": {"budgets": [{"nodes": "10%"}], "consolidationPolicy": "WhenEmpty", "consolidateAfter": "1m"},
                "template": {"spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [],
                }},
            },
        });
        for (pointer, value) in spec.as_object().expect("fields") {
            let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
            pool.pointer_mut(parent).expect("a field")[field] = value.clone();
        }
        pool
    }

    fn reviewed(new: &Value, old: &Json<'_>) -> Review {
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &Json::from(new),
            old: Some(old),
            claims: None,
            at: jiff::Timestamp::default(),
        };
        review(&request, &Policy::default(), &TargetKarpenter::default())
    }

    #[test]
    fn an_update_that_leaves_the_spec_as_it_is_gets_only_what_it_asks_for() {
        let limits = json!({"nodes": "5", "memory": "1Gi"});
        let stored = |annotations: Value| {
            let mut stored = pool(
                &json!({"/spec/replicas": 3, "/spec/limits": limits, "/metadata/annotations": annotations}),
            );
            stored["spec"]["disruption"] = json!({"nodeLimitMode": "Hard"});
            stored
        };
        let written = |old: &Value, new: &Value| {
            let old = Json::from(old);
            let written = reviewed(new, &old).defaults.into_iter();
            written
                .map(|default| default.path.to_string())
                .collect::<Vec<_>>()
        };
        let bare = stored(json!({}));
        let labelled = stored(json!({"team": "blue"}));
        assert_eq!(written(&bare, &labelled), [""; 0]);
        let soft = stored(json!({"poolgate.dev/node-limit-mode": "Soft"}));
        assert_eq!(written(&bare, &soft), ["spec.disruption.nodeLimitMode"]);
        let mut heavier = bare.clone();
        heavier["spec"]["weight"] = json!(1);
        let fields = ["budgets", "consolidationPolicy", "consolidateAfter"];
        assert_eq!(
            written(&bare, &heavier),
            fields.map(|field| format!("spec.disruption.{field}"))
        );

        let unlimited = |limit: Option<&str>, team: &str| {
            let mut stored = stored(json!({"poolgate.dev/node-limit": limit, "team": team}));
            stored["spec"]["limits"] = json!({"memory": "1Gi"});
            stored
        };
        let limited = unlimited(Some("5"), "blue");
        assert_eq!(written(&limited, &unlimited(Some("5"), "red")), [""; 0]);
        for other in [unlimited(None, "blue"), unlimited(Some("6"), "blue")] {
            assert_eq!(written(&other, &limited), ["spec.limits.nodes"]);
        }
    }

    #[test]
    fn a_nodeclaim_has_its_requirements_counted_and_nothing_else_checked() {
        let found = |requirements: usize, old: Option<&Json<'_>>| {
            let claim = json!({"spec": {"requirements": vec![json!(7); requirements], "taints": 5}});
            let request = Request {
                subject: Subject::NodeClaim(ApiVersion::V1),
                object: &Json::from(&claim),
                old,
                claims: None,
                at: jiff::Timestamp::default(),
            };
            let review = review(&request, &Policy::default(), &TargetKarpenter::default());
            assert_eq!(review.defaults, []);
            let found = review.report.into_iter();
            found
                .map(|finding| (finding.rule.as_str(), finding.severity, finding.path.to_string()))
                .collect::<Vec<_>>()
        };
        let of = |severity| vec![("nodeclaim-requirements", severity, "spec.requirements".to_owned())];
        assert_eq!(found(100, None), []);
        assert_eq!(found(101, None), of(Severity::Error));
        let stored = json!({"spec": {"requirements": vec![json!(7); 101]}});
        let stored = Json::from(&stored);
        assert_eq!(found(101, Some(&stored)), of(Severity::Warning), "stored before");
        assert_eq!(found(102, Some(&stored)), of(Severity::Error));
    }
}
