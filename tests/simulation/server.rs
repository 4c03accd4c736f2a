//! The API server: REST over the store, with watches, pages and server-side apply, as far as poolgate uses it.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::cluster::{CLAIMS, Cluster, POOLS, delete, leases};
use super::faults::Fault;
use super::history::Event;
use super::schedules;
use super::store::{Refusal, metadata};
use super::watch::Watch;

/// An answer that comes sooner is still waited for.
const HEARD: Duration = Duration::from_secs(1);

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Whose calls these are.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) name: String,
    /// Whether its connections are kept, so that they may die.
    pub(super) is_kept: bool,
}

/// A connection to the API server: a service under a client.
#[derive(Clone)]
pub(super) struct Connection {
    pub(super) cluster: Arc<Cluster>,
    pub(super) caller: Caller,
    /// Until when it is dead.
    pub(super) dead_until: Arc<Mutex<Option<Instant>>>,
}

type Answer = Response<UnsyncBoxBody<Bytes, std::io::Error>>;

impl tower::Service<Request<Body>> for Connection {
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let connection = self.clone();
        // What was sent is done even if nobody waits for it any more.
        let served = tokio::spawn(connection.serve(request));
        Box::pin(async move {
            match served.await {
                Ok(answer) => Ok(answer),
                Err(_) => pending().await,
            }
        })
    }
}

impl Connection {
    /// A client of this connection.
    pub(super) fn client(cluster: &Arc<Cluster>, name: &str, is_kept: bool) -> kube::Client {
        let connection = Self {
            cluster: Arc::clone(cluster),
            caller: Caller {
                name: name.into(),
                is_kept,
            },
            dead_until: Arc::default(),
        };
        kube::Client::new(connection, "default")
    }

    async fn serve(self, request: Request<Body>) -> Answer {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        let target = parts
            .uri
            .path_and_query()
            .map(ToString::to_string)
            .unwrap_or_default();
        let (fate, dead) = {
            let mut inner = self.cluster.lock();
            let mut dead = self.dead_until.lock().expect("nobody panicked with it");
            if dead.is_none_or(|until| until <= Instant::now()) && self.caller.is_kept {
                let dies = inner.faults.strikes(Fault::DeadConnections, 0.01);
                *dead = dies.then(|| Instant::now() + inner.faults.between(20_000, 100_000));
            }
            let is_list = parts.method == Method::GET && parts.uri.path() == CLAIMS;
            let is_list = is_list && !target.contains("watch=");
            (inner.faults.fate(is_list), *dead)
        };
        let who = &self.caller.name;
        self.cluster
            .note(&format!("{who} calls {} {target}", parts.method));
        if fate.is_lost || dead.is_some() {
            self.cluster.note("  lost");
            return pending().await;
        }
        sleep(fate.before).await;
        if let Some(code) = fate.refused {
            self.cluster
                .note(&format!("{who} is refused {code} {} {target}", parts.method));
            return status(code, "a fault");
        }
        let call = Call {
            connection: &self,
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            accept: header(&parts, "accept"),
            content_type: header(&parts, "content-type"),
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        let answer = call.answer();
        self.cluster.note(&format!(
            "{who} gets {} for {} {target}",
            answer.status().as_u16(),
            parts.method
        ));
        if fate.is_unanswered {
            self.cluster.note("  unanswered");
            return pending().await;
        }
        let of_leases = leases(&self.cluster.lock().namespace);
        let is_lease = call.method == Method::GET && call.path.starts_with(&of_leases);
        if is_lease && answer.status() == StatusCode::OK && fate.before < HEARD {
            self.cluster.tell(&Event::LeaseRead { by: who.clone() });
        }
        sleep(fate.after).await;
        answer
    }
}

fn header(parts: &hyper::http::request::Parts, name: &str) -> String {
    let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

struct Call<'c> {
    connection: &'c Connection,
    method: Method,
    path: String,
    query: String,
    accept: String,
    content_type: String,
    body: Value,
}

fn json_answer(code: u16, value: &Value) -> Answer {
    let body = Full::new(Bytes::from(value.to_string())).map_err(|never| match never {});
    let mut answer = Response::new(UnsyncBoxBody::new(body));
    *answer.status_mut() = StatusCode::from_u16(code).expect("a status");
    answer
}

fn status(code: u16, message: &str) -> Answer {
    let reason = match code {
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        504 => "Timeout",
        _ => "InternalError",
    };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
    });
    json_answer(code, &status)
}

