//! Reviews of NodePools and NodeClaims in JSON: the object, the stored one if there is a second value, and a release.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use poolgate_core::drift::DriftClaim;
use poolgate_core::facts::{KarpenterVersion, TargetKarpenter};
use poolgate_core::policy::Policy;
use poolgate_fuzz::{corpus, mutate, patched, reviewed, values};
use serde_json::Value;

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::json(data, size, max_size, seed)
});

fuzz_target!(init: corpus::write(corpus::reviews), |data: &[u8]| -> Corpus {
    let values = values(data);
    let Some([object, rest @ ..]) = values.as_deref() else {
        return Corpus::Reject;
    };
    let old = rest.first();
    let release = rest.get(1).and_then(Value::as_u64).unwrap_or_default();
    let releases = [KarpenterVersion::NEWEST, KarpenterVersion::OLDEST, KarpenterVersion::LAST_OF_V1BETA1];
    let release = releases[usize::try_from(release % 3).expect("small")];
    let basis = (&Policy::default(), &TargetKarpenter::from(release));
    let claims = old.and_then(claims);

    let review = reviewed(object, old, claims.as_deref(), basis);
    for finding in review.report.diagnostics() {
        let text = finding.to_string();
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    // The patch of the patched object is empty, and it brings no error.
    let once = patched(object, &review.defaults);
    let again = reviewed(&once, old, claims.as_deref(), basis);
    // An update that leaves the spec as it was gets no defaults in it, and a number that poolgate restores changes it.
    if old.is_none_or(|old| old["spec"] != object["spec"]) {
        assert_eq!(again.defaults, [], "{once}");
    }
    assert!(!again.report.denies() || review.report.denies(), "{once}");
    // What is stored is never denied, and an update that changes nothing is left alone.
    let same = reviewed(object, Some(object), None, basis);
    assert!(!same.report.denies(), "{:?}", same.report);
    for default in &same.defaults {
        assert!(default.path.to_string().starts_with("metadata.annotations"), "{}", default.path);
    }
    Corpus::Keep
});

/// NodeClaims of a stored pool: one with its hash, one with another.
fn claims(old: &Value) -> Option<Vec<DriftClaim>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().into();
    let annotations = old.pointer("/metadata/annotations")?;
    let claim = |name: &str, hash: &str| DriftClaim {
        name: name.into(),
        labels: BTreeMap::new(),
        hash: Some(hash.into()),
        hash_version: annotations.get("karpenter.sh/nodepool-hash-version").map(text),
        kept: None,
    };
    let own: Box<str> = annotations.get("karpenter.sh/nodepool-hash").map(text)?;
    Some(vec![claim("a", &own), claim("b", "1")])
}
