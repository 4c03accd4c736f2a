//! The instance types of a pool: whether one of them can be the node of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::labels::Offers;
use super::selector::Expression;
use super::template::{NodeTemplate, Required, meet};
use super::verdict::{Conflict, Shortfall, Unknown};
use super::{LabelRequirement, Needs, PODS, Resources};
use crate::diagnostic::quoted;
use crate::facts::{ARCH_LABEL, CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, OS_LABEL, Operator, ZONE_LABEL};
use crate::json::Json;
use crate::pool::NodePool;

/// What every machine uses.
const ALWAYS: [&str; 3] = ["cpu", "memory", "nodes"];

/// How many pods a machine takes if its type does not say it, as for the kwok provider.
const USUAL_PODS: &str = "110";

/// What a provider offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceType {
    /// What its labels are.
    pub labels: Vec<LabelRequirement>,
    /// What the labels are of each way to buy it that is available.
    pub offerings: Vec<Vec<LabelRequirement>>,
    /// What it has; limits count this.
    pub capacity: Resources,
    /// What it leaves to pods, if that is known.
    pub allocatable: Option<Resources>,
}

/// What is known of the machines of a pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Machines<'m> {
    /// The provider's instance types, if they are known.
    pub types: Option<&'m [InstanceType]>,
    /// What the pods of `DaemonSets` need, if they are known.
    pub daemons: Option<&'m [Needs]>,
    /// What the pool's limits leave.
    pub left: Option<&'m Left>,
    /// Whether Karpenter launches nodes with fewer values than `minValues` (`--min-values-policy=BestEffort`), if that is known.
    pub relaxes_min_values: Option<bool>,
}

/// What limits leave, in thousandths, by resource; below 0 above a limit.
pub type Left = BTreeMap<String, i64>;

/// What the limits of a stored pool leave, by its status.
pub fn left(pool: &NodePool<'_>) -> Left {
    let limits = pool.limits.present().into_iter().flatten();
    let of = |(name, limit): (&str, &Json<'_>)| {
        let limit = NodePool::limit_value(limit)?;
        let used = pool.used(name).and_then(NodePool::limit_value);
        let left = used.map_or_else(|| limit, |used| limit.minus(&used));
        Some((name.to_owned(), left.thousandths_rounded_down()))
    };
    limits.filter_map(of).collect()
}

/// The machines of a pool whose requirements have been read.
pub(super) struct OfPool<'m> {
    template: &'m NodeTemplate,
    known: Machines<'m>,
    /// Those within the limits; `None` if they are not known.
    machines: Option<Vec<Machine<'m>>>,
}

/// An instance type whose requirements have been read.
struct Machine<'m> {
    of: &'m InstanceType,
    labels: Required<'m>,
    offerings: Vec<Required<'m>>,
    /// What the pods of `DaemonSets` take of it: those that run on it, and with them those that may.
    daemons: [Resources; 2],
}

impl<'m> Machines<'m> {
    /// These machines as those of a pool.
    pub(super) fn of_pool(self, template: &'m NodeTemplate, offers: &Offers<'_>) -> OfPool<'m> {
        let machines = self.types.map(|types| {
            let daemons = self.daemons.into_iter().flatten();
            let daemons = daemons.map(|daemon| (daemon, template.of_daemon(daemon, offers)));
            let daemons: Vec<_> = daemons.collect();
            let within = types.iter().filter(|machine| self.is_within_limits(machine));
            within
                .map(|machine| Machine::of(machine, template, &daemons))
                .collect()
        });
        OfPool {
            template,
            known: self,
            machines,
        }
    }

    /// Why the limits leave no room for a machine, whatever its size.
    fn exhausted(&self) -> Option<Conflict> {
        let is_used_up =
            |(name, left): (&String, &i64)| *left < 0 || *left == 0 && ALWAYS.contains(&name.as_str());
        let used_up = self.left.into_iter().flatten().any(is_used_up);
        used_up.then_some(Conflict::Machines(Shortfall::Limits))
    }

    // karpenter: pkg/controllers/provisioning/scheduling/scheduler.go filterByRemainingResources
    fn is_within_limits(&self, machine: &InstanceType) -> bool {
        let mut left = self.left.into_iter().flatten();
        left.all(|(name, left)| machine.capacity.amount(name) <= *left)
    }
}

