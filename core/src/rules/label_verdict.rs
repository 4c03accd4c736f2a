//! What is known of a label where a NodePool names it: what it means, whether it may stand there, and who says so.

use super::context::Context;
use super::reserved_labels::{OWN_DOMAIN, Refusal, keeps_kubernetes_domains, reserved};
use crate::diagnostic::{Origin, Suggestion};
use crate::facts::{
    ApiVersion, KarpenterVersion, LabelKind, LabelSets, Provider, ProviderVersion, Ruling, Schema,
    canonical_label, likely_label,
};
use crate::pool::Template;

const NEVER_READY: &str = "the NodePool never becomes Ready and launches nothing";

/// Where a NodePool names labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The labels of its template.
    TemplateLabels,
    /// The keys of its requirements.
    RequirementKeys,
}

/// What decides about the labels of a template: Karpenter, the definition of NodePools, the provider and the policy.
#[derive(Debug, Clone, Copy)]
pub struct LabelFacts<'a> {
    version: ApiVersion,
    release: KarpenterVersion,
    /// The API group that shows the provider: [`Context::group_of`].
    pub group: Option<&'a str>,
    /// The provider, if there is data on it.
    pub provider: Option<&'static Provider>,
    /// Its release, if the policy declares it.
    declared: Option<ProviderVersion>,
    /// The installed definition. Without one, what the provider has published.
    installed: Option<&'a Schema>,
    sets: &'a LabelSets,
}

/// What is known of a label in a place.
#[derive(Debug, PartialEq, Eq)]
pub struct LabelVerdict {
    pub kind: LabelKind,
    /// Why it may not stand there.
    pub refusal: Option<Refusal>,
}

impl<'a> LabelFacts<'a> {
    pub fn new(template: &Template<'a>, context: &Context<'a>) -> Self {
        let group = context.group_of(template);
        let provider = context.provider_of(template);
        Self {
            version: template.version,
            release: context.release,
            group,
            provider,
            declared: provider.and_then(|provider| context.policy.cluster.version_of(provider)),
            installed: context.karpenter.schema(template.version),
            sets: context.labels,
        }
    }

    /// What is known of a label.
    pub fn verdict(&self, key: &str, place: Place) -> LabelVerdict {
        let kind = self.kind_of(key);
        let refusal = reserved(key, self.version, self.release)
            .map(|refusal| match self.likely_instead(key, place) {
                Some(likely) => refusal.helping(Suggestion::did_you_mean(likely)),
                None if place == Place::RequirementKeys => refusal.helping("remove it"),
                None => refusal,
            })
            .or_else(|| self.renamed(key, place))
            .or_else(|| self.refused(key, &kind, place));
        LabelVerdict { kind, refusal }
    }

    /// What a label is to the pool.
    pub fn kind_of(&self, key: &str) -> LabelKind {
        self.sets.kind_of(key, self.group)
    }

    /// Whether the API server certainly rejects a label there.
    pub fn is_rejected(&self, key: &str, place: Place) -> bool {
        let is_ruled_out = || {
            let ruling = self.ruling(key, place);
            let rejects = matches!(ruling, Ruling::Unlisted { .. } | Ruling::Forbidden);
            rejects && self.newer().is_none() && !self.is_added(key)
        };
        reserved(key, self.version, self.release).is_some() || is_ruled_out()
    }

    /// Whether a correction may propose a label there.
    pub fn may_propose(&self, key: &str, place: Place) -> bool {
        !self.is_rejected(key, place) && self.renamed(key, place).is_none()
    }

    /// The label that a requirement on a reserved one probably means.
    fn likely_instead(&self, key: &str, place: Place) -> Option<String> {
        if place == Place::TemplateLabels {
            return None;
        }
        likely_label(key, self.provider).filter(|likely| !self.is_rejected(likely, place))
    }

    /// Karpenter's validation translates old names only in requirements, and rejects other labels of these domains.
    fn renamed(&self, key: &str, place: Place) -> Option<Refusal> {
        let present = canonical_label(key, None);
        let is_refused = place == Place::TemplateLabels
            && present != key
            && keeps_kubernetes_domains(self.version, self.release);
        is_refused.then(|| Refusal {
            origin: Origin::Runtime,
            consequence: Some("v1beta1 requires the current name in every release".into()),
            help: Some(format!("write {present}").into()),
            ..Refusal::new("Karpenter before 1.9 requires the current name of a template label")
        })
    }

