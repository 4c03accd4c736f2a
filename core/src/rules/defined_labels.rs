//! Labels that the definition of NodePools rejects: the installed one, or the one that the pool's provider publishes. Labels
//! that Karpenter itself reserves are in [`super::reserved_labels`].

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::{FieldPath, Origin, Suggestion};
use crate::karpenter::{
    ApiVersion, LabelKind, LabelRules, LabelSets, Provider, ProviderVersion, Ruling, Template,
};
use crate::rules::rule::Rule;

/// Where a NodePool names labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The labels of its template.
    TemplateLabels,
    /// The keys of its requirements.
    RequirementKeys,
}

/// The definition's rules on labels in one place of a NodePool.
#[derive(Debug, Clone, Copy)]
pub struct DefinedLabels<'a> {
    rules: LabelRules<'a>,
    /// The pool's provider, if there is data on it.
    provider: Option<&'static Provider>,
    /// The labels that the policy adds to those of the provider.
    labels: &'a LabelSets,
}

/// The definition's verdict on a label.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing.
    Unknown,
    /// It is taken by name.
    Taken,
    /// It is not taken.
    Rejected(Rejection),
}

/// Why a label is not taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Whether that is certain: no release is known that takes it, or the declared one does not.
    pub is_certain: bool,
    origin: Origin,
    title: String,
    consequence: Option<String>,
    /// The help, if it differs from the usual one.
    help: Option<String>,
}

impl<'a> DefinedLabels<'a> {
    /// The definition that a template is checked by.
    pub fn new(template: &Template<'_>, place: Place, context: &Context<'a>) -> Self {
        let cluster = &context.policy.cluster;
        let provider = context.group_of(template).and_then(Provider::of_group);
        let rules = match (context.karpenter.schema(template.version), provider) {
            (Some(schema), _) => LabelRules::Installed(match place {
                Place::TemplateLabels => &schema.template_labels,
                Place::RequirementKeys => &schema.requirement_keys,
            }),
            (None, Some(provider)) if template.version == ApiVersion::V1 => {
                LabelRules::Published(provider, cluster.version_of(provider))
            }
            (None, _) => LabelRules::Unknown,
        };
        Self {
            rules,
            provider,
            labels: &context.policy.labels,
        }
    }

    /// Whether the API server certainly rejects a label.
    pub fn rejects(&self, key: &str) -> bool {
        let rejects = matches!(
            self.rules.rule_on(key),
            Ruling::Unlisted { .. } | Ruling::Forbidden
        );
        rejects && self.newer().is_none() && !self.is_added(key)
    }

    /// The verdict on a label of this kind.
    pub fn verdict(&self, key: &str, kind: &LabelKind) -> Verdict {
        match self.rules.rule_on(key) {
            Ruling::None if !matches!(kind, LabelKind::Unknown { .. }) => Verdict::Unknown,
            ruling => self.weigh(ruling, key, kind),
        }
    }

    fn weigh(&self, ruling: Ruling<'_>, key: &str, kind: &LabelKind) -> Verdict {
        let lister = self
            .provider
            .filter(|provider| matches!(kind, LabelKind::Unknown { .. }) && provider.lists_unregistered(key));
        match (ruling, lister) {
            (Ruling::None | Ruling::Listed, Some(provider)) => Verdict::Rejected(unregistered(provider)),
            (Ruling::None, None) => Verdict::Unknown,
            (Ruling::Listed, None) => Verdict::Taken,
            _ if self.is_added(key) => Verdict::Unknown,
            (Ruling::Forbidden, _) => Verdict::Rejected(self.rejection("rejects this label", None)),
            (Ruling::Since(first), _) => Verdict::Rejected(Rejection {
                is_certain: false,
                title: format!("{} rejects this label in release {first} and newer", self.whose()),
                consequence: Some("older releases accept the label".to_owned()),
                ..Rejection::default()
            }),
            (Ruling::Unlisted { domain, listed }, lister) => {
                let first = listed
                    .filter(|_| lister.is_none())
                    .and_then(|listed| listed.since);
                Verdict::Rejected(self.unlisted(domain, first))
            }
        }
    }

    /// Why a label is not taken that is not on the list of its domain, or from this release on.
    fn unlisted(&self, domain: &str, first: Option<ProviderVersion>) -> Rejection {
        match first.zip(self.release()) {
            Some((first, release)) if release < first => {
                let consequence = format!("the API server rejects the label in release {release}");
                let what = format!("lists this label only in release {first} and newer");
                Rejection {
                    help: Some(format!("remove the label, or upgrade the provider to {first}")),
                    ..self.rejection(&what, Some(consequence))
                }
            }
            _ => {
                let consequence = format!("only listed labels are accepted in domains that end in {domain}");
                self.rejection("does not list this label", Some(consequence))
            }
        }
    }

    /// Why a label is not taken; if a release is declared that is newer than all known ones, why it may not be.
    fn rejection(&self, what: &str, consequence: Option<String>) -> Rejection {
        let whose = self.whose();
        match self.newer() {
            None => Rejection {
                title: format!("{whose} {what}"),
                consequence,
                ..Rejection::default()
            },
            Some((newest, declared)) => Rejection {
                is_certain: false,
                title: format!("{whose} of release {newest} {what}"),
                consequence: Some(format!(
                    "the API server rejects the pool unless {declared} accepts the label"
                )),
                ..Rejection::default()
            },
        }
    }

    /// Whether the policy adds a label to those of the provider. An installed definition overrides it.
    fn is_added(&self, key: &str) -> bool {
        !matches!(self.rules, LabelRules::Installed(_)) && self.labels.adds(key)
    }

    /// Whose definition it is: the subject of a sentence.
    fn whose(&self) -> String {
        match (&self.rules, self.provider) {
            (LabelRules::Installed(_), _) | (_, None) => "the installed NodePool CRD".to_owned(),
            (_, Some(provider)) => format!("{}'s NodePool CRD", provider.name),
        }
    }

    /// The release of the provider that the policy declares.
    const fn release(&self) -> Option<ProviderVersion> {
        match self.rules {
            LabelRules::Published(_, release) => release,
            LabelRules::Installed(_) | LabelRules::Unknown => None,
        }
    }

    /// The newest release that is known and the declared one, if that is newer.
    fn newer(&self) -> Option<(ProviderVersion, ProviderVersion)> {
        let declared = self.release()?;
        Some((self.provider?.newest_before(declared)?, declared))
    }
}

/// Why a label that the provider's definition lists is not taken, in any release.
fn unregistered(provider: &Provider) -> Rejection {
    let whose = provider.name;
    Rejection {
        origin: Origin::Runtime,
        title: format!("{whose}'s NodePool CRD lists this label, but Karpenter rejects it"),
        consequence: Some("the NodePool never becomes Ready and launches nothing".to_owned()),
        ..Rejection::default()
    }
}

impl Default for Rejection {
    /// By the API server, for certain.
    fn default() -> Self {
        Self {
            is_certain: true,
            origin: Origin::Schema,
            title: String::new(),
            consequence: None,
            help: None,
        }
    }
}

impl Rejection {
    /// Reports it by the first rule if it is certain, else by the second.
    pub fn report(
        self,
        [certain, doubtful]: [&'static Rule; 2],
        path: FieldPath,
        key: &str,
        help: Suggestion,
        findings: &mut Findings<'_>,
    ) {
        let rule = if self.is_certain { certain } else { doubtful };
        let finding = findings.report(rule, path, key, self.title).origin(self.origin);
        finding.consequence = self.consequence;
        finding.suggest(self.help.map_or(help, Into::into));
    }
}