impl OfPool<'_> {
    /// What is still unknown if a node with these labels can be large enough for a pod.
    // karpenter: pkg/controllers/provisioning/scheduling/nodeclaim.go filterInstanceTypesByRequirements
    pub(super) fn offer(&self, required: &Required<'_>, needs: &Needs) -> Result<Vec<Unknown>, Conflict> {
        if let Some(conflict) = self.known.exhausted() {
            return Err(conflict);
        }
        let Some(machines) = &self.machines else {
            return Ok(vec![Unknown::Machines]);
        };
        let (mut shortfall, mut left) = (Shortfall::Limits, Vec::new());
        for machine in machines {
            match self.judge(machine, required, needs) {
                Ok(unknown) => left.push((machine, unknown)),
                Err(lack) => shortfall = shortfall.max(lack),
            }
        }
        let Some((_, first)) = left.first() else {
            return Err(Conflict::Machines(shortfall));
        };
        let certain = left.iter().filter(|(_, unknown)| unknown.is_empty());
        let mut open = if certain.clone().next().is_some() {
            Vec::new()
        } else {
            first.clone()
        };
        if self.known.relaxes_min_values != Some(true) {
            for (key, least) in &self.template.min_values {
                let count = |found: &mut dyn Iterator<Item = &(&Machine<'_>, Vec<Unknown>)>| {
                    let values = found.flat_map(|(machine, _)| machine.values(key, required));
                    values.collect::<BTreeSet<_>>().len()
                };
                let most = count(&mut left.iter());
                if most < *least && self.known.relaxes_min_values.is_none() {
                    open.push(Unknown::MinValuesPolicy);
                } else if most < *least {
                    let lack = Shortfall::MinValues(key.clone(), most, *least);
                    return Err(Conflict::Machines(lack));
                } else if count(&mut certain.clone()) < *least {
                    open.extend(first.iter().cloned());
                }
            }
        }
        Ok(open)
    }

    /// What is unknown if the machine can be the node of a pod.
    fn judge(
        &self,
        machine: &Machine<'_>,
        required: &Required<'_>,
        needs: &Needs,
    ) -> Result<Vec<Unknown>, Shortfall> {
        if !meet(&machine.labels, required) {
            return Err(Shortfall::Labels);
        }
        let is_large = machine
            .is_large(needs, self.known.daemons.is_some())
            .ok_or(Shortfall::Size)?;
        let mut offerings = machine.offerings.iter();
        if !offerings.any(|offering| self.template.is_compatible(required, offering)) {
            return Err(Shortfall::Offering);
        }
        let is_missing = |key: &&&str| {
            let is_here = machine.labels.contains_key(**key) || self.template.names_itself_by(key);
            !is_here && self.template.is_on_machines(key) != Some(false)
        };
        let missing = required.keys().filter(is_missing);
        let mut unknown: Vec<_> = missing
            .map(|key| Unknown::MachineLabel((*key).to_owned()))
            .collect();
        if !is_large {
            unknown.push(Unknown::Overhead);
        }
        Ok(unknown)
    }
}

