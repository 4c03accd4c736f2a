//! Where the volumes of a pod are.

use poolgate_core::facts::{HOSTNAME_LABEL, Operator};
use poolgate_core::pods::{LabelRequirement, NodeSelector, Term};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::cluster::objects::{Metadata, Object};
use crate::status::facts::Read;
use crate::status::look::Look;

/// How many combinations of places are tried.
const MOST: usize = 100;

/// The labels that one place requires.
type Place = Vec<LabelRequirement>;

type Claim = Object<Metadata, ClaimSpec>;
type Volume = Object<Metadata, VolumeSpec>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ClaimSpec {
    volume_name: String,
    storage_class_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VolumeSpec {
    node_affinity: Option<Affinity>,
    local: Option<IgnoredAny>,
    host_path: Option<IgnoredAny>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Affinity {
    required: Option<NodeSelector>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StorageClass {
    allowed_topologies: Vec<Topology>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Topology {
    match_label_expressions: Vec<Listed>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Listed {
    key: String,
    values: Vec<String>,
}

/// The places of all volumes of a pod together. Its node must be in one of them. Without a place, the volumes may be anywhere.
// karpenter: pkg/controllers/provisioning/scheduling/volumetopology.go VolumeTopology.GetRequirements
pub async fn places(look: &Look<'_>, namespace: &str, pod: &Value) -> Read<Vec<Place>> {
    let mut together: Vec<Place> = vec![Vec::new()];
    for claim in claims(pod) {
        let places = places_of(look, namespace, &claim).await?;
        if !places.is_empty() {
            if together.len().saturating_mul(places.len()) > MOST {
                return Err(format!("they have more than {MOST} combinations of places"));
            }
            let both = together
                .iter()
                .flat_map(|one| places.iter().map(|other| [&**one, other].concat()));
            together = both.collect();
        }
    }
    together.retain(|place| !place.is_empty());
    Ok(together)
}

/// The names of the claims of a pod.
fn claims(pod: &Value) -> Vec<String> {
    let name = pod
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let volumes = pod.pointer("/spec/volumes").and_then(Value::as_array);
    let of = |volume: &Value| {
        let claim = volume
            .pointer("/persistentVolumeClaim/claimName")
            .and_then(Value::as_str);
        let own = volume
            .get("ephemeral")
            .and(volume.get("name"))
            .and_then(Value::as_str);
        claim
            .map(str::to_owned)
            .or_else(|| Some(format!("{name}-{}", own?)))
    };
    volumes.into_iter().flatten().filter_map(of).collect()
}

async fn places_of(look: &Look<'_>, namespace: &str, claim: &str) -> Read<Vec<Place>> {
    let path = format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims");
    let Some(found) = look.get::<Claim>(&path, claim).await? else {
        return Err(format!(
            "PersistentVolumeClaim {namespace}/{claim} does not exist"
        ));
    };
    let ClaimSpec {
        volume_name,
        storage_class_name,
    } = found.spec;
    if !volume_name.is_empty() {
        let volume = look
            .get::<Volume>("/api/v1/persistentvolumes", &volume_name)
            .await?;
        return Ok(volume.map(|volume| of_volume(volume.spec)).unwrap_or_default());
    }
    if storage_class_name.is_empty() {
        return Ok(Vec::new());
    }
    let class = look
        .get::<StorageClass>("/apis/storage.k8s.io/v1/storageclasses", &storage_class_name)
        .await?;
    let topologies = class.map(|class| class.allowed_topologies).unwrap_or_default();
    let place = |topology: Topology| {
        let each = topology.match_label_expressions.into_iter();
        each.map(|one| LabelRequirement {
            key: one.key,
            operator: Operator::In,
            values: one.values,
        })
        .collect::<Place>()
    };
    Ok(topologies
        .into_iter()
        .map(place)
        .filter(|place| !place.is_empty())
        .collect())
}

/// The places of a volume. Karpenter ignores the host of a local one.
fn of_volume(volume: VolumeSpec) -> Vec<Place> {
    let is_local = volume.local.is_some() || volume.host_path.is_some();
    let terms = volume.node_affinity.and_then(|affinity| affinity.required);
    let terms = terms.map(|required| required.terms()).unwrap_or_default();
    let place = |term: Term| {
        let each = term.expressions.into_iter();
        each.filter(|one| !(is_local && one.key == HOSTNAME_LABEL))
            .collect::<Place>()
    };
    let places: Vec<Place> = terms.into_iter().map(place).collect();
    // A place that requires nothing is anywhere.
    if places.iter().any(Vec::is_empty) {
        Vec::new()
    } else {
        places
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_of_a_pod_are_those_that_it_names_and_its_own() {
        let pod = json!({"metadata": {"name": "web-0"}, "spec": {"volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "disk"}},
            {"name": "cache", "ephemeral": {"volumeClaimTemplate": {}}},
            {"name": "tmp", "emptyDir": {}},
        ]}});
        assert_eq!(claims(&pod), ["disk", "web-0-cache"]);
        assert_eq!(claims(&json!({})), [""; 0]);
    }

    #[test]
    fn a_volume_is_in_the_places_of_its_terms_and_a_local_one_on_any_host() {
        let expression = |key: &str| json!({"key": key, "operator": "In", "values": ["a"]});
        let volume = |more: Value, terms: Value| {
            let mut spec = json!({"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}});
            if let (Some(spec), Value::Object(mut more)) = (spec.as_object_mut(), more) {
                spec.append(&mut more);
            }
            let spec: VolumeSpec = serde_json::from_value(spec).expect("a spec");
            let places = of_volume(spec);
            places.iter().map(Vec::len).collect::<Vec<_>>()
        };
        let zones = json!([{"matchExpressions": [expression("zone")]}, {"matchExpressions": [expression("zone"), expression("rack")]}]);
        assert_eq!(volume(json!({}), zones), [1, 2]);
        let host = json!([{"matchExpressions": [expression(HOSTNAME_LABEL)]}]);
        assert_eq!(volume(json!({}), host.clone()), [1]);
        assert_eq!(volume(json!({"local": {"path": "/disk"}}), host), [0; 0]);
        assert_eq!(volume(json!({}), json!([])), [0; 0]);
    }
}
