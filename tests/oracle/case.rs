//! One case: a NodePool that is created, or that replaces another. Determined by seed and number alone.

use poolgate_core::facts::{ApiVersion, KarpenterVersion};
use poolgate_core::review::Subject;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::mutate::{mutate, remove};
use super::pools::nodepool;
use super::regressions::version_of;
use super::words::one_of;

/// What the user sends, and the object stored before, as its author once sent it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) version: ApiVersion,
    /// Whether the API server still has the definition of Karpenter 1.14. Then only the definition is asked.
    pub(crate) is_behind: bool,
    pub(crate) object: Value,
    pub(crate) old: Option<Value>,
}

impl Case {
    /// The case with this number. The same for the same seed, whatever the other cases.
    pub(crate) fn generate(seed: u64, number: u64, corpus: &[Value]) -> Self {
        let mut rng = StdRng::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number));
        let rng = &mut rng;
        let base = if rng.random_bool(0.3) {
            corpus.choose(rng).expect("the corpus is not empty").clone()
        } else {
            let version = if rng.random_bool(0.15) {
                ApiVersion::V1Beta1
            } else {
                ApiVersion::V1
            };
            nodepool(rng, version)
        };
        let version = version_of(&base);
        let mut object = base;
        if rng.random_bool(0.05) {
            return Self::of_annotations(rng, version, object);
        }
        if rng.random_bool(0.3) {
            // Three stored objects in ten are such as only an older definition would have accepted.
            if rng.random_bool(0.3) {
                mutate(rng, &mut object, version);
            }
            let old = object.clone();
            spoil(rng, &mut object, version);
            return Self {
                version,
                is_behind: false,
                object,
                old: Some(old),
            };
        }
        spoil(rng, &mut object, version);
        Self {
            version,
            is_behind: false,
            object,
            old: None,
        }
    }

    /// An update that leaves the spec as it is stored, and that is mostly not as a definition of today accepts it.
    fn of_annotations(rng: &mut StdRng, version: ApiVersion, mut object: Value) -> Self {
        for _ in 0..rng.random_range(0..4) {
            outdate(rng, &mut object, version);
        }
        if rng.random_bool(0.3) {
            annotate(rng, &mut object);
        }
        let old = object.clone();
        annotate(rng, &mut object);
        Self {
            version,
            is_behind: version == ApiVersion::V1 && rng.random_bool(0.5),
            object,
            old: Some(old),
        }
    }

    /// The kind of the object, for poolgate.
    pub(crate) fn subject(&self) -> Subject {
        Subject::NodePool(self.version)
    }

    /// The release whose definition the oracle has for this version.
    pub(crate) fn release(&self) -> KarpenterVersion {
        match self.version {
            ApiVersion::V1 if self.is_behind => KarpenterVersion::new(1, 14, 3),
            ApiVersion::V1 => KarpenterVersion::new(1, 15, 0),
            ApiVersion::V1Beta1 => KarpenterVersion::new(1, 0, 8),
        }
    }
}

/// Mostly one mutation: with two, one finding may hide the other.
fn spoil(rng: &mut StdRng, object: &mut Value, version: ApiVersion) {
    let count = *[0, 1, 1, 1, 1, 1, 1, 2, 2, 3]
        .choose(rng)
        .expect("the list is not empty");
    for _ in 0..count {
        mutate(rng, object, version);
    }
}

/// Makes of a stored object what a rule over all of the spec rejects today, or leaves out what a release requires.
fn outdate(rng: &mut StdRng, object: &mut Value, version: ApiVersion) {
    let (parent, field, value) = match rng.random_range(0..6) {
        0 => ("/spec", "replicas", json!(3)),
        1 => ("/spec", "weight", json!(10)),
        2 => ("/spec/limits", "memory", json!("1Gi")),
        3 => return remove(object, "/spec/limits/nodes"),
        4 => return remove(object, "/spec/disruption/consolidateAfter"),
        _ => return mutate(rng, object, version),
    };
    if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
        parent.insert(field.into(), value);
    }
}

/// Changes an annotation, or none.
fn annotate(rng: &mut StdRng, object: &mut Value) {
    let (key, value) = match rng.random_range(0..5) {
        0 => ("poolgate.dev/node-limit", one_of(rng, &["5", "10", "many"])),
        1 => ("poolgate.dev/node-limit-mode", one_of(rng, &["Hard", "Soft"])),
        2 => ("example.com/note", one_of(rng, &["a", "b"])),
        3 => return remove(object, "/metadata/annotations"),
        _ => return,
    };
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(key.into(), value.into());
        }
    }
}