impl<'m> Machine<'m> {
    fn of(
        of: &'m InstanceType,
        template: &NodeTemplate,
        daemons: &[(&Needs, Vec<(Required<'_>, bool)>)],
    ) -> Self {
        let labels = template.required(&of.labels);
        let [mut run, mut may_run] = [Resources::default(), Resources::default()];
        for (daemon, asked) in daemons {
            let mut met = asked.iter().filter(|(asked, _)| meet(asked, &labels)).peekable();
            let mut own = daemon.requests.clone();
            own.add(&Resources::pods(1));
            if met.peek().is_some() {
                may_run.add(&own);
            }
            if met.any(|(_, is_certain)| *is_certain) {
                run.add(&own);
            }
        }
        let offerings = of.offerings.iter();
        Self {
            offerings: offerings.map(|offering| template.required(offering)).collect(),
            of,
            labels,
            daemons: [run, may_run],
        }
    }

    /// Whether it is certain to have room for a pod beside the daemons; `None` if it has none.
    fn is_large(&self, needs: &Needs, knows_daemons: bool) -> Option<bool> {
        let whole = self.of.allocatable.as_ref().unwrap_or(&self.of.capacity);
        let [least, most] = self.daemons.each_ref().map(|daemons| {
            let mut asked = daemons.clone();
            asked.add(&needs.requests);
            asked.add(&Resources::pods(1));
            asked
        });
        let is_known = knows_daemons && self.of.allocatable.is_some();
        least.fit_in(whole).then(|| is_known && most.fit_in(whole))
    }

    /// The values of a label that it has and that are allowed.
    fn values(&self, key: &str, required: &Required<'_>) -> Vec<&'m str> {
        let own = self
            .of
            .labels
            .iter()
            .filter(|one| one.key == key && one.operator == Operator::In);
        let is_allowed = |value: &&str| required.get(key).is_none_or(|required| required.has(value));
        own.flat_map(|one| one.values.iter().map(String::as_str))
            .filter(is_allowed)
            .collect()
    }
}

impl InstanceType {
    /// Reads a file of instance types: a JSON list, as Karpenter's kwok provider takes it. Each may have `requirements`,
    /// its other labels, and `allocatable`, what it leaves to pods.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let written: Vec<Written> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        written.into_iter().map(Written::read).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    name: String,
    offerings: Vec<WrittenOffering>,
    architecture: String,
    operating_systems: Vec<String>,
    resources: BTreeMap<String, String>,
    #[serde(default)]
    requirements: Vec<Expression>,
    allocatable: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct WrittenOffering {
    #[serde(rename = "Requirements", alias = "requirements")]
    requirements: Vec<Expression>,
    #[serde(rename = "Available", alias = "available", default = "yes")]
    is_available: bool,
}

const fn yes() -> bool {
    true
}

impl Written {
    fn read(self) -> Result<InstanceType, String> {
        let name = self.name;
        let read = |written: Expression| {
            let unknown =
                |operator: String| format!("instance type {name}: {} is no operator", quoted(&operator));
            written.read().map_err(unknown)
        };
        let all =
            |written: Vec<Expression>| written.into_iter().map(read).collect::<Result<Vec<_>, String>>();
        let available = self
            .offerings
            .into_iter()
            .filter(|offering| offering.is_available);
        let offerings: Vec<_> = available
            .map(|offering| all(offering.requirements))
            .collect::<Result<_, _>>()?;
        let is = |key: &str, values: Vec<String>| LabelRequirement {
            key: key.to_owned(),
            operator: Operator::In,
            values,
        };
        let mut labels = all(self.requirements)?;
        let offered = |key: &str| {
            let own = offerings.iter().flatten().filter(|one| one.key == key);
            is(key, own.flat_map(|one| one.values.clone()).collect())
        };
        let named = [
            offered(ZONE_LABEL),
            offered(CAPACITY_TYPE_LABEL),
            is(ARCH_LABEL, vec![self.architecture]),
            is(OS_LABEL, self.operating_systems),
            is(INSTANCE_TYPE_LABEL, vec![name.clone()]),
        ];
        labels.extend(named.into_iter().filter(|label| !label.values.is_empty()));
        let mut resources = self.resources;
        resources
            .entry(PODS.to_owned())
            .or_insert_with(|| USUAL_PODS.to_owned());
        let texts = |amounts: &BTreeMap<String, String>| {
            Resources::given(
                amounts
                    .iter()
                    .map(|(name, amount)| (name.as_str(), amount.as_str())),
            )
        };
        Ok(InstanceType {
            labels,
            offerings,
            allocatable: self.allocatable.as_ref().map(texts),
            capacity: texts(&resources),
        })
    }
}

#[cfg(test)]
mod tests;
