//! A tolerant, borrowed view of a NodePool: v1 and v1beta1 in one model.

use super::door::{self, Beyond, Door};
use super::field::child;
use super::{Disruption, Field, Map, Template};
use crate::diagnostic::FieldPath;
use crate::facts::ApiVersion;
use crate::json::{Json, Object};
use crate::value::quantity::{Quantity, QuantityError};

/// A NodePool as far as defaults and rules read it, borrowed from the JSON.
#[derive(Debug)]
pub struct NodePool<'a> {
    /// The object itself, for code that compares or walks all of it.
    pub(crate) object: &'a Json<'a>,
    /// The object as its author wrote it, if the API server's defaults were added since.
    written: Option<&'a Json<'a>>,
    /// The version it is written in.
    pub version: ApiVersion,
    /// Whether there is `metadata`, so that something can be written into it.
    pub(crate) has_metadata: bool,
    /// `metadata.name`; absent if the API server will generate it.
    pub name: Field<&'a str>,
    /// `metadata.labels` of the NodePool itself, not those that its nodes get.
    pub labels: Field<Map<'a>>,
    /// `metadata.annotations` of the NodePool itself, not those that its nodes get.
    pub annotations: Field<Map<'a>>,
    /// `spec` as it is in the object.
    pub spec: Field<&'a Object<'a>>,
    /// `spec.disruption`, split into its fields.
    pub disruption: Field<Disruption<'a>>,
    /// `spec.limits`: quantities by the name of a resource.
    pub limits: Field<Map<'a>>,
    /// `spec.weight`: Karpenter prefers pools with a higher one.
    pub weight: Field<i64>,
    /// `spec.replicas`. If it is present, the pool is a static one. Only v1 knows it.
    pub replicas: Field<i64>,
    /// `expireAfter`, which is in a different place in each version; see [`Self::expire_after_path`].
    pub expire_after: Field<&'a str>,
    /// `spec.template`; empty if it is missing.
    pub template: Template<'a>,
    /// The lists and maps with more entries than are read.
    pub(crate) beyond: Vec<Beyond<'a>>,
}

impl<'a> NodePool<'a> {
    /// Views any object as a NodePool.
    pub fn view(version: ApiVersion, object: &'a Json<'a>) -> Self {
        let metadata = child(object.as_object(), "metadata");
        let spec = child(object.as_object(), "spec");
        let mut door = Door::default();
        let view = Self {
            object,
            written: None,
            version,
            has_metadata: metadata.is_some(),
            name: Field::text(metadata, "name"),
            labels: door.map(metadata, &door::LABELS),
            annotations: door.map(metadata, &door::ANNOTATIONS),
            spec: Field::map_in(object.as_object(), "spec"),
            disruption: Field::map_in(spec, "disruption")
                .map(|disruption| Disruption::view(disruption, &mut door)),
            limits: door.map(spec, &door::LIMITS),
            weight: Field::integer_in(spec, "weight"),
            replicas: Field::integer_in(spec, "replicas"),
            expire_after: Field::text(
                match version {
                    ApiVersion::V1 => child(child(spec, "template"), "spec"),
                    ApiVersion::V1Beta1 => child(spec, "disruption"),
                },
                "expireAfter",
            ),
            template: Template::view(version, child(spec, "template"), &mut door),
            beyond: Vec::new(),
        };
        Self {
            beyond: door.beyond,
            ..view
        }
    }

    /// The same view of an object that its author wrote like this, before the API server's defaults were added.
    #[must_use]
    pub fn written_as(self, written: Option<&'a Json<'a>>) -> Self {
        Self { written, ..self }
    }

    /// Whether the pool is from a file, and is not a copy of a stored one.
    pub(crate) fn is_of_a_file(&self) -> bool {
        let uid = FieldPath::of(&["metadata", "uid"]);
        self.written.is_some_and(|written| uid.find(written).is_none())
    }

