//! The paths for NodePools.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::post;

use crate::review::{Endpoint, Reviewer};
use crate::serving::registration::DELETIONS;
use crate::serving::webhook::{Intake, Route};

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
        let webhook = Arc::clone(&self);
        let answer_to = move |body: &[u8]| {
            let answer = webhook.reviewer.respond(endpoint, body)?;
            Ok(webhook.intake.note(webhook.route(endpoint), answer))
        };
        let review = async |request| self.intake.work(request, answer_to).await;
        self.intake.answer(self.route(endpoint), request, review).await
    }

    const fn route(&self, endpoint: Endpoint) -> &Route {
        match endpoint {
            Endpoint::Mutate => &self.mutate,
            Endpoint::Validate => &self.validate,
        }
    }
}
