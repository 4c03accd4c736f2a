//! The texts of a policy file: how each is checked, and how a JSON Schema describes it. The grammars themselves are
//! core's, so that a policy cannot say what a NodePool could not.

use std::time::Duration;

use crate::diagnostic::{Suggestion, nearest};
use crate::karpenter::{ApiVersion, KarpenterVersion, ProviderVersion, TargetKarpenter};
use crate::policy::{FeatureGate, Glob};
use crate::rules::{CATALOGUE, find};
use crate::value::cron::Schedule;
use crate::value::duration::{BudgetDuration, GoDuration};
use crate::value::label::{is_object_name, label_value, qualified_name};
use crate::value::nodes::BudgetNodes;
use crate::value::quantity::Quantity;

/// Longest text that is read. Nobody writes one by hand that is a tenth as long.
const LONGEST_TEXT: usize = 1_024;

/// Longest that a broken node may be left to drain. Its place counts against the limit all that time.
const LONGEST_REPAIR: Duration = Duration::from_hours(24);

/// Resources that have no domain in their name.
const PLAIN_RESOURCES: &[&str] = &["cpu", "memory", "nodes", "pods", "ephemeral-storage"];

/// Why a text is not allowed where it is.
#[derive(Debug)]
pub struct Wrong {
    /// What is wrong: a clause without final stop.
    pub reason: String,
    /// What to write instead, if that is known.
    pub suggestion: Option<String>,
}

/// A kind of text.
#[derive(Debug)]
pub struct Grammar {
    /// What it looks like to a JSON Schema, roughly: a regular expression.
    pub pattern: Option<&'static str>,
    check: Check,
}

/// How a text of this kind is known.
#[derive(Debug)]
enum Check {
    /// It is one, or this is wrong with it and this is to be written.
    Is(fn(&str) -> bool, &'static str, Option<&'static str>),
    /// What is wrong depends on the text.
    Says(fn(&str) -> Result<(), Wrong>),
}

impl Grammar {
    /// Whether a text is one of this kind.
    pub fn check(&self, text: &str) -> Result<(), Wrong> {
        if text.len() > LONGEST_TEXT {
            let reason = format!("it is {} bytes long; at most {LONGEST_TEXT} are read", text.len());
            return wrong(reason, None::<String>);
        }
        match self.check {
            Check::Says(check) => check(text),
            Check::Is(is, ..) if is(text) => Ok(()),
            Check::Is(_, reason, suggestion) => wrong(reason, suggestion),
        }
    }
}

pub static BUDGET_NODES: Grammar = Grammar {
    pattern: Some("^((100|[0-9]{1,2})%|[0-9]+)$"),
    check: Check::Says(|text| match BudgetNodes::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => wrong(error.to_string(), error.suggestion),
    }),
};

/// Whether Karpenter's CRD rejects the schedule of a budget.
fn rejects_schedule(text: &str) -> bool {
    TargetKarpenter::default().rejects("spec.disruption.budgets[].schedule", ApiVersion::V1, text)
}

pub static SCHEDULE: Grammar = Grammar {
    pattern: Some(r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|(\S+\s+){4}\S+)$"),
    check: Check::Says(|text| match Schedule::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(_) if rejects_schedule(text) => {
            wrong("Karpenter's CRD does not accept this schedule", None::<String>)
        }
        Ok(schedule) if schedule.never_fires() => wrong("this schedule never fires", None::<String>),
        Ok(_) => Ok(()),
    }),
};

pub static BUDGET_DURATION: Grammar = Grammar {
    pattern: Some("^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"),
    check: Check::Says(|text| match BudgetDuration::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion),
        Ok(duration) if duration.is_zero() => wrong("a window needs a length", Some("write 8h, for example")),
        Ok(_) => Ok(()),
    }),
};

pub static RELEASE: Grammar = Grammar {
    pattern: None,
    check: Check::Says(|text| match text.parse::<KarpenterVersion>() {
        Ok(_) => Ok(()),
        Err(error) => wrong(error.to_string(), None::<String>),
    }),
};

pub static PROVIDER_RELEASE: Grammar = Grammar {
    pattern: Some(r"^v?[0-9]+\.[0-9]+(\.[0-9]+)?$"),
    check: Check::Is(
        |text| text.parse::<ProviderVersion>().is_ok(),
        "it is not a release",
        Some("write it as 1.14.0"),
    ),
};

pub static FEATURE_GATE: Grammar = Grammar {
    pattern: None,
    check: Check::Says(|text| {
        if FeatureGate::parse(text).is_some() {
            return Ok(());
        }
        let likely = did_you_mean(text, FeatureGate::VALUES.iter().copied());
        let known = || format!("known are {}", FeatureGate::VALUES.join(", "));
        wrong(
            "no finding depends on a gate of this name",
            Some(likely.unwrap_or_else(known)),
        )
    }),
};

pub static DATE: Grammar = Grammar {
    pattern: Some("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    check: Check::Is(
        // jiff reads a date with a time, too.
        |text| text.len() == "2027-06-30".len() && text.parse::<jiff::civil::Date>().is_ok(),
        "this is not a date",
        Some("write 2027-06-30, for example"),
    ),
};

/// The pattern of Karpenter's CRD for lengths of time other than a budget's.
pub static DURATION: Grammar = Grammar {
    pattern: Some("^([0-9]+(s|m|h))+$"),
    check: Check::Says(check_duration),
};

