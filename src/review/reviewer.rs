//! The answer to a review of a NodePool.
//!
//! Knows nothing of HTTP: the webhook and the `admit` command both call [`Reviewer::respond`].

use std::convert::Infallible;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;
use poolgate_core::drift::{DriftClaim, HashChange};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::review::{REVIEWED, Request, Review, Subject, replaces_nodes, review, review_deletion};

use super::claims::ClaimLister;
use super::scale;
use crate::cluster::view::ClusterView;
use crate::runtime::policy_watch::PolicyInForce;
use crate::serving::admission::envelope::{self, AdmissionRequest, Operation};
use crate::serving::admission::{About, Answer, Malformed, answer, inquiry, takes_at_most};

/// How much memory the objects of one review may take. The largest NodePools in use take a hundredth of it.
const MEMORY: usize = 24 * 1024 * 1024;

/// The kind of review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// Complete the object, and deny immediately whatever /validate would deny. Between the two endpoints the API
    /// server checks the CRD's schema, and the user would otherwise see only its shorter list.
    Mutate,
    /// Review the object as it is about to be stored.
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

/// Whether the mutating endpoint denies too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MutateVerdict {
    /// It gives the same verdict as the validating one.
    #[default]
    On,
    /// It only completes objects. For clusters where another mutating webhook fixes objects after poolgate.
    Off,
}

/// The basis of reviews.
pub struct Reviewer {
    policy: PolicyInForce,
    view: Arc<ClusterView>,
    mutate_verdict: MutateVerdict,
    about: Option<About>,
    claims: Option<ClaimLister>,
}

impl Reviewer {
    /// Reviews with this policy, and with what the view knows of the cluster.
    pub fn new(
        policy: impl Into<PolicyInForce>,
        view: Arc<ClusterView>,
        mutate_verdict: MutateVerdict,
    ) -> Self {
        Self {
            policy: policy.into(),
            view,
            mutate_verdict,
            about: None,
            claims: None,
        }
    }

    /// Lists the NodeClaims of a pool whose template is changed with this.
    #[must_use]
    pub fn listing_claims(self, claims: Option<ClaimLister>) -> Self {
        Self { claims, ..self }
    }

    /// Answers inquiries with this.
    #[must_use]
    pub fn answering_inquiries(mut self, about: About) -> Self {
        self.about = Some(about);
        self
    }

