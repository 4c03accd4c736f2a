//! The paths for NodePools.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::post;
use poolgate_core::drift::DriftClaim;

use crate::review::{Endpoint, Reviewer};
use crate::serving::registration::DELETIONS;
use crate::serving::webhook::{Intake, Rejection, Route};

/// The paths that a 404 names.
pub const PATHS: &str = "/mutate, /validate or /validate/delete";

/// Answers reviews of NodePools.
pub struct PoolWebhook {
    reviewer: Reviewer,
    mutate: Route,
    validate: Route,
    intake: Arc<Intake>,
}

impl PoolWebhook {
    pub fn new(reviewer: Reviewer, intake: Intake) -> Self {
        let [mutate, validate] =
            [Endpoint::Mutate, Endpoint::Validate].map(|endpoint| intake.route(endpoint.as_str()));
        Self {
            reviewer,
            mutate,
            validate,
            intake: Arc::new(intake),
        }
    }

    /// The paths.
    pub fn router(self) -> Router {
        let webhook = Arc::new(self);
        let answers = |endpoint| {
            let webhook = Arc::clone(&webhook);
            post(move |request: Request| Arc::clone(&webhook).answer(endpoint, request))
        };
        let router = Router::new()
            .route("/mutate", answers(Endpoint::Mutate))
            .route("/validate", answers(Endpoint::Validate))
            // The same under another name, which distinguishes the registration for deletions.
            .route(DELETIONS, answers(Endpoint::Validate));
        webhook.intake.rejecting_others(router)
    }

    async fn answer(self: Arc<Self>, endpoint: Endpoint, request: Request) -> Response {
        let review = async |request| self.review(endpoint, request).await;
        self.intake.answer(self.route(endpoint), request, review).await
    }

    /// Reviews a request. If a review needs the NodeClaims of its pool it begins again with them.
    async fn review(self: &Arc<Self>, endpoint: Endpoint, request: Request) -> Result<Vec<u8>, Rejection> {
        let mut body = self.intake.read(request).await?;
        let mut claims = None::<Option<Vec<DriftClaim>>>;
        loop {
            let webhook = Arc::clone(self);
            let respond = move |body: &[u8]| {
                let listed = |pool: &str| {
                    claims
                        .as_ref()
                        .map(Option::as_deref)
                        .ok_or_else(|| Box::<str>::from(pool))
                };
                let answer = webhook.reviewer.respond_with(endpoint, body, listed)?;
                Ok(answer.map(|answer| webhook.intake.note(webhook.route(endpoint), answer)))
            };
            let (answer, read) = self.intake.work(body, respond).await?;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(pool) => claims = Some(self.reviewer.list(&pool).await),
            }
            body = read;
        }
    }

    const fn route(&self, endpoint: Endpoint) -> &Route {
        match endpoint {
            Endpoint::Mutate => &self.mutate,
            Endpoint::Validate => &self.validate,
        }
    }
}
