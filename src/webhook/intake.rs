//! What happens to every request of a webhook, whatever it asks.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use tracing::{Instrument, Span, field};

use super::body::{BodyMemoryLimit, HeldBody};
use super::deadline;
use super::heavy::HeavyThread;
use super::metrics::{Route, WebhookMetrics};
use super::rejection::{Rejection, excerpt};
use crate::admission::{self, Answer, Malformed, Summary, Verdict};
use crate::http::Peer;
use crate::telemetry::{LogLimit, caught};

/// The media type of a review.
const JSON: &str = "application/json";

/// Takes requests in: what all of them go through, whatever they ask.
#[derive(Debug)]
pub struct Intake {
    /// The paths that are served, in words.
    paths: &'static str,
    room: BodyMemoryLimit,
    heavy: HeavyThread,
    rejected: LogLimit,
    metrics: WebhookMetrics,
}

impl Intake {
    pub fn new(paths: &'static str, heavy: HeavyThread, metrics: WebhookMetrics) -> Self {
        Self {
            paths,
            room: BodyMemoryLimit::default(),
            heavy,
            rejected: LogLimit::default(),
            metrics,
        }
    }

    /// A path, by its word in logs and metrics.
    pub fn route(&self, name: &'static str) -> Route {
        self.metrics.route(name)
    }

    /// The paths of this router; what is sent elsewhere, or with another method, is rejected.
    pub fn rejecting_others(self: &Arc<Self>, router: Router) -> Router {
        let (method, path) = (Arc::clone(self), Arc::clone(self));
        router
            .method_not_allowed_fallback(async move |request: Request| {
                method.reject(None, peer(&request), Rejection::method(request.method()))
            })
            .fallback(async move |request: Request| {
                let rejection = Rejection::path(request.uri(), path.paths);
                path.reject(None, peer(&request), rejection)
            })
    }

    /// Answers a request with what `review` makes of it.
    pub async fn answer<F: Future<Output = Result<Vec<u8>, Rejection>>>(
        &self,
        route: &Route,
        request: Request,
        review: impl FnOnce(Request) -> F,
    ) -> Response {
        let _in_flight = route.begin();
        let peer = peer(&request);
        let trace = trace(request.headers());
        match review(request).instrument(trace).await {
            Ok(body) => {
                self.metrics.answered(Some(route), StatusCode::OK);
                ([(header::CONTENT_TYPE, HeaderValue::from_static(JSON))], body).into_response()
            }
            Err(rejection) => self.reject(Some(route), peer, rejection),
        }
    }

    /// Reads the body of a review and does `work` with it: here, or for a very large one on the thread for those.
    pub async fn work<T: Send + 'static>(
        &self,
        request: Request,
        work: impl FnOnce(&[u8]) -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        let limit = deadline::from_query(request.uri().query());
        let held = self.read(request, limit).await?;
        if admission::is_light(&held.bytes) {
            return work(&held.bytes);
        }
        let span = Span::current();
        let done = self.heavy.run(limit, move || span.in_scope(|| work(&held.bytes)));
        done.await?
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
    pub fn note(&self, route: &Route, answer: Answer<'_>) -> Vec<u8> {
        log(route, &answer.summary);
        self.count(route, answer)
    }

    /// Counts an answer.
    pub fn count(&self, route: &Route, answer: Answer<'_>) -> Vec<u8> {
        self.metrics.reviewed(route, &answer.summary);
        answer.body
    }

    /// Does the work of a review. A panic ends only this request.
    pub fn guard<T>(&self, work: impl FnOnce() -> Result<T, Malformed>) -> Result<T, Rejection> {
        let done = caught(work).ok_or(Rejection::Panicked)?;
        done.inspect_err(|_| self.metrics.malformed())
            .map_err(Rejection::Malformed)
    }

    /// Answers a request that gets no review. Any client can send many such requests, so not each of them is
    /// logged.
    fn reject(&self, route: Option<&Route>, peer: Option<Peer>, rejection: Rejection) -> Response {
        if let Some(left_out) = self.rejected.permit(rejection.kind().0) {
            tracing::warn!(
                webhook = route.map(Route::name),
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
fn log(route: &Route, summary: &Summary<'_>) {
    let Summary {
        verdict,
        operation,
        uid,
        name,
        rules,
        patched,
        dry_run,
    } = summary;
    let webhook = route.name();
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
    use super::*;
    use crate::telemetry::Registry;

    #[test]
    fn a_review_that_panics_is_a_500_and_the_connection_goes_on() {
        let heavy = HeavyThread::start().expect("a thread");
        let metrics = WebhookMetrics::register(&mut Registry::default());
        let intake = Intake::new("/validate", heavy, metrics);
        let rejection = intake.guard::<()>(|| panic!("a defect")).expect_err("a denial");
        let response = rejection.into_response();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers().get(header::CONNECTION), None);
        assert!(intake.guard(|| Ok(())).is_ok());
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
