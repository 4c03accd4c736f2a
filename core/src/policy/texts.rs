//! The strings of a policy file: how each is read, and how a JSON Schema describes it. The grammars are those of NodePools,
//! so that a policy cannot say what a NodePool could not.

use std::time::Duration;

use serde_json::{Value, json};

use super::glob::Glob;
use super::kinds::{Text, Wrong, wrong};
use super::record::{At, Found, Kind};
use crate::diagnostic::{FieldPath, Suggestion};
use crate::facts::shape::nodepool;
use crate::facts::{
    ApiVersion, KarpenterVersion, ProviderVersion, TargetKarpenter, is_resource, likely_resource,
};
use crate::value::cron::Schedule;
use crate::value::duration::{BudgetDuration, GoDuration, NillableDuration, NillableDurationError};
use crate::value::label::{is_object_name, label_value, qualified_name};
use crate::value::nodes::BudgetNodes;
use crate::value::quantity::Quantity;

/// The longest drain of a broken node. The node counts against the limit all that time.
const LONGEST_REPAIR: Duration = Duration::from_hours(24);

/// A value that was parsed from text, with that text for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<T> {
    /// The text in the policy.
    pub text: String,
    /// The parsed value.
    pub value: T,
}

impl<T> Written<T> {
    pub(crate) fn new(text: &str, value: T) -> Self {
        Self {
            text: text.to_owned(),
            value,
        }
    }
}

/// A quantity of 0 or more, as a string or as a whole number.
#[derive(Debug)]
pub struct Amount;

impl Kind for Amount {
    type Value = Written<Quantity>;

    fn read(&self, value: &Value, path: &FieldPath, found: &mut Found) -> Option<Self::Value> {
        if let Value::String(text) = value {
            return QUANTITY.parsed(text, At::Value, path, found);
        }
        let Some(number) = value.as_u64() else {
            found.mistyped(path, value, "a quantity of 0 or more (such as 500 or 4Ti)", None);
            return None;
        };
        Some(Written {
            text: number.to_string(),
            value: Quantity::from(number),
        })
    }

    fn schema(&self) -> Value {
        json!({"type": ["string", "integer"], "minimum": 0})
    }
}

const QUANTITY: Text<Written<Quantity>> = Text {
    pattern: || None,
    parse: |text| match Quantity::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(quantity) if quantity.is_negative() => wrong("a limit must not be negative", None::<String>),
        Ok(quantity) => Ok(Written::new(text, quantity)),
    },
};

pub const BUDGET_NODES: Text<String> = Text {
    pattern: || of_field("spec.disruption.budgets[].nodes"),
    parse: |text| match BudgetNodes::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => wrong(error.to_string(), error.suggestion),
    },
};

/// The pattern of a field in the newest definition.
fn of_field(path: &str) -> Option<&'static str> {
    nodepool(ApiVersion::V1)
        .at(path)
        .pattern(KarpenterVersion::NEWEST)
}

/// True if Karpenter's CRD rejects the schedule of a budget.
fn rejects_schedule(text: &str) -> bool {
    TargetKarpenter::default().rejects("spec.disruption.budgets[].schedule", ApiVersion::V1, text)
}

pub const SCHEDULE: Text<Written<Schedule>> = Text {
    pattern: || Some(r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|(\S+\s+){4}\S+)$"),
    parse: |text| match Schedule::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(_) if rejects_schedule(text) => wrong("Karpenter's CRD rejects this schedule", None::<String>),
        Ok(schedule) if schedule.never_fires() => wrong("this schedule never fires", None::<String>),
        Ok(schedule) => Ok(Written::new(text, schedule)),
    },
};

pub const BUDGET_DURATION: Text<Written<BudgetDuration>> = Text {
    pattern: || of_field("spec.disruption.budgets[].duration"),
    parse: |text| match BudgetDuration::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion),
        Ok(duration) if duration.is_zero() => wrong("a window needs a length", Some("write 8h, for example")),
        Ok(duration) => Ok(Written::new(text, duration)),
    },
};

/// A length of time as NodePools have it outside of budgets.
pub const DURATION: Text<Written<GoDuration>> = Text {
    pattern: || of_field("spec.template.spec.terminationGracePeriod"),
    parse: |text| match NillableDuration::parse(text) {
        Ok(NillableDuration::After(length)) => Ok(Written::new(text, length.into())),
        Ok(NillableDuration::Never) | Err(NillableDurationError::NeverMisspelt) => {
            wrong("Never is no length of time", Some("write 24h, for example"))
        }
        Err(error @ NillableDurationError::Overflow) => wrong(error.to_string(), None::<String>),
        Err(error) => wrong(error.to_string(), error.suggestion()),
    },
};

