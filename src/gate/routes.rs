//! The paths for NodeClaims.

use std::sync::Arc;
use tokio::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::post;

use super::error::OnError;
use super::pools::Gate;
use super::review;
use crate::serving::admission::About;
use crate::serving::webhook::{Intake, Rejection, Route, deadline};

/// The paths that a 404 names.
pub const PATHS: &str = "/gate or /gate/strict";

/// Answers whether NodeClaims may be created.
pub struct ClaimWebhook {
    gate: Arc<Gate>,
    about: About,
    lenient: Route,
    strict: Route,
    intake: Arc<Intake>,
}

impl ClaimWebhook {
    pub fn new(gate: Arc<Gate>, about: About, intake: Intake) -> Self {
        Self {
            gate,
            about,
            lenient: intake.route("gate"),
            strict: intake.route("gate/strict"),
            intake: Arc::new(intake),
        }
    }

    /// The paths.
    pub fn router(self) -> Router {
        let webhook = Arc::new(self);
        let answers = |on_error| {
            let webhook = Arc::clone(&webhook);
            post(move |request: Request| Arc::clone(&webhook).answer(on_error, request))
        };
        let router = Router::new()
            .route("/gate", answers(OnError::Allow))
            .route("/gate/strict", answers(OnError::Deny));
        webhook.intake.rejecting_others(router)
    }

    async fn answer(self: Arc<Self>, on_error: OnError, request: Request) -> Response {
        let review = async |request| self.review(on_error, request).await;
        self.intake.answer(self.route(on_error), request, review).await
    }

    /// Lets the gate decide on a NodeClaim, and answers before the API server times out.
    async fn review(self: &Arc<Self>, on_error: OnError, request: Request) -> Result<Vec<u8>, Rejection> {
        let (began, limit) = (Instant::now(), deadline::from_query(request.uri().query()));
        let route = self.route(on_error);
        let webhook = Arc::clone(self);
        let open = move |body: &[u8]| {
            Ok(review::open(body)?.map_err(|answer| webhook.intake.note(webhook.route(on_error), answer)))
        };
        let body = self.intake.read(request).await?;
        let (review, body) = self.intake.work(body, open).await?;
        // Nothing of it is kept while the review waits.
        drop(body);
        let review = match review {
            Err(answer) => return Ok(answer),
            Ok(review) => review,
        };
        let left = deadline::before(limit).saturating_sub(began.elapsed());
        let decision = self.gate.ask(&review, on_error, left).await;
        let answer = if review.is_inquiry() {
            review.tell(self.about.warning(route.name(), decision.word()))
        } else {
            decision.answer(&review)
        };
        Ok(self.intake.count(route, answer))
    }

    const fn route(&self, on_error: OnError) -> &Route {
        match on_error {
            OnError::Allow => &self.lenient,
            OnError::Deny => &self.strict,
        }
    }
}
