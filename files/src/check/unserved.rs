//! Objects that no cluster accepts under the release checked for: a kind or version of the group `karpenter.sh`
//! that the release does not serve, NodePools without `kind` or `apiVersion`, and a list where an object should be.
//!
//! The content of a document decides: the values of a chart, a kustomization or a list of anything else are no
//! mistake.

use jiff::Timestamp;
use poolgate_core::diagnostic::{FieldPath, Origin, Severity, nearest_within, quoted};
use poolgate_core::facts::{
    ApiVersion, GROUP, KarpenterVersion, NodeClassKind, NodeClassMismatch, Provider, SERVED_KINDS,
    ServedKind, TargetKarpenter,
};
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::review::{Request, Subject, review_file};

use super::note::{Note, Place};
use crate::sources::Whole;
use crate::text_rules;

/// What is wrong with an object, before its place in the text is known: field, message, suggestion.
type Fault = (&'static str, String, String);

/// The declared kind and version of an object, and its content.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'v> {
    pub version: Option<&'v str>,
    pub kind: Option<&'v str>,
    pub value: &'v Json<'v>,
}

impl Claimed<'_> {
    /// What is wrong with it under a release; `None` if it may be served, or has nothing to do with Karpenter.
    pub fn fault(self, whole: Whole, release: KarpenterVersion) -> Option<Fault> {
        let is_filled_in_later = |text: &str| text.contains("${") || text.contains("{{");
        if self.version.is_some_and(is_filled_in_later) || self.kind.is_some_and(is_filled_in_later) {
            return None;
        }
        match (self.version, self.kind) {
            (Some(api_version), Some(kind)) => match in_group(api_version) {
                Some(version) => unserved(api_version, version, kind, release).map(|fault| {
                    let is_old_pool = (version, kind) == ("v1beta1", "NodePool");
                    if is_old_pool {
                        with_fields(fault, self.value, release)
                    } else {
                        fault
                    }
                }),
                None => self.in_wrong_group(api_version, kind, release),
            },
            // The missing fields of a patch are in another file.
            _ if whole == Whole::Part => None,
            (Some(api_version), None) => {
                in_group(api_version)?;
                self.value.get("spec")?.as_object()?;
                let kind = self.shown().unwrap_or("NodePool");
                Some((
                    "kind",
                    "an object must have a kind".to_owned(),
                    format!("add kind: {kind}"),
                ))
            }
            (None, Some(kind)) => {
                let is_karpenters = ["NodePool", "NodeClaim"].contains(&kind) && self.shown().is_some();
                let suggestion = format!("add apiVersion: {}", api_version_of(kind, release));
                is_karpenters.then(|| {
                    (
                        "apiVersion",
                        "an object must have an apiVersion".to_owned(),
                        suggestion,
                    )
                })
            }
            (None, None) => {
                let kind = self.shown()?;
                let name = FieldPath::of(&["metadata", "name"]);
                name.find(self.value)?.as_str()?;
                let api_version = api_version_of(kind, release);
                let message = "an object must have kind and apiVersion";
                let suggestion = format!("add apiVersion: {api_version} and kind: {kind}");
                Some(("kind", message.to_owned(), suggestion))
            }
        }
    }

    /// A NodePool in a group that has no NodePools. Groups unknown to poolgate may have a kind of that name.
    fn in_wrong_group(self, api_version: &str, kind: &str, release: KarpenterVersion) -> Option<Fault> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_pool = ["NodePool", "NodeClaim"].contains(&kind) && self.shown() == Some(kind);
        let has_none = group.is_empty() || Provider::of_group(group).is_some();
        (is_pool && has_none).then(|| {
            let value = quoted(api_version);
            (
                "apiVersion",
                format!("{kind} is a kind of the group {GROUP}, not of {value}"),
                format!("write {}", api_version_of(kind, release)),
            )
        })
    }

    /// The kind that an object must be because of its fields, if no other kind has them.
    fn shown(self) -> Option<&'static str> {
        let at = |path: &[&'static str]| FieldPath::of(path).find(self.value);
        let has_class = |path: &[&'static str]| at(path).is_some_and(Json::is_object);
        let requirements = at(&["spec", "requirements"]).and_then(Json::as_array);
        if has_class(&["spec", "template", "spec", "nodeClassRef"]) {
            Some("NodePool")
        } else if has_class(&["spec", "nodeClassRef"]) && requirements.is_some() {
            Some("NodeClaim")
        } else {
            None
        }
    }
}

/// A fault as a finding on an object at this path.
pub fn note(object: FieldPath, (field, message, suggestion): Fault) -> Note {
    Note {
        rule: text_rules::KIND,
        place: Place::Field(object.key(field)),
        message,
        suggestion,
    }
}

/// A note on a list at the root of a document, if Karpenter's objects are in it: about the first of them.
pub fn list(document: &Json<'_>, holds: impl Fn(&Json<'_>) -> bool) -> Option<Note> {
    let index = document.as_array()?.iter().position(holds)?;
    Some(Note {
        rule: text_rules::KIND,
        place: Place::Field(FieldPath::root().index(index)),
        message: "kubectl rejects a list as a document".into(),
        suggestion:
            "write each object as a separate document after ---, or put the list under items of apiVersion: v1, \
                     kind: List"
                .into(),
    })
}

/// The version, if the group is Karpenter's in upper or lower case.
fn in_group(api_version: &str) -> Option<&str> {
    let (group, version) = api_version.split_once('/').unwrap_or((api_version, ""));
    group.eq_ignore_ascii_case(GROUP).then_some(version)
}

/// The served forms of a kind, the best first.
fn forms(kind: &str, release: KarpenterVersion) -> impl Iterator<Item = &'static ServedKind> {
    SERVED_KINDS
        .iter()
        .filter(move |served| served.kind == kind && served.is_in(release))
}