pub const DURATION_OR_NEVER: Text<String> = Text {
    pattern: || of_field("spec.disruption.consolidateAfter"),
    parse: |text| match NillableDuration::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => wrong(error.to_string(), error.suggestion()),
    },
};

/// A duration longer than nothing and not longer than [`LONGEST_REPAIR`].
pub const REPAIR_GRACE_PERIOD: Text<Duration> = Text {
    pattern: DURATION.pattern,
    parse: |text| match (DURATION.parse)(text)?.value.as_duration() {
        Some(Duration::ZERO) => wrong("pods need time to leave a node", Some("write 10m, for example")),
        Some(length) if length <= LONGEST_REPAIR => Ok(length),
        _ => wrong(
            "a broken node has at most a day to drain",
            Some("write 24h or less"),
        ),
    },
};

pub const DATE: Text<jiff::civil::Date> = Text {
    pattern: || Some("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"),
    // jiff reads a date with a time, too.
    parse: |text| match text.parse() {
        Ok(date) if text.len() == "2027-06-30".len() => Ok(date),
        _ => wrong("this is not a date", Some("write 2027-06-30, for example")),
    },
};

pub const RELEASE: Text<KarpenterVersion> = Text {
    pattern: || None,
    parse: |text| match text.parse::<KarpenterVersion>() {
        Ok(release) => Ok(release),
        Err(error) => wrong(error.to_string(), None::<String>),
    },
};

pub const PROVIDER_RELEASE: Text<ProviderVersion> = Text {
    pattern: || Some(r"^v?[0-9]+\.[0-9]+(\.[0-9]+)?$"),
    parse: |text| match text.parse::<ProviderVersion>() {
        Ok(release) => Ok(release),
        Err(_) => wrong("this is not a release", Some("write it as 1.14.0")),
    },
};

pub const RESOURCE: Text<String> = Text {
    pattern: || {
        Some("^(cpu|memory|nodes|pods|ephemeral-storage|hugepages-.+|[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)$")
    },
    parse: |text| {
        let likely = likely_resource(text).map(Suggestion::did_you_mean);
        is(
            text,
            is_resource(text),
            "nodes have no resource of this name",
            likely,
        )
    },
};

pub const LABEL_KEY: Text<String> = Text {
    pattern: || Some(r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"),
    parse: |text| {
        let suggestion = Some("write it as example.com/team or team");
        is(
            text,
            qualified_name(text).is_ok(),
            "this is not a label key",
            suggestion,
        )
    },
};

pub const LABEL_VALUE: Text<String> = Text {
    pattern: || Some("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"),
    parse: |text| {
        let reason = "a label's value has at most 63 letters, digits, dashes, underscores and dots";
        is(text, label_value(text).is_ok(), reason, None::<String>)
    },
};

pub const DOMAIN: Text<String> = Text {
    pattern: || Some("^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"),
    parse: |text| {
        let suggestion = Some("write it as example.com, without a slash or a star");
        is(text, is_object_name(text), "this is not a domain", suggestion)
    },
};

pub const POOL_PATTERN: Text<Glob> = Text {
    pattern: || Some("^[a-z0-9.*-]+$"),
    parse: |text| {
        let is_legal = is_pattern(text) && !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let suggestion = Some("use lower-case letters, digits, dashes and dots, and * for any of them");
        is(
            text,
            is_legal,
            "this cannot be the name of a NodePool",
            suggestion,
        )
        .map(Glob::new)
    },
};

pub const NAME_PATTERN: Text<Glob> = Text {
    pattern: || Some("^[A-Za-z0-9.*-]+$"),
    parse: |text| {
        let suggestion = Some("use letters, digits, dashes and dots, and * for any of them");
        is(text, is_pattern(text), "this cannot be a name", suggestion).map(Glob::new)
    },
};

pub const FREE_TEXT: Text<String> = Text {
    pattern: || None,
    parse: |text| {
        let is_line = !text.chars().any(char::is_control);
        is(text, is_line, "the string must be one line", None::<String>)
    },
};

/// The string itself if it is legal.
fn is(
    text: &str,
    is_legal: bool,
    reason: &str,
    suggestion: Option<impl Into<Suggestion>>,
) -> Result<String, Wrong> {
    if is_legal {
        return Ok(text.to_owned());
    }
    wrong(reason, suggestion)
}

/// True if a string is a name in which a star matches any characters.
fn is_pattern(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.*".contains(&byte);
    !text.is_empty() && text.bytes().all(is_legal)
}
