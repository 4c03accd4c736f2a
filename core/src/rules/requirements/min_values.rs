//! `minValues`: how many different values the instance types for one node must offer.

use super::demand::{At, Demand, Group};
use super::scope::{NEVER_LAUNCHES, Scope};
use super::slips::AWS_ZONE_ID;
use super::values::{Judgement, judge};
use crate::diagnostic::{Diagnostic, ErrorType, Origin, Severity, counted};
use crate::facts::shape::nodepool;
use crate::facts::{
    ARCH_LABEL, CAPACITY_TYPE_LABEL, KarpenterVersion, OS_LABEL, Operator, Selection, ZONE_LABEL,
};
use crate::json::whole_number;
use crate::pool::{Field, Requirement};
use crate::rules::findings::Findings;
use crate::rules::rule::Rule;

pub static REQUIREMENT_MIN_VALUES: Rule = rule!("requirement-min-values", Error, Schema);
pub static REQUIREMENT_MIN_VALUES_UNMET: Rule = rule!("requirement-min-values-unmet", Warning, Silent);
pub static REQUIREMENT_MIN_VALUES_CUSTOM: Rule = rule!("requirement-min-values-custom", Warning, Silent);

/// The number, if the definition accepts it. Other parts of the requirement may be wrong.
pub fn read(
    requirement: &Requirement<'_>,
    operator: Option<Operator>,
    at: At<'_>,
    scope: &Scope<'_>,
    findings: &mut Findings<'_>,
) -> Option<i64> {
    let Field::Present(number) = requirement.min_values else {
        return None;
    };
    // A fraction has the wrong type, which the type check reports.
    let least = whole_number(number)?;
    let listed = requirement.values.present().map_or(0, <[_]>::len);
    let path = || at.field("minValues");
    let field = nodepool(scope.template.version).at("spec.template.spec.requirements[].minValues");
    let range = field.range(scope.context.release)?;
    if !range.contains(&least) {
        let title = format!("minValues must be from {} to {}", range.start(), range.end());
        findings.report(&REQUIREMENT_MIN_VALUES, path(), least, title);
        return None;
    }
    // The check of the values reports an empty list.
    if operator == Some(Operator::In) && (1..usize::try_from(least).unwrap_or(0)).contains(&listed) {
        let title = format!("operator In lists only {}", counted(listed, "value"));
        findings
            .report(&REQUIREMENT_MIN_VALUES, path(), least, title)
            .suggest("list more values, or lower minValues");
        return None;
    }
    Some(least)
}

/// Compares the number with the number of values that the requirement leaves on its own.
pub fn check(demand: &Demand<'_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    let Some(least) = demand.min_values else {
        return;
    };
    let path = || demand.at.field("minValues");
    if demand.kind.is_custom() {
        findings
            .report(
                &REQUIREMENT_MIN_VALUES_CUSTOM,
                path(),
                least,
                "no instance type has this label",
            )
            .consequence("the pool never has enough values and never launches a node")
            .suggest("remove minValues");
        return;
    }
    let left = Left::by(demand, scope);
    // If none is left, the check of the values reports that.
    let Some(different) = left
        .different
        .filter(|left| *left > 0 && demand.asks_for_more_than(*left))
    else {
        return;
    };
    let title = match (demand.operator, left.is_judged) {
        (Operator::In, true) => format!(
            "the requirement lists only {}",
            counted(different, "existing value")
        ),
        (Operator::In, false) => format!(
            "the requirement lists only {}",
            counted(different, "different value")
        ),
        _ => format!("the requirement allows only {}", counted(different, "value")),
    };
    // Karpenter's own check counts a repeated value again, its scheduler does not.
    if left.is_checked && demand.asks_for_more_than(left.listed) {
        findings
            .report(&REQUIREMENT_MIN_VALUES, path(), least, title)
            .origin(Origin::Runtime)
            .consequence("the NodePool never becomes Ready and launches nothing")
            .suggest("lower minValues, or allow more values");
    } else {
        report_unmet(demand, title, "", scope, findings);
    }
}

/// Reports that Karpenter's scheduler finds too few values, unless it is known to lower the number. `cause` follows the
/// consequence.
fn report_unmet<'f>(
    demand: &Demand<'_>,
    title: String,
    cause: &str,
    scope: &Scope<'_>,
    findings: &'f mut Findings<'_>,
) -> Option<&'f mut Diagnostic> {
    let context = &scope.context;
    let is_kept = context.policy.cluster.keeps_min_values(context.release);
    let (severity, condition, help) = match is_kept {
        Some(false) => return None,
        Some(true) => (Severity::Error, "", ""),
        None => (
            Severity::Warning,
            ", unless MIN_VALUES_POLICY is BestEffort",
            ". Declare the setting: cluster.minValuesPolicy in the policy",
        ),
    };
    let least = demand.min_values.unwrap_or_default();
    let finding = findings
        .report(
            &REQUIREMENT_MIN_VALUES_UNMET,
            demand.at.field("minValues"),
            least,
            title,
        )
        .severity(severity)
        .consequence(format!("{NEVER_LAUNCHES}{cause}{condition}"))
        .suggest(format!("lower minValues, or allow more values{help}"));
    Some(finding)
}

