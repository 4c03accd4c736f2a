//! A node class whose change is waited for.

use poolgate_core::pool::NodePool;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::cluster::objects::{Metadata, NodeClassRef, Object, Origin, Texts};
use crate::status::facts::Read;
use crate::status::look::Look;

type ClassObject = Object<Metadata<Texts, Texts>, IgnoredAny, ClassStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct ClassStatus {
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: Box<str>,
    observed_generation: Option<i64>,
}

/// A node class as it is stored.
#[derive(Debug)]
pub struct NodeClass {
    reference: NodeClassRef,
    object: ClassObject,
}

/// The node class that a NodePool names.
pub fn class_of(pool: &NodePool<'_>) -> Option<NodeClassRef> {
    let (group, kind, name) = pool.template.node_class()?;
    Some(NodeClassRef {
        group: group.into(),
        kind: kind.into(),
        name: name.into(),
    })
}

impl NodeClass {
    /// Reads it; `None` if it is not there.
    pub async fn read(look: &Look<'_>, reference: NodeClassRef) -> Read<Option<Self>> {
        let Some(path) = look.served_at(&reference.group, &reference.kind).await? else {
            return Ok(None);
        };
        let object = look.get::<ClassObject>(&path, &reference.name).await?;
        Ok(object.map(|object| Self { reference, object }))
    }

    /// Whether the provider has seen its current version. A class without conditions counts as seen.
    pub fn is_seen(&self) -> bool {
        let mut conditions = self.object.status.conditions.iter();
        let ready = conditions.find(|condition| &*condition.r#type == "Ready");
        let observed = ready.and_then(|ready| ready.observed_generation);
        observed.is_none_or(|observed| Some(observed) >= self.object.metadata.generation)
    }

    /// Whether a NodeClaim was made from another version of it; `None` if the hashes are not comparable.
    pub fn outdates(&self, claim: &Origin) -> Option<bool> {
        if claim.spec.node_class_ref != self.reference {
            return None;
        }
        let [hash, version] = self.object.class_hash(&self.reference)?;
        let [own, own_version] = claim.class_hash(&self.reference)?;
        (version == own_version).then(|| hash != own)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn class(hash: Option<&str>, observed: Option<i64>) -> NodeClass {
        let annotations = hash.map(|hash| {
            json!({"karpenter.k8s.aws/ec2nodeclass-hash": hash, "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6"})
        });
        let object = json!({
            "metadata": {"name": "default", "generation": 2, "annotations": annotations},
            "status": {"conditions": [{"type": "Ready", "observedGeneration": observed}]},
        });
        NodeClass {
            reference: NodeClassRef {
                group: "karpenter.k8s.aws".into(),
                kind: "EC2NodeClass".into(),
                name: "default".into(),
            },
            object: serde_json::from_value(object).expect("a class"),
        }
    }

    fn claim(class: &str, hash: &str, version: &str) -> Origin {
        let object = json!({
            "metadata": {"annotations": {
                "karpenter.k8s.aws/ec2nodeclass-hash": hash,
                "karpenter.k8s.aws/ec2nodeclass-hash-version": version,
            }},
            "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": class}},
        });
        serde_json::from_value(object).expect("a claim")
    }

    #[test]
    fn a_class_outdates_a_claim_whose_hash_of_it_has_the_same_version_and_differs() {
        let now = class(Some("2"), None);
        assert_eq!(now.outdates(&claim("default", "1", "v6")), Some(true));
        assert_eq!(now.outdates(&claim("default", "2", "v6")), Some(false));
        assert_eq!(now.outdates(&claim("default", "1", "v5")), None);
        assert_eq!(now.outdates(&claim("other", "1", "v6")), None);
        assert_eq!(class(None, None).outdates(&claim("default", "1", "v6")), None);
    }

    #[test]
    fn a_class_is_seen_when_its_condition_is_of_its_generation() {
        assert!(!class(None, Some(1)).is_seen());
        assert!(class(None, Some(2)).is_seen());
        assert!(class(None, None).is_seen());
    }
}
