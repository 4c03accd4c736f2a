//! The incoming AdmissionReview, read in one pass: the caller chooses how much of its objects is read.

use std::borrow::Cow;
use std::str::Utf8Error;

use poolgate_core::json::{self, FieldMask, Json};

/// Text that is borrowed from the request's body unless it contains escapes.
pub type Text<'b> = Cow<'b, str>;

/// The one version that poolgate supports; every supported API server does too.
const API_VERSION: &str = "admission.k8s.io/v1";

/// The longest uid of a request, in bytes. An API server's have 36.
const LONGEST_UID: usize = 64;

/// The longest name of an object, in bytes, as far as it is kept, logged, written or selected by: Kubernetes stores no
/// longer one. The other texts of a request are as long at most, so each of them takes less than a kilobyte.
const LONGEST_TEXT: usize = 253;

/// A body that is not an AdmissionReview with a request.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// Not JSON, or not of the shape of a review.
    #[error("the body is not an AdmissionReview: {0}")]
    NotAReview(#[from] serde_json::Error),
    /// Bytes that are not UTF-8, which JSON must be.
    #[error("the body is not an AdmissionReview: {0}")]
    NotText(#[from] Utf8Error),
    /// A review of another version, or another kind of object.
    #[error("the body is `{kind}` of `{api_version}`. Send an AdmissionReview of {API_VERSION}")]
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
    /// A request with a name that would have to be repeated in the answer.
    #[error("the AdmissionReview's request has a uid of more than {LONGEST_UID} bytes")]
    LongUid,
}

/// The fields of a request that poolgate needs, except its objects.
#[derive(Debug)]
pub struct AdmissionRequest<'b> {
    pub uid: Text<'b>,
    pub kind: GroupVersionKind<'b>,
    pub resource: GroupVersionResource<'b>,
    pub sub_resource: Text<'b>,
    /// As it came, which is how it is reviewed.
    pub name: Text<'b>,
    pub operation: Operation,
    pub dry_run: bool,
    /// Whether a deletion keeps what the object owns.
    pub orphans: bool,
}

/// The objects of a request.
#[derive(Debug)]
pub struct Objects<'b> {
    /// Null if there is none: a review denies it like everything that is not a JSON object.
    pub new: Json<'b>,
    pub old: Option<Json<'b>>,
}

/// Group, version and kind of an object.
#[derive(Debug)]
pub struct GroupVersionKind<'b> {
    pub group: Text<'b>,
    pub version: Text<'b>,
    pub kind: Text<'b>,
}

/// Group and name of the resource that is written. For a subresource this is not the object's kind.
#[derive(Debug)]
pub struct GroupVersionResource<'b> {
    pub group: Text<'b>,
    pub resource: Text<'b>,
}

/// What is done to the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Operation {
    Create,
    Update,
    Delete,
    /// A connection: nothing that poolgate reviews.
    #[default]
    Other,
}

impl Operation {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Other => "OTHER",
        }
    }

    /// Whether an object is about to be stored.
    pub const fn stores(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

impl From<&str> for Operation {
    fn from(name: &str) -> Self {
        match name {
            "CREATE" => Self::Create,
            "UPDATE" => Self::Update,
            "DELETE" => Self::Delete,
            _ => Self::Other,
        }
    }
}

impl<'b> AdmissionRequest<'b> {
    /// The name as it is kept, logged, written or selected by.
    pub fn short_name(&self) -> &str {
        shortened(&self.name)
    }

    /// The same, borrowed from the body if the name is.
    pub fn kept_name(&self) -> Text<'b> {
        match &self.name {
            Text::Borrowed(name) => Text::Borrowed(shortened(name)),
            Text::Owned(name) => Text::Owned(shortened(name).to_owned()),
        }
    }

    /// The same apart from its body. It takes 4 KiB at most.
    pub fn detached(self) -> AdmissionRequest<'static> {
        let name = Text::Owned(self.short_name().to_owned());
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
            name,
            operation: self.operation,
            dry_run: self.dry_run,
            orphans: self.orphans,
        }
    }
}

