//! The AdmissionReview that comes in, read in one pass: who asks for it says how much of the objects in it.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

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
struct AdmissionReview<'b, N, O> {
    #[serde(borrow, default)]
    api_version: Text<'b>,
    #[serde(borrow, default)]
    kind: Text<'b>,
    request: Option<RequestWithObjects<'b, N, O>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestWithObjects<'b, N, O> {
    #[serde(borrow, default)]
    uid: Text<'b>,
    #[serde(borrow, default)]
    kind: GroupVersionKind<'b>,
    #[serde(borrow, default)]
    resource: GroupVersionResource<'b>,
    #[serde(borrow, default)]
    sub_resource: Text<'b>,
    #[serde(borrow, default)]
    name: Text<'b>,
    #[serde(default)]
    operation: Operation,
    object: Option<N>,
    old_object: Option<O>,
    #[serde(default)]
    dry_run: bool,
}

/// The fields of a request that poolgate looks at, but for its objects.
#[derive(Debug)]
pub(super) struct AdmissionRequest<'b> {
    pub(super) uid: Text<'b>,
    pub(super) kind: GroupVersionKind<'b>,
    pub(super) resource: GroupVersionResource<'b>,
    pub(super) sub_resource: Text<'b>,
    pub(super) name: Text<'b>,
    pub(super) operation: Operation,
    pub(super) dry_run: bool,
}

/// The objects of a request, as far as they were read.
#[derive(Debug)]
pub(super) struct Objects<N, O> {
    pub(super) new: Option<N>,
    pub(super) old: Option<O>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Operation {
    Create,
    Update,
    /// Deletion or connection: nothing that poolgate would judge.
    #[default]
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

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Cow::<str>::deserialize(from)?.as_ref() {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            _ => Self::Other,
        })
    }
}

impl AdmissionRequest<'_> {
    /// The same apart from its body.
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
            operation: self.operation,
            dry_run: self.dry_run,
        }
    }
}

/// A request, and as much of its new and its old object as `N` and `O` read.
pub(super) fn open<'b, N, O>(body: &'b [u8]) -> Result<(AdmissionRequest<'b>, Objects<N, O>), Malformed>
where
    N: Deserialize<'b>,
    O: Deserialize<'b>,
{
    let review: AdmissionReview<'b, N, O> = serde_json::from_slice(body)?;
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
    let objects = Objects {
        new: request.object,
        old: request.old_object,
    };
    let request = AdmissionRequest {
        uid: request.uid,
        kind: request.kind,
        resource: request.resource,
        sub_resource: request.sub_resource,
        name: request.name,
        operation: request.operation,
        dry_run: request.dry_run,
    };
    Ok((request, objects))
}

/// A request without its objects: also where one of them is nonsense, so that there is somebody to answer.
pub(super) fn open_without_objects(body: &[u8]) -> Result<AdmissionRequest<'_>, Malformed> {
    open::<IgnoredAny, IgnoredAny>(body).map(|(request, _)| request)
}

/// Enough of a text for an error message, whatever it holds.
fn short(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}
