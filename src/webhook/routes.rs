//! The paths of the admission port, and what becomes of a request there.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::time::timeout;

use super::body::BodyRoom;
use super::deadline;
use super::metrics::WebhookMetrics;
use super::refusal::{Refusal, excerpt};
use crate::admission::{Endpoint, Malformed, Reviewer, Summary, Verdict};
use crate::telemetry::caught;

/// The media type of a review.
const JSON: &str = "application/json";

/// What all requests share.
#[derive(Debug)]
pub(super) struct Webhook {
    reviewer: Reviewer,
    room: BodyRoom,
    metrics: WebhookMetrics,
}

impl Webhook {
    pub(super) fn new(reviewer: Reviewer, metrics: WebhookMetrics) -> Self {
        Self {
            reviewer,
            room: BodyRoom::default(),
            metrics,
        }
    }

    /// The paths.
    pub(super) fn router(self) -> Router {
        Router::new()
            .route("/mutate", post(mutate))
            .route("/validate", post(validate))
            .method_not_allowed_fallback(wrong_method)
            .fallback(wrong_path)
            .with_state(Arc::new(self))
    }

    async fn answer(&self, endpoint: Endpoint, request: Request) -> Response {
        let _in_flight = self.metrics.begin(endpoint);
        let response = match self.review(endpoint, request).await {
            Ok(body) => ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], body).into_response(),
            Err(refusal) => {
                tracing::warn!(
                    webhook = endpoint.as_str(),
                    reason = refusal.sentence(),
                    "request not reviewed"
                );
                refusal.into_response()
            }
        };
        self.metrics.answered(Some(endpoint), response.status());
        response
    }

    async fn review(&self, endpoint: Endpoint, request: Request) -> Result<Vec<u8>, Refusal> {
        if !is_json(request.headers()) {
            return Err(Refusal::content_type(request.headers().get(header::CONTENT_TYPE)));
        }
        let limit = deadline::of(request.uri().query());
        let held = timeout(limit, self.room.read(request.into_body()))
            .await
            .map_err(|_| Refusal::Late(limit))??;
        let answer = self.guard(|| self.reviewer.respond(endpoint, &held.bytes))?;
        self.metrics.reviewed(endpoint, &answer.summary);
        log(endpoint, &answer.summary);
        Ok(answer.body)
    }

    /// Does the work of a review, in place and not on a thread of its own: it takes microseconds.
    fn guard<T>(&self, work: impl FnOnce() -> Result<T, Malformed>) -> Result<T, Refusal> {
        let done = caught(work).ok_or(Refusal::Panicked)?;
        done.inspect_err(|_| self.metrics.malformed())
            .map_err(Refusal::Malformed)
    }

    fn refuse(&self, refusal: Refusal) -> Response {
        tracing::warn!(reason = refusal.sentence(), "request not reviewed");
        let response = refusal.into_response();
        self.metrics.answered(None, response.status());
        response
    }
}

async fn mutate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.answer(Endpoint::Mutate, request).await
}

async fn validate(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.answer(Endpoint::Validate, request).await
}

async fn wrong_method(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.refuse(Refusal::method(request.method()))
}

async fn wrong_path(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.refuse(Refusal::path(request.uri()))
}

/// Whether the body is said to be JSON, with or without parameters such as a character set.
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(JSON))
}

/// One line for each denial, and none for what is allowed unless somebody looks closer.
fn log(endpoint: Endpoint, summary: &Summary<'_>) {
    let Summary {
        verdict,
        operation,
        uid,
        name,
        rules,
        patched,
        dry_run,
    } = summary;
    let webhook = endpoint.as_str();
    match verdict {
        Verdict::Denied => {
            let rules: Vec<_> = rules.iter().map(|rule| rule.as_str()).collect();
            let (uid, name) = (excerpt(uid), excerpt(name));
            tracing::info!(webhook, operation, uid, name, ?rules, dry_run, "denied");
        }
        Verdict::Allowed => tracing::debug!(webhook, operation, ?uid, ?name, patched, dry_run, "allowed"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use poolgate_core::policy::Policy;

    use super::*;
    use crate::admission::{ClusterView, MutateVerdict};
    use crate::telemetry::Registry;

    #[test]
    fn a_review_that_panics_is_a_500_and_the_connection_goes_on() {
        let reviewer = Reviewer::new(
            Policy::default(),
            Arc::new(ClusterView::default()),
            MutateVerdict::On,
        );
        let webhook = Webhook::new(reviewer, WebhookMetrics::register(&mut Registry::default()));
        let refusal = webhook.guard::<()>(|| panic!("a defect")).expect_err("a refusal");
        let response = refusal.into_response();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers().get(header::CONNECTION), None);
        assert!(webhook.guard(|| Ok(())).is_ok());
    }

    #[test]
    fn json_is_recognised_with_its_parameters_and_in_any_case() {
        let is_json = |value: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.extend(value.map(|value| (header::CONTENT_TYPE, HeaderValue::from_static(value))));
            is_json(&headers)
        };
        assert!(is_json(Some("application/json")));
        assert!(is_json(Some("Application/JSON; charset=utf-8")));
        for wrong in [
            None,
            Some(""),
            Some("text/plain"),
            Some("application/json-patch+json"),
        ] {
            assert!(!is_json(wrong), "{wrong:?}");
        }
    }
}
