//! A pod against a new node of a pool, as Karpenter's scheduler compares them: first with all preferences of the pod, then
//! with fewer and fewer of them.

use super::labels::{Attempt, Offers, asked, judge, wishes};
use super::machines::{Machines, OfPool};
use super::needs::{LabelRequirement, Needs};
use super::taints::untolerated;
use super::template::{NodeTemplate, Required};
use super::verdict::{Comparison, Conflict, Shortfall, Unknown, Wanted};
use super::{Effect, NodeTaint};
use crate::facts::{NODEPOOL_LABEL, Selection, canonical_label, is_restricted};

/// How many terms of an affinity are tried; with more, the answer is open.
const MOST_TERMS: usize = 100;

/// What a comparison depends on besides the pod and the template.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'f> {
    /// Whether Karpenter ignores preferences of pods (`--preference-policy=Ignore`), if that is known.
    pub ignores_preferences: Option<bool>,
    /// The machines of the pool.
    pub machines: Machines<'f>,
    /// The labels that the pod's volumes require, if they are known: the node must meet one of these alternatives.
    pub volumes: Option<&'f [Vec<LabelRequirement>]>,
}

/// A pool as pods are compared with it: what it offers is read once for all of them.
pub struct Comparer<'c> {
    template: &'c NodeTemplate,
    facts: Facts<'c>,
    offers: Offers<'c>,
    machines: OfPool<'c>,
}

impl NodeTemplate {
    /// Compares pods with new nodes, by what is known.
    pub fn comparer<'c>(&'c self, facts: Facts<'c>) -> Comparer<'c> {
        let offers = self.offers();
        Comparer {
            machines: facts.machines.of_pool(self, &offers),
            template: self,
            facts,
            offers,
        }
    }

    /// Whether a new node might take one of these pods, by labels and taints.
    pub fn could_take_any<'n>(&self, mut pods: impl Iterator<Item = &'n Needs>) -> bool {
        let comparer = self.comparer(Facts::default());
        pods.any(|needs| !matches!(comparer.compare(needs), Comparison::Conflicts(_)))
    }
}

impl Comparer<'_> {
    /// Whether a new node can take this pod.
    // karpenter: pkg/controllers/provisioning/scheduling/scheduler.go Scheduler.trySchedule
    // karpenter: pkg/controllers/provisioning/scheduling/nodeclaim.go NodeClaim.CanAdd
    pub fn compare(&self, needs: &Needs) -> Comparison {
        if let Some(conflict) = self.ignored(needs) {
            return Comparison::Conflicts(vec![conflict]);
        }
        let comparing = Comparing { pool: self, needs };
        match (self.facts.ignores_preferences, comparing.try_all(true)) {
            (Some(true), _) => comparing.try_all(false),
            (None, Comparison::Conflicts(conflicts)) if !needs.preferred.is_empty() => {
                match comparing.try_all(false) {
                    Comparison::Conflicts(_) => Comparison::Conflicts(conflicts),
                    Comparison::Fits | Comparison::Open(_) => {
                        Comparison::Open(vec![Unknown::PreferencePolicy])
                    }
                }
            }
            (_, respecting) => respecting,
        }
    }

    /// Why Karpenter does not consider the pod for any pool.
    // karpenter: pkg/controllers/provisioning/provisioner.go Provisioner.Validate
    fn ignored(&self, needs: &Needs) -> Option<Conflict> {
        if let Some(term) = needs.required.iter().find(|term| term.has_more) {
            return Some(Conflict::Fields(term.index));
        }
        let template = self.template;
        let is_reserved = |wanted: &Wanted| {
            let key = canonical_label(&wanted.requirement.key, template.provider());
            is_restricted(key, template.release) && !template.kind_of(key).is_well_known()
        };
        let reserved = wishes(needs, &needs.required, &[]).find(is_reserved);
        reserved.or_else(|| without_pool(needs)).map(Conflict::Reserved)
    }
}

