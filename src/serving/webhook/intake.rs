//! The common handling of every request of a webhook.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tracing::{Instrument, Span, field};

use super::body::{BodyMemory, HeldBody};
use super::deadline;
use super::metrics::{Route, WebhookMetrics};
use super::rejection::{Rejection, excerpt};
use crate::runtime::telemetry::{LogLimit, Registry, caught};
use crate::serving::admission::{Answer, Malformed, Summary, Verdict, takes_at_most};
use crate::serving::http::Peer;

/// The media type of a review.
const JSON: &str = "application/json";

/// The largest body that is reviewed where it was read. A larger one takes long.
const LIGHT_BYTES: usize = 1024 * 1024;

/// The most memory that its objects may take.
const LIGHT_MEMORY: usize = 4 * 1024 * 1024;

/// The body of a review, with its deadline.
#[derive(Debug)]
pub struct ReviewBody {
    held: HeldBody,
    is_light: bool,
    by: Instant,
}

/// The request intake, common to all paths.
#[derive(Debug)]
pub struct Intake {
    /// The paths that are served, in words.
    paths: &'static str,
    memory: BodyMemory,
    /// The turn of a body that is not light: they are reviewed one at a time.
    heavy: Arc<Semaphore>,
    /// The runtime whose threads review it. Each other one would keep the memory of its largest review.
    blocking: Handle,
    rejected: LogLimit,
    metrics: WebhookMetrics,
}

impl Intake {
    pub fn new(paths: &'static str, registry: &mut Registry) -> Self {
        Self {
            paths,
            memory: BodyMemory::default(),
            heavy: Arc::new(Semaphore::new(1)),
            blocking: Handle::current(),
            rejected: LogLimit::default(),
            metrics: WebhookMetrics::register(registry),
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
            // Handlers become routes here, and not for each request.
            .with_state(())
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

    /// Reads the body of a review.
    pub async fn read(&self, request: Request) -> Result<ReviewBody, Rejection> {
        let limit = deadline::from_query(request.uri().query());
        if !is_json(request.headers()) {
            let declared = request.headers().get(header::CONTENT_TYPE);
            return Err(Rejection::content_type(declared));
        }
        let (by, peer) = (Instant::now() + limit, peer(&request));
        let held = timeout_at(by, self.memory.read(request.into_body()))
            .await
            .map_err(|_| Rejection::Late(limit))??;
        if let Some(peer) = peer {
            peer.begin();
        }
        let is_light = is_light(&held.bytes);
        Ok(ReviewBody { held, is_light, by })
    }

    /// Does `work` with a body, and returns it. Large ones wait for one another, and block no thread that answers others. A
    /// panic ends only this request.
    pub async fn work<T: Send + 'static>(
        &self,
        body: ReviewBody,
        work: impl FnOnce(&[u8]) -> Result<T, Malformed> + Send + 'static,
    ) -> Result<(T, ReviewBody), Rejection> {
        let (is_light, by) = (body.is_light, body.by);
        let work = move || caught(|| work(&body.held.bytes)).map(|done| (done, body));
        let done = if is_light {
            work()
        } else {
            let turn = timeout_at(by, Arc::clone(&self.heavy).acquire_owned());
            let turn = turn.await.map_err(|_| Rejection::Busy)?;
            let span = Span::current();
            let done = self.blocking.spawn_blocking(move || {
                let _turn = turn;
                span.in_scope(work)
            });
            done.await.ok().flatten()
        };
        let (done, body) = done.ok_or(Rejection::Panicked)?;
        let done = done.inspect_err(|_| self.metrics.malformed())?;
        Ok((done, body))
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

    /// Answers a request that gets no review. Any client can send many such requests, so not each of them is
    /// logged.
    fn reject(&self, route: Option<&Route>, peer: Option<Peer>, rejection: Rejection) -> Response {
        if let Some(left_out) = self.rejected.permit(rejection.kind().0) {
            tracing::warn!(
                webhook = route.map(Route::name),
                peer = peer.map(|peer| field::display(peer.address())),
                reason = rejection.sentence(),
                left_out,
                "rejected a request"
            );
        }
        let response = rejection.into_response();
        self.metrics.answered(route, response.status());
        response
    }
}

/// The client of a request.
fn peer(request: &Request) -> Option<Peer> {
    request.extensions().get().cloned()
}

/// The span of a request's log lines: its place in the API server's trace, if it names one.
fn trace(headers: &HeaderMap) -> Span {
    let traceparent = headers.get("traceparent").and_then(|value| value.to_str().ok());
    match traceparent {
        Some(traceparent) => tracing::info_span!("request", traceparent = excerpt(traceparent)),
        None => Span::none(),
    }
}

/// Whether a review is like thousands of others, in memory and in time.
fn is_light(body: &[u8]) -> bool {
    body.len() <= LIGHT_BYTES && takes_at_most(LIGHT_MEMORY, body)
}

/// Whether the body is declared as JSON, with or without parameters such as a character set.
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(JSON))
}

