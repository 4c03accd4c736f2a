//! The Karpenter that a verdict is for: its release, and its own definition if that is known.

use std::sync::Arc;

use super::{ApiVersion, Availability, EnumValues, Installed, InstalledVersion, KarpenterVersion};

/// Most requirements of a NodePool or NodeClaim, unless the installed definition says otherwise.
const MAX_REQUIREMENTS: usize = 100;

/// The source of the release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReleaseSource {
    /// Unknown: the newest known release is assumed.
    Newest,
    /// The user. NodePools are checked for that release alone, whatever is installed.
    User,
    /// The definition that is installed in the cluster.
    Definition,
}

impl ReleaseSource {
    /// The word for logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::User => "user",
            Self::Definition => "definition",
        }
    }
}

/// What is known of the cluster's Karpenter.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetKarpenter {
    release: KarpenterVersion,
    source: ReleaseSource,
    /// The release that the user names, if it is older or newer than all that are known.
    unknown: Option<KarpenterVersion>,
    installed: Option<Arc<Installed>>,
}

impl Default for TargetKarpenter {
    /// The newest release, with nothing but poolgate's built-in data.
    fn default() -> Self {
        Self {
            release: KarpenterVersion::NEWEST,
            source: ReleaseSource::Newest,
            unknown: None,
            installed: None,
        }
    }
}

impl From<KarpenterVersion> for TargetKarpenter {
    /// The release that the user names, or the nearest one that is known.
    fn from(named: KarpenterVersion) -> Self {
        let release = named.known();
        Self {
            release,
            source: ReleaseSource::User,
            unknown: (release.line() != named.line()).then_some(named),
            installed: None,
        }
    }
}

impl TargetKarpenter {
    /// The same Karpenter, on a cluster with this definition.
    #[must_use]
    pub fn with_definition(&self, installed: Arc<Installed>) -> Self {
        let (release, source) = match self.source {
            ReleaseSource::User => (self.release, ReleaseSource::User),
            ReleaseSource::Newest | ReleaseSource::Definition => {
                (installed.release(), ReleaseSource::Definition)
            }
        };
        Self {
            release,
            source,
            unknown: self.unknown,
            installed: Some(installed),
        }
    }

    /// The release that NodePools are checked against.
    pub const fn release(&self) -> KarpenterVersion {
        self.release
    }

    /// What to say of the release that the user names, or whose definition is installed, if it is older or newer than all
    /// that are known: a sentence without a full stop.
    pub fn caution(&self) -> Option<String> {
        let Self { release, unknown, .. } = self;
        let (which, age) = match (unknown, self.installed()) {
            (Some(named), _) if named < release => (format!("Karpenter {named}"), "older"),
            (Some(named), _) => (format!("Karpenter {named}"), "newer"),
            (None, Some(Installed { releases: None, .. })) if self.source == ReleaseSource::Definition => (
                "the Karpenter whose NodePool definition is installed".to_owned(),
                "older",
            ),
            _ => return None,
        };
        Some(format!(
            "{which} is {age} than this poolgate knows: NodePools are checked as for {release}"
        ))
    }

    /// The source of the release.
    pub const fn source(&self) -> ReleaseSource {
        self.source
    }

    /// The definition, if it is known.
    pub fn installed(&self) -> Option<&Installed> {
        self.installed.as_deref()
    }

    /// Whether it knows a word. If the definition is known and lists the words, it alone decides, except that a
    /// word which it lacks may still belong to a later release.
    pub fn knows(&self, vocabulary: EnumValues, version: ApiVersion, word: &str) -> Availability {
        let table = || vocabulary.knows(version, self.release, word);
        match self
            .in_use(version)
            .and_then(|installed| installed.takes(vocabulary, word))
        {
            Some(true) => Availability::Yes,
            Some(false) => match table() {
                Availability::Yes => Availability::No,
                other => other,
            },
            None => table(),
        }
    }

    /// The words that messages list. A word that only the definition knows is accepted but not listed.
    pub fn words(&self, vocabulary: EnumValues, version: ApiVersion) -> &'static [&'static str] {
        vocabulary.words(version, self.release)
    }

    /// Most requirements of a NodePool of this version, or of a NodeClaim.
    pub fn max_requirements(&self, version: ApiVersion) -> usize {
        self.in_use(version)
            .and_then(|installed| installed.max_requirements)
            .unwrap_or(MAX_REQUIREMENTS)
    }

    /// Whether `spec.disruption` must have `consolidateAfter`, unless poolgate writes it.
    pub fn requires_consolidate_after(&self, version: ApiVersion) -> bool {
        self.in_use(version).map_or_else(
            || version == ApiVersion::V1 && !self.release.has(KarpenterVersion::CONSOLIDATE_AFTER_OPTIONAL),
            |installed| installed.requires_consolidate_after,
        )
    }

    /// Whether the API server keeps `spec.disruption.nodeLimitMode`; `None` if the definition is not known. The
    /// release that the user gives does not matter here.
    pub fn keeps_node_limit_mode(&self, version: ApiVersion) -> Option<bool> {
        let installed = self.installed.as_ref()?.version(version)?;
        Some(installed.keeps_node_limit_mode)
    }

    /// The definition, if it is used for verdicts.
    fn in_use(&self, version: ApiVersion) -> Option<&InstalledVersion> {
        match self.source {
            ReleaseSource::User => None,
            ReleaseSource::Newest | ReleaseSource::Definition => self.installed.as_ref()?.version(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_is_not_known_is_checked_as_the_nearest_one_which_is_said() {
        for (named, release, is_unknown) in [
            ("0.31", KarpenterVersion::OLDEST, true),
            ("0.36.8", KarpenterVersion::OLDEST, true),
            ("0.37", KarpenterVersion::OLDEST, false),
            ("0.37.6", KarpenterVersion::new(0, 37, 6), false),
            ("1.99", KarpenterVersion::NEWEST, true),
            ("2.0", KarpenterVersion::NEWEST, true),
            ("1.15", KarpenterVersion::new(1, 15, 0), false),
            ("1.15.3", KarpenterVersion::new(1, 15, 3), false),
            ("1.14.1", KarpenterVersion::new(1, 14, 1), false),
        ] {
            let target = TargetKarpenter::from(named.parse::<KarpenterVersion>().unwrap());
            assert_eq!(target.release(), release, "{named}");
            assert_eq!(target.caution().is_some(), is_unknown, "{named}");
        }
    }
}
