//! The paths of the admission port, and what happens to a request there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use tokio::time::timeout;
use tracing::{Instrument, Span, field};

use super::body::{BodyMemoryLimit, HeldBody};
use super::deadline;
use super::heavy::HeavyThread;
use super::metrics::{Route, WebhookMetrics};
use super::rejection::{Rejection, excerpt};
use crate::admission::{self, About, Answer, Endpoint, Malformed, Reviewer, Summary, Verdict};
use crate::gate::{self, Gate, OnError};
use crate::http::Peer;
use crate::telemetry::{LogLimit, caught};

/// The media type of a review.
const JSON: &str = "application/json";

/// The state that all requests share.
#[derive(Debug)]
pub struct Webhook {
    /// Reviews NodePools.
    reviewer: Option<Arc<Reviewer>>,
    /// The gate, if it is served.
    gate: Option<(Gate, About)>,
    room: BodyMemoryLimit,
    heavy: HeavyThread,
    rejected: LogLimit,
    metrics: WebhookMetrics,
}

impl Webhook {
    pub fn new(
        reviewer: Option<Reviewer>,
        gate: Option<(Gate, About)>,
        heavy: HeavyThread,
        metrics: WebhookMetrics,
    ) -> Self {
        Self {
            reviewer: reviewer.map(Arc::new),
            gate,
            room: BodyMemoryLimit::default(),
            heavy,
            rejected: LogLimit::default(),
            metrics,
        }
    }

    /// The paths.
    pub fn router(self) -> Router {
        let mut router = Router::new();
        if self.reviewer.is_some() {
            router = router
                .route("/mutate", answers(Route::Review(Endpoint::Mutate)))
                .route("/validate", answers(Route::Review(Endpoint::Validate)));
        }
        if self.gate.is_some() {
            router = router
                .route("/gate", answers(Route::Gate(OnError::Allow)))
                .route("/gate/strict", answers(Route::Gate(OnError::Deny)));
        }
        router
            .method_not_allowed_fallback(wrong_method)
            .fallback(wrong_path)
            .with_state(Arc::new(self))
    }

    async fn answer(self: &Arc<Self>, route: Route, request: Request) -> Response {
        let _in_flight = self.metrics.begin(route);
        let peer = peer(&request);
        let trace = trace(request.headers());
        let reviewed = match (route, &self.reviewer, &self.gate) {
            (Route::Review(endpoint), Some(reviewer), _) => {
                self.review(reviewer, endpoint, request).instrument(trace).await
            }
            (Route::Gate(on_error), _, Some(gate)) => {
                self.nodeclaim(gate, on_error, request).instrument(trace).await
            }
            _ => Err(Rejection::path(request.uri())),
        };
        match reviewed {
            Ok(body) => {
                self.metrics.answered(Some(route), StatusCode::OK);
                ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], body).into_response()
            }
            Err(rejection) => self.reject(Some(route), peer, rejection),
        }
    }

    async fn review(
        self: &Arc<Self>,
        reviewer: &Arc<Reviewer>,
        endpoint: Endpoint,
        request: Request,
    ) -> Result<Vec<u8>, Rejection> {
        let reviewer = Arc::clone(reviewer);
        let answer_to = move |webhook: &Self, body: &[u8]| {
            let answer = webhook.guard(|| reviewer.respond(endpoint, body))?;
            Ok(webhook.note(Route::Review(endpoint), answer))
        };
        self.work(request, answer_to).await
    }

    /// Asks the gate about a NodeClaim, and answers before the API server stops waiting.
    async fn nodeclaim(
        self: &Arc<Self>,
        (gate, about): &(Gate, About),
        on_error: OnError,
        request: Request,
    ) -> Result<Vec<u8>, Rejection> {
        let (began, limit) = (Instant::now(), deadline::of(request.uri().query()));
        let route = Route::Gate(on_error);
        let open = move |webhook: &Self, body: &[u8]| {
            let review = webhook.guard(|| gate::open(body))?;
            Ok(review.map_err(|answer| webhook.note(route, answer)))
        };
        match self.work(request, open).await? {
            Err(answer) => Ok(answer),
            Ok(review) => {
                let left = deadline::before(limit).saturating_sub(began.elapsed());
                let decision = gate.ask(&review, on_error, left).await;
                let answer = if review.is_inquiry() {
                    review.tell(about.warning(route.as_str(), decision.word()))
                } else {
                    decision.answer(&review)
                };
                self.metrics.reviewed(route, &answer.summary);
                Ok(answer.body)
            }
        }
    }

    /// Reads the body of a review and does `work` with it: here, or for a very large one on the thread for those.
    async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        request: Request,
        work: impl FnOnce(&Self, &[u8]) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        let limit = deadline::of(request.uri().query());
        let held = self.read(request, limit).await?;
        if admission::is_light(&held.bytes) {
            return work(self, &held.bytes);
        }
        let (webhook, span) = (Arc::clone(self), Span::current());
        let done = self
            .heavy
            .run(limit, move || span.in_scope(|| work(&webhook, &held.bytes)));
        done.await.unwrap_or(Err(Rejection::Busy))
    }

    /// Reads the body of a review.
    async fn read(&self, request: Request, limit: Duration) -> Result<HeldBody, Rejection> {
        if !is_json(request.headers()) {
            return Err(Rejection::content_type(
                request.headers().get(header::CONTENT_TYPE),
            ));
        }
        timeout(limit, self.room.read(peer(&request), request.into_body()))
            .await
            .map_err(|_| Rejection::Late(limit))?
    }

    /// Counts and logs an answer.
    fn note(&self, route: Route, answer: Answer<'_>) -> Vec<u8> {
        self.metrics.reviewed(route, &answer.summary);
        log(route, &answer.summary);
        answer.body
    }

    /// Does the work of a review. A panic ends only this request.
    fn guard<T>(&self, work: impl FnOnce() -> Result<T, Malformed>) -> Result<T, Rejection> {
        let done = caught(work).ok_or(Rejection::Panicked)?;
        done.inspect_err(|_| self.metrics.malformed())
            .map_err(Rejection::Malformed)
    }

    /// Answers a request that gets no review. Any client can send many such requests, so not each of them is
    /// logged.
    fn reject(&self, route: Option<Route>, peer: Option<Peer>, rejection: Rejection) -> Response {
        if let Some(left_out) = self.rejected.permit(rejection.kind().0) {
            tracing::warn!(
                webhook = route.map(Route::as_str),
                peer = peer.map(|peer| field::display(peer.0)),
                reason = rejection.sentence(),
                left_out,
                "request not reviewed"
            );
        }
        let response = rejection.into_response();
        self.metrics.answered(route, response.status());
        response
    }
}