/// One line for each denial. Admissions are logged only at the level debug.
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
            let (uid, name, rules) = (&**uid, &**name, rules.join(","));
            tracing::info!(webhook, operation, uid, name, rules, dry_run, "denied");
        }
        Verdict::Allowed => tracing::debug!(webhook, operation, ?uid, ?name, patched, dry_run, "allowed"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use axum::body::Body;

    use super::*;

    fn intake() -> Intake {
        Intake::new("/validate", &mut Registry::default())
    }

    /// Reads a request and does this with its body.
    async fn work<T: Send + 'static>(
        intake: &Intake,
        request: Request,
        work: impl FnOnce(&[u8]) -> Result<T, Malformed> + Send + 'static,
    ) -> Result<T, Rejection> {
        let body = intake.read(request).await?;
        let (done, _) = intake.work(body, work).await?;
        Ok(done)
    }

    /// A request with a body of this many bytes.
    fn request(timeout: &str, bytes: usize) -> Request {
        Request::post(format!("/validate?timeout={timeout}"))
            .header(header::CONTENT_TYPE, JSON)
            .body(Body::from(vec![b' '; bytes]))
            .expect("a request")
    }

    #[tokio::test]
    async fn a_large_review_waits_for_its_turn_and_a_usual_one_does_not() {
        let intake = intake();
        let (sender, receiver) = mpsc::channel::<()>();
        let occupied = work(&intake, request("30s", LIGHT_BYTES + 1), move |_| {
            Ok(receiver.recv_timeout(Duration::from_mins(1)).is_ok())
        });
        let others = async {
            let size = |bytes: &[u8]| Ok(bytes.len());
            let usual = work(&intake, request("10ms", LIGHT_BYTES), size).await;
            assert_eq!(usual.expect("it is answered here"), LIGHT_BYTES);
            let large = work(&intake, request("10ms", LIGHT_BYTES + 1), size).await;
            let busy = large.expect_err("it waits").into_response();
            assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
            assert_eq!(busy.headers()[header::RETRY_AFTER], "1");
            sender.send(()).expect("the first one is at work");
        };
        let (occupied, ()) = tokio::join!(occupied, others);
        assert!(occupied.expect("done"));
    }

    #[tokio::test]
    async fn a_review_that_panics_is_a_500_and_the_connection_goes_on() {
        let intake = intake();
        for bytes in [LIGHT_BYTES, LIGHT_BYTES + 1] {
            let crashed = work::<()>(&intake, request("30s", bytes), |_| panic!("a defect"));
            let response = crashed.await.expect_err("a rejection").into_response();
            assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert_eq!(response.headers().get(header::CONNECTION), None);
            let next = work(&intake, request("30s", bytes), |_| Ok("next"));
            assert_eq!(next.await.expect("done"), "next");
        }
    }

    #[test]
    fn a_usual_review_is_light_and_one_of_many_objects_is_not() {
        let objects = |count: usize| format!("[{}0]", "{\"a\":1},".repeat(count));
        assert!(is_light(objects(100).as_bytes()));
        assert!(is_light(&vec![b' '; 100_000]));
        assert!(!is_light(objects(10_000).as_bytes()));
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
