//! Whether a limit has room for the smallest machine that the requirements allow.

use super::{Limit, Limits, path};
use crate::json::Json;
use crate::karpenter::{
    InstanceTypes, Machine, Naming, NodePool, Operator, Part, Provider, Requirement, Selection, Template,
};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_TOO_SMALL: Rule = rule!("limit-too-small", Warning, Silent);

/// The most comparisons of the values of two lists, so that a review takes a bounded time.
const MOST_COMPARED: usize = 100_000;

/// A resource, and where the amount that a machine has of it is known from.
struct Size {
    resource: &'static str,
    /// The labels of instance types for their amount of it.
    keys: &'static [&'static str],
    /// The same amount of a listed machine.
    amount: fn(Machine) -> i64,
    /// The divisor of the amount that gives what the node certainly has.
    share: i64,
    /// How many units of the resource one unit of the amount is.
    unit: i64,
    unit_name: &'static str,
}

const SIZES: [Size; 2] = [
    Size {
        resource: "cpu",
        keys: &[
            "karpenter.k8s.aws/instance-cpu",
            "eks.amazonaws.com/instance-cpu",
            "karpenter.azure.com/sku-cpu",
        ],
        amount: |machine| i64::from(machine.cpus.get()),
        share: 1,
        unit: 1,
        unit_name: "cores",
    },
    Size {
        resource: "memory",
        keys: &[
            "karpenter.k8s.aws/instance-memory",
            "eks.amazonaws.com/instance-memory",
            "karpenter.azure.com/sku-memory",
        ],
        amount: |machine| i64::from(machine.mib),
        share: 2,
        unit: 1 << 20,
        unit_name: "MiB",
    },
];

impl Size {
    /// Whether a limit has room for a node with this amount.
    fn fits(&self, amount: i64, limit: &Quantity) -> bool {
        let needed = (amount / self.share).checked_mul(self.unit);
        needed.is_none_or(|needed| *limit >= Quantity::from(needed))
    }
}

/// The size of the smallest machine that a requirement allows.
struct Smallest {
    amount: i64,
    /// The index of the requirement.
    index: usize,
}

/// Reports limits that leave no room for the smallest machine that the requirements allow.
pub fn check(pool: &NodePool<'_>, limits: &Limits<'_>, findings: &mut Findings<'_>) {
    let limit_of = |size: &Size| {
        let written = limits.get(size.resource)?;
        // A limit of 0 switches the pool off, and another rule reports it.
        let limit = written.quantity();
        let limit = limit.filter(|limit| !limit.is_zero() && !limit.is_negative())?;
        Some((written, limit))
    };
    if SIZES.iter().all(|size| limit_of(size).is_none()) {
        return;
    }
    let has_room = |machine: Machine| {
        SIZES.iter().all(|size| {
            let limit = limit_of(size);
            limit.is_none_or(|(_, limit)| size.fits((size.amount)(machine), limit))
        })
    };
    let declared = findings.context.policy.cluster.provider;
    let listed = Listed::of(&pool.template, declared).and_then(|listed| listed.smallest(has_room));
    for size in &SIZES {
        let Some((written, limit)) = limit_of(size) else {
            continue;
        };
        let too_large = |smallest: &Smallest| !size.fits(smallest.amount, limit);
        let by_list = listed.map(|(machine, index)| Smallest {
            amount: (size.amount)(machine),
            index,
        });
        let by_label = by_label(&pool.template, size).filter(too_large);
        if let Some(smallest) = by_label.or(by_list.filter(too_large)) {
            report(size, written, &smallest, findings);
        }
    }
}

fn report(size: &Size, limit: &Limit<'_>, smallest: &Smallest, findings: &mut Findings<'_>) {
    let Smallest { amount, index } = smallest;
    let (resource, unit) = (size.resource, size.unit_name);
    let title = format!("the smallest allowed machine has {amount} {unit}, more than this limit");
    findings
        .report(&LIMIT_TOO_SMALL, path(resource), limit.value, title)
        .consequence("the pool never launches a node")
        .suggest("raise the limit, which is for all nodes together, or allow smaller machines")
        .related(Template::requirements_path().index(*index));
}