/// A pod that is compared.
struct Comparing<'c> {
    pool: &'c Comparer<'c>,
    needs: &'c Needs,
}

impl<'c> Comparing<'c> {
    fn try_all(&self, respects_preferences: bool) -> Comparison {
        let last = self.needs.required.last();
        let (mut open, mut conflicts) = (None, Vec::<(usize, Conflict)>::new());
        for attempt in self.attempts(respects_preferences) {
            let term = attempt.required.map_or(0, |term| term.index);
            match self.try_once(attempt) {
                Ok(mut unknown) => {
                    // A wish about other pods that cannot be met makes Karpenter drop all terms but the last one first.
                    let is_last = last.is_none_or(|last| last.index == term);
                    if self.needs.others.prefers && !is_last {
                        unknown.push(Unknown::Pods);
                    }
                    if unknown.is_empty() {
                        return Comparison::Fits;
                    }
                    open.get_or_insert(unknown);
                }
                // The last attempt with a term asks for least.
                Err(conflict) => {
                    conflicts.retain(|(other, _)| *other != term);
                    conflicts.push((term, conflict));
                }
            }
        }
        if self.needs.required.len().max(self.needs.preferred.len()) > MOST_TERMS {
            open.get_or_insert_default().push(Unknown::Terms);
        }
        if let Some(mut unknown) = open {
            unknown.sort();
            unknown.dedup();
            return Comparison::Open(unknown);
        }
        let mut each: Vec<Conflict> = conflicts.into_iter().map(|(_, conflict)| conflict).collect();
        each.dedup();
        Comparison::Conflicts(each)
    }

