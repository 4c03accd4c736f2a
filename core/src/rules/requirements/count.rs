//! How many requirements a NodePool may have, in its own list and in its NodeClaims, and a NodeClaim itself.

use super::{Findings, Scope};
use crate::diagnostic::{ErrorType, FieldPath, Origin};
use crate::facts::shape::REQUIREMENTS;
use crate::facts::{
    ApiVersion, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, KarpenterVersion, NODEPOOL_LABEL, Provider,
    canonical_label,
};
use crate::json::Json;
use crate::pool::{NodePool, Template};
use crate::rules::context::Context;
use crate::rules::rule::Rule;

pub static REQUIREMENTS_COUNT: Rule = rule!("requirements-count", Error, Schema);
pub static NODECLAIM_REQUIREMENTS: Rule = rule!("nodeclaim-requirements", Error, Silent);

/// The most requirements of a NodePool or a NodeClaim.
fn most(context: &Context<'_>, version: ApiVersion) -> usize {
    context
        .karpenter
        .most(REQUIREMENTS, version)
        .unwrap_or(usize::MAX)
}

/// Denies a NodePool whose NodeClaims would have too many requirements.
pub fn check_in_nodeclaim(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let context = findings.context;
    let template = &pool.template;
    let is_counted = !template.requirements.is_beyond()
        && !template.labels.present().is_some_and(|labels| labels.is_beyond());
    let most = most(&context, pool.version);
    let listed = template.requirements().len();
    let provider = Scope::new(template, context).labels.provider;
    let actual = count_in_nodeclaim(template, !pool.replicas.is_absent(), context.release, provider);
    if is_counted && listed <= most && actual > most {
        let title = format!("a NodeClaim of this pool has {actual} requirements, but the maximum is {most}");
        findings
            .report(
                &NODECLAIM_REQUIREMENTS,
                Template::requirements_path(),
                ErrorType::TooMany { actual },
                title,
            )
            .consequence("template labels and Karpenter's own requirements count as well, so the pool never launches a node")
            .related(Template::labels_path())
            .suggest("remove labels or requirements");
    }
}

/// Denies a NodeClaim with too many requirements.
pub fn check_nodeclaim(claim: &Json<'_>, version: ApiVersion, findings: &mut Findings<'_>) {
    let path = FieldPath::of(&["spec", "requirements"]);
    let most = most(&findings.context, version);
    let actual = path.find(claim).and_then(Json::as_array).map_or(0, <[_]>::len);
    if actual > most {
        findings
            .report(
                &NODECLAIM_REQUIREMENTS,
                path,
                ErrorType::TooMany { actual },
                format!("a NodeClaim has at most {most} requirements"),
            )
            .origin(Origin::Schema)
            .suggest("remove requirements");
    }
}

/// What bounds the values of a key.
#[derive(Clone, Copy, Default)]
struct Bounds {
    lower: bool,
    upper: bool,
    /// Its values are listed, so Karpenter drops the bounds.
    is_listed: bool,
}

