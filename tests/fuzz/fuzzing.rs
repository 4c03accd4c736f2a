//! What the fuzz targets need of the webhook: the bytes of an AdmissionReview in, those of its answer out.

use std::sync::Arc;

use poolgate_core::policy::Policy;

use crate::cluster::view::ClusterView;
use crate::review::{Endpoint, MutateVerdict, Reviewer};

/// A webhook without a cluster.
pub struct Webhook(Reviewer);

impl Default for Webhook {
    fn default() -> Self {
        let view = Arc::new(ClusterView::default());
        Self(Reviewer::new(Policy::default(), view, MutateVerdict::On))
    }
}

impl Webhook {
    /// The answer of `/mutate`; an error is a rejected body.
    pub fn mutate(&self, body: &[u8]) -> Result<Vec<u8>, String> {
        self.answer(Endpoint::Mutate, body)
    }

    /// The answer of `/validate`.
    pub fn validate(&self, body: &[u8]) -> Result<Vec<u8>, String> {
        self.answer(Endpoint::Validate, body)
    }

    fn answer(&self, endpoint: Endpoint, body: &[u8]) -> Result<Vec<u8>, String> {
        let answer = self.0.respond(endpoint, body);
        answer
            .map(|answer| answer.body)
            .map_err(|error| error.to_string())
    }
}
