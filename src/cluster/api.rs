//! A call to the API server. Every call has a deadline. A failure names the request and the cause, as far as callers
//! decide by it.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use kube::Error;
use tokio::time::{Instant, timeout_at};

/// HTTP statuses that callers decide by.
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;
const INVALID: u16 = 422;

/// The deadline of a call.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    /// The time allowed, if messages should name it.
    limit: Option<Duration>,
}

impl Deadline {
    /// This much time from now.
    pub fn within(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit: Some(limit),
        }
    }

    /// An instant set by others. Messages about it are identical, so that each is logged once.
    pub const fn at(at: Instant) -> Self {
        Self { at, limit: None }
    }

    /// How long it is until then.
    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}

/// Makes a call with this verb for objects at this path, or for one of them. `answer` must be there by the deadline.
pub async fn call<T>(
    verb: &'static str,
    path: &str,
    name: Option<&str>,
    by: Deadline,
    answer: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    let fault = match timeout_at(by.at, answer).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => Fault::Client(error),
        Err(_) => Fault::NoAnswer(by.limit),
    };
    Err(ApiError::new(verb, path, name, fault))
}

/// A call that failed. Without an answer, it may still have taken effect.
#[derive(Debug, thiserror::Error)]
pub struct ApiError {
    /// The verb, as RBAC rules call it.
    pub verb: &'static str,
    /// The kind of objects, as RBAC rules call it: `nodepools.karpenter.sh`.
    pub resource: String,
    /// The name of the object, if the call is about one.
    name: Option<String>,
    /// Why it failed.
    pub fault: Fault,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The API server refused it, cannot be reached, or answered something else.
    #[error("{}", described(.0))]
    Client(Error),
    /// The API server did not answer in time.
    #[error("no answer from the API server {}", time(*.0))]
    NoAnswer(Option<Duration>),
    /// A list has more pages than any cluster needs.
    #[error("the API server's list is endless")]
    Endless,
}

impl fmt::Display for ApiError {
    /// Most of the API server's own messages already name the object.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = self.fault.to_string();
        let Self {
            verb, resource, name, ..
        } = self;
        match name {
            _ if why.contains(resource) => write!(f, "{why}"),
            Some(name) => write!(f, "{verb} {resource} {name}: {why}"),
            None => write!(f, "{verb} {resource}: {why}"),
        }
    }
}

impl ApiError {
    /// A call with this verb for objects at this path, or for one of them, has failed.
    pub fn new(verb: &'static str, path: &str, name: Option<&str>, fault: Fault) -> Self {
        Self {
            verb,
            resource: resource(path),
            name: name.map(str::to_owned),
            fault,
        }
    }

    /// The HTTP status of the refusal; `None` if there was no usable HTTP response.
    pub fn status(&self) -> Option<u16> {
        match &self.fault {
            Fault::Client(Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    /// Whether the API server answered, and did not do it.
    pub fn is_refusal(&self) -> bool {
        self.status().is_some()
    }

    /// Whether the object, or its kind, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(NOT_FOUND)
    }

    /// Whether the object was replaced or changed, exists already, or another manager owns the field.
    pub fn is_conflict(&self) -> bool {
        self.status() == Some(CONFLICT) || self.is_of_another_uid()
    }

    /// Whether nothing listens at the API server's address.
    pub const fn is_unreachable(&self) -> bool {
        matches!(
            self.fault,
            Fault::Client(Error::HyperError(_) | Error::Service(_))
        )
    }

    /// Whether the object has another UID than the patch: the API server takes that as a change of the UID.
    fn is_of_another_uid(&self) -> bool {
        let Fault::Client(Error::Api(status)) = &self.fault else {
            return false;
        };
        let mut causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == INVALID && causes.any(|cause| cause.field == "metadata.uid")
    }
}

/// For callers that only report it.
impl From<ApiError> for String {
    fn from(error: ApiError) -> Self {
        error.to_string()
    }
}

/// The client's error and its hidden cause, on one line.
pub fn described(error: &Error) -> String {
    let mut text = match error {
        Error::Api(status) => return status.message.clone(),
        other => other.to_string(),
    };
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

fn time(limit: Option<Duration>) -> String {
    match limit {
        Some(limit) if limit.subsec_nanos() == 0 => format!("within {} s", limit.as_secs()),
        Some(limit) => format!("within {} ms", limit.as_millis()),
        None => "in time".into(),
    }
}

/// The resource of an API path, as in RBAC rules: `nodepools.karpenter.sh`.
pub fn resource(path: &str) -> String {
    let mut parts = path.trim_start_matches('/').split('/');
    let group = match parts.next() {
        Some("apis") => parts.next(),
        _ => None,
    };
    let resource = path.rsplit('/').next().unwrap_or_default();
    match group {
        Some(group) => format!("{resource}.{group}"),
        None => resource.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use kube::core::Status;
    use serde_json::json;

    use super::*;

    /// The failure of a call that the API server answers so.
    async fn refused(status: serde_json::Value) -> ApiError {
        let status: Status = serde_json::from_value(status).expect("a status");
        let answer = ready(Err::<(), _>(Error::Api(Box::new(status))));
        let by = Deadline::within(Duration::ZERO);
        let called = call("patch", "/api/v1/nodes", Some("a"), by, answer).await;
        called.expect_err("refused")
    }

    #[test]
    fn a_path_is_named_as_rights_name_it() {
        for (path, name) in [
            ("/api/v1/nodes", "nodes"),
            ("/api/v1/namespaces/default/events", "events"),
            ("/apis/karpenter.sh/v1/nodepools", "nodepools.karpenter.sh"),
            (
                "/apis/coordination.k8s.io/v1/namespaces/a/leases",
                "leases.coordination.k8s.io",
            ),
        ] {
            assert_eq!(resource(path), name);
        }
    }

    #[tokio::test]
    async fn an_object_that_changed_or_was_replaced_is_a_conflict_and_nothing_else_is() {
        let uid =
            json!({"causes": [{"reason": "FieldValueInvalid", "message": "", "field": "metadata.uid"}]});
        let other = json!({"causes": [{"reason": "FieldValueInvalid", "message": "", "field": "spec"}]});
        for (code, details, is_conflict) in [
            (409, json!({}), true),
            (422, uid.clone(), true),
            (422, other, false),
            (400, uid, false),
            (404, json!({}), false),
        ] {
            let error = refused(json!({"code": code, "details": details})).await;
            assert_eq!(error.is_conflict(), is_conflict, "{error:?}");
            assert_eq!(error.is_not_found(), code == 404, "{error:?}");
            assert!(error.is_refusal());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_names_the_call_unless_the_api_server_has() {
        let forbidden = "nodes \"a\" is forbidden: no";
        for (message, expected) in [
            (forbidden, forbidden),
            ("the server is busy", "patch nodes a: the server is busy"),
        ] {
            let error = refused(json!({"code": 403, "message": message})).await;
            assert_eq!(error.to_string(), expected);
        }
        let now = Instant::now();
        for (deadline, expected) in [
            (Deadline::within(Duration::from_secs(10)), "within 10 s"),
            (Deadline::within(Duration::from_millis(1_200)), "within 1200 ms"),
            (Deadline::at(now), "in time"),
        ] {
            let answer = pending::<kube::Result<()>>();
            let called = call("list", "/api/v1/nodes", None, deadline, answer).await;
            let error = called.expect_err("no answer");
            let expected = format!("list nodes: no answer from the API server {expected}");
            assert_eq!(error.to_string(), expected);
            assert!(!error.is_refusal());
        }
    }
}