/// The labels that bind a pod to one of their values, and what a value is.
const BINDING: [(&str, &str); 5] = [
    (ZONE_LABEL, "zone"),
    (AWS_ZONE_ID, "zone"),
    (ARCH_LABEL, "architecture"),
    (OS_LABEL, "operating system"),
    (CAPACITY_TYPE_LABEL, "capacity type"),
];

/// Warns of a number on each label of which a pod often allows only one value, unless it is reported already.
pub fn check_binding(demands: &[Demand<'_>], findings: &mut Findings<'_>) {
    let (cluster, release) = (&findings.context.policy.cluster, findings.context.release);
    if release.has(KarpenterVersion::MIN_VALUES_OF_PODS) && cluster.keeps_min_values(release) == Some(false) {
        return;
    }
    for (key, what) in BINDING {
        let of_key = demands.iter().filter(|demand| demand.key == key);
        let largest = of_key.max_by_key(|demand| demand.min_values);
        let Some((demand, least)) = largest.and_then(|demand| Some((demand, demand.min_values?))) else {
            continue;
        };
        let path = demand.at.field("minValues");
        let mut rules = [&REQUIREMENT_MIN_VALUES, &REQUIREMENT_MIN_VALUES_UNMET].into_iter();
        let is_reported = rules.any(|rule| findings.has(rule, &path));
        if least < 2 || is_reported {
            continue;
        }
        let binds = match key {
            ZONE_LABEL | AWS_ZONE_ID => "a volume, a spread constraint or a selector",
            _ => "a selector",
        };
        let note = ErrorType::Note {
            value: Some(least.to_string()),
        };
        let title = format!("a pod that is bound to one {what} gets no node from this pool");
        findings
            .report(&REQUIREMENT_MIN_VALUES_UNMET, path, note, title)
            .severity(Severity::Warning)
            .consequence(format!(
                "{binds} leaves one value, and a node must have a choice of {least}"
            ))
            .suggest("remove minValues here, or set it for instance types or families");
    }
}

/// Compares the largest number on one label with how many values all demands on it leave, if they do not contradict each
/// other.
pub fn check_together(group: &Group<'_, '_>, scope: &Scope<'_>, findings: &mut Findings<'_>) {
    // No instance type has a value of a custom label; that is reported at the requirement.
    if group.demands.len() < 2 || group.first.kind.is_custom() {
        return;
    }
    let largest = group.demands.iter().max_by_key(|demand| demand.min_values);
    let Some(demand) = largest.filter(|demand| demand.min_values.is_some()) else {
        return;
    };
    let existing = existing(demand.key, scope);
    let count =
        |selection: Selection<'_>| Selection::all([selection].into_iter().chain(existing.clone())).count();
    let is_short = |left: &usize| demand.asks_for_more_than(*left);
    let Some(left) = count(group.selection()).filter(is_short) else {
        return;
    };
    // A requirement that leaves too few on its own was reported there.
    if count(demand.selection()).is_some_and(|alone| is_short(&alone)) {
        return;
    }
    let others = || group.demands.iter().filter(|other| other.at != demand.at);
    let rest = match others().collect::<Vec<_>>().as_slice() {
        [only] => only.to_string(),
        rest => format!("the other {} requirements", rest.len()),
    };
    let title = format!(
        "the requirements on this label leave only {}",
        counted(left, "value")
    );
    let cause = format!(" because of {rest}");
    if let Some(finding) = report_unmet(demand, title, &cause, scope, findings) {
        finding.related = others().map(|other| other.at.path()).collect();
    }
}

/// The values that a requirement leaves on its own.
struct Left {
    /// How many values it leaves, if that is known.
    different: Option<usize>,
    /// How many listed values exist, each as often as it is listed.
    listed: usize,
    /// Whether a listed value does not exist.
    is_judged: bool,
    /// Whether Karpenter compares the list with the values that exist.
    is_checked: bool,
}

impl Left {
    // karpenter: pkg/cloudprovider/types.go InstanceTypes.SatisfiesMinValues
    // karpenter: pkg/apis/v1/nodeclaim_validation.go validateWellKnownValues
    fn by(demand: &Demand<'_>, scope: &Scope<'_>) -> Self {
        let is_capacity_type = demand.key == CAPACITY_TYPE_LABEL;
        if demand.operator != Operator::In {
            let words = scope.capacity_types().iter();
            let different = is_capacity_type.then(|| words.filter(|word| demand.allows(word)).count());
            return Self {
                different,
                listed: 0,
                is_judged: false,
                is_checked: false,
            };
        }
        let judgements = judge(demand, scope);
        let listed = demand.values.iter().zip(&judgements);
        let mut existing: Vec<&str> = listed
            .filter(|(_, judgement)| judgement.may_exist())
            .map(|(value, _)| *value)
            .collect();
        let listed = existing.len();
        existing.sort_unstable();
        existing.dedup();
        let is_checked = is_capacity_type || judgements.iter().any(Judgement::is_rejected);
        let release = scope.context.release;
        Self {
            different: Some(existing.len()),
            listed,
            is_judged: listed < demand.values.len(),
            is_checked: is_checked && release.has(KarpenterVersion::CAPACITY_TYPES_CHECKED),
        }
    }
}

/// The only values that a label can have, if they are known and every node has one of them.
pub fn existing(key: &str, scope: &Scope<'_>) -> Option<Selection<'static>> {
    (key == CAPACITY_TYPE_LABEL).then(|| Selection::new(Operator::In, scope.capacity_types()))
}
