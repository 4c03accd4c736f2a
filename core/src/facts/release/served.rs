//! Which kinds of the group `karpenter.sh` a release serves, and in which version.

use super::KarpenterVersion;

/// A kind of the group `karpenter.sh` in one version, and the releases that serve it.
#[derive(Debug)]
pub struct ServedKind {
    /// The kind, such as `NodePool`.
    pub kind: &'static str,
    /// The version after the slash of `apiVersion`.
    pub version: &'static str,
    /// The first release that serves it.
    since: KarpenterVersion,
    /// The first release that no longer serves it.
    until: Option<KarpenterVersion>,
}

const fn served(
    kind: &'static str,
    version: &'static str,
    since: KarpenterVersion,
    until: Option<KarpenterVersion>,
) -> ServedKind {
    ServedKind {
        kind,
        version,
        since,
        until,
    }
}

/// Everything that Karpenter serves or has served; for each kind, the version that new manifests should have is first.
/// No release that is known serves Provisioners and Machines.
pub static SERVED_KINDS: [ServedKind; 7] = {
    const OLDEST: KarpenterVersion = KarpenterVersion::OLDEST;
    const V1_ALONE: Option<KarpenterVersion> = Some(KarpenterVersion::V1_ALONE);
    [
        served("NodePool", "v1", OLDEST, None),
        served("NodePool", "v1beta1", OLDEST, V1_ALONE),
        served("NodeClaim", "v1", OLDEST, None),
        served("NodeClaim", "v1beta1", OLDEST, V1_ALONE),
        served("NodeOverlay", "v1alpha1", KarpenterVersion::NODE_OVERLAY, None),
        served("Provisioner", "v1alpha5", OLDEST, Some(OLDEST)),
        served("Machine", "v1alpha5", OLDEST, Some(OLDEST)),
    ]
};

impl ServedKind {
    /// Whether a release serves it.
    pub fn is_in(&self, release: KarpenterVersion) -> bool {
        self.since <= release && self.until.is_none_or(|until| release < until)
    }

    /// The first release that serves it, but not before [`KarpenterVersion::OLDEST`].
    pub const fn since(&self) -> KarpenterVersion {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn is_served(kind: &str, version: &str, release: KarpenterVersion) -> bool {
        SERVED_KINDS
            .iter()
            .any(|served| served.kind == kind && served.version == version && served.is_in(release))
    }

    #[test]
    fn nodepools_are_served_as_the_definitions_of_each_release_say() {
        let mut seen = 0;
        for line in include_str!("../../../tests/data/karpenter-crds.jsonl").lines() {
            let record: Value = serde_json::from_str(line).expect("JSON");
            let spec = &record["crd"]["spec"];
            let versions = spec["versions"].as_array().expect("versions");
            let served: Vec<&str> = versions
                .iter()
                .filter(|version| version["served"] == true)
                .filter_map(|version| version["name"].as_str())
                .collect();
            for release in record["releases"].as_array().expect("releases") {
                let release = release.as_str().expect("text").parse().expect("a release");
                for version in ["v1", "v1beta1", "v1alpha5", "v2"] {
                    assert_eq!(
                        is_served("NodePool", version, release),
                        served.contains(&version),
                        "{release} {version}"
                    );
                }
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn other_kinds_are_known() {
        let at = |kind: &str, version: &str, release: &str| {
            is_served(kind, version, release.parse().expect("a release"))
        };
        assert!(at("NodeOverlay", "v1alpha1", "1.7.0") && !at("NodeOverlay", "v1alpha1", "1.6.4"));
        assert!(!at("Provisioner", "v1alpha5", "0.37.1"));
    }
}
