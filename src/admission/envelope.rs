//! The AdmissionReview that comes in. Only the envelope is read; the objects in it stay raw, so that the uid is
//! known even where an object is nonsense.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Text that is borrowed from the request's body unless it holds escapes.
pub(super) type Text<'b> = Cow<'b, str>;

/// The one version that poolgate speaks; every supported API server does.
const API_VERSION: &str = "admission.k8s.io/v1";

/// A body that is no AdmissionReview with a request.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or not of the shape of a review.
    #[error("the body is no AdmissionReview: {0}")]
    NotAReview(#[from] serde_json::Error),
    /// A review of another version, or another kind of object.
    #[error("the body is `{kind}` of `{api_version}`; send an AdmissionReview of {API_VERSION}")]
    WrongKind {
        /// What `apiVersion` says.
        api_version: String,
        /// What `kind` says.
        kind: String,
    },
    /// A review without a request.
    #[error("the AdmissionReview has no request")]
    NoRequest,
    /// A request without the name under which its answer is expected.
    #[error("the AdmissionReview's request has no uid")]
    NoUid,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReview<'b> {
    #[serde(borrow, default)]
    api_version: Text<'b>,
    #[serde(borrow, default)]
    kind: Text<'b>,
    #[serde(borrow)]
    request: Option<AdmissionRequest<'b>>,
}

/// The fields of a request that poolgate looks at.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest<'b> {
    #[serde(borrow, default)]
    pub(super) uid: Text<'b>,
    #[serde(borrow, default)]
    pub(super) kind: GroupVersionKind<'b>,
    #[serde(borrow, default)]
    pub(super) resource: GroupVersionResource<'b>,
    #[serde(borrow, default)]
    pub(super) sub_resource: Text<'b>,
    #[serde(borrow, default)]
    pub(super) name: Text<'b>,
    #[serde(borrow, default)]
    operation: Text<'b>,
    #[serde(borrow)]
    pub(super) object: Option<&'b RawValue>,
    #[serde(borrow)]
    pub(super) old_object: Option<&'b RawValue>,
    #[serde(default)]
    pub(super) dry_run: bool,
}

/// Group, version and kind of an object.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GroupVersionKind<'b> {
    #[serde(borrow, default)]
    pub(super) group: Text<'b>,
    #[serde(borrow, default)]
    pub(super) version: Text<'b>,
    #[serde(borrow, default)]
    pub(super) kind: Text<'b>,
}

/// Group and name of the resource that is written to, which for a subresource is not the object's kind.
#[derive(Debug, Default, Deserialize)]
pub(super) struct GroupVersionResource<'b> {
    #[serde(borrow, default)]
    pub(super) group: Text<'b>,
    #[serde(borrow, default)]
    pub(super) resource: Text<'b>,
}

/// What is done to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Create,
    Update,
    /// Deletion or connection: nothing that poolgate would judge.
    Other,
}

impl Operation {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Other => "OTHER",
        }
    }
}

impl AdmissionRequest<'_> {
    pub(super) fn operation(&self) -> Operation {
        match self.operation.as_ref() {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            _ => Operation::Other,
        }
    }

    /// The same apart from its body, without the objects.
    pub(super) fn detached(self) -> AdmissionRequest<'static> {
        let own = |text: Text<'_>| Text::Owned(text.into_owned());
        AdmissionRequest {
            uid: own(self.uid),
            kind: GroupVersionKind {
                group: own(self.kind.group),
                version: own(self.kind.version),
                kind: own(self.kind.kind),
            },
            resource: GroupVersionResource {
                group: own(self.resource.group),
                resource: own(self.resource.resource),
            },
            sub_resource: own(self.sub_resource),
            name: own(self.name),
            operation: own(self.operation),
            object: None,
            old_object: None,
            dry_run: self.dry_run,
        }
    }
}

/// Reads the envelope.
pub(super) fn open(body: &[u8]) -> Result<AdmissionRequest<'_>, Malformed> {
    let review: AdmissionReview<'_> = serde_json::from_slice(body)?;
    if review.api_version != API_VERSION || review.kind != "AdmissionReview" {
        return Err(Malformed::WrongKind {
            api_version: short(&review.api_version),
            kind: short(&review.kind),
        });
    }
    let request = review.request.ok_or(Malformed::NoRequest)?;
    if request.uid.is_empty() {
        return Err(Malformed::NoUid);
    }
    Ok(request)
}

/// Enough of a text for an error message, whatever it holds.
fn short(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}
