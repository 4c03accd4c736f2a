//! The Karpenter that a verdict is for: its release, and its own definition if that is known.

use std::sync::Arc;

use serde_json::Value;

use super::installed::Schema;
use super::shape::{Constraints, nodepool};
use super::{ApiVersion, Availability, Installed, KarpenterVersion, Provider, ProviderVersion, ReleaseRange};

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
    /// The release that the user names in vain, and what contains another one.
    contradicted: Option<(KarpenterVersion, String)>,
    installed: Option<Arc<Installed>>,
}

/// The words for a string.
#[derive(Debug, Clone, Copy)]
pub struct Words<'a> {
    /// Those that the installed definition lists.
    installed: Option<&'a [Value]>,
    table: Constraints,
    release: KarpenterVersion,
}

impl Default for TargetKarpenter {
    /// The newest release, with nothing but poolgate's built-in data.
    fn default() -> Self {
        Self {
            release: KarpenterVersion::NEWEST,
            source: ReleaseSource::Newest,
            unknown: None,
            contradicted: None,
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
            contradicted: None,
            installed: None,
        }
    }
}

impl TargetKarpenter {
    /// The Karpenter that a release of a provider contains, whatever release the user names beside it; `None` if it is not known
    /// which one that is.
    pub fn contained(
        (provider, release): (&Provider, ProviderVersion),
        named: Option<KarpenterVersion>,
    ) -> Option<Self> {
        let contained = provider.core_of(release)?;
        // Many write the patch of the provider.
        let other = named.filter(|named| named.line() != contained.line());
        Some(Self {
            contradicted: other.map(|named| (named, format!("{} {release}", provider.name))),
            ..Self::from(contained)
        })
    }

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
            contradicted: self.contradicted.clone(),
            installed: Some(installed),
        }
    }

    /// The release that NodePools are checked against.
    pub const fn release(&self) -> KarpenterVersion {
        self.release
    }

    /// A release that is assumed because none is known.
    pub fn assumed(release: KarpenterVersion) -> Self {
        Self {
            release,
            ..Self::default()
        }
    }

    /// Whether the release is assumed.
    pub fn is_assumed(&self) -> bool {
        self.source == ReleaseSource::Newest
    }

    /// The release in words: as the user names it, or else without the last number, if all releases of the line have the
    /// same definition.
    pub fn called(&self) -> String {
        let (major, minor) = self.release.line();
        let of_line = KarpenterVersion::new(major, minor, 0);
        if self.source == ReleaseSource::User || ReleaseRange::like(self.release).oldest > of_line {
            return self.release.to_string();
        }
        format!("{major}.{minor}")
    }

    /// What to say of the release that the user names, or whose definition is installed, if it is older or newer than all
    /// that are known, or not that of the provider: a sentence without a full stop.
    pub fn caution(&self) -> Option<String> {
        let Self { release, unknown, .. } = self;
        if let Some((named, container)) = &self.contradicted {
            return Some(format!(
                "{container} contains Karpenter {release}, not {named}: NodePools are checked as for {release}"
            ));
        }
        let (which, age) = match (unknown, self.installed()) {
            (Some(named), _) if named < release => (format!("Karpenter {named}"), "older"),
            (Some(named), _) => (format!("Karpenter {named}"), "newer"),
            (None, Some(Installed { releases: None, .. })) if self.source == ReleaseSource::Definition => (
                "the Karpenter whose NodePool definition is installed".to_owned(),
                "older",
            ),
            (None, installed) => {
                let file = installed?.file()?;
                return Some(format!(
                    "NodePools are checked by the definition in {file} (Karpenter {})",
                    self.called()
                ));
            }
        };
        // Where a release differs most for authors of NodePools.
        let differences = match age {
            "older" => ", although before 0.37.1 they may have 30 requirements, and before 0.34 no budgets",
            _ => "",
        };
        Some(format!(
            "{which} is {age} than this poolgate knows: NodePools are checked as for {release}{differences}"
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

    /// The words for the string at a path. Look them up once for a list, not for each of its elements.
    pub fn words(&self, path: &str, version: ApiVersion) -> Words<'_> {
        let installed = self.in_use(path, version);
        Words {
            installed: installed.and_then(|(schema, path)| schema.words(path)),
            table: nodepool(version).at(path),
            release: self.release,
        }
    }

    /// The most entries of the list at a path; `None` if there is no limit.
    pub fn most(&self, path: &str, version: ApiVersion) -> Option<usize> {
        self.in_use(path, version)
            .and_then(|(schema, path)| schema.max_items(path))
            .or_else(|| nodepool(version).at(path).most(self.release))
    }

    /// Whether the field at a path must be written, unless poolgate writes it.
    pub fn requires(&self, path: &str, version: ApiVersion) -> bool {
        match self.in_use(path, version) {
            Some((schema, path)) => schema.requires(path),
            None => nodepool(version).at(path).requires(self.release),
        }
    }

    /// What the API server writes for a missing value at a path.
    pub fn default_of(&self, path: &str, version: ApiVersion) -> Option<Value> {
        match self.in_use(path, version) {
            Some((schema, path)) => schema.default_of(path).cloned(),
            None => serde_json::from_str(nodepool(version).at(path).default(self.release)?).ok(),
        }
    }

    /// Whether the definition of the release rejects the string at a path by its pattern, length or enumeration.
    pub fn rejects(&self, path: &str, version: ApiVersion, text: &str) -> bool {
        nodepool(version).at(path).rejects(self.release, text)
    }

    /// Whether the API server keeps `spec.disruption.nodeLimitMode`; `None` if the definition is not known. The
    /// release that the user gives does not matter here.
    pub fn keeps_node_limit_mode(&self, version: ApiVersion) -> Option<bool> {
        Some(self.installed.as_ref()?.version(version)?.keeps_node_limit_mode())
    }

    /// The definition, if it is used for verdicts, and a path as it has it.
    fn in_use<'p>(&self, path: &'p str, version: ApiVersion) -> Option<(&Schema, &'p str)> {
        Some((self.schema(version)?, path.strip_prefix("spec.")?))
    }

    /// The definition, if it is used for verdicts.
    pub(crate) fn schema(&self, version: ApiVersion) -> Option<&Schema> {
        match self.source {
            ReleaseSource::User => None,
            ReleaseSource::Newest | ReleaseSource::Definition => self.installed.as_ref()?.version(version),
        }
    }
}