    /// Whether the author of the object wrote a field, and not the API server.
    pub fn is_written(&self, path: &FieldPath) -> bool {
        let is_present = |object: &Json<'_>| path.find(object).is_some_and(|value| !value.is_null());
        self.written.is_none_or(is_present)
    }

    /// The list under a key of an object in the pool, if the door has let it in.
    pub(crate) fn list<'v>(&self, of: &'v Object<'v>, key: &str) -> Field<&'v [Json<'v>]> {
        match of.get(key) {
            Some(list) if self.beyond.iter().any(|beyond| beyond.is(list)) => Field::Beyond,
            _ => Field::list(of, key),
        }
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a Json<'a>> {
        self.annotations.present()?.get(key)
    }

    /// The quantity of a limit, if readable.
    pub(crate) fn limit_value(value: &Json<'_>) -> Option<Quantity> {
        Self::limit_quantity(value)?.ok()
    }

    /// The quantity of a limit, or why it cannot be read; `None` if it is of the wrong type.
    pub(crate) fn limit_quantity(value: &Json<'_>) -> Option<Result<Quantity, QuantityError>> {
        match value {
            Json::String(text) => Some(Quantity::parse(text)),
            Json::Number(number) => number
                .as_i64()
                .map(Quantity::from)
                .or_else(|| number.as_u64().map(Quantity::from))
                .map(Ok),
            _ => None,
        }
    }

    /// Whether Karpenter has written a status.
    pub fn has_status(&self) -> bool {
        self.object.get("status").is_some_and(Json::is_object)
    }

    /// How much of a resource the nodes of a stored pool have together, by its status.
    pub(crate) fn used(&self, resource: &str) -> Option<&'a Json<'a>> {
        self.object.get("status")?.get("resources")?.get(resource)
    }

    /// How much of each limit above zero is used, by the status of a stored pool; 1 is all of it.
    pub fn limits_used(&self) -> impl Iterator<Item = (&'a str, f64)> {
        let limits = self.limits.present().into_iter().flatten();
        limits.filter_map(|(resource, limit)| {
            let limit = Self::limit_value(limit).filter(|limit| !limit.is_negative() && !limit.is_zero())?;
            let used = Self::limit_value(self.used(resource)?)?;
            Some((resource, used.part_of(&limit)?))
        })
    }

    /// How many nodes the status of a stored pool has, without those on their way out: Karpenter writes it every few seconds,
    /// into `nodes` since 1.8.
    // karpenter: pkg/controllers/nodepool/counter/controller.go Controller.Reconcile
    pub fn reported_nodes(&self) -> Option<usize> {
        let status = self.object.get("status")?;
        let count = status.get("nodes").and_then(Json::as_i64).or_else(|| {
            let resource = status.get("resources")?.get("nodes")?;
            Self::limit_value(resource).map(|quantity| quantity.rounded_up())
        });
        count.and_then(|count| usize::try_from(count).ok())
    }

    /// Whether Karpenter removes its nodes without pods: not those of a static pool, and not without consolidation.
    // karpenter: pkg/controllers/disruption/emptiness.go Emptiness.ShouldDisrupt
    pub(crate) fn removes_empty_nodes(&self) -> bool {
        let after = self.disruption.as_ref().present();
        let after = after.map_or(Field::Absent, |disruption| disruption.consolidate_after);
        self.replicas.is_absent() && after != Field::Present("Never")
    }

    /// The path of `expireAfter` in a NodePool of this version.
    pub fn expire_after_path(version: ApiVersion) -> FieldPath {
        match version {
            ApiVersion::V1 => Template::path("expireAfter"),
            ApiVersion::V1Beta1 => Disruption::path("expireAfter"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_can_be_made_of_anything() {
        for object in [
            json!(null),
            json!([1]),
            json!({"spec": 5}),
            json!({"spec": {"disruption": []}}),
        ] {
            let object = Json::from(&object);
            let pool = NodePool::view(ApiVersion::V1, &object);
            assert!(pool.limits.is_absent());
            assert!(pool.disruption.present().is_none());
        }
    }
}