fn refused(refusal: Refusal) -> Answer {
    match refusal {
        Refusal::NotFound => status(404, "not found"),
        Refusal::Conflict => status(409, "the object has been modified"),
        Refusal::Exists => status(409, "already exists"),
        Refusal::Invalid => status(422, "the label never changes"),
    }
}

impl Call<'_> {
    fn parameter(&self, name: &str) -> Option<String> {
        let decoded = |text: &str| percent_decoded(text);
        let pairs = self.query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| decoded(value))
    }

    /// The collection, and the name of one object in it.
    fn target(&self) -> (&str, Option<&str>) {
        let parts = self.path.split('/').count();
        let is_namespaced = self.path.contains("/namespaces/");
        let collection =
            if self.path.starts_with("/api/") { 4 } else { 5 } + if is_namespaced { 2 } else { 0 };
        if parts > collection {
            let (path, name) = self.path.rsplit_once('/').expect("a name");
            (path, Some(name))
        } else {
            (&self.path, None)
        }
    }

    fn answer(&self) -> Answer {
        let cluster = &self.connection.cluster;
        let (path, name) = self.target();
        let at = cluster.text_time();
        match (self.method.as_str(), name) {
            ("GET", None) if self.parameter("watch").is_some() => self.watch(path),
            ("GET", None) => self.list(path),
            ("GET", Some(name)) => match cluster.lock().store.get(path, name) {
                Some(object) => json_answer(200, &object),
                None => status(404, "not found"),
            },
            ("POST", _) if path == REVIEWS => json_answer(201, &json!({"status": {"allowed": true}})),
            ("POST", _) => {
                let created = cluster.change(|store| store.create(path, self.managed(path, &at), &at));
                self.count_conflict(path, &created);
                created.map_or_else(refused, |object| json_answer(201, &object))
            }
            ("PUT", Some(name)) => {
                let replaced = cluster.change(|store| store.replace(path, name, self.managed(path, &at)));
                self.count_conflict(path, &replaced);
                replaced.map_or_else(refused, |object| json_answer(200, &object))
            }
            ("PATCH", Some(name)) => {
                let written = if self.content_type.contains("apply-patch") {
                    let manager = self.parameter("fieldManager").unwrap_or_default();
                    let force = self.parameter("force").as_deref() == Some("true");
                    let pool = cluster.lock().store.get(path, name).filter(|_| path == POOLS);
                    if let Some(pool) = pool {
                        schedules::judge(cluster, &pool, &self.body);
                    }
                    cluster.change(|store| store.apply(path, name, (&manager, force), &self.body))
                } else {
                    cluster.change(|store| store.merge(path, name, &self.body))
                };
                written.map_or_else(refused, |object| json_answer(200, &self.shown(&object)))
            }
            ("DELETE", Some(name)) => self.delete(path, name, &at),
            _ => status(500, "not simulated"),
        }
    }

    /// What is sent to be stored. The API server notes when a Lease is written, by its own clock.
    fn managed(&self, path: &str, at: &str) -> Value {
        let mut object = self.body.clone();
        if path.ends_with("/leases") {
            object["metadata"]["managedFields"] = json!([{"manager": "poolgate", "time": at}]);
        }
        object
    }

    fn count_conflict(&self, path: &str, written: &Result<Arc<Value>, Refusal>) {
        if path.ends_with("/configmaps") && matches!(written, Err(Refusal::Conflict | Refusal::Exists)) {
            self.connection.cluster.lock().checker.happens("conflict");
        }
    }

    fn delete(&self, path: &str, name: &str, at: &str) -> Answer {
        let cluster = &self.connection.cluster;
        let Some(stored) = cluster.lock().store.get(path, name) else {
            return status(404, "not found");
        };
        for field in ["uid", "resourceVersion"] {
            let wanted = self.body["preconditions"][field].as_str();
            if wanted.is_some_and(|wanted| wanted != metadata(&stored, field)) {
                return refused(Refusal::Conflict);
            }
        }
        if path == CLAIMS {
            cluster.tell(&Event::Deleted {
                claim: metadata(&stored, "uid").into(),
            });
        }
        delete(cluster, path, name, at);
        json_answer(
            200,
            &json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}),
        )
    }

    fn shown(&self, object: &Arc<Value>) -> Value {
        if self.accept.contains("PartialObjectMetadata") {
            json!({"metadata": object["metadata"]})
        } else {
            (**object).clone()
        }
    }

    fn list(&self, path: &str) -> Answer {
        let cluster = &self.connection.cluster;
        let selected = self.selector();
        let limit = self.parameter("limit").and_then(|limit| limit.parse().ok());
        let limit: usize = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let mut inner = cluster.lock();
        let token = self.parameter("continue");
        let (version, mut rest) = match token {
            None => {
                let objects = inner.store.list(path).filter(|object| selected(object));
                let objects: Vec<_> = objects.cloned().collect();
                (inner.store.version, objects)
            }
            Some(token) => {
                let place = token.parse().unwrap_or(usize::MAX);
                let cut = inner.faults.strikes(Fault::CutLists, 0.5);
                match inner.pages.get(place).cloned() {
                    Some(page) if !cut => page,
                    _ => return status(410, "the list is too old to be continued"),
                }
            }
        };
        // Small pages, so that lists have several.
        let limit = if inner.faults.has(Fault::CutLists) {
            limit.min(2)
        } else {
            limit
        };
        let items: Vec<_> = rest.drain(..limit.min(rest.len())).collect();
        let items: Vec<_> = items.iter().map(|object| self.shown(object)).collect();
        let next = if rest.is_empty() {
            String::new()
        } else {
            inner.pages.push((version, rest));
            (inner.pages.len() - 1).to_string()
        };
        let list = json!({
            "kind": "List", "apiVersion": "v1", "items": items,
            "metadata": {"resourceVersion": version.to_string(), "continue": next},
        });
        json_answer(200, &list)
    }

    /// Whether an object is wanted.
    fn selector(&self) -> impl Fn(&Value) -> bool + Send + 'static {
        let labels = self.parameter("labelSelector").unwrap_or_default();
        let fields = self.parameter("fieldSelector").unwrap_or_default();
        move |object| {
            let label = |term: &str| match term.split_once('=') {
                Some((key, value)) => object["metadata"]["labels"][key] == value,
                None => !object["metadata"]["labels"][term].is_null(),
            };
            let is_labelled = match labels.split_once(" in (") {
                Some((key, values)) => {
                    let mut values = values.trim_end_matches(')').split(',');
                    values.any(|value| object["metadata"]["labels"][key] == value)
                }
                None => labels.split(',').filter(|term| !term.is_empty()).all(label),
            };
            let field = |term: &str| {
                let (is_other, key, value) = match term.split_once("!=") {
                    Some((key, value)) => (true, key, value),
                    None => term
                        .split_once('=')
                        .map_or((false, term, ""), |(key, value)| (false, key, value)),
                };
                let stored = key.split('.').fold(object, |object, key| &object[key]);
                (stored.as_str().unwrap_or_default() == value) != is_other
            };
            is_labelled && fields.split(',').filter(|term| !term.is_empty()).all(field)
        }
    }

    fn watch(&self, path: &str) -> Answer {
        let cluster = Arc::clone(&self.connection.cluster);
        let from: u64 = self
            .parameter("resourceVersion")
            .and_then(|version| version.parse().ok())
            .unwrap_or_default();
        let is_behind = {
            let mut inner = cluster.lock();
            if from < inner.store.compacted {
                return status(410, "too old resource version");
            }
            inner.faults.strikes(Fault::OldCaches, 0.5)
        };
        let cached = cluster.lock().cached.filter(|_| is_behind);
        if cached.is_some_and(|cached| from > cached) {
            return status(504, "Too large resource version");
        }
        let seconds = self
            .parameter("timeoutSeconds")
            .and_then(|text| text.parse().ok());
        let announcements = cluster.lock().store.announcements();
        let watch = Watch {
            announcements,
            path: path.to_owned(),
            selected: Box::new(self.selector()),
            version: from,
            ends: Instant::now() + Duration::from_secs(seconds.unwrap_or(300)),
            bookmarked: Instant::now(),
            is_ending: false,
            is_behind,
            cluster,
        };
        let events = futures_util::stream::unfold(watch, |mut watch| async move {
            let lines = watch.next().await?;
            Some((Ok::<_, std::io::Error>(Frame::data(Bytes::from(lines))), watch))
        });
        Response::new(UnsyncBoxBody::new(StreamBody::new(events)))
    }
}

fn percent_decoded(text: &str) -> String {
    let mut decoded = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let digits = [bytes.next().unwrap_or_default(), bytes.next().unwrap_or_default()];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                u8::from_str_radix(digits, 16).unwrap_or_default()
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(decoded).unwrap_or_default()
}
