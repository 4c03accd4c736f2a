//! The instance types of a pool: whether one of them can be the node of a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::template::{Required, meet};
use super::verdict::{Conflict, Shortfall, Unknown};
use super::{LabelRequirement, Needs, NodeTemplate, PODS, Resources};
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

/// What the limits of a pool leave of its usage, as `status.resources` has it.
pub fn left(pool: &NodePool<'_>, usage: &Json<'_>) -> Left {
    let limits = pool.limits.present().into_iter().flatten();
    let of = |(name, limit): (&str, &Json<'_>)| {
        let limit = NodePool::limit_value(limit)?.thousandths_rounded_down();
        let used = usage.get(name).and_then(NodePool::limit_value);
        let used = used.map_or(0, |used| used.thousandths_rounded_up());
        Some((name.to_owned(), limit.saturating_sub(used)))
    };
    limits.filter_map(of).collect()
}

/// An instance type whose requirements have been read.
struct Machine<'m> {
    of: &'m InstanceType,
    labels: Required<'m>,
    offerings: Vec<Required<'m>>,
}

/// What the instance types make of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    TooSmall,
    Perhaps,
    Large,
}

impl Machines<'_> {
    /// What is still unknown if a node with these labels can be large enough for a pod.
    // karpenter: pkg/controllers/provisioning/scheduling/nodeclaim.go filterInstanceTypesByRequirements
    pub(super) fn offer(
        &self,
        template: &NodeTemplate,
        required: &Required<'_>,
        needs: &Needs,
    ) -> Result<Vec<Unknown>, Conflict> {
        if let Some(conflict) = self.exhausted() {
            return Err(conflict);
        }
        let Some(types) = self.types else {
            return Ok(vec![Unknown::Machines]);
        };
        let (mut shortfall, mut left) = (Shortfall::Limits, Vec::new());
        for machine in types.iter().filter(|machine| self.is_within_limits(machine)) {
            let machine = Machine::of(machine, template);
            let found = self.judge(&machine, template, required, needs);
            match found {
                Ok(size) => left.push((machine, size)),
                Err(lack) => shortfall = shortfall.max(lack),
            }
        }
        if left.is_empty() {
            return Err(Conflict::Machines(shortfall));
        }
        let mut is_certain = left.iter().any(|(_, size)| *size == Size::Large);
        let mut unknown = Vec::new();
        if self.relaxes_min_values != Some(true) {
            for (key, least) in &template.min_values {
                let large = left.iter().filter(|(_, size)| *size == Size::Large);
                let count = |found: &mut dyn Iterator<Item = &(Machine<'_>, Size)>| {
                    let values = found.flat_map(|(machine, _)| machine.values(key, required));
                    values.collect::<BTreeSet<_>>().len()
                };
                let most = count(&mut left.iter());
                if most < *least && self.relaxes_min_values.is_none() {
                    unknown.push(Unknown::MinValuesPolicy);
                } else if most < *least {
                    return Err(Conflict::Machines(Shortfall::MinValues(
                        key.clone(),
                        most,
                        *least,
                    )));
                }
                is_certain &= count(&mut large.into_iter()) >= *least;
            }
        }
        if !is_certain && unknown.is_empty() {
            unknown.push(Unknown::Overhead);
        }
        Ok(unknown)
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

    fn judge(
        &self,
        machine: &Machine<'_>,
        template: &NodeTemplate,
        required: &Required<'_>,
        needs: &Needs,
    ) -> Result<Size, Shortfall> {
        if !meet(&machine.labels, required) {
            return Err(Shortfall::Labels);
        }
        let size = self.size(machine, template, needs);
        if size == Size::TooSmall {
            return Err(Shortfall::Size);
        }
        let mut offerings = machine.offerings.iter();
        if offerings.any(|offering| template.is_compatible(required, offering)) {
            Ok(size)
        } else {
            Err(Shortfall::Offering)
        }
    }

    /// Whether the machine has room for the pod and the daemons that would run on it.
    // karpenter: pkg/controllers/provisioning/scheduling/scheduler.go isDaemonPodCompatible
    fn size(&self, machine: &Machine<'_>, template: &NodeTemplate, needs: &Needs) -> Size {
        let mut asked = needs.requests.clone();
        asked.add(&Resources::pods(1));
        let whole = machine.of.allocatable.as_ref().unwrap_or(&machine.of.capacity);
        if !asked.fit_in(whole) {
            return Size::TooSmall;
        }
        let mut is_certain = self.daemons.is_some() && machine.of.allocatable.is_some();
        let mut most = asked.clone();
        for daemon in self.daemons.into_iter().flatten() {
            let runs = template.takes_daemon(daemon, &machine.labels);
            is_certain &= runs.is_some();
            let mut own = daemon.requests.clone();
            own.add(&Resources::pods(1));
            if runs == Some(true) {
                asked.add(&own);
            }
            if runs != Some(false) {
                most.add(&own);
            }
        }
        if !asked.fit_in(whole) {
            Size::TooSmall
        } else if is_certain && most.fit_in(whole) {
            Size::Large
        } else {
            Size::Perhaps
        }
    }
}

impl<'m> Machine<'m> {
    fn of(of: &'m InstanceType, template: &NodeTemplate) -> Self {
        Self {
            of,
            labels: template.required(&of.labels),
            offerings: of
                .offerings
                .iter()
                .map(|offering| template.required(offering))
                .collect(),
        }
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
    requirements: Vec<WrittenRequirement>,
    allocatable: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct WrittenOffering {
    #[serde(rename = "Requirements", alias = "requirements")]
    requirements: Vec<WrittenRequirement>,
    #[serde(rename = "Available", alias = "available", default = "yes")]
    is_available: bool,
}

#[derive(Deserialize)]
struct WrittenRequirement {
    key: String,
    operator: String,
    #[serde(default)]
    values: Vec<String>,
}

const fn yes() -> bool {
    true
}

impl Written {
    fn read(self) -> Result<InstanceType, String> {
        let name = self.name;
        let read = |written: WrittenRequirement| {
            let operator = Operator::parse(&written.operator);
            let unknown = || {
                format!(
                    "instance type {name}: {} is no operator",
                    quoted(&written.operator)
                )
            };
            Ok(LabelRequirement {
                operator: operator.ok_or_else(unknown)?,
                key: written.key,
                values: written.values,
            })
        };
        let all = |written: Vec<WrittenRequirement>| {
            written.into_iter().map(read).collect::<Result<Vec<_>, String>>()
        };
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
        labels.extend([
            offered(ZONE_LABEL),
            offered(CAPACITY_TYPE_LABEL),
            is(ARCH_LABEL, vec![self.architecture]),
            is(OS_LABEL, self.operating_systems),
            is(INSTANCE_TYPE_LABEL, vec![name.clone()]),
        ]);
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
