//! Answers to requests that are not a review: a status and a sentence. The API server treats each as a failure of
//! the webhook, so the failure policy decides.

use std::time::Duration;

use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

use crate::serving::admission::Malformed;

/// The largest body: the largest object that etcd stores, twice (an update carries the old one too), with room
/// for escapes. controller-runtime has the same limit.
pub const MAX_BODY_BYTES: usize = 7 * 1024 * 1024;

/// The longest sentence, and the longest text of a request that is repeated in a log line, in characters. A
/// request may contain a name of a megabyte.
const EXCERPT: usize = 300;

/// Why a request gets no review.
#[derive(Debug, thiserror::Error)]
pub enum Rejection {
    /// The path is unknown.
    #[error("post an AdmissionReview to {served}, not to `{path}`")]
    Path { path: String, served: &'static str },
    /// The method is not POST.
    #[error("{0} is not supported: post an AdmissionReview")]
    Method(String),
    /// The body is declared as something else.
    #[error("the body must be an AdmissionReview of type application/json, not {0}")]
    ContentType(String),
    /// The body is too large.
    #[error("the body is larger than {} MiB", MAX_BODY_BYTES / (1024 * 1024))]
    TooLarge,
    /// All memory for bodies is taken.
    #[error("too many large requests simultaneously, retry")]
    Busy,
    /// The body did not arrive in time.
    #[error("the body did not arrive within {} ms", .0.as_millis())]
    Late(Duration),
    /// The body broke off, or is not framed as HTTP requires.
    #[error("the body cannot be read: {0}")]
    Broken(axum::Error),
    /// The body is not a review.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A defect of poolgate.
    #[error("poolgate crashed during this review. Please report the lines in its log")]
    Panicked,
}

impl Rejection {
    pub fn path(uri: &Uri, served: &'static str) -> Self {
        Self::Path {
            path: uri.path().to_owned(),
            served,
        }
    }

    pub fn method(method: &Method) -> Self {
        Self::Method(method.to_string())
    }

    pub fn content_type(value: Option<&HeaderValue>) -> Self {
        Self::ContentType(value.map_or_else(
            || "unnamed".into(),
            |value| format!("`{}`", String::from_utf8_lossy(value.as_bytes())),
        ))
    }

    /// The kind of mistake, in a word, and the status of its answer.
    pub fn kind(&self) -> (&'static str, StatusCode) {
        match self {
            Self::Path { .. } => ("path", StatusCode::NOT_FOUND),
            Self::Method(_) => ("method", StatusCode::METHOD_NOT_ALLOWED),
            Self::ContentType(_) => ("content_type", StatusCode::UNSUPPORTED_MEDIA_TYPE),
            Self::TooLarge => ("too_large", StatusCode::PAYLOAD_TOO_LARGE),
            Self::Busy => ("busy", StatusCode::SERVICE_UNAVAILABLE),
            Self::Late(_) => ("late", StatusCode::REQUEST_TIMEOUT),
            Self::Broken(_) => ("broken", StatusCode::BAD_REQUEST),
            Self::Malformed(_) => ("malformed", StatusCode::BAD_REQUEST),
            Self::Panicked => ("panicked", StatusCode::INTERNAL_SERVER_ERROR),
        }
    }

    /// The sentence, with the request's own text shortened.
    pub fn sentence(&self) -> String {
        excerpt(&self.to_string()).to_owned()
    }

    /// Whether the body was read to its end, so that the connection can be used again.
    fn keeps_connection(&self) -> bool {
        matches!(self, Self::Malformed(_) | Self::Panicked)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (_, status) = self.kind();
        let mut response = (status, self.sentence() + "\n").into_response();
        let headers = response.headers_mut();
        if !self.keeps_connection() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if matches!(self, Self::Method(_)) {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        if matches!(self, Self::Busy) {
            // With it the API server asks again, in a second.
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The beginning of a text from outside.
pub fn excerpt(text: &str) -> &str {
    let end = text.char_indices().nth(EXCERPT);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}