/// A duration longer than nothing and not longer than [`LONGEST_REPAIR`].
pub static REPAIR_GRACE_PERIOD: Grammar = Grammar {
    pattern: DURATION.pattern,
    check: Check::Says(|text| {
        check_duration(text)?;
        match GoDuration::parse(text).ok().and_then(GoDuration::as_duration) {
            Some(Duration::ZERO) => wrong("pods need time to leave a node", Some("write 10m, for example")),
            Some(length) if length > LONGEST_REPAIR => {
                wrong("it is longer than a day", Some("write 24h or less"))
            }
            _ => Ok(()),
        }
    }),
};

pub static DURATION_OR_NEVER: Grammar = Grammar {
    pattern: Some("^(([0-9]+(s|m|h))+|Never)$"),
    check: Check::Says(|text| {
        if text == "Never" {
            return Ok(());
        }
        if text.eq_ignore_ascii_case("never") {
            return wrong("the word begins with a capital letter", Some("write Never"));
        }
        check_duration(text)
    }),
};

pub static QUANTITY: Grammar = Grammar {
    pattern: None,
    check: Check::Says(|text| match Quantity::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(quantity) if quantity.is_negative() => wrong("a limit must not be negative", None::<String>),
        Ok(_) => Ok(()),
    }),
};

pub static RESOURCE: Grammar = Grammar {
    pattern: Some("^(cpu|memory|nodes|pods|ephemeral-storage|hugepages-.+|[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)$"),
    check: Check::Says(|text| {
        if PLAIN_RESOURCES.contains(&text) || text.starts_with("hugepages-") || is_extended(text) {
            return Ok(());
        }
        wrong(
            "nodes have no resource of this name",
            did_you_mean(text, PLAIN_RESOURCES.iter().copied()),
        )
    }),
};

pub static LABEL_KEY: Grammar = Grammar {
    pattern: Some(r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"),
    check: Check::Is(
        |text| qualified_name(text).is_ok(),
        "this is not a label key",
        Some("write it as example.com/team or team"),
    ),
};

pub static LABEL_VALUE: Grammar = Grammar {
    pattern: Some("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"),
    check: Check::Is(
        |text| label_value(text).is_ok(),
        "a label's value has at most 63 letters, digits, dashes, underscores and dots",
        None,
    ),
};

pub static DOMAIN: Grammar = Grammar {
    pattern: Some("^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"),
    check: Check::Is(
        is_object_name,
        "this is not a domain",
        Some("write it as example.com, without a slash or a star"),
    ),
};

pub static POOL_PATTERN: Grammar = Grammar {
    pattern: Some("^[a-z0-9.*-]+$"),
    check: Check::Is(
        |text| is_pattern(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase()),
        "a NodePool cannot have such a name",
        Some("write lower-case letters, digits, dashes and dots; * stands for any of them"),
    ),
};

pub static NAME_PATTERN: Grammar = Grammar {
    pattern: Some("^[A-Za-z0-9.*-]+$"),
    check: Check::Is(
        is_pattern,
        "nothing can have such a name",
        Some("write letters, digits, dashes and dots; * stands for any of them"),
    ),
};

pub static RULE: Grammar = Grammar {
    pattern: None,
    check: Check::Says(|text| match find(text) {
        Some(_) => Ok(()),
        None => unknown_rule(text),
    }),
};

pub static RULE_PATTERN: Grammar = Grammar {
    pattern: Some("^[a-z*-]+$"),
    check: Check::Says(|text| {
        let pattern = Glob::new(text);
        if CATALOGUE.iter().any(|rule| pattern.matches(rule.id.as_str())) {
            return Ok(());
        }
        unknown_rule(text)
    }),
};

pub static FREE_TEXT: Grammar = Grammar {
    pattern: None,
    check: Check::Is(
        |text| !text.chars().any(char::is_control),
        "it must be one line",
        None,
    ),
};

/// The word that was probably meant, as a question.
pub fn did_you_mean<'w>(written: &str, words: impl Iterator<Item = &'w str>) -> Option<String> {
    nearest(written, words).map(|word| Suggestion::did_you_mean(word).text)
}

fn unknown_rule(text: &str) -> Result<(), Wrong> {
    let names = CATALOGUE.iter().map(|rule| rule.id.as_str());
    wrong(
        "there is no such rule",
        Some(Suggestion::likely_name(text, names).unwrap_or_else(|| {
            Suggestion::from("`poolgate rules` lists them all; what only lint reports has no level")
        })),
    )
}

fn check_duration(text: &str) -> Result<(), Wrong> {
    let is_whole = |byte: u8| byte.is_ascii_digit() || b"smh".contains(&byte);
    match GoDuration::parse(text) {
        Err(error) => wrong(error.to_string(), None::<String>),
        Ok(_) if text != "0" && text.bytes().all(is_whole) => Ok(()),
        Ok(_) => wrong(
            "it must be whole seconds, minutes and hours, as in Karpenter's CRD",
            Some("write 30s, 5m or 1h30m, for example"),
        ),
    }
}

/// Whether a text can name a resource that a device plugin brings.
fn is_extended(text: &str) -> bool {
    text.contains('/') && qualified_name(text).is_ok()
}

/// Whether a text is a name in which a star matches any characters.
fn is_pattern(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.*".contains(&byte);
    !text.is_empty() && text.bytes().all(is_legal)
}

fn wrong(reason: impl Into<String>, suggestion: Option<impl Into<Suggestion>>) -> Result<(), Wrong> {
    Err(Wrong {
        reason: reason.into(),
        suggestion: suggestion.map(|suggestion| suggestion.into().text),
    })
}
