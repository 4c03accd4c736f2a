//! The one entry that webhook and command line share: an object in, defaults and findings out.

use crate::defaults::{DefaultValue, defaults};
use crate::diagnostic::{FieldPath, Report};
use crate::json::Json;
use crate::karpenter::{ApiVersion, GROUP, Karpenter, NodeClaim, NodePool};
use crate::nodelimit::ClaimCounts;
use crate::policy::Policy;
use crate::rules::{self, Context};

/// What kind of object is to be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A NodePool of this version.
    NodePool(ApiVersion),
    /// A NodeClaim of this version.
    NodeClaim(ApiVersion),
}

impl Subject {
    /// The subject that group, version and kind name; none for everything that poolgate does not judge.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        match (group, kind) {
            (GROUP, "NodePool") => ApiVersion::parse(version).map(Self::NodePool),
            (GROUP, "NodeClaim") => ApiVersion::parse(version).map(Self::NodeClaim),
            _ => None,
        }
    }
}

/// An object that is about to be stored.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// What the object says it is.
    pub subject: Subject,
    /// The object as it came; of any shape.
    pub object: &'a Json<'a>,
    /// The stored object that this one replaces, on an update.
    pub old: Option<&'a Json<'a>>,
    /// The NodeClaims of the NodePool, counted. None where nobody watches them: then its status is believed, which
    /// Karpenter writes seconds later.
    pub claims: Option<ClaimCounts>,
}

/// What poolgate makes of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Review {
    /// What to write into the object.
    pub defaults: Vec<DefaultValue>,
    /// What is wrong with the object.
    pub report: Report,
}

/// Judges an object. One that is being deleted is let through as it is: whatever is wrong with it, its
/// finalizers must be able to go. The stored object tells, because a client can write anything into a new one.
pub fn review(request: &Request<'_>, policy: &Policy, karpenter: &Karpenter) -> Review {
    let deletion = FieldPath::of(&["metadata", "deletionTimestamp"]);
    if request.old.is_some_and(|old| deletion.find(old).is_some()) {
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
            Review {
                defaults: defaults(&pool, old.as_ref(), &policy.defaults, karpenter),
                report: rules::check(&pool, old.as_ref(), &context),
            }
        }
        // NodeClaims are Karpenter's: nothing is written into them.
        Subject::NodeClaim(version) => {
            let claim = NodeClaim::view(version, request.object);
            let old = request.old.map(|old| NodeClaim::view(version, old));
            Review {
                defaults: Vec::new(),
                report: rules::check_claim(&claim, old.as_ref(), &context),
            }
        }
    }
}