    /// What Karpenter asks for, from everything to least: it drops required terms, which are alternatives, before
    /// preferred ones, which it takes for required until then.
    // karpenter: pkg/controllers/provisioning/scheduling/preferences.go Preferences.Relax
    // karpenter: pkg/scheduling/requirements.go NewPodRequirements
    fn attempts(&self, respects_preferences: bool) -> Vec<Attempt<'c>> {
        let of = |required, preferred| Attempt {
            required,
            preferred,
            tolerates_preferred: false,
        };
        let preferred = self.needs.preferred.iter().take(MOST_TERMS);
        let preferred: Vec<_> = preferred.filter(|_| respects_preferences).collect();
        let heaviest = preferred.first().copied();
        let terms = self.needs.required.iter().take(MOST_TERMS).map(Some);
        let terms = terms.chain(self.needs.required.is_empty().then_some(None));
        let mut attempts: Vec<_> = terms.map(|term| of(term, heaviest)).collect();
        let last = self.needs.required.last();
        let lighter = preferred
            .into_iter()
            .skip(1)
            .map(Some)
            .chain(heaviest.map(|_| None));
        attempts.extend(lighter.map(|preferred| of(last, preferred)));
        let mut taints = self.pool.template.taints.iter();
        if taints.any(|taint| taint.effect == Effect::PreferNoSchedule) {
            attempts.push(Attempt {
                tolerates_preferred: true,
                ..of(last, None)
            });
        }
        attempts
    }

    /// What is unknown if nothing stands against it.
    fn try_once(&self, attempt: Attempt<'c>) -> Result<Vec<Unknown>, Conflict> {
        let template = self.pool.template;
        let counts =
            |taint: &&NodeTaint| !(attempt.tolerates_preferred && taint.effect == Effect::PreferNoSchedule);
        let taint = untolerated(template.taints.iter().filter(counts), &self.needs.tolerations);
        if let Some(taint) = taint {
            return Err(Conflict::Taint(taint.clone()));
        }
        let asked = asked(template, self.needs, attempt);
        let mut unknown = judge(template, &asked, &self.pool.offers)?;
        // Only machines and the places of volumes are compared with both together.
        let mut required = Required::new();
        if self.pool.facts.machines.types.is_some() || self.pool.facts.volumes.is_some() {
            required.extend(
                self.pool
                    .offers
                    .iter()
                    .map(|(key, (offered, _))| (*key, offered.clone())),
            );
            for (key, asked) in asked {
                let selection = match required.remove(key) {
                    Some(offered) => offered.and(asked.selection),
                    None => asked.selection,
                };
                required.insert(key, selection);
            }
        }
        unknown.extend(self.try_volumes(&required)?);
        unknown.extend(self.others());
        Ok(unknown)
    }

    /// Tries the places of the volumes, then machines.
    // karpenter: pkg/controllers/provisioning/scheduling/nodeclaim.go NodeClaim.tryVolumeAlternative
    fn try_volumes(&self, required: &Required<'c>) -> Result<Vec<Unknown>, Conflict> {
        let offer = |required: &Required<'_>| self.pool.machines.offer(required, self.needs);
        let alternatives = match self.pool.facts.volumes {
            _ if !self.needs.others.volumes => &[],
            None => {
                let mut unknown = offer(required)?;
                unknown.push(Unknown::Volumes);
                return Ok(unknown);
            }
            Some(alternatives) => alternatives,
        };
        if alternatives.is_empty() {
            return offer(required);
        }
        let (mut open, mut last) = (None, None);
        for alternative in alternatives {
            let places = self.pool.template.required(alternative);
            let tried = self.try_places(required, &places).and_then(|both| offer(&both));
            match tried {
                Ok(unknown) if unknown.is_empty() => return Ok(unknown),
                Ok(unknown) => open = Some(unknown),
                Err(conflict) => last = Some(conflict),
            }
        }
        open.ok_or(last.unwrap_or(Conflict::Machines(Shortfall::Labels)))
    }

    /// What is required together with the place of a volume.
    fn try_places<'r>(
        &self,
        required: &Required<'r>,
        places: &Required<'r>,
    ) -> Result<Required<'r>, Conflict> {
        let mut both = required.clone();
        for (key, place) in places {
            let own = both.remove(key);
            let is_met = match &own {
                Some(own) => own.meets(place),
                None => place.allows_absence() || self.pool.template.is_on_machines(key) != Some(false),
            };
            if !is_met {
                let offered = self.pool.offers.get(key).map(|(_, offered)| offered.as_slice());
                let offered = offered.unwrap_or_default().iter().copied().cloned();
                return Err(Conflict::Volume((*key).to_owned(), offered.collect()));
            }
            let place = place.clone();
            both.insert(key, own.map_or(place.clone(), |own| own.and(place)));
        }
        Ok(both)
    }

    /// What else decides, and is not known.
    fn others(&self) -> impl Iterator<Item = Unknown> {
        let others = self.needs.others;
        let mut daemons = self.pool.facts.machines.daemons.into_iter().flatten();
        let ports = others.ports
            && (self.pool.facts.machines.daemons.is_none() || daemons.any(|one| one.others.ports));
        let decides = [
            (others.pods, Unknown::Pods),
            (ports, Unknown::Ports),
            (others.claims, Unknown::Claims),
        ];
        decides
            .into_iter()
            .filter(|(decides, _)| *decides)
            .map(|(_, unknown)| unknown)
    }
}

/// What the pod asks of the label of the pool, if its first wishes together leave no pool.
// karpenter: pkg/controllers/provisioning/provisioner.go validateKarpenterManagedLabelCanExist
fn without_pool(needs: &Needs) -> Option<Wanted> {
    let required = needs.required.get(..1).unwrap_or_default();
    let first = wishes(needs, required, needs.preferred.get(..1).unwrap_or_default());
    let of_pool: Vec<_> = first
        .filter(|wanted| wanted.requirement.key == NODEPOOL_LABEL)
        .collect();
    let together = Selection::all(of_pool.iter().map(|wanted| wanted.requirement.selection()));
    let is_without = together.is_empty() && together.allows_absence();
    is_without.then(|| of_pool.into_iter().next_back())?
}

#[cfg(test)]
mod tests;