fn api_version_of(kind: &str, release: KarpenterVersion) -> String {
    let version = forms(kind, release).next().map_or("v1", |served| served.version);
    format!("{GROUP}/{version}")
}

/// The kinds that a release serves, each once.
fn kinds(release: KarpenterVersion) -> Vec<&'static str> {
    let served = SERVED_KINDS.iter().filter(|served| served.is_in(release));
    let mut kinds: Vec<&str> = served.map(|served| served.kind).collect();
    kinds.dedup();
    kinds
}

/// What is wrong with a kind and version of Karpenter's group.
fn unserved(api_version: &str, version: &str, kind: &str, release: KarpenterVersion) -> Option<Fault> {
    let element = kind.strip_suffix("List").filter(|element| !element.is_empty());
    let element = element.unwrap_or(kind);
    if !SERVED_KINDS.iter().any(|served| served.kind == element) {
        return Some(unknown(version, element, release));
    }
    let mut served = forms(element, release).peekable();
    if served.peek().is_none() {
        return Some(gone(element, release));
    }
    let versions: Vec<String> = served
        .map(|served| format!("{GROUP}/{}", served.version))
        .collect();
    if versions.iter().any(|served| served == api_version) {
        return None;
    }
    let value = quoted(api_version);
    let all = versions.join(" and ");
    let suggestion = match versions.first() {
        Some(best) if version == "v1beta1" => {
            format!("write {best} and convert the fields{OR_OLD_RELEASE}")
        }
        Some(best) => format!("write {best}"),
        None => String::new(),
    };
    Some((
        "apiVersion",
        format!("Karpenter {release} serves {element} as {all}, not as {value}"),
        suggestion,
    ))
}

/// The end of the advice on an object of v1beta1.
const OR_OLD_RELEASE: &str = ", or set --karpenter-version to the release of the cluster";

/// Adds to the advice on a NodePool of v1beta1 what v1 says of its fields.
fn with_fields((field, message, advice): Fault, pool: &Json<'_>, release: KarpenterVersion) -> Fault {
    let request = Request {
        subject: Subject::NodePool(ApiVersion::V1),
        object: pool,
        old: None,
        claims: None,
        at: Timestamp::UNIX_EPOCH,
    };
    let report = review_file(&request, &Policy::default(), &release.into()).report;
    let rejected = report.with_severity(Severity::Error);
    let rejected = rejected.filter(|finding| finding.origin == Origin::Schema);
    let mut fields: Vec<String> = rejected
        .map(|finding| {
            let help = finding.help.as_ref().map_or(&finding.title, |help| &help.text);
            format!("{}: {help}", finding.path)
        })
        .collect();
    let after = FieldPath::of(&["spec", "disruption", "consolidateAfter"]);
    let is_required = TargetKarpenter::from(release).requires(&after.to_string(), ApiVersion::V1);
    if is_required && after.find(pool).is_none() {
        // The conversion writes it: an absent value means the policy without a delay.
        fields.push(format!("{after}: write 0s"));
    }
    let advice = match advice.strip_suffix(OR_OLD_RELEASE) {
        Some(convert) if !fields.is_empty() => {
            format!("{convert} ({}){OR_OLD_RELEASE}", fields.join("; "))
        }
        _ => advice,
    };
    (field, message, advice)
}

/// A kind that other releases have.
fn gone(kind: &str, release: KarpenterVersion) -> Fault {
    let suggestion = match kind {
        "Provisioner" => {
            let api_version = api_version_of("NodePool", release);
            format!("write a NodePool of {api_version}, and move the fields of spec to spec.template.spec")
        }
        "Machine" => "remove it. Karpenter creates NodeClaims instead, on its own".to_owned(),
        _ => {
            let mut forms = SERVED_KINDS.iter().filter(|served| served.kind == kind);
            let since = forms.next().map_or(release, ServedKind::since);
            format!(
                "set --karpenter-version to the release of the cluster, at least {since}, or remove the object"
            )
        }
    };
    let value = quoted(kind);
    let message = format!("Karpenter {release} does not serve the kind {value}");
    ("kind", message, suggestion)
}

/// Most typing mistakes in a kind.
const SLIPS: usize = 2;

/// A kind that no release has.
fn unknown(version: &str, kind: &str, release: KarpenterVersion) -> Fault {
    let value = quoted(kind);
    if let Some(NodeClassMismatch::Slip(class)) = NodeClassKind::mismatch(GROUP, kind) {
        return (
            "apiVersion",
            format!("the group {GROUP} has no kind {kind}"),
            format!("write {}", class_version(class.group, release)),
        );
    }
    let message = format!("the group {GROUP} has no kind {value}");
    let kinds = kinds(release);
    let suggestion = match nearest_within(SLIPS, kind, kinds.iter().copied()) {
        Some(meant) => {
            let is_right = forms(meant, release).any(|served| served.version == version);
            if is_right {
                format!("write {meant}")
            } else {
                format!("write {meant} and apiVersion: {}", api_version_of(meant, release))
            }
        }
        None if kind == "AWSNodeTemplate" => {
            let api_version = class_version("karpenter.k8s.aws", release);
            format!("write an EC2NodeClass of {api_version}")
        }
        None => format!("use one of {}", kinds.join(", ")),
    };
    ("kind", message, suggestion)
}

/// The `apiVersion` of a node class of this group.
fn class_version(group: &str, release: KarpenterVersion) -> String {
    match group {
        "karpenter.k8s.aws" if release.has(KarpenterVersion::V1_STORED) => format!("{group}/v1"),
        "karpenter.k8s.aws" => format!("{group}/v1beta1"),
        _ => format!("a version of the group {group}"),
    }
}

#[cfg(test)]
mod tests;