/// The smallest by the labels for the size.
fn by_label(template: &Template<'_>, size: &Size) -> Option<Smallest> {
    size.keys.iter().find_map(|key| {
        let requirements = template.requirements().iter();
        let mut own = requirements
            .filter(|requirement| requirement.key.present() == Some(*key))
            .peekable();
        let index = own.peek()?.index;
        let selections = own.map(Requirement::selection).collect::<Option<Vec<_>>>()?;
        let amount = Selection::all(selections).least()?;
        Some(Smallest { amount, index })
    })
}

/// The lists of instance types, families and sizes that a template requires, each if there is one.
struct Listed<'t> {
    known: &'static InstanceTypes,
    names: Option<&'t Requirement<'t>>,
    families: Option<&'t Requirement<'t>>,
    sizes: Option<&'t Requirement<'t>>,
}

impl<'t> Listed<'t> {
    /// Those of a template; `None` if the machines of its provider are not known. `declared` is the provider by the policy.
    fn of(template: &'t Template<'t>, declared: Option<&'static Provider>) -> Option<Self> {
        let group = template.node_class_group();
        let provider = group.map_or(declared, Provider::of_group)?;
        let naming = Naming::of(provider)?;
        let mut listed = Self {
            known: provider.instance_types?,
            names: None,
            families: None,
            sizes: None,
        };
        for requirement in template.requirements() {
            let part = requirement
                .key
                .present()
                .and_then(|key| naming.part(key, provider));
            let list = match part {
                Some(Part::Name) => &mut listed.names,
                Some(Part::Family) => &mut listed.families,
                Some(Part::Size) => &mut listed.sizes,
                _ => continue,
            };
            if requirement.operator.present() == Some(Operator::In.as_str()) {
                *list = list.or(Some(requirement));
            }
        }
        Some(listed)
    }

    /// The least that any of them has of each resource, and the index of the requirement that lists them; `None` if one has
    /// room, or may have, because its size is not known.
    fn smallest(&self, has_room: impl Fn(Machine) -> bool) -> Option<(Machine, usize)> {
        let first = self.names.or(self.families).or(self.sizes)?;
        let others = [self.families, self.sizes].into_iter().flatten();
        let compared: usize = others.map(|list| values(list).count()).sum();
        if values(first).count().saturating_mul(compared) > MOST_COMPARED {
            return None;
        }
        let mut least: Option<Machine> = None;
        let mut compare = |machine: Option<Machine>| {
            let machine = machine.filter(|machine| !has_room(*machine))?;
            least = Some(least.map_or(machine, |least| least.least(machine)));
            Some(())
        };
        for value in values(first) {
            let value = value?;
            if self.names.is_some() {
                let (family, of) = value.split_once('.')?;
                if allows(self.families, family) && allows(self.sizes, of) {
                    compare(self.known.machine(value))?;
                }
            } else if self.families.is_some() {
                let mut types = self.known.of_family(value).peekable();
                types.peek()?;
                for one in types {
                    let of = one.name.get(value.len() + 1..)?;
                    if allows(self.sizes, of) {
                        compare(one.machine)?;
                    }
                }
            } else {
                compare(self.known.smallest_of_size(value))?;
            }
        }
        Some((least?, first.index))
    }
}

/// The values of a list; `None` for one that is no string.
fn values<'t>(list: &Requirement<'t>) -> impl Iterator<Item = Option<&'t str>> {
    let values = list.values.present().unwrap_or_default();
    values.iter().map(Json::as_str)
}

/// Whether a list has a word, if there is a list.
fn allows(list: Option<&Requirement<'_>>, word: &str) -> bool {
    list.is_none_or(|list| values(list).any(|value| value == Some(word)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::requirements::testing::{requirements_of, warnings};

    #[test]
    fn lists_that_are_too_long_to_compare_are_not_judged() {
        let too_small = |count: usize| {
            let repeated = |value: &str| -> Value { vec![value; count].into() };
            let mut pool = requirements_of(
                "karpenter.k8s.aws",
                &json!([
                    {"key": "node.kubernetes.io/instance-type", "operator": "In",
                     "values": repeated("u7i-12tb.224xlarge")},
                    {"key": "karpenter.k8s.aws/instance-family", "operator": "In",
                     "values": repeated("u7i-12tb")},
                ]),
            );
            pool["spec"]["limits"] = json!({"cpu": "100"});
            warnings(&pool)
                .iter()
                .any(|line| line.contains("[limit-too-small]"))
        };
        assert!(too_small(1));
        assert!(too_small(300));
        assert!(!too_small(50_000));
    }
}