    /// Why the definition or the provider refuses a label of this kind.
    fn refused(&self, key: &str, kind: &LabelKind, place: Place) -> Option<Refusal> {
        let is_unknown = matches!(kind, LabelKind::Unknown { .. });
        let ruling = self.ruling(key, place);
        let lister = self
            .provider
            .filter(|provider| is_unknown && provider.lists_unregistered(key));
        let by_definition = match (ruling, lister) {
            (Ruling::None | Ruling::Listed, Some(provider)) => Some(unregistered(provider)),
            (Ruling::Listed, None) => return None,
            (Ruling::None, None) => None,
            _ if self.is_added(key) => None,
            (Ruling::Forbidden, _) => Some(self.rejection("rejects this label", None)),
            (Ruling::Since(first), _) => Some(Refusal {
                is_certain: false,
                consequence: Some("older releases accept the label".into()),
                ..Refusal::new(format!(
                    "{} rejects this label in release {first} and newer",
                    self.whose()
                ))
            }),
            (Ruling::Unlisted { domain, listed }, lister) => {
                let first = listed
                    .filter(|_| lister.is_none())
                    .and_then(|listed| listed.since);
                Some(self.unlisted(domain, first))
            }
        };
        if let Some(refusal) = by_definition {
            return Some(self.helped(refusal, key, kind, place));
        }
        let LabelKind::Unknown { likely } = kind else {
            return None;
        };
        Some(match likely {
            Some(likely) => Refusal {
                origin: Origin::Runtime,
                consequence: Some(NEVER_READY.into()),
                help: Some(Suggestion::did_you_mean(likely)),
                ..Refusal::new("the provider has no such label in its domain")
            },
            None => Refusal {
                is_certain: false,
                origin: Origin::Runtime,
                consequence: Some(
                    "the NodePool never becomes Ready unless the provider has the label".into(),
                ),
                help: Some(match place {
                    Place::TemplateLabels => OWN_DOMAIN.into(),
                    Place::RequirementKeys => "add it to labels.wellKnown in the policy if it exists".into(),
                }),
                ..Refusal::new("poolgate knows no such label in the provider's domain")
            },
        })
    }

    /// A refusal with what to write instead.
    fn helped(&self, refusal: Refusal, key: &str, kind: &LabelKind, place: Place) -> Refusal {
        if refusal.help.is_some() {
            return refusal;
        }
        let elsewhere = || {
            let is_foreign = matches!(kind, LabelKind::Foreign(_)) && place == Place::RequirementKeys;
            is_foreign.then(|| likely_label(key, self.provider))?
        };
        let likely = kind.likely().map(str::to_owned).or_else(elsewhere);
        refusal.helping(match (likely, place) {
            (Some(likely), _) => Suggestion::did_you_mean(likely),
            (None, Place::TemplateLabels) => OWN_DOMAIN.into(),
            (None, Place::RequirementKeys) => "remove it, or use a domain of your own".into(),
        })
    }

    /// What the definition says of a label.
    fn ruling(&self, key: &str, place: Place) -> Ruling<'a> {
        match (self.installed, self.provider) {
            (Some(schema), _) => match place {
                Place::TemplateLabels => schema.template_labels.rule_on(key),
                Place::RequirementKeys => schema.requirement_keys.rule_on(key),
            },
            (None, Some(provider)) if self.version == ApiVersion::V1 => {
                provider.definition.rule_on(key, self.declared)
            }
            (None, _) => Ruling::None,
        }
    }

    /// Why a label is not taken that is not on the list of its domain, or from this release on.
    fn unlisted(&self, domain: &str, first: Option<ProviderVersion>) -> Refusal {
        match first.zip(self.release()) {
            Some((first, release)) if release < first => {
                let consequence = format!("the API server rejects the label in release {release}");
                let what = format!("lists this label only in release {first} and newer");
                let help = format!("remove the label, or upgrade the provider to {first}");
                self.rejection(&what, Some(consequence)).helping(help)
            }
            _ => {
                let consequence = format!("only listed labels are accepted in domains that end in {domain}");
                self.rejection("does not list this label", Some(consequence))
            }
        }
    }

    /// Why a label is not taken; if a release is declared that is newer than all known ones, why it may not be.
    fn rejection(&self, what: &str, consequence: Option<String>) -> Refusal {
        let whose = self.whose();
        match self.newer() {
            None => Refusal {
                consequence: consequence.map(Into::into),
                ..Refusal::new(format!("{whose} {what}"))
            },
            Some((newest, declared)) => Refusal {
                is_certain: false,
                consequence: Some(
                    format!("the API server rejects the pool unless {declared} accepts the label").into(),
                ),
                ..Refusal::new(format!("{whose} of release {newest} {what}"))
            },
        }
    }

    /// Whether the policy adds a label to those of the provider. An installed definition overrides it.
    fn is_added(&self, key: &str) -> bool {
        self.installed.is_none() && self.sets.adds(key)
    }

    /// Whose definition it is: the subject of a sentence.
    fn whose(&self) -> String {
        match (self.installed, self.provider) {
            (Some(_), _) | (_, None) => "the installed NodePool CRD".to_owned(),
            (_, Some(provider)) => format!("{}'s NodePool CRD", provider.name),
        }
    }

    /// The declared release of the provider whose published definition decides.
    fn release(&self) -> Option<ProviderVersion> {
        let is_published = self.installed.is_none() && self.version == ApiVersion::V1;
        self.declared.filter(|_| is_published)
    }

    /// The newest release that is known and the declared one, if that is newer.
    fn newer(&self) -> Option<(ProviderVersion, ProviderVersion)> {
        let declared = self.release()?;
        Some((self.provider?.newest_before(declared)?, declared))
    }
}

/// Why a label that the provider's definition lists is not taken, in any release.
fn unregistered(provider: &Provider) -> Refusal {
    let whose = provider.name;
    Refusal {
        origin: Origin::Runtime,
        consequence: Some(NEVER_READY.into()),
        ..Refusal::new(format!(
            "{whose}'s NodePool CRD lists this label, but Karpenter rejects it"
        ))
    }
}