/// A request, and as much of its objects as the caller wants.
pub fn open<'b>(
    body: &'b [u8],
    objects: FieldMask<'_>,
) -> Result<(AdmissionRequest<'b>, Objects<'b>), Malformed> {
    let options = [
        ("propagationPolicy", FieldMask::All),
        ("orphanDependents", FieldMask::All),
    ];
    let request = [
        ("uid", FieldMask::All),
        ("kind", FieldMask::All),
        ("resource", FieldMask::All),
        ("subResource", FieldMask::All),
        ("name", FieldMask::All),
        ("operation", FieldMask::All),
        ("object", objects),
        ("oldObject", objects),
        ("dryRun", FieldMask::All),
        ("options", FieldMask::Only(&options)),
    ];
    let review = [
        ("apiVersion", FieldMask::All),
        ("kind", FieldMask::All),
        ("request", FieldMask::Only(&request)),
    ];
    // Checked once for all of the body, not for each of its texts.
    let mut review = json::read(str::from_utf8(body)?, FieldMask::Only(&review))?;
    let (api_version, kind) = (text(&mut review, "apiVersion"), text(&mut review, "kind"));
    if api_version != API_VERSION || kind != "AdmissionReview" {
        return Err(Malformed::WrongKind {
            api_version: short(&api_version),
            kind: short(&kind),
        });
    }
    let mut request = review.take("request");
    if request.is_null() {
        return Err(Malformed::NoRequest);
    }
    let objects = Objects {
        new: request.take("object"),
        old: Some(request.take("oldObject")).filter(|old| !old.is_null()),
    };
    let mut kind = request.take("kind");
    let mut resource = request.take("resource");
    let mut name = text(&mut request, "name");
    // The API server names no object when it deletes a collection.
    if name.is_empty()
        && let Some(stored) = objects
            .old
            .as_ref()
            .and_then(|old| old.get("metadata")?.get("name"))
        && let Json::String(stored) = stored
    {
        name.clone_from(stored);
    }
    let request = AdmissionRequest {
        uid: text(&mut request, "uid"),
        kind: GroupVersionKind {
            group: short_text(&mut kind, "group"),
            version: short_text(&mut kind, "version"),
            kind: short_text(&mut kind, "kind"),
        },
        resource: GroupVersionResource {
            group: short_text(&mut resource, "group"),
            resource: short_text(&mut resource, "resource"),
        },
        sub_resource: short_text(&mut request, "subResource"),
        name,
        operation: Operation::from(&*text(&mut request, "operation")),
        dry_run: request.take("dryRun") == Json::Bool(true),
        orphans: orphans(&mut request.take("options")),
    };
    if request.uid.is_empty() {
        return Err(Malformed::NoUid);
    }
    if request.uid.len() > LONGEST_UID {
        return Err(Malformed::LongUid);
    }
    Ok((request, objects))
}

/// A request without its objects. It can be answered even if one of them cannot be read.
pub fn open_without_objects(body: &[u8]) -> Result<AdmissionRequest<'_>, Malformed> {
    open(body, FieldMask::Nothing).map(|(request, _)| request)
}

/// Whether a deletion with these options keeps what the object owns. The older field wins, as in the API server.
fn orphans(options: &mut Json<'_>) -> bool {
    match options.take("orphanDependents") {
        Json::Bool(orphans) => orphans,
        _ => text(options, "propagationPolicy") == "Orphan",
    }
}

/// The text of a field; empty if it is missing.
pub fn text<'b>(json: &mut Json<'b>, field: &str) -> Text<'b> {
    match json.take(field) {
        Json::String(text) => text,
        _ => Text::default(),
    }
}

/// The same, shortened: what is cut is no name that poolgate knows.
fn short_text<'b>(json: &mut Json<'b>, field: &str) -> Text<'b> {
    match text(json, field) {
        Text::Borrowed(text) => Text::Borrowed(shortened(text)),
        Text::Owned(text) if text.len() <= LONGEST_TEXT => Text::Owned(text),
        Text::Owned(text) => Text::Owned(shortened(&text).to_owned()),
    }
}

/// As much of a name as Kubernetes stores.
pub fn shortened(name: &str) -> &str {
    beginning(name, LONGEST_TEXT)
}

/// At most this many bytes of a text.
pub fn beginning(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

/// Enough of a text for an error message.
fn short(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}
