//! The amount of a limit: a valid quantity that makes sense for its resource.

use super::{Limit, path};
use crate::diagnostic::{Origin, Suggestion, counted};
use crate::facts::PLAIN_RESOURCES;
use crate::json::Json;
use crate::pool::NodePool;
use crate::rules::findings::{Findings, UNREADABLE};
use crate::rules::rule::Rule;
use crate::value::quantity::{Quantity, QuantityError};

pub static LIMIT_AMOUNT: Rule = rule!("limit-amount", Error, Silent);
pub static LIMIT_ZERO: Rule = rule!("limit-zero", Warning, Silent);
pub static LIMIT_UNIT: Rule = rule!("limit-unit", Warning, Silent);

/// Less memory, in bytes, than any machine has: the smallest ones of the clouds have twice as much.
const LEAST_MEMORY: i64 = 256 << 20;
/// Less storage, in bytes, than any node has.
const LEAST_STORAGE: i64 = 1 << 20;
/// More cores than any cluster has.
const MOST_CORES: i64 = 1_000_000;

pub fn check(pool: &NodePool<'_>, limit: &Limit<'_>, findings: &mut Findings<'_>) {
    let (resource, value) = (limit.resource, limit.value);
    let quantity = match &limit.parsed {
        None => return,
        Some(Ok(quantity)) => quantity,
        Some(Err(error)) => {
            let finding = findings
                .report(&LIMIT_AMOUNT, path(resource), value, error.to_string())
                .origin(noticed_by(error))
                .suggest_if_known(error.suggestion());
            match error.as_ref() {
                QuantityError::FractionalExponent { .. } => {
                    finding.consequence(UNREADABLE);
                }
                QuantityError::ExponentOutOfBounds { .. } => {
                    finding.consequence(
                        "Karpenter hangs, and no pool gets nodes until Karpenter is restarted without this limit",
                    );
                }
                _ => {}
            }
            return;
        }
    };
    if quantity.is_negative() {
        findings
            .report(
                &LIMIT_AMOUNT,
                path(resource),
                value,
                "a limit must not be negative",
            )
            .consequence("the pool never launches a node")
            .suggest("write 0 or more, or remove the limit");
    } else if quantity.is_zero() && pool.replicas.is_absent() && PLAIN_RESOURCES.contains(&resource) {
        findings
            .report(
                &LIMIT_ZERO,
                path(resource),
                value,
                "a limit of 0 switches the pool off",
            )
            .consequence("the pool launches no further node, and its running nodes stay")
            .suggest("remove the limit, or keep it if that is intended");
    } else if !quantity.is_zero()
        && let Some((title, consequence, suggestion)) = other_unit(resource, value, quantity)
    {
        findings
            .report(&LIMIT_UNIT, path(resource), value, title)
            .consequence(consequence)
            .suggest(suggestion);
    }
}

/// The program that also rejects a string that is not a quantity.
pub fn noticed_by(error: &QuantityError) -> Origin {
    match error {
        QuantityError::ExponentOutOfBounds { exponent } if !is_endless(exponent) => Origin::Poolgate,
        QuantityError::TooLong { .. } => Origin::Poolgate,
        QuantityError::FractionalExponent { .. } | QuantityError::ExponentOutOfBounds { .. } => {
            Origin::Silent
        }
        QuantityError::Empty
        | QuantityError::Blank { .. }
        | QuantityError::UnknownSuffix { .. }
        | QuantityError::NotANumber => Origin::Schema,
    }
}

/// Whether Karpenter hangs on an exponent, for many seconds or forever: if it has nine digits or more. Seven digits
/// take a second.
fn is_endless(exponent: &str) -> bool {
    let digits = exponent.trim_start_matches(['+', '-', '0']);
    digits.len() > 8
}

/// Whether no node has so little of a resource, or no cluster so much.
fn is_unlikely(resource: &str, quantity: &Quantity) -> bool {
    match resource {
        "memory" => quantity.rounded_up() < LEAST_MEMORY,
        "ephemeral-storage" => quantity.rounded_up() < LEAST_STORAGE,
        "cpu" => quantity.rounded_down() < 1 || quantity.rounded_down() >= MOST_CORES,
        _ => false,
    }
}

/// The title, consequence and help for an amount that probably has the wrong unit.
fn other_unit(
    resource: &str,
    value: &Json<'_>,
    quantity: &Quantity,
) -> Option<(String, &'static str, Suggestion)> {
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
                "a limit of {} is less than any node has",
                counted(usize::try_from(quantity.rounded_up()).unwrap_or_default(), "byte")
            ),
            "the pool never launches a node",
            likely(format!("{number}Gi"), "add a unit, such as 1000Gi"),
        )),
        "cpu" if quantity.rounded_down() < 1 => Some((
            "every machine has at least one core".into(),
            "the pool never launches a node",
            "write a number of cores, such as 1000".into(),
        )),
        "cpu" => Some((
            "no cluster has that many cores".into(),
            "the limit has no effect",
            likely(number.to_owned(), "write a number of cores, such as 1000"),
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::testing::errors;

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
}
