//! The hash by which Karpenter tells whether a node was made from the template as it is now (`NodePool.Hash` of
//! `sigs.k8s.io/karpenter/pkg/apis/v1`): `hashstructure`, format 2, of the Go value that the template is decoded into.
//!
//! Lists are hashed as sets by XOR, so two equal taints cancel each other out. An empty list or map differs from none.

use crate::json::{Json, Object};
use crate::value::duration::{GoDuration, NillableDuration};

/// The version of the hash that is computed here. Karpenter compares hashes of one version only.
// karpenter: pkg/apis/v1/nodepool.go NodePoolHashVersion
pub const HASH_VERSION: &str = "v3";

/// The annotation with the hash, on a NodePool and on each of its NodeClaims.
// karpenter: pkg/apis/v1/labels.go NodePoolHashAnnotationKey
pub const HASH_ANNOTATION: &str = "karpenter.sh/nodepool-hash";

/// The annotation with the version of the hash.
// karpenter: pkg/apis/v1/labels.go NodePoolHashVersionAnnotationKey
pub const HASH_VERSION_ANNOTATION: &str = "karpenter.sh/nodepool-hash-version";

/// The hash of `spec.template` of a NodePool in `karpenter.sh/v1`, completed by the definition's defaults. `None` if the
/// template has a field that this release of the hash does not know, or a value that Karpenter cannot decode.
// karpenter: pkg/apis/v1/nodepool.go NodePool.Hash
// karpenter: pkg/apis/v1/nodepool.go NodeClaimTemplateSpec
pub fn template_hash(template: &Json<'_>) -> Option<u64> {
    let [metadata, spec] = fields(template, ["metadata", "spec"])?;
    let mut hash = Struct::new("NodeClaimTemplate");
    hash.field("ObjectMeta", object_meta(metadata)?);
    hash.field("Spec", template_spec(spec)?);
    Some(hash.0)
}

/// The hash of a field's value; `None` for Go's zero value, which is left out.
type NonZero = Option<u64>;

fn object_meta(metadata: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(metadata) = metadata else {
        return Some(None);
    };
    let [labels, annotations] = fields(metadata, ["labels", "annotations"])?;
    let mut hash = Struct::new("ObjectMeta");
    hash.field("Labels", string_map(labels)?);
    hash.field("Annotations", string_map(annotations)?);
    Some(hash.unless(labels.is_none() && annotations.is_none()))
}

fn template_spec(spec: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(spec) = spec else {
        return Some(None);
    };
    let [
        taints,
        startup_taints,
        requirements,
        node_class,
        grace_period,
        expire_after,
    ] = fields(
        spec,
        [
            "taints",
            "startupTaints",
            "requirements",
            "nodeClassRef",
            "terminationGracePeriod",
            "expireAfter",
        ],
    )?;
    let values = [
        ("Taints", taint_set(taints)?),
        ("StartupTaints", taint_set(startup_taints)?),
        ("NodeClassRef", node_class_ref(node_class)?),
        ("TerminationGracePeriod", duration(grace_period)?),
        ("ExpireAfter", nillable_duration(expire_after)?),
    ];
    let is_zero = requirements.is_none() && values.iter().all(|(_, value)| value.is_none());
    let mut hash = Struct::new("NodeClaimTemplateSpec");
    for (name, value) in values {
        hash.field(name, value);
    }
    Some(hash.unless(is_zero))
}

fn taint_set(taints: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(taints) = taints else {
        return Some(None);
    };
    let mut hash = 0;
    for taint in taints.as_array()? {
        // How Karpenter hashes a time depends on the time zone that it runs in.
        let [key, value, effect, time_added] = fields(taint, ["key", "value", "effect", "timeAdded"])?;
        if time_added.is_some() {
            return None;
        }
        let mut one = Struct::new("Taint");
        one.field("Key", string(key)?);
        one.field("Value", string(value)?);
        one.field("Effect", string(effect)?);
        hash ^= one.0;
    }
    Some(Some(hash))
}

fn node_class_ref(reference: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(reference) = reference else {
        return Some(None);
    };
    let [kind, name, group] = fields(reference, ["kind", "name", "group"])?;
    let mut hash = Struct::new("NodeClassReference");
    hash.field("Kind", string(kind)?);
    hash.field("Name", string(name)?);
    hash.field("Group", string(group)?);
    Some(Some(hash.0))
}

fn duration(value: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(value) = value else {
        return Some(None);
    };
    let nanos = GoDuration::parse(value.as_str()?).ok()?.as_nanos();
    let mut hash = Struct::new("Duration");
    hash.field("Duration", (nanos != 0).then(|| fnv(&nanos.to_le_bytes())));
    Some(Some(hash.0))
}

/// `Never` is Go's zero value, and so is none.
fn nillable_duration(value: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(value) = value else {
        return Some(None);
    };
    let text = value.as_str()?;
    if NillableDuration::decode(text) == Ok(NillableDuration::Never) {
        return Some(None);
    }
    let nanos = GoDuration::parse(text).ok()?.as_nanos();
    let mut hash = Struct::new("NillableDuration");
    hash.field("Duration", Some(fnv(&nanos.to_le_bytes())));
    Some(Some(hash.0))
}

fn string_map(map: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(map) = map else {
        return Some(None);
    };
    let mut hash = 0;
    for (key, value) in map.as_object()? {
        hash ^= ordered(fnv(key.as_bytes()), fnv(value.as_str()?.as_bytes()));
    }
    Some(Some(finished(hash)))
}

fn string(value: Option<&Json<'_>>) -> Option<NonZero> {
    let Some(value) = value else {
        return Some(None);
    };
    let text = value.as_str()?;
    Some((!text.is_empty()).then(|| fnv(text.as_bytes())))
}

/// These fields of an object, `None` where one is absent or null. `None` if it has another field, or is not an object.
fn fields<'j, 'a, const N: usize>(
    object: &'j Json<'a>,
    names: [&str; N],
) -> Option<[Option<&'j Json<'a>>; N]> {
    let object: &Object<'a> = object.as_object()?;
    let is_known = |name: &str| names.contains(&name);
    let mut others = object.iter().filter(|(_, value)| !value.is_null());
    others
        .all(|(name, _)| is_known(name))
        .then(|| names.map(|name| object.get(name).filter(|value| !value.is_null())))
}

/// The hash of a Go struct.
struct Struct(u64);

impl Struct {
    fn new(name: &str) -> Self {
        Self(fnv(name.as_bytes()))
    }

    /// Fields come in the order of the Go type: each changes the hash of all before it.
    fn field(&mut self, name: &str, value: NonZero) {
        if let Some(value) = value {
            self.0 = finished(self.0 ^ ordered(fnv(name.as_bytes()), value));
        }
    }

    fn unless(self, is_zero: bool) -> NonZero {
        (!is_zero).then_some(self.0)
    }
}

fn ordered(one: u64, other: u64) -> u64 {
    let mut bytes = [0; 16];
    let (first, second) = bytes.split_at_mut(8);
    first.copy_from_slice(&one.to_le_bytes());
    second.copy_from_slice(&other.to_le_bytes());
    fnv(&bytes)
}

fn finished(hash: u64) -> u64 {
    fnv(&hash.to_le_bytes())
}

/// FNV-1, 64 bits.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
