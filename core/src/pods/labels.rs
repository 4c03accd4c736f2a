//! What a pod asks of labels and taints, against those of a new node.

use std::collections::BTreeMap;

use super::Effect;
use super::needs::{LabelRequirement, Needs, Term, Where};
use super::taints::untolerated;
use super::template::{NodeTemplate, Offered, Required, meet};
use super::verdict::{Conflict, Unknown, Wanted};
use crate::facts::{HOSTNAME_LABEL, LabelKind, Operator, Selection, as_read, canonical_label};

/// What a pool requires of each label, and where.
pub(super) type Offers<'t> = BTreeMap<&'t str, (Selection<'t>, Vec<&'t Offered>)>;

/// What Karpenter still asks for.
#[derive(Clone, Copy)]
pub(super) struct Attempt<'n> {
    pub required: Option<&'n Term>,
    pub preferred: Option<&'n Term>,
    pub tolerates_preferred: bool,
}

/// What a pod asks of one label.
pub(super) struct Asked<'n> {
    pub selection: Selection<'n>,
    pub wanted: Vec<Wanted>,
}

impl NodeTemplate {
    /// What the pool requires of each label.
    pub(super) fn offers<'t>(&'t self) -> Offers<'t> {
        let mut offers: BTreeMap<&str, Vec<&Offered>> = BTreeMap::new();
        for offered in &self.requirements {
            offers.entry(&offered.requirement.key).or_default().push(offered);
        }
        let together = |offered: &[&'t Offered]| {
            let each = offered.iter().map(|one| self.selection(&one.requirement));
            Selection::all(each.collect::<Vec<_>>())
        };
        let of = |(key, offered): (_, Vec<_>)| (key, (together(&offered), offered));
        offers.into_iter().map(of).collect()
    }

    pub(super) fn kind_of(&self, key: &str) -> LabelKind {
        self.known.kind_of(key, self.group.as_deref())
    }

    /// Whether instance types have a label. `None` if that is not known.
    pub(super) fn is_on_machines(&self, key: &str) -> Option<bool> {
        match self.kind_of(key) {
            LabelKind::WellKnown(_) => Some(true),
            LabelKind::Custom | LabelKind::Foreign(_) => Some(false),
            LabelKind::Unknown { .. } | LabelKind::Unlisted => None,
        }
    }

    /// Whether an offering fits what is required of a node.
    // karpenter: pkg/scheduling/requirements.go Requirements.Compatible
    pub(super) fn is_compatible(&self, required: &Required<'_>, offering: &Required<'_>) -> bool {
        let is_there = |(key, offered): (&&str, &Selection<'_>)| {
            required.contains_key(key) || offered.allows_absence() || self.is_on_machines(key) != Some(false)
        };
        offering.iter().all(is_there) && meet(required, offering)
    }

    /// What the pod of a `DaemonSet` asks of a machine: it runs on those that meet one of these, by the terms of its affinity
    /// that the pool's labels meet. Beside each, whether that is certain.
    // karpenter: pkg/controllers/provisioning/scheduling/scheduler.go isDaemonPodCompatible
    pub(super) fn of_daemon<'n>(&self, daemon: &'n Needs, offers: &Offers<'_>) -> Vec<(Required<'n>, bool)> {
        let mut hard = self
            .taints
            .iter()
            .filter(|taint| taint.effect != Effect::PreferNoSchedule);
        if untolerated(&mut hard, &daemon.tolerations).is_some() {
            return Vec::new();
        }
        let terms = daemon.required.iter().map(Some);
        let terms = terms.chain(daemon.required.is_empty().then_some(None));
        terms
            .filter_map(|required| {
                let attempt = Attempt {
                    required,
                    preferred: None,
                    tolerates_preferred: true,
                };
                let asked = asked(self, daemon, attempt);
                let unknown = judge(self, &asked, offers).ok()?;
                let required = asked.into_iter().map(|(key, asked)| (key, asked.selection));
                Some((required.collect(), unknown.is_empty()))
            })
            .collect()
    }
}

/// What an attempt asks of each label, by the name that Karpenter uses.
pub(super) fn asked<'n>(
    template: &NodeTemplate,
    needs: &'n Needs,
    attempt: Attempt<'n>,
) -> BTreeMap<&'n str, Asked<'n>> {
    let provider = template.provider();
    let mut asked: BTreeMap<&str, (Vec<Selection<'_>>, Vec<Wanted>)> = BTreeMap::new();
    for (key, value) in &needs.node_selector {
        let canonical = canonical_label(key, provider);
        let selection = Selection::new(Operator::In, &[value]);
        let (selections, wanted) = asked.entry(canonical).or_default();
        selections.push(as_read(canonical, selection, provider));
        wanted.push(selected(key, value));
    }
    let with = |term: Option<&'n Term>, at: fn(usize, usize) -> Where| {
        let terms = term.into_iter();
        terms.flat_map(move |term| term.expressions.iter().zip(of_term(term, at)))
    };
    for (requirement, wanted) in
        with(attempt.required, Where::Required).chain(with(attempt.preferred, Where::Preferred))
    {
        let (selections, all) = asked
            .entry(canonical_label(&requirement.key, provider))
            .or_default();
        selections.push(template.selection(requirement));
        all.push(wanted);
    }
    let together = |(key, (selections, wanted))| {
        let selection = Selection::all(selections);
        (key, Asked { selection, wanted })
    };
    asked.into_iter().map(together).collect()
}

/// Whether the pool's labels can be what the pod asks for: which of them are not known.
// karpenter: pkg/scheduling/requirements.go Requirements.Compatible
pub(super) fn judge(
    template: &NodeTemplate,
    asked: &BTreeMap<&str, Asked<'_>>,
    offers: &Offers<'_>,
) -> Result<Vec<Unknown>, Conflict> {
    let mut unknown = Vec::new();
    for (key, asked) in asked {
        match offers.get(key) {
            Some((offered, _)) if offered.meets(&asked.selection) => {}
            Some((_, offered)) => {
                let offered = offered.iter().copied().cloned().collect();
                return Err(Conflict::Label(asked.wanted.clone(), offered));
            }
            None if asked.selection.allows_absence() => {}
            None => match template.is_on_machines(key) {
                Some(true) if *key != HOSTNAME_LABEL => {}
                None => unknown.push(Unknown::Label((*key).to_owned())),
                Some(_) => return Err(Conflict::Missing(asked.wanted.clone())),
            },
        }
    }
    Ok(unknown)
}

/// What a pod wants of labels in any case, and by these terms.
pub(super) fn wishes<'n>(
    needs: &'n Needs,
    required: &'n [Term],
    preferred: &'n [Term],
) -> impl Iterator<Item = Wanted> {
    let selector = needs
        .node_selector
        .iter()
        .map(|(key, value)| selected(key, value));
    let required = required.iter().flat_map(|term| of_term(term, Where::Required));
    let preferred = preferred.iter().flat_map(|term| of_term(term, Where::Preferred));
    selector.chain(required).chain(preferred)
}

fn selected(key: &str, value: &str) -> Wanted {
    Wanted {
        at: Where::Selector(key.to_owned()),
        requirement: LabelRequirement {
            key: key.to_owned(),
            operator: Operator::In,
            values: vec![value.to_owned()],
        },
    }
}

fn of_term(term: &Term, at: fn(usize, usize) -> Where) -> impl Iterator<Item = Wanted> {
    term.expressions
        .iter()
        .enumerate()
        .map(move |(index, requirement)| Wanted {
            at: at(term.index, index),
            requirement: requirement.clone(),
        })
}
