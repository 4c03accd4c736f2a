//! Requirements: what a NodePool demands of its nodes' labels.
//!
//! First each requirement is read and checked by itself. The valid ones are then compared with each other, and with the labels
//! of the template, because that is how Karpenter reads them. One that cannot be read, or that no node can satisfy, is
//! reported and left out of that.

mod between;
pub mod count;
mod demand;
mod labels;
mod min_values;
mod slips;
mod syntax;
#[cfg(test)]
pub mod testing;
mod together;
mod unsatisfiable;
mod values;

pub use between::{REQUIREMENT_TYPE_CONTRADICTION, REQUIREMENT_ZONE_REGION};
pub use labels::{REQUIREMENT_KEY_RESTRICTED, REQUIREMENT_LABEL_UNKNOWN};
pub use min_values::{REQUIREMENT_MIN_VALUES, REQUIREMENT_MIN_VALUES_CUSTOM};
pub use slips::corrected;
pub use syntax::{REQUIREMENT_KEY, REQUIREMENT_OPERATOR, REQUIREMENT_VALUES, report_syntax};
pub use together::{
    EKS_AUTO_MODE_SIZE, REQUIREMENT_CONTRADICTION, REQUIREMENT_RANDOM_LABEL, REQUIREMENT_REDUNDANT,
};
pub use unsatisfiable::REQUIREMENT_UNSATISFIABLE;
pub use values::{REQUIREMENT_NO_VALUE, REQUIREMENT_UNIT, REQUIREMENT_VALUE_SLIP, REQUIREMENT_VALUE_UNKNOWN};

use super::context::Context;
use super::findings::Findings;
use crate::diagnostic::quoted;
use crate::karpenter::shape::CAPACITY_TYPES;
use crate::karpenter::{Naming, Operator, Provider, Template};
use crate::value::label::label_value;
pub use demand::At;
use demand::Demand;

/// What follows from most mistakes that Karpenter does not reject.
const NEVER_LAUNCHES: &str = "the pool never launches a node";

/// What requirements are checked against.
#[derive(Debug)]
struct Scope<'a> {
    /// The template that has them, and labels, which also become requirements.
    template: &'a Template<'a>,
    /// The API group of the node class, which shows the provider; without one, that of the provider that the policy declares.
    group: Option<&'a str>,
    /// The provider, if there is data on it.
    provider: Option<&'static Provider>,
    /// How it derives labels from the names of its instance types, if that is known.
    naming: Option<&'static Naming>,
    /// What the verdict depends on besides the object.
    context: Context<'a>,
}

impl<'a> Scope<'a> {
    fn new(template: &'a Template<'a>, context: Context<'a>) -> Self {
        let declared = || Some(context.policy.cluster.provider?.group);
        let group = template.node_class_group().or_else(declared);
        let provider = group.and_then(Provider::of_group);
        Self {
            template,
            group,
            provider,
            naming: provider.and_then(Naming::of),
            context,
        }
    }

    /// The capacity types that this release knows.
    fn capacity_types(&self) -> &'static [&'static str] {
        CAPACITY_TYPES.words(self.context.release)
    }
}

/// No node can satisfy a demand, which has been reported.
#[derive(Debug)]
struct Unsatisfiable;

/// Checks the requirements of a NodePool, and its template labels as far as they are requirements.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let scope = Scope::new(template, findings.context);
    let mut demands: Vec<Demand<'_>> = Vec::with_capacity(template.requirements().len());
    for requirement in template.requirements() {
        let demand = syntax::read(requirement, &scope, findings);
        demands.extend(demand.filter(|demand| check_alone(demand, &scope, findings).is_ok()));
    }
    if count::check_list(&scope, findings).is_err() {
        return;
    }
    for demand in labels_of(&scope) {
        if check_values(&demand, &scope, findings).is_ok() {
            demands.push(demand);
        }
    }
    between::check_zones(&demands, &scope, findings);
    together::check(&demands, &scope, findings);
    between::check_types(&demands, &scope, findings);
}

/// The template labels that have a legal value.
fn labels_of<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Demand<'a>> {
    let labels = scope.template.labels.present().into_iter().flatten();
    labels.filter_map(|(written, value)| {
        let value = value.as_str().filter(|value| label_value(value).is_ok())?;
        let kind = scope.context.labels.kind_of(written, scope.group);
        let only = (Operator::In, vec![value]);
        Some(Demand::new(At::Label(written), written, kind, only, None, scope))
    })
}

/// Checks what a requirement says by itself.
fn check_alone(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    min_values::check(demand, scope, findings);
    together::check_redundant_values(demand, findings);
    check_values(demand, scope, findings)?;
    unsatisfiable::check(demand, scope, findings)
}

/// Checks the values of a demand.
fn check_values(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    values::check_unit(demand, scope, findings);
    values::check(demand, scope, findings)
}

/// Names the other values with a mistake, in brackets after these words: one finding reports all.
fn and_others<'v>(words: &str, others: impl Iterator<Item = &'v str>) -> String {
    const NAMED: usize = 2;
    let others: Vec<&str> = others.collect();
    let named: Vec<String> = others.iter().take(NAMED).map(|value| quoted(value)).collect();
    match others.len().saturating_sub(NAMED) {
        _ if others.is_empty() => String::new(),
        0 => format!(" ({words} {})", named.join(" and ")),
        more => format!(" ({words} {} and {more} more)", named.join(", ")),
    }
}
