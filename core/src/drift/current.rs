//! Whether a NodeClaim matches its NodePool as it is now.

use super::change::{DriftClaim, either};
use super::hash::{HASH_ANNOTATION, HASH_VERSION, HASH_VERSION_ANNOTATION, template_hash};
use super::requirements::Demanded;
use crate::json::Json;
use crate::pool::NodePool;

/// The template of a stored NodePool (v1), with the hash that Karpenter gives it.
#[derive(Debug)]
pub struct CurrentTemplate<'a> {
    pool: &'a NodePool<'a>,
    /// `None` if nobody knows it before Karpenter has computed it.
    hash: Option<u64>,
    /// `None` if a requirement cannot be read.
    demanded: Option<Demanded<'a>>,
}

impl<'a> CurrentTemplate<'a> {
    /// That of this pool.
    pub fn of(pool: &'a NodePool<'a>) -> Self {
        let template = pool.object.get("spec").and_then(|spec| spec.get("template"));
        let version = annotation(pool, HASH_VERSION_ANNOTATION);
        let is_ours = version.is_none_or(|version| version == HASH_VERSION);
        let provider = pool.template.provider();
        Self {
            pool,
            hash: template.filter(|_| is_ours).and_then(template_hash),
            demanded: Demanded::of(&pool.template, provider),
        }
    }

    /// Whether Karpenter has seen it: the NodePool then carries its hash.
    pub fn is_seen(&self) -> Option<bool> {
        let hash = self.hash?.to_string();
        Some(annotation(self.pool, HASH_ANNOTATION) == Some(&*hash))
    }

    /// Whether a NodeClaim was made from it, requirements aside.
    pub fn made(&self, claim: &DriftClaim) -> Option<bool> {
        Some(!claim.has_another_hash(self.hash?))
    }

    /// Whether a NodeClaim has to be replaced because of it.
    // karpenter: pkg/controllers/nodeclaim/disruption/drift.go Drift.isDrifted
    // karpenter: pkg/controllers/nodeclaim/disruption/drift.go areStaticFieldsDrifted
    pub fn outdates(&self, claim: &DriftClaim) -> Option<bool> {
        let has_another = self.hash.map(|hash| claim.has_another_hash(hash));
        let demanded = self.demanded.as_ref();
        either(
            has_another,
            demanded.map(|demanded| !demanded.matches(&claim.labels)),
        )
    }
}

fn annotation<'p>(pool: &'p NodePool<'_>, key: &str) -> Option<&'p str> {
    pool.annotation(key).and_then(Json::as_str)
}
