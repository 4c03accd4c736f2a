//! AdmissionReview on the wire: bytes in, a verdict with patch or causes out, as bytes.
//!
//! Knows nothing of HTTP: the webhook and the `admit` command both call [`Reviewer::respond`].

mod answer;
mod cluster_view;
mod envelope;
pub(crate) mod gate;
mod pools;
mod scale;
mod warnings;
mod weight;

use std::sync::Arc;

use poolgate_core::json::{self, Json, Skip, Skipped};
use poolgate_core::review::{Request, Review, Subject, review};
use serde_json::value::RawValue;

use crate::policy_file::PolicyInForce;

pub use answer::{Answer, Summary, Verdict};
pub use cluster_view::ClusterView;
#[cfg(test)]
pub(crate) use cluster_view::StaticPool;
pub use envelope::Malformed;
use envelope::{AdmissionRequest, Operation};
pub(crate) use pools::{CachedPool, Pools};
pub(crate) use weight::is_light;

/// What is asked of poolgate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Complete the object, and refuse at once what would be refused later: between the two endpoints the API
    /// server checks the CRD's schema, and its shorter list would be all that the user reads.
    Mutate,
    /// Judge the object as it is about to be stored.
    Validate,
}

impl Endpoint {
    /// The word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mutate => "mutate",
            Self::Validate => "validate",
        }
    }
}

/// Whether the mutating endpoint refuses, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MutateVerdict {
    /// It gives the same verdict as the validating one.
    #[default]
    On,
    /// It only completes objects. For clusters where another mutating webhook fixes manifests after ours.
    Off,
}

/// What requests are judged by.
#[derive(Debug)]
pub struct Reviewer {
    policy: PolicyInForce,
    view: Arc<ClusterView>,
    mutate_verdict: MutateVerdict,
}

impl Reviewer {
    /// Judges by this policy, for what the view says of the cluster.
    pub fn new(
        policy: impl Into<PolicyInForce>,
        view: Arc<ClusterView>,
        mutate_verdict: MutateVerdict,
    ) -> Self {
        Self {
            policy: policy.into(),
            view,
            mutate_verdict,
        }
    }

    /// Answers an AdmissionReview. Fails only where there is no request to answer.
    pub fn respond<'b>(&self, endpoint: Endpoint, body: &'b [u8]) -> Result<Answer<'b>, Malformed> {
        let request = envelope::open(body)?;
        let judged = match Subject::of(&request.kind.group, &request.kind.version, &request.kind.kind) {
            Some(subject) if request.sub_resource.is_empty() => self.judge(subject, &request),
            None if scale::is_of_nodepool(&request) => Ok(scale::judge(&request, &self.view)),
            _ => Ok(Review::default()),
        };
        Ok(match judged {
            Ok(review) => self.answer(endpoint, &request, &review),
            Err(Unbuilt::Json(error)) => answer::unreadable(&request, &error),
            Err(Unbuilt::TooLarge) => answer::too_large(&request, weight::LIMIT),
        })
    }

    fn judge(&self, subject: Subject, request: &AdmissionRequest<'_>) -> Result<Review, Unbuilt> {
        let old = match request.operation() {
            Operation::Create => None,
            Operation::Update => request.old_object,
            Operation::Other => return Ok(Review::default()),
        };
        if !weight::fits(request) {
            return Err(Unbuilt::TooLarge);
        }
        let object = decode(request.object)?;
        let old = old.map(|raw| decode(Some(raw))).transpose()?;
        let request = Request {
            subject,
            object: &object,
            old: old.as_ref(),
            claims: old.as_ref().and_then(|_| self.view.claims_of(&request.name)),
        };
        Ok(review(&request, &self.policy.load(), &self.view.karpenter()))
    }

    fn answer<'b>(&self, endpoint: Endpoint, request: &AdmissionRequest<'b>, review: &Review) -> Answer<'b> {
        match endpoint {
            Endpoint::Validate if review.report.refuses() => answer::denied(request, &review.report),
            Endpoint::Validate => answer::allowed(request, &review.report),
            Endpoint::Mutate if review.report.refuses() && self.mutate_verdict == MutateVerdict::On => {
                answer::denied(request, &review.report)
            }
            Endpoint::Mutate => answer::completed(request, &review.defaults),
        }
    }
}

/// Why there is no object to judge.
#[derive(Debug, thiserror::Error)]
enum Unbuilt {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("it would take too much memory")]
    TooLarge,
}

/// What no rule looks at, and often the larger part of a stored object.
const UNREAD: Skip = &[
    (
        "metadata",
        Skipped::Below(&[
            (
                "annotations",
                Skipped::Below(&[("kubectl.kubernetes.io/last-applied-configuration", Skipped::Whole)]),
            ),
            ("managedFields", Skipped::Whole),
        ]),
    ),
    ("status", Skipped::Below(&[("conditions", Skipped::Whole)])),
];

/// A missing object reads as `null`, of which the review says what it says of every object that is none.
fn decode(raw: Option<&RawValue>) -> Result<Json<'_>, serde_json::Error> {
    raw.map_or(Ok(Json::Null), |raw| json::read(raw.get(), UNREAD))
}

#[cfg(test)]
mod tests;