impl Words<'_> {
    /// Whether a string may be written. If the definition is known and lists the words, it alone decides, except that a word
    /// which it lacks may still belong to a later release.
    pub fn knows(&self, word: &str) -> Availability {
        let table = || self.table.knows(self.release, word);
        match self
            .installed
            .map(|words| words.iter().any(|known| known == word))
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
    pub fn listed(&self) -> &'static [&'static str] {
        self.table.words(self.release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_in_a_provider_is_used_and_another_one_beside_it_is_named_once() {
        let gcp = Provider::of_id("gcp").expect("has data");
        let of = |release: &str, named: Option<&str>| {
            let named = named.map(|named| named.parse().expect("a release"));
            TargetKarpenter::contained((gcp, release.parse().expect("a release")), named)
        };
        for (named, is_contradicted) in [
            (None, false),
            (Some("1.13.2"), false),
            (Some("1.15.0"), true),
            (Some("0.5.0"), true),
        ] {
            let target = of("0.5.0", named).expect("a known release");
            assert_eq!(target.release(), KarpenterVersion::new(1, 13, 0), "{named:?}");
            assert_eq!(target.source(), ReleaseSource::User);
            assert_eq!(target.caution().is_some(), is_contradicted, "{named:?}");
        }
        assert_eq!(of("0.6.0", Some("1.14.0")), None);
    }

    #[test]
    fn a_release_has_its_last_number_only_if_it_is_named_or_shows_in_the_definition() {
        let named: KarpenterVersion = "1.15.0".parse().expect("a release");
        for (target, called, is_assumed) in [
            (TargetKarpenter::from(named), "1.15.0", false),
            (TargetKarpenter::default(), "1.15", true),
            (
                TargetKarpenter::assumed(KarpenterVersion::LAST_OF_V1BETA1),
                "1.0.8",
                true,
            ),
            (
                TargetKarpenter::assumed(KarpenterVersion::new(1, 14, 3)),
                "1.14",
                true,
            ),
        ] {
            assert_eq!(
                (target.called().as_str(), target.is_assumed()),
                (called, is_assumed)
            );
        }
    }

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