/// For a static pool, the provider picks instance types and capacity types
/// (`NodeClaimTemplate.ToNodeClaim` of `sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling`).
// karpenter: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go NewNodeClaimTemplate
// karpenter: pkg/controllers/provisioning/scheduling/nodeclaimtemplate.go NodeClaimTemplate.ToNodeClaim
// karpenter: pkg/scheduling/requirements.go Requirements.NodeSelectorRequirements
fn count_in_nodeclaim(
    template: &Template<'_>,
    is_static: bool,
    release: KarpenterVersion,
    provider: Option<&Provider>,
) -> usize {
    let mut keys: Vec<(&str, Bounds)> = vec![(NODEPOOL_LABEL, Bounds::default())];
    let mut demand = |key, bounds: Bounds| match keys.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) => {
            known.lower |= bounds.lower;
            known.upper |= bounds.upper;
            known.is_listed |= bounds.is_listed;
        }
        None => keys.push((key, bounds)),
    };
    if !is_static {
        demand(INSTANCE_TYPE_LABEL, Bounds::default());
    }
    if !is_static && release.has(KarpenterVersion::CAPACITY_TYPES_REQUIRED) {
        demand(CAPACITY_TYPE_LABEL, Bounds::default());
    }
    for (label, value) in template.labels.present().into_iter().flatten() {
        // The API server drops null values.
        if !value.is_null() {
            let listed = Bounds {
                is_listed: true,
                ..Bounds::default()
            };
            demand(canonical_label(label, provider), listed);
        }
    }
    for requirement in template.requirements() {
        let Some(key) = requirement.key.present() else {
            continue;
        };
        let operator = requirement.operator.present();
        let bounds = Bounds {
            lower: matches!(operator, Some("Gt" | "Gte")),
            upper: matches!(operator, Some("Lt" | "Lte")),
            is_listed: matches!(operator, Some("In" | "DoesNotExist")),
        };
        demand(canonical_label(key, provider), bounds);
    }
    let has_node_class = !release.has(KarpenterVersion::NODE_CLASS_LABELLED)
        || template
            .node_class_label()
            .is_some_and(|label| keys.iter().any(|(key, _)| *key == label));
    let is_twice = |(_, bounds): &&(&str, Bounds)| {
        release.has(KarpenterVersion::BOTH_BOUNDS) && bounds.lower && bounds.upper && !bounds.is_listed
    };
    let twice = keys.iter().filter(is_twice).count();
    keys.len() + twice + usize::from(!has_node_class)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::json::Json;
    use crate::pool::NodePool;
    use crate::rules::testing::errors;

    fn pool(requirements: usize, labels: usize) -> Value {
        let requirements: Vec<Value> = (0..requirements)
            .map(|number| json!({"key": format!("example.com/r{number}"), "operator": "Exists"}))
            .collect();
        let labels: Map<String, Value> = (0..labels)
            .map(|number| (format!("example.com/l{number}"), json!("blue")))
            .collect();
        json!({"spec": {"template": {
            "metadata": {"labels": labels},
            "spec": {
                "requirements": requirements,
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            },
        }}})
    }

    #[test]
    fn list_takes_a_hundred_requirements_and_no_more() {
        assert_eq!(
            errors(&pool(101, 0)),
            [
                "spec.template.spec.requirements: a NodePool must have at most 100 requirements: 101 [requirements-count]. \
              Combine entries that have the same key, with operator In."
            ]
        );
    }

    #[test]
    fn nodeclaim_counts_labels_and_karpenters_own_four() {
        assert_eq!(errors(&pool(50, 46)), [""; 0]);
        let denied = errors(&pool(50, 47));
        assert_eq!(denied.len(), 1);
        assert!(denied[0].starts_with("spec.template.spec.requirements: a NodeClaim of this pool has 101 "));
        assert!(denied[0].contains("[nodeclaim-requirements]"));
    }

    #[test]
    fn static_pool_has_fewer_requirements_of_karpenter() {
        let mut object = pool(50, 48);
        object["spec"]["replicas"] = json!(3);
        assert_eq!(errors(&object), [""; 0]);
        object["spec"]["template"]["metadata"]["labels"]["example.com/one-more"] = json!("blue");
        let denied = errors(&object);
        assert_eq!(denied.len(), 1, "{denied:?}");
        assert!(denied[0].contains("[nodeclaim-requirements]"), "{denied:?}");
    }

    #[test]
    fn key_counts_once_under_all_its_names_and_twice_if_a_nodeclaim_has_both_its_bounds() {
        let count_for = |release: KarpenterVersion, requirements: Value| {
            let object = json!({"spec": {"template": {
                "metadata": {"labels": {"kubernetes.io/arch": "amd64", "example.com/none": null}},
                "spec": {"requirements": requirements},
            }}});
            let object = Json::from(&object);
            let pool = NodePool::view(crate::facts::ApiVersion::V1, &object);
            count_in_nodeclaim(&pool.template, false, release, None)
        };
        assert_eq!(count_for(KarpenterVersion::new(1, 0, 8), json!([])), 3);
        assert_eq!(count_for(KarpenterVersion::new(1, 8, 0), json!([])), 4);
        let count = |requirements| count_for(KarpenterVersion::NEWEST, requirements);
        assert_eq!(count(json!([])), 5);
        assert_eq!(
            count(json!([{"key": "beta.kubernetes.io/arch", "operator": "Exists"}])),
            5
        );
        assert_eq!(
            count(json!([{"key": "karpenter.sh/capacity-type", "operator": "Exists"}])),
            5
        );
        let cpu = "karpenter.k8s.aws/instance-cpu";
        assert_eq!(
            count(json!([{"key": cpu, "operator": "Gt"}, {"key": cpu, "operator": "Gte"}])),
            6
        );
        assert_eq!(
            count(json!([{"key": cpu, "operator": "Gt"}, {"key": cpu, "operator": "Lte"}])),
            7
        );
        let bounded = json!([{"key": cpu, "operator": "Gt"}, {"key": cpu, "operator": "Lt"}]);
        assert_eq!(count_for(KarpenterVersion::new(1, 9, 0), bounded.clone()), 7);
        assert_eq!(count_for(KarpenterVersion::new(1, 8, 2), bounded), 6);
        for listed in ["In", "DoesNotExist"] {
            let operators = ["Gt", "Lt", listed];
            let together = operators.map(|operator| json!({"key": cpu, "operator": operator}));
            assert_eq!(count(together.as_slice().into()), 6, "{listed}");
        }
    }
}
