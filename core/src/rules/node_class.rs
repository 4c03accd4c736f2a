//! `nodeClassRef`: which machines the nodes are made of.

use serde_json::{Map, Value};

use super::Context;
use super::findings::Findings;
use crate::diagnostic::{FieldPath, Problem, RuleId, Severity, quoted};
use crate::karpenter::{ApiVersion, NodeClassKind, Place, Release, Template, node_class_label};
use crate::rule::{Origin, Rule};
use crate::value::label::{label_value, qualified_name};

pub(super) static NODE_CLASS_REF: Rule = Rule {
    id: RuleId::new("node-class-ref"),
    title: "`nodeClassRef` has a group without a version, a kind and a name",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "The CRD refuses empty texts and a slash in the group. The slash is left over from v1beta1, where \
          the field was an `apiVersion`.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws/v1
        kind: EC2NodeClass
        name: default
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
",
};

pub(super) static NODE_CLASS_IMMUTABLE: Rule = Rule {
    id: RuleId::new("node-class-immutable"),
    title: "Group and kind of `nodeClassRef` never change",
    severity: Severity::Error,
    origin: Origin::Schema,
    why: "Since Karpenter 1.1 the CRD refuses such a change: a pool cannot move to another provider. The \
          name may change; Karpenter then replaces the nodes.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: default }
---
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.hetzner.cloud, kind: HCloudNodeClass, name: default }
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: default }
---
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.itsh.dev, kind: HCloudNodeClass, name: other }
",
};

pub(super) static NODE_CLASS_KIND: Rule = Rule {
    id: RuleId::new("node-class-kind"),
    title: "Group and kind of `nodeClassRef` belong together",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "Karpenter ignores a NodePool whose node class is of a group and kind that its provider does not \
          have. No event, condition or log line says so; the READY column stays empty. poolgate knows the \
          node classes of the usual providers and accepts those of others.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: Ec2NodeClass
        name: default
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
",
};

pub(super) static NODE_CLASS_NAME: Rule = Rule {
    id: RuleId::new("node-class-name"),
    title: "Group, kind and name of the node class can form a label",
    severity: Severity::Error,
    origin: Origin::Silent,
    why: "Karpenter labels every NodeClaim with the node class: group and kind form the key, the name is the \
          value. If the name has more than 63 characters, or the label is illegal otherwise, the API server \
          refuses every NodeClaim of the pool.",
    seen_in: &[],
    bad: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: the-node-class-of-the-team-that-always-gives-very-long-names-to-things
",
    good: "\
spec:
  template:
    spec:
      nodeClassRef:
        group: karpenter.k8s.aws
        kind: EC2NodeClass
        name: default
",
};

pub(super) fn check(
    template: &Template<'_>,
    version: ApiVersion,
    context: &Context<'_>,
    findings: &mut Findings<'_>,
) {
    let Some(reference) = template.node_class_ref.present() else {
        return;
    };
    let place = template.place;
    let is_sound = check_texts(reference, version, place, findings);
    if is_sound && let Some(group) = template.node_class_group() {
        check_kind(group, reference, version, place, findings);
        check_label(template, version, findings);
    }
    if version == ApiVersion::V1 && place == Place::Pool && context.release.has(Release::NODE_CLASS_FIXED) {
        check_immutable(reference, context.old, findings);
    }
}

fn path(place: Place, field: &'static str) -> FieldPath {
    place.path("nodeClassRef").key(field)
}

fn text<'v>(reference: &'v Map<String, Value>, field: &str) -> Option<&'v str> {
    reference.get(field).and_then(Value::as_str)
}

/// Checks each text by itself. Whether group and kind can be judged together.
fn check_texts(
    reference: &Map<String, Value>,
    version: ApiVersion,
    place: Place,
    findings: &mut Findings<'_>,
) -> bool {
    let mut is_sound = true;
    let mut found = |field, value: &str, reason: &str, mend: Option<String>| {
        is_sound = false;
        let problem = Problem::Invalid { value: quoted(value) };
        findings.push(
            NODE_CLASS_REF
                .finding(path(place, field), problem, reason)
                .mend_if_known(mend),
        );
    };
    // In v1beta1 an empty text says no more than a missing one.
    let demanded: &[&'static str] = match version {
        ApiVersion::V1 => &["group", "kind", "name"],
        ApiVersion::V1Beta1 => &[],
    };
    for field in demanded {
        if let Some(value) = text(reference, field).filter(|value| value.is_empty()) {
            found(field, value, "may not be empty", None);
        }
    }
    if version == ApiVersion::V1
        && let Some(group) = text(reference, "group").filter(|group| group.contains('/'))
    {
        let bare = group
            .split('/')
            .next()
            .filter(|bare| !bare.is_empty() && bare.len() <= 253);
        let mend = bare.map(|bare| format!("write {}", bare.escape_debug()));
        found("group", group, "a group has no slash and names no version", mend);
    }
    check_name(reference, version, place, findings);
    is_sound
}

/// Checks the name by what becomes of it: the value of a label.
fn check_name(
    reference: &Map<String, Value>,
    version: ApiVersion,
    place: Place,
    findings: &mut Findings<'_>,
) {
    let Some(name) = text(reference, "name") else {
        return;
    };
    let reason = match label_value(name) {
        Err(error) => format!("{error}, because Karpenter writes it into a label of every NodeClaim"),
        // In v1 the CRD demands a name, and that has been said.
        Ok(()) if name.is_empty() && version == ApiVersion::V1Beta1 => {
            "no node class has this name".to_owned()
        }
        Ok(()) => return,
    };
    let problem = Problem::Invalid { value: quoted(name) };
    findings.push(NODE_CLASS_NAME.finding(path(place, "name"), problem, reason));
}