fn answers(route: Route) -> MethodRouter<Arc<Webhook>> {
    post(
        move |State(webhook): State<Arc<Webhook>>, request: Request| async move {
            webhook.answer(route, request).await
        },
    )
}

async fn wrong_method(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.reject(None, peer(&request), Rejection::method(request.method()))
}

async fn wrong_path(State(webhook): State<Arc<Webhook>>, request: Request) -> Response {
    webhook.reject(None, peer(&request), Rejection::path(request.uri()))
}

/// The client of a request.
fn peer(request: &Request) -> Option<Peer> {
    request.extensions().get().copied()
}

/// The span of a request's log lines: its place in the API server's trace, if it names one.
fn trace(headers: &HeaderMap) -> Span {
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    match traceparent {
        Some(traceparent) => tracing::info_span!("request", traceparent = excerpt(traceparent)),
        None => Span::none(),
    }
}

/// Whether the body is declared as JSON, with or without parameters such as a character set.
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(JSON))
}

/// One line for each denial. What is allowed is logged only at the level debug.
fn log(route: Route, summary: &Summary<'_>) {
    let Summary {
        verdict,
        operation,
        uid,
        name,
        rules,
        patched,
        dry_run,
    } = summary;
    let webhook = route.as_str();
    match verdict {
        Verdict::Denied => {
            let rules: Vec<_> = rules.iter().map(|rule| rule.as_str()).collect();
            let (uid, name, rules) = (excerpt(uid), excerpt(name), rules.join(","));
            tracing::info!(webhook, operation, uid, name, rules, dry_run, "denied");
        }
        Verdict::Allowed => tracing::debug!(webhook, operation, ?uid, ?name, patched, dry_run, "allowed"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use axum::body::Body;
    use poolgate_core::policy::Policy;
    use tower::ServiceExt;

    use super::*;
    use crate::admission::{ClusterView, MutateVerdict};
    use crate::cluster::clock::Clock;
    use crate::gate::{GateMetrics, GateSettings};
    use crate::telemetry::Registry;

    const PATIENCE: Duration = Duration::from_mins(1);

    fn about() -> About {
        About {
            policy: Policy::default().into(),
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
            .header(header::CONTENT_TYPE, JSON)
            .body(Body::from(body))
            .expect("a request")
    }

    #[tokio::test]
    async fn a_large_review_of_a_nodeclaim_waits_for_its_turn_and_a_usual_one_does_not() {
        let settings = GateSettings { observe: false };
        let (gate, _inbox) = Gate::new(settings, GateMetrics::default(), Clock::start());
        let heavy = HeavyThread::start().expect("a thread");
        let metrics = WebhookMetrics::register(&mut Registry::default());
        let webhook = Webhook::new(None, Some((gate, about())), heavy.clone(), metrics);
        let router = webhook.router();
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
        assert!(tokio::join!(occupied, asked).0.is_some_and(|reported| reported));
        assert_eq!(status("/gate", 3 << 20).await, StatusCode::OK);
    }

    #[test]
    fn a_review_that_panics_is_a_500_and_the_connection_goes_on() {
        let reviewer = Reviewer::new(
            Policy::default(),
            Arc::new(ClusterView::default()),
            MutateVerdict::On,
        );
        let heavy = HeavyThread::start().expect("a thread");
        let metrics = WebhookMetrics::register(&mut Registry::default());
        let webhook = Webhook::new(Some(reviewer), None, heavy, metrics);
        let rejection = webhook.guard::<()>(|| panic!("a defect")).expect_err("a denial");
        let response = rejection.into_response();
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
