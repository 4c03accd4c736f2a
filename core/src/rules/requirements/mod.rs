//! Requirements: the demands of a NodePool on the labels of its nodes.
//!
//! First each requirement is read and checked on its own. The valid ones are then compared with each other and with the labels
//! of the template, as Karpenter does. A requirement that cannot be read, or that no node can satisfy, is reported and not
//! compared.

mod across_labels;
pub mod count;
mod demand;
mod generation;
mod labels;
mod min_values;
mod misplaced;
mod same_label;
mod scope;
mod slips;
mod syntax;
#[cfg(test)]
pub mod testing;
mod unsatisfiable;
mod values;

pub use across_labels::{REQUIREMENT_TYPE_CONTRADICTION, REQUIREMENT_ZONE_REGION};
pub use generation::REQUIREMENT_GENERATION;
pub use labels::{REQUIREMENT_KEY_RESTRICTED, REQUIREMENT_LABEL_UNKNOWN};
pub use min_values::{REQUIREMENT_MIN_VALUES, REQUIREMENT_MIN_VALUES_CUSTOM, REQUIREMENT_MIN_VALUES_UNMET};
pub use same_label::{
    EKS_AUTO_MODE_SIZE, REQUIREMENT_CONTRADICTION, REQUIREMENT_RANDOM_LABEL, REQUIREMENT_REDUNDANT,
};
pub use slips::corrected;
pub use syntax::{REQUIREMENT_KEY, REQUIREMENT_OPERATOR, REQUIREMENT_VALUES, report_syntax};
pub use unsatisfiable::REQUIREMENT_UNSATISFIABLE;
pub use values::{REQUIREMENT_NO_VALUE, REQUIREMENT_UNIT, REQUIREMENT_VALUE_SLIP, REQUIREMENT_VALUE_UNKNOWN};

use super::findings::Findings;
use crate::facts::Operator;
use crate::pool::Template;
use crate::value::label::label_value;
pub use demand::At;
use demand::Demand;
use scope::{Scope, Unsatisfiable};

/// Checks the requirements of a NodePool, and its template labels as far as they are requirements.
pub fn check(template: &Template<'_>, findings: &mut Findings<'_>) {
    let scope = Scope::new(template, findings.context);
    let labels = template.labels.present().into_iter().flatten().count();
    let mut demands: Vec<Demand<'_>> = Vec::with_capacity(template.requirements().len() + labels);
    for requirement in template.requirements() {
        let demand = syntax::read(requirement, &scope, findings);
        demands.extend(demand.filter(|demand| check_alone(demand, &scope, findings).is_ok()));
    }
    for demand in labels_of(&scope) {
        if check_values(&demand, &scope, findings).is_ok() {
            demands.push(demand);
        }
    }
    across_labels::check_zones(&demands, &scope, findings);
    same_label::check(&demands, &scope, findings);
    misplaced::check(&demands, &scope, findings);
    across_labels::check_types(&demands, &scope, findings);
    min_values::check_binding(&demands, findings);
    generation::check(&demands, &scope, findings);
}

/// The template labels that have a legal value.
fn labels_of<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Demand<'a>> {
    let labels = scope.template.labels.present().into_iter().flatten();
    labels.filter_map(|(written, value)| {
        let value = value.as_str().filter(|value| label_value(value).is_ok())?;
        let kind = scope.labels.kind_of(written);
        let only = (Operator::In, vec![value]);
        Some(Demand::new(At::Label(written), written, kind, only, None, scope))
    })
}

/// Checks a requirement on its own.
fn check_alone(
    demand: &Demand<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Result<(), Unsatisfiable> {
    min_values::check(demand, scope, findings);
    same_label::check_redundant_values(demand, findings);
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
