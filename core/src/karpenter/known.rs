//! The Karpenter that a verdict is for: its release, and what its own definition says where that is known.

use std::sync::Arc;

use super::{ApiVersion, Availability, EnumValues, Installed, InstalledVersion, KarpenterVersion};

/// Who says which release it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReleaseSource {
    /// Nobody: it is the newest that the rules were checked against.
    Newest,
    /// The user. NodePools are judged by that release alone, whatever is installed.
    User,
    /// The installed definition.
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

/// What is known of the Karpenter that reads NodePools after us.
#[derive(Debug, Clone, PartialEq)]
pub struct Karpenter {
    release: KarpenterVersion,
    source: ReleaseSource,
    installed: Option<Arc<Installed>>,
}

impl Default for Karpenter {
    /// The newest release, of which nothing is known but what poolgate was built with.
    fn default() -> Self {
        Self {
            release: KarpenterVersion::NEWEST,
            source: ReleaseSource::Newest,
            installed: None,
        }
    }
}

impl From<KarpenterVersion> for Karpenter {
    /// The release that the user names.
    fn from(release: KarpenterVersion) -> Self {
        Self {
            release,
            source: ReleaseSource::User,
            installed: None,
        }
    }
}

impl Karpenter {
    /// The same, on a cluster with this definition.
    #[must_use]
    pub fn on(&self, installed: Arc<Installed>) -> Self {
        let (release, source) = match self.source {
            ReleaseSource::User => (self.release, ReleaseSource::User),
            ReleaseSource::Newest | ReleaseSource::Definition => {
                (installed.release(), ReleaseSource::Definition)
            }
        };
        Self {
            release,
            source,
            installed: Some(installed),
        }
    }

    /// The release by which NodePools are judged.
    pub const fn release(&self) -> KarpenterVersion {
        self.release
    }

    /// Who says so.
    pub const fn source(&self) -> ReleaseSource {
        self.source
    }

    /// The definition, where it is known.
    pub fn installed(&self) -> Option<&Installed> {
        self.installed.as_deref()
    }

    /// How it stands to a word. Where the definition is known and lists the words, it alone decides, except that
    /// a word which it lacks may still belong to a later release.
    pub fn knows(&self, vocabulary: EnumValues, version: ApiVersion, word: &str) -> Availability {
        let table = || vocabulary.knows(version, self.release, word);
        match self
            .judging(version)
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

    /// The words that messages name. A word that only the definition knows is taken and not named.
    pub fn words(&self, vocabulary: EnumValues, version: ApiVersion) -> &'static [&'static str] {
        vocabulary.words(version, self.release)
    }

    /// Most requirements of a NodePool of this version, or of a NodeClaim.
    pub fn max_requirements(&self, version: ApiVersion) -> usize {
        self.judging(version)
            .and_then(|installed| installed.max_requirements)
            .unwrap_or_else(|| self.release.max_requirements())
    }

    /// Whether `spec.disruption` must say `consolidateAfter`, unless poolgate writes it.
    pub fn requires_consolidate_after(&self, version: ApiVersion) -> bool {
        self.judging(version).map_or_else(
            || version == ApiVersion::V1 && !self.release.has(KarpenterVersion::CONSOLIDATE_AFTER_OPTIONAL),
            |installed| installed.requires_consolidate_after,
        )
    }

    /// Whether the API server keeps `spec.disruption.nodeLimitMode`; none where the definition is not known.
    /// What the user says of the release has no bearing on it.
    pub fn keeps_node_limit_mode(&self, version: ApiVersion) -> Option<bool> {
        let installed = self.installed.as_ref()?.version(version)?;
        Some(installed.keeps_node_limit_mode)
    }

    /// The definition as far as it has a say in verdicts.
    fn judging(&self, version: ApiVersion) -> Option<&InstalledVersion> {
        match self.source {
            ReleaseSource::User => None,
            ReleaseSource::Newest | ReleaseSource::Definition => self.installed.as_ref()?.version(version),
        }
    }
}