/// Checks group and kind by what becomes of them: the key of a label.
fn check_label(template: &Template<'_>, version: ApiVersion, findings: &mut Findings<'_>) {
    let Some(Err(error)) = node_class_label(template).map(|label| qualified_name(&label).map(drop)) else {
        return;
    };
    let group = template.node_class_group().unwrap_or_default();
    findings.push(
        NODE_CLASS_NAME
            .finding(
                path(template.place, group_field(version)),
                Problem::Invalid { value: quoted(group) },
                format!(
                    "{error}, because Karpenter makes group and kind the key of a label on every NodeClaim"
                ),
            )
            .related(path(template.place, "kind")),
    );
}

/// The field that names the group.
fn group_field(version: ApiVersion) -> &'static str {
    match version {
        ApiVersion::V1 => "group",
        ApiVersion::V1Beta1 => "apiVersion",
    }
}

fn check_kind(
    group: &str,
    reference: &Map<String, Value>,
    version: ApiVersion,
    place: Place,
    findings: &mut Findings<'_>,
) {
    let Some(kind) = text(reference, "kind") else {
        return;
    };
    let Some(meant) = NodeClassKind::meant(group, kind) else {
        return;
    };
    let group_field = group_field(version);
    let (field, value, other) = if meant.group == group {
        ("kind", kind, group_field)
    } else {
        (group_field, group, "kind")
    };
    let reason =
        "no provider has a node class of this group and kind, so Karpenter would silently ignore the pool";
    findings.push(
        NODE_CLASS_KIND
            .finding(
                path(place, field),
                Problem::Invalid { value: quoted(value) },
                reason,
            )
            .related(path(place, other))
            .mend(format!("did you mean {} of {}?", meant.kind, meant.group)),
    );
}

fn check_immutable(reference: &Map<String, Value>, old: Option<&Value>, findings: &mut Findings<'_>) {
    for field in ["group", "kind"] {
        let path = path(Place::Pool, field);
        let before = old.and_then(|old| path.find(old)).and_then(Value::as_str);
        let (Some(before), Some(now)) = (before, text(reference, field)) else {
            continue;
        };
        if before != now {
            findings.push(
                NODE_CLASS_IMMUTABLE
                    .finding(
                        path,
                        Problem::Invalid { value: quoted(now) },
                        format!("it is {} and cannot be changed", quoted(before)),
                    )
                    .mend("make a new NodePool and delete this one"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{errors, errors_for};

    fn pool(group: &str, kind: &str, name: &str) -> Value {
        json!({"spec": {"template": {"spec": {"nodeClassRef": {"group": group, "kind": kind, "name": name}}}}})
    }

    #[test]
    fn empty_texts_and_versions_in_the_group_are_refused() {
        assert_eq!(
            errors(&pool("karpenter.k8s.aws/v1", "EC2NodeClass", "default")),
            [
                "spec.template.spec.nodeClassRef.group: Invalid value: \"karpenter.k8s.aws/v1\": a group has no \
                 slash and names no version; write karpenter.k8s.aws [node-class-ref]"
            ]
        );
        assert_eq!(errors(&pool("", "", "")).len(), 3);
    }

    #[test]
    fn what_no_label_holds_is_refused() {
        let refused = errors(&pool("é", "A", "default"));
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(
            refused[0].starts_with("spec.template.spec.nodeClassRef.group: "),
            "{refused:?}"
        );
        assert!(refused[0].ends_with("[node-class-name]"), "{refused:?}");
        assert!(errors(&pool("a.example", &"K".repeat(64), "default"))[0].ends_with("[node-class-name]"));
        assert!(errors(&pool("a.example", "B", &"n".repeat(64)))[0].ends_with("[node-class-name]"));
        assert_eq!(errors(&pool("a.example", "B", &"n".repeat(63))), [""; 0]);
    }

    #[test]
    fn a_kind_of_another_provider_is_refused_and_an_unknown_one_is_not() {
        let refused = errors(&pool("karpenter.k8s.aws", "AKSNodeClass", "default"));
        assert!(refused[0].contains("nodeClassRef.kind"), "{refused:?}");
        assert!(refused[0].ends_with("did you mean EC2NodeClass of karpenter.k8s.aws? [node-class-kind]"));
        let refused = errors(&pool("karpenter.sh", "EC2NodeClass", "default"));
        assert!(refused[0].contains("nodeClassRef.group"), "{refused:?}");
        assert_eq!(
            errors(&pool("karpenter.example.com", "ExampleNodeClass", "default")),
            [""; 0]
        );
    }

    #[test]
    fn group_and_kind_are_pinned_since_1_1_and_the_name_never_is() {
        let old = pool("a.example", "A", "one");
        let new = pool("b.example", "B", "two");
        let errors = |release| errors_for(ApiVersion::V1, release, &new, Some(&old));
        assert_eq!(errors(Release::new(1, 0, 8)), [""; 0]);
        let refused = errors(Release::NEWEST);
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(
            refused
                .iter()
                .all(|line| line.ends_with("[node-class-immutable]"))
        );
        let renamed = pool("a.example", "A", "two");
        assert_eq!(
            errors_for(ApiVersion::V1, Release::NEWEST, &renamed, Some(&old)),
            [""; 0]
        );
    }

    #[test]
    fn v1beta1_names_the_group_with_its_version() {
        let object = json!({"spec": {"template": {"spec": {"nodeClassRef": {
            "apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClas", "name": "default",
        }}}}});
        let refused = errors_for(ApiVersion::V1Beta1, Release::new(1, 0, 8), &object, None);
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(refused[0].ends_with("[node-class-kind]"));
    }
}
