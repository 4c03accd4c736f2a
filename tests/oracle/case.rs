//! One case: a NodePool that is created, or that replaces another. Determined by seed and number alone.

use poolgate_core::karpenter::{ApiVersion, KarpenterVersion};
use poolgate_core::review::Subject;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;

use super::mutate::mutate;
use super::pools::nodepool;
use super::regressions::version_of;

/// What the user sends, and the object stored before, as its author once sent it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Case {
    pub(crate) version: ApiVersion,
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
        if rng.random_bool(0.35) {
            // Three stored objects in ten are such as only an older definition would have accepted.
            if rng.random_bool(0.3) {
                mutate(rng, &mut object, version);
            }
            let old = object.clone();
            spoil(rng, &mut object, version);
            return Self {
                version,
                object,
                old: Some(old),
            };
        }
        spoil(rng, &mut object, version);
        Self {
            version,
            object,
            old: None,
        }
    }

    /// The kind of the object, for poolgate.
    pub(crate) fn subject(&self) -> Subject {
        Subject::NodePool(self.version)
    }

    /// The release whose definition the oracle has for this version.
    pub(crate) fn release(&self) -> KarpenterVersion {
        match self.version {
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
