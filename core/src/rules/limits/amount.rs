//! The amount of a limit: a valid quantity that makes sense for its resource.

use super::resource::PLAIN_RESOURCES;
use super::{Limit, path};
use crate::diagnostic::{ErrorType, Suggestion, counted};
use crate::json::Json;
use crate::karpenter::NodePool;
use crate::rules::findings::Findings;
use crate::rules::origins::by_quantity;
use crate::rules::rule::Rule;
use crate::value::quantity::Quantity;

pub static LIMIT_QUANTITY: Rule = rule!("limit-quantity", Error, Schema);
pub static LIMIT_NEGATIVE: Rule = rule!("limit-negative", Error, Silent);
pub static LIMIT_ZERO: Rule = rule!("limit-zero", Warning, Silent);
pub static LIMIT_UNQUOTED: Rule = rule!("limit-unquoted", Off, Silent);
pub static LIMIT_UNIT: Rule = rule!("limit-unit", Warning, Silent);

/// Less memory, in bytes, than any machine has: the smallest ones of the clouds have twice as much.
const LEAST_MEMORY: i64 = 256 << 20;
/// Less storage, in bytes, than any node has.
const LEAST_STORAGE: i64 = 1 << 20;
/// More cores than any cluster has.
const MOST_CORES: i64 = 1_000_000;

/// Whether no node has so little of a resource, or no cluster so much.
fn is_unlikely(resource: &str, quantity: &Quantity) -> bool {
    match resource {
        "memory" => quantity.rounded_up() < LEAST_MEMORY,
        "ephemeral-storage" => quantity.rounded_up() < LEAST_STORAGE,
        "cpu" => quantity.rounded_down() < 1 || quantity.rounded_down() >= MOST_CORES,
        _ => false,
    }
}

/// Why an amount probably has the wrong unit, and a more likely amount.
fn other_unit(resource: &str, value: &Json<'_>, quantity: &Quantity) -> Option<(String, Suggestion)> {
    if !is_unlikely(resource, quantity) {
        return None;
    }
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let likely = |text: String, otherwise: &str| {
        let is_sensible = |amount: Quantity| !amount.is_negative() && !is_unlikely(resource, &amount);
        if Quantity::parse(&text).is_ok_and(is_sensible) {
            Suggestion::did_you_mean(text)
        } else {
            otherwise.into()
        }
    };
    match resource {
        "memory" | "ephemeral-storage" => Some((
            format!(
                "this is {}, less than any node has, so the pool never launches one",
                counted(usize::try_from(quantity.rounded_up()).unwrap_or_default(), "byte")
            ),
            likely(format!("{number}Gi"), "write it with a unit, such as 1000Gi"),
        )),
        "cpu" if quantity.rounded_down() < 1 => Some((
            "no machine has less than a core, so the pool never launches one".into(),
            "write a number of cores, such as 1000".into(),
        )),
        "cpu" => Some((
            "this is a number of cores that no cluster reaches, so it limits nothing".into(),
            likely(number.to_owned(), "write a number of cores, such as 1000"),
        )),
        _ => None,
    }
}

pub fn check(pool: &NodePool<'_>, limit: &Limit<'_>, findings: &mut Findings<'_>) {
    let (resource, value) = (limit.resource, limit.value);
    let quantity = match &limit.parsed {
        None => return,
        Some(Ok(quantity)) => quantity,
        Some(Err(error)) => {
            findings
                .report(&LIMIT_QUANTITY, path(resource), value, error.to_string())
                .origin(by_quantity(error))
                .suggest_if_known(error.suggestion());
            return;
        }
    };
    // Many manifests have numbers here.
    if value.as_number().is_some() && findings.wants(&LIMIT_UNQUOTED) {
        let reason = "tools that write the object back turn the number into text";
        findings
            .report(&LIMIT_UNQUOTED, path(resource), ErrorType::note(value), reason)
            .suggest(Suggestion::write(value.to_string()));
    }
    if quantity.is_negative() {
        let reason = "below zero, so this pool could never launch a node";
        findings
            .report(&LIMIT_NEGATIVE, path(resource), value, reason)
            .suggest("write a limit of 0 or more, or leave it out for none");
    } else if quantity.is_zero() && pool.replicas.is_absent() && PLAIN_RESOURCES.contains(&resource) {
        let reason = "every node has some, so this pool never launches one";
        findings
            .report(&LIMIT_ZERO, path(resource), value, reason)
            .suggest("leave it out for no limit, or keep it to switch the pool off");
    } else if !quantity.is_zero()
        && let Some((reason, suggestion)) = other_unit(resource, value, quantity)
    {
        findings
            .report(&LIMIT_UNIT, path(resource), value, reason)
            .suggest(suggestion);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::diagnostic::Severity;
    use crate::karpenter::{ApiVersion, KarpenterVersion};
    use crate::policy::{Level, Policy};
    use crate::review::{Request, Subject, review};
    use crate::rules::testing::{completed, errors};

    fn limits(limits: &Value) -> Value {
        json!({"spec": {"limits": limits}})
    }

    #[test]
    fn quantities_that_hang_karpenter_are_denied() {
        let digits = "9".repeat(100_000);
        for text in [
            "1e2147483648".to_owned(),
            "1e-99999999999".to_owned(),
            "1e-10000000".to_owned(),
            "1e10000000".to_owned(),
            format!("1e{digits}"),
            format!("1e-{digits}"),
            format!("{digits}e-{digits}"),
        ] {
            let object = limits(&json!({ "cpu": text }));
            assert_eq!(errors(&object).len(), 1, "{text:.20}");
        }
    }

    #[test]
    fn numbers_without_quotes_are_reported_if_the_policy_switches_the_rule_on() {
        let object = completed(Subject::NodePool(ApiVersion::V1), &limits(&json!({"cpu": 1000})));
        let said = |policy: &Policy| {
            let request = Request {
                subject: Subject::NodePool(ApiVersion::V1),
                object: &Json::from(&object),
                old: None,
                claims: None,
                at: jiff::Timestamp::default(),
            };
            let report = review(&request, policy, &KarpenterVersion::NEWEST.into()).report;
            report
                .into_iter()
                .map(|finding| finding.to_string())
                .collect::<Vec<_>>()
        };
        let mut policy = Policy::default();
        assert_eq!(said(&policy), [""; 0]);
        policy
            .levels
            .set(LIMIT_UNQUOTED.id, Level::Severity(Severity::Info));
        assert_eq!(
            said(&policy),
            [
                r#"spec.limits.cpu: 1000: tools that write the object back turn the number into text; write "1000" [limit-unquoted]"#
            ]
        );
    }
}
