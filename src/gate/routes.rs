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
use crate::admission::About;
use crate::webhook::{Intake, Rejection, Route, deadline};

/// What a wrong path is told.
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

    /// Asks the gate about a NodeClaim, and answers before the API server stops waiting.
    async fn review(self: &Arc<Self>, on_error: OnError, request: Request) -> Result<Vec<u8>, Rejection> {
        let (began, limit) = (Instant::now(), deadline::from_query(request.uri().query()));
        let route = self.route(on_error);
        let webhook = Arc::clone(self);
        let open = move |body: &[u8]| {
            let review = webhook.intake.guard(|| review::open(body))?;
            Ok(review.map_err(|answer| webhook.intake.note(webhook.route(on_error), answer)))
        };
        let review = match self.intake.work(request, open).await? {
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::sync::mpsc;
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::{StatusCode, header};
    use tower::{ServiceExt, service_fn};

    use super::super::context::GateContext;
    use super::*;
    use crate::telemetry::Registry;
    use crate::webhook::{HeavyThread, WebhookMetrics};

    const PATIENCE: Duration = Duration::from_mins(1);

    fn about() -> About {
        About {
            policy: None,
            view: Arc::default(),
            certificate: Arc::default(),
        }
    }

    /// A review of the deletion of a NodeClaim, which the gate answers itself, padded with so many bytes.
    fn deletion(path: &str, bytes: usize) -> Request {
        let nothing = " ".repeat(bytes);
        let body = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","operation":"DELETE",
            "kind":{{"group":"karpenter.sh","version":"v1","kind":"NodeClaim"}},{nothing}"oldObject":{{}}}}}}"#
        );
        Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .expect("a request")
    }

    #[tokio::test]
    async fn a_large_review_of_a_nodeclaim_waits_for_its_turn_and_a_usual_one_does_not() {
        let silent =
            service_fn(|_: hyper::Request<kube::client::Body>| pending::<Result<Response, Infallible>>());
        let context = GateContext::of_client(&kube::Client::new(silent, "default"));
        let gate = Gate::new(false, context);
        let heavy = HeavyThread::start().expect("a thread");
        let metrics = WebhookMetrics::register(&mut Registry::default());
        let intake = Intake::new(PATHS, heavy.clone(), metrics);
        let router = ClaimWebhook::new(gate, about(), intake).router();
        let (sender, receiver) = mpsc::channel::<()>();
        let occupied = heavy.run(PATIENCE, move || receiver.recv_timeout(PATIENCE).is_ok());
        let status = async |path: &str, bytes| {
            let answer = router.clone().oneshot(deletion(path, bytes)).await;
            answer.expect("an answer").status()
        };
        let asked = async {
            for path in ["/gate?timeout=10ms", "/gate/strict?timeout=10ms"] {
                assert_eq!(status(path, 0).await, StatusCode::OK, "{path}");
                let large = status(path, 3 << 20).await;
                assert_eq!(large, StatusCode::SERVICE_UNAVAILABLE, "{path}");
            }
            sender.send(()).expect("the thread is occupied");
        };
        assert!(tokio::join!(occupied, asked).0.is_ok_and(|reported| reported));
        assert_eq!(status("/gate", 3 << 20).await, StatusCode::OK);
    }
}
