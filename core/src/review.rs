//! The entry point shared by webhook and command line: an object in, defaults and findings out.

use crate::defaults::{DefaultValue, defaults};
use crate::diagnostic::{FieldPath, Report};
use crate::json::{Json, Part};
use crate::karpenter::{
    ApiVersion, GROUP, Karpenter, NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION, NodeClaim, NodePool,
};
use crate::nodelimit::ClaimCounts;
use crate::policy::Policy;
use crate::rules::{self, Context};

/// What kind of object is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A NodePool of this version.
    NodePool(ApiVersion),
    /// A NodeClaim of this version.
    NodeClaim(ApiVersion),
}

impl Subject {
    /// The subject for a group, version and kind; `None` for objects that poolgate does not check.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            (GROUP, "NodePool") => ApiVersion::parse(version).map(Self::NodePool),
            (GROUP, "NodeClaim") => ApiVersion::parse(version).map(Self::NodeClaim),
            _ => None,
        }
    }
}

/// The parts of an object that rules read. The rest is often the larger part of a stored one.
pub const REVIEWED: Part<'_> = Part::AllBut(&[
    (
        "metadata",
        Part::AllBut(&[
            (
                "annotations",
                Part::AllBut(&[("kubectl.kubernetes.io/last-applied-configuration", Part::Nothing)]),
            ),
            ("managedFields", Part::Nothing),
        ]),
    ),
    ("status", Part::AllBut(&[("conditions", Part::Nothing)])),
]);

/// The parts of a stored NodePool that are read unless the new one has an error ([`Review::needs_all_of_old`]).
pub const STORED_OUTLINE: Part<'_> = Part::Only(&[
    (
        "metadata",
        Part::Only(&[
            (
                "annotations",
                Part::Only(&[
                    (NODE_LIMIT_ANNOTATION, Part::All),
                    (NODE_LIMIT_MODE_ANNOTATION, Part::All),
                ]),
            ),
            ("deletionTimestamp", Part::All),
        ]),
    ),
    (
        "spec",
        Part::Only(&[
            ("disruption", Part::Only(&[("nodeLimitMode", Part::All)])),
            ("limits", Part::Only(&[("nodes", Part::All)])),
            ("replicas", Part::All),
            (
                "template",
                Part::Only(&[("spec", Part::Only(&[("nodeClassRef", Part::All)]))]),
            ),
        ]),
    ),
    (
        "status",
        Part::Only(&[
            ("nodes", Part::All),
            ("resources", Part::Only(&[("nodes", Part::All)])),
        ]),
    ),
]);

/// An object that is about to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The kind of the object.
    pub subject: Subject,
    /// The object as received; of any shape.
    pub object: &'a Json<'a>,
    /// The stored object that this one replaces, on an update; for a NodePool, its [`STORED_OUTLINE`] may suffice.
    pub old: Option<&'a Json<'a>>,
    /// The NodeClaims of the NodePool, counted. `None` if they are not watched: then the NodePool's status is used,
    /// which Karpenter writes seconds later.
    pub claims: Option<ClaimCounts>,
}

/// The result of checking an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// What to write into the object.
    pub defaults: Vec<DefaultValue>,
    /// What is wrong with the object.
    pub report: Report,
    /// Whether something in the report depends on arbitrary parts of the stored object. Then its outline is not
    /// enough.
    pub needs_all_of_old: bool,
}

/// Checks an object. An object that is being deleted is admitted unchanged: whatever is wrong with it, its
/// finalizers must be removable. The stored object decides that, because a client can write anything into a new
/// one.
pub fn review(request: &Request<'_>, policy: &Policy, karpenter: &Karpenter) -> Review {
    if request.old.is_some_and(is_being_deleted) {
        return Review::default();
    }
    let context = Context {
        claims: request.claims,
        policy,
        karpenter,
        release: karpenter.release(),
        labels: &policy.labels,
    };
    match request.subject {
        Subject::NodePool(version) => {
            let pool = NodePool::view(version, request.object);
            let old = request.old.map(|old| NodePool::view(version, old));
            let (report, needs_all_of_old) = rules::check(&pool, old.as_ref(), context).into_report();
            Review {
                defaults: defaults(&pool, old.as_ref(), &policy.defaults, karpenter),
                report,
                needs_all_of_old,
            }
        }
        // NodeClaims are Karpenter's: nothing is written into them.
        Subject::NodeClaim(version) => {
            let claim = NodeClaim::view(version, request.object);
            let old = request.old.map(|old| NodeClaim::view(version, old));
            let (report, _) = rules::check_claim(&claim, old.as_ref(), context).into_report();
            Review {
                defaults: Vec::new(),
                report,
                needs_all_of_old: true,
            }
        }
    }
}

fn is_being_deleted(stored: &Json<'_>) -> bool {
    FieldPath::of(&["metadata", "deletionTimestamp"])
        .find(stored)
        .is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::read;

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

    fn reviewed(new: &Value, old: Option<&Json<'_>>) -> Review {
        let request = Request {
            subject: Subject::NodePool(ApiVersion::V1),
            object: &Json::from(new),
            old,
            claims: None,
        };
        review(&request, &Policy::default(), &Karpenter::default())
    }

    #[test]
    fn what_is_always_compared_is_in_the_outline() {
        let annotation = |name: &str, value: &str| json!({ name: value });
        let mode = || annotation("poolgate.dev/node-limit-mode", "Soft");
        let class = json!({"group": "a.example", "kind": "A", "name": "default"});
        for (new, old) in [
            (
                json!({"/spec/weight": 1000}),
                json!({"/metadata/deletionTimestamp": "2026-01-01T00:00:00Z"}),
            ),
            (json!({}), json!({"/spec/replicas": 3})),
            (json!({}), json!({"/spec/disruption/nodeLimitMode": "Soft"})),
            (
                json!({"/spec/disruption/nodeLimitMode": "Hard", "/metadata/annotations": mode()}),
                json!({"/metadata/annotations": mode()}),
            ),
            (
                json!({"/metadata/annotations": annotation("poolgate.dev/node-limit", "9")}),
                json!({"/spec/limits": {"nodes": "5"}}),
            ),
            (
                json!({"/spec/limits": {"nodes": "5"}}),
                json!({"/spec/limits": {"nodes": "9"}, "/status": {"nodes": 7}}),
            ),
            (
                json!({"/spec/limits": {"nodes": "5"}}),
                json!({"/spec/limits": {"nodes": "9"}, "/status": {"resources": {"nodes": "7"}}}),
            ),
            (json!({}), json!({"/spec/template/spec/nodeClassRef": class})),
        ] {
            let (new, old) = (pool(&new), pool(&old));
            let text = old.to_string();
            let outline = read(&text, STORED_OUTLINE).expect("what was written can be read");
            let by_outline = reviewed(&new, Some(&outline));
            assert_eq!(by_outline, reviewed(&new, Some(&Json::from(&old))), "{old}");
            // Without this part the result differs: the case would show what the outline lacks.
            let without = reviewed(&new, Some(&Json::from(&pool(&json!({})))));
            assert_ne!(by_outline, without, "{old}");
        }
    }

    #[test]
    fn an_outline_shows_whether_there_is_a_disruption() {
        let outline = |text| read(text, STORED_OUTLINE).expect("a pool");
        let disruption = FieldPath::of(&["spec", "disruption"]);
        let with = outline(r#"{"spec": {"disruption": {"consolidateAfter": "1m"}}}"#);
        assert!(disruption.find(&with).is_some());
        let without = outline(r#"{"spec": {"weight": 1}}"#);
        assert!(disruption.find(&without).is_none());
    }
}
