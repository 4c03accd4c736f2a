//! Categories of AWS, and spot pools without any, where no generation is required: they begin with machines of 2006.

use super::demand::Demand;
use super::scope::Scope;
use crate::diagnostic::ErrorType;
use crate::facts::{ARCH_LABEL, CAPACITY_TYPE_LABEL, Named, Operator, Part};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_GENERATION: Rule = rule!("requirement-generation", Note, Silent);

/// The instance types of AWS of the first two generations whose category has newer ones of the same kind; in each category,
/// the oldest come first.
const OLD: [&str; 17] = [
    "m1.small",
    "m1.medium",
    "m1.large",
    "m1.xlarge",
    "m2.xlarge",
    "m2.2xlarge",
    "m2.4xlarge",
    "c1.medium",
    "c1.xlarge",
    "t1.micro",
    "t2.nano",
    "t2.micro",
    "t2.small",
    "t2.medium",
    "t2.large",
    "t2.xlarge",
    "t2.2xlarge",
];

/// Notes a list of categories that allows one of the oldest machines; for spot capacity, also if there is none.
pub fn check(demands: &[Demand<'_>], scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let is_category =
        |demand: &&Demand<'_>| demand.part == Some(Part::Category) && demand.operator == Operator::In;
    // Where nothing is spot, Karpenter takes the cheapest machine, which is a newer one.
    let is_spot = |demand: &&Demand<'_>| {
        demand.key == CAPACITY_TYPE_LABEL && demand.operator == Operator::In && demand.allows("spot")
    };
    let (categories, spot) = (demands.iter().find(is_category), demands.iter().find(is_spot));
    let Some(shown) = categories.or(spot) else {
        return;
    };
    // EKS Auto Mode has a lower bound of its own.
    let Some(provider) = scope
        .labels
        .provider
        .filter(|provider| provider.settings.runs_karpenter)
    else {
        return;
    };
    if provider.instance_types.is_none() || demands.iter().any(|demand| chooses(demand)) {
        return;
    }
    // One that is invalid is no demand, and still shows the choice.
    let generation = format!("{}/instance-generation", provider.group);
    let mut requirements = scope.template.requirements().iter();
    if requirements.any(|requirement| requirement.key.present() == Some(&*generation)) {
        return;
    }
    let Some(old) = OLD
        .iter()
        .find(|name| demands.iter().all(|demand| fits(name, demand, scope)))
    else {
        return;
    };
    let value = shown.to_string();
    let title = format!("the requirements allow {old}, because no generation is required");
    findings
        .report(
            &REQUIREMENT_GENERATION,
            shown.at.path(),
            ErrorType::Note { value: Some(value) },
            title,
        )
        .consequence("Karpenter chooses machines by price and not by age")
        .suggest(format!("add {}/instance-generation Gt [\"2\"]", provider.group));
}

/// True if a demand shows that its author has chosen generations.
fn chooses(demand: &Demand<'_>) -> bool {
    match demand.part {
        Some(Part::Generation) => true,
        Some(Part::Name | Part::Family) => demand.operator == Operator::In,
        _ => false,
    }
}

/// True if a machine certainly fits a demand. The oldest have the architecture amd64 and the hypervisor xen.
fn fits(name: &str, demand: &Demand<'_>, scope: &Scope<'_>) -> bool {
    let (Some(naming), Some(provider)) = (scope.naming, scope.labels.provider) else {
        return false;
    };
    if let Some(part) = demand.part {
        let cut = naming.cuts().first().and_then(|cut| cut(Named::Type(name), part));
        return demand.allows(cut.as_deref().unwrap_or(name));
    }
    if demand.key == ARCH_LABEL {
        return demand.allows("amd64");
    }
    let own = demand.key.strip_prefix(provider.group);
    match own.and_then(|own| own.strip_prefix('/')) {
        None => true,
        Some("instance-hypervisor") => demand.allows("xen"),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Naming, Provider};

    #[test]
    fn the_oldest_machines_are_all_of_the_first_two_generations_on_the_list() {
        let provider = Provider::of_group("karpenter.k8s.aws").expect("has data");
        let cut = Naming::of(provider).expect("has a source").cuts()[0];
        let types = provider.instance_types.expect("has a list").types;
        let is_old = |name: &&&str| {
            let part = |part| cut(Named::Type(name), part);
            let is_general =
                ["c", "m", "r", "t"].contains(&part(Part::Category).unwrap_or_default().as_ref());
            is_general && ["1", "2"].contains(&part(Part::Generation).unwrap_or_default().as_ref())
        };
        let mut expected: Vec<&str> = types.iter().filter(is_old).copied().collect();
        let mut old = OLD.to_vec();
        expected.sort_unstable();
        old.sort_unstable();
        assert_eq!(old, expected);
    }
}