    /// Answers an AdmissionReview without NodeClaims. Fails only if there is no request to answer.
    pub fn respond<'b>(&self, endpoint: Endpoint, body: &'b [u8]) -> Result<Answer<'b>, Malformed> {
        match self.respond_with(endpoint, body, |_| Ok::<_, Infallible>(None))? {
            Ok(answer) => Ok(answer),
            Err(never) => match never {},
        }
    }

    /// Lists the NodeClaims of a pool whose template is changed; `None` if that is not possible in time.
    pub async fn list(&self, pool: &str) -> Option<Vec<DriftClaim>> {
        self.claims.as_ref()?.list(pool).await
    }

    /// Answers an AdmissionReview. If it changes the template of a pool, `claims` is called for the pool's NodeClaims; if they
    /// are not there yet, its error is returned in place of an answer.
    pub fn respond_with<'b, 'c, E>(
        &self,
        endpoint: Endpoint,
        body: &'b [u8],
        claims: impl FnOnce(&str) -> Result<Option<&'c [DriftClaim]>, E>,
    ) -> Result<Result<Answer<'b>, E>, Malformed> {
        if !takes_at_most(MEMORY, body) {
            let request = envelope::open_without_objects(body)?;
            return Ok(Ok(match subject_of(endpoint, &request) {
                Some(_) => answer::too_large(&request, MEMORY),
                None => self.answer(endpoint, &request, &Review::default()),
            }));
        }
        let (request, objects) = match envelope::open(body, REVIEWED) {
            Ok(read) => read,
            Err(Malformed::NotAReview(error)) => {
                let request = envelope::open_without_objects(body)?;
                return Ok(Ok(match subject_of(endpoint, &request) {
                    Some(_) => answer::unreadable(&request, &error),
                    None => self.answer(endpoint, &request, &Review::default()),
                }));
            }
            Err(error) => return Err(error),
        };
        if let Some(about) = self.about.as_ref().filter(|_| inquiry::is_inquiry(&request)) {
            let warning = about.warning(endpoint.as_str(), "admitted");
            return Ok(Ok(answer::admitted_with_warning(&request, warning)));
        }
        let review = if let Some(subject) = subject_of(endpoint, &request) {
            let old = objects.old.as_ref();
            match self.review(endpoint, &request, subject, &objects.new, old, claims) {
                Ok(review) => review,
                Err(first) => return Ok(Err(first)),
            }
        } else if scale::is_of_nodepool(&request) {
            scale::review(
                &request.name,
                &objects.new,
                &self.policy.load().policy,
                &self.view,
            )
        } else if let Some((version, stored)) = deleted_pool(&request).zip(objects.old.as_ref()) {
            let (policy, karpenter) = (self.policy.load(), self.view.karpenter());
            Review {
                report: review_deletion(stored, version, Timestamp::now(), &policy.policy, &karpenter),
                ..Review::default()
            }
        } else {
            Review::default()
        };
        Ok(Ok(self.answer(endpoint, &request, &review)))
    }

    fn review<'c, E>(
        &self,
        endpoint: Endpoint,
        request: &AdmissionRequest<'_>,
        subject: Subject,
        object: &Json<'_>,
        old: Option<&Json<'_>>,
        claims: impl FnOnce(&str) -> Result<Option<&'c [DriftClaim]>, E>,
    ) -> Result<Review, E> {
        let old = old.filter(|_| request.operation == Operation::Update);
        let policy = &self.policy.load().policy;
        let claims = if let Some((lister, hash)) = self.lists_claims(endpoint, request, subject, object, old)
        {
            let listed = claims(&request.name)?;
            if endpoint == Endpoint::Validate {
                lister.count(hash);
            }
            listed
        } else {
            None
        };
        let request = Request {
            subject,
            object,
            old,
            claims,
            at: Timestamp::now(),
        };
        Ok(review(&request, policy, &self.view.karpenter()))
    }

    /// What lists the NodeClaims on which the review of an object depends, and how its template changes.
    fn lists_claims(
        &self,
        endpoint: Endpoint,
        request: &AdmissionRequest<'_>,
        subject: Subject,
        object: &Json<'_>,
        old: Option<&Json<'_>>,
    ) -> Option<(&ClaimLister, HashChange)> {
        let lister = self.claims.as_ref()?;
        let hash = replaces_nodes(subject, object, old?)?;
        // The mutating endpoint warns of nothing: there the NodeClaims matter only if the change may be denied.
        let depends = endpoint == Endpoint::Validate
            || self
                .policy
                .load()
                .policy
                .drift
                .must_be_acknowledged(&request.name);
        depends.then_some((lister, hash))
    }

    fn answer<'b>(&self, endpoint: Endpoint, request: &AdmissionRequest<'b>, review: &Review) -> Answer<'b> {
        match endpoint {
            Endpoint::Validate if review.report.denies() => answer::denied(request, &review.report),
            Endpoint::Validate => answer::allowed(request, &review.report),
            Endpoint::Mutate if review.report.denies() && self.mutate_verdict == MutateVerdict::On => {
                answer::denied(request, &review.report)
            }
            Endpoint::Mutate => answer::completed(request, &review.defaults),
        }
    }
}

/// The object of a request that is reviewed; none for a subresource. A NodeClaim is only validated.
fn subject_of(endpoint: Endpoint, request: &AdmissionRequest<'_>) -> Option<Subject> {
    let subject = subject(request).filter(|_| request.operation.stores())?;
    let is_claim = matches!(subject, Subject::NodeClaim(_));
    (endpoint == Endpoint::Validate || !is_claim).then_some(subject)
}

/// The version of a NodePool that is about to be deleted together with its nodes.
fn deleted_pool(request: &AdmissionRequest<'_>) -> Option<ApiVersion> {
    match subject(request)? {
        Subject::NodePool(version) if request.operation == Operation::Delete && !request.orphans => {
            Some(version)
        }
        _ => None,
    }
}

fn subject(request: &AdmissionRequest<'_>) -> Option<Subject> {
    let kind = &request.kind;
    let subject = Subject::from_kind(&kind.group, &kind.version, &kind.kind);
    subject.filter(|_| request.sub_resource.is_empty())
}

#[cfg(test)]
mod tests;
