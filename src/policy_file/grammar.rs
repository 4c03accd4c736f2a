//! The texts of a policy file: how each is judged, and how a JSON Schema describes it. The grammars themselves are
//! core's, so that a policy cannot say what a NodePool could not.

use poolgate_core::diagnostic::Suggestion;
use poolgate_core::policy::Glob;
use poolgate_core::rules::{CATALOGUE, find};
use poolgate_core::value::cron::{Schedule, crd_accepts};
use poolgate_core::value::duration::{BudgetDuration, GoDuration};
use poolgate_core::value::nodes::BudgetNodes;
use poolgate_core::value::quantity::Quantity;

/// Longest text that is read. Nobody writes one by hand that is a tenth as long.
const LONGEST_TEXT: usize = 1_024;

/// Resources that have no domain in their name.
const PLAIN_RESOURCES: &[&str] = &["cpu", "memory", "nodes", "pods", "ephemeral-storage"];

/// Why a text may not stand where it does.
#[derive(Debug)]
pub(super) struct Wrong {
    /// What is wrong: a clause without final stop.
    pub(super) reason: String,
    /// What to write instead, where that is known.
    pub(super) suggestion: Option<String>,
}

/// A kind of text.
#[derive(Debug)]
pub(super) struct Grammar {
    /// What it looks like to a JSON Schema, roughly: a regular expression.
    pub(super) pattern: Option<&'static str>,
    judge: fn(&str) -> Result<(), Wrong>,
}

impl Grammar {
    /// Whether a text is one of this kind.
    pub(super) fn judge(&self, text: &str) -> Result<(), Wrong> {
        if text.len() > LONGEST_TEXT {
            let reason = format!("it is {} bytes long, at most {LONGEST_TEXT} are read", text.len());
            return Err(Wrong {
                reason,
                suggestion: None,
            });
        }
        (self.judge)(text)
    }
}

pub(super) static BUDGET_NODES: Grammar = Grammar {
    pattern: Some("^((100|[0-9]{1,2})%|[0-9]+)$"),
    judge: |text| match BudgetNodes::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => wrong(error.to_string(), error.suggestion()),
    },
};

pub(super) static SCHEDULE: Grammar = Grammar {
    pattern: Some(r"^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|(\S+\s+){4}\S+)$"),
    judge: |text| match Schedule::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(_) if !crd_accepts(text) => wrong("Karpenter's CRD does not take this schedule", None::<String>),
        Ok(schedule) if schedule.never_fires() => wrong("this never happens", None::<String>),
        Ok(_) => Ok(()),
    },
};

pub(super) static BUDGET_DURATION: Grammar = Grammar {
    pattern: Some("^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$"),
    judge: |text| match BudgetDuration::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(duration) if duration.is_zero() => wrong("a window needs a length", Some("write 8h, for example")),
        Ok(_) => Ok(()),
    },
};

/// The pattern of Karpenter's CRD for lengths of time other than a budget's.
pub(super) static DURATION: Grammar = Grammar {
    pattern: Some("^([0-9]+(s|m|h))+$"),
    judge: judge_duration,
};

pub(super) static DURATION_OR_NEVER: Grammar = Grammar {
    pattern: Some("^(([0-9]+(s|m|h))+|Never)$"),
    judge: |text| {
        if text == "Never" {
            return Ok(());
        }
        if text.eq_ignore_ascii_case("never") {
            return wrong("the word begins with a capital letter", Some("write Never"));
        }
        judge_duration(text)
    },
};

pub(super) static QUANTITY: Grammar = Grammar {
    pattern: None,
    judge: |text| match Quantity::parse(text) {
        Err(error) => wrong(error.to_string(), error.suggestion()),
        Ok(quantity) if quantity.is_negative() => wrong("a limit is not negative", None::<String>),
        Ok(_) => Ok(()),
    },
};

pub(super) static RESOURCE: Grammar = Grammar {
    pattern: Some("^(cpu|memory|nodes|pods|ephemeral-storage|hugepages-.+|[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)$"),
    judge: |text| {
        if PLAIN_RESOURCES.contains(&text) || text.starts_with("hugepages-") || is_qualified(text) {
            return Ok(());
        }
        wrong(
            "nodes have no resource of this name",
            did_you_mean(text, PLAIN_RESOURCES.iter().copied()),
        )
    },
};

pub(super) static LABEL_KEY: Grammar = Grammar {
    pattern: Some(r"^([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"),
    judge: |text| {
        let (domain, name) = text
            .split_once('/')
            .map_or((None, text), |(domain, name)| (Some(domain), name));
        let ends = |text: &str, is: fn(char) -> bool| text.starts_with(is) && text.ends_with(is);
        let is_name = name.len() <= 63
            && ends(name, |c| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if is_name && domain.is_none_or(is_domain) {
            return Ok(());
        }
        wrong(
            "this is no label key",
            Some("write it as example.com/team or team"),
        )
    },
};

pub(super) static LABEL_VALUE: Grammar = Grammar {
    pattern: Some("^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$"),
    judge: |text| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let ends = |c: char| c.is_ascii_alphanumeric();
        let is_value =
            text.len() <= 63 && text.bytes().all(legal) && text.starts_with(ends) && text.ends_with(ends);
        if text.is_empty() || is_value {
            return Ok(());
        }
        wrong(
            "a label's value has at most 63 letters, digits, dashes, underscores and dots",
            None::<String>,
        )
    },
};

pub(super) static DOMAIN: Grammar = Grammar {
    pattern: Some("^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$"),
    judge: |text| {
        if is_domain(text) {
            return Ok(());
        }
        wrong(
            "this is no domain",
            Some("write it as example.com, without a slash or a star"),
        )
    },
};

pub(super) static POOL_PATTERN: Grammar = Grammar {
    pattern: Some("^[a-z0-9.*-]+$"),
    judge: |text| {
        let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.*".contains(&byte);
        if !text.is_empty() && text.bytes().all(legal) {
            return Ok(());
        }
        wrong(
            "no NodePool has such a name",
            Some("write small letters, digits, dashes and dots; * stands for any of them"),
        )
    },
};

pub(super) static NAME_PATTERN: Grammar = Grammar {
    pattern: Some("^[A-Za-z0-9.*-]+$"),
    judge: |text| {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-.*".contains(&byte);
        if !text.is_empty() && text.bytes().all(legal) {
            return Ok(());
        }
        wrong(
            "nothing has such a name",
            Some("write letters, digits, dashes and dots; * stands for any of them"),
        )
    },
};

pub(super) static RULE: Grammar = Grammar {
    pattern: None,
    judge: |text| match find(text) {
        Some(_) => Ok(()),
        None => unknown_rule(text),
    },
};

pub(super) static RULE_PATTERN: Grammar = Grammar {
    pattern: Some("^[a-z*-]+$"),
    judge: |text| {
        let pattern = Glob::new(text);
        if CATALOGUE.iter().any(|rule| pattern.matches(rule.id.as_str())) {
            return Ok(());
        }
        unknown_rule(text)
    },
};

pub(super) static FREE_TEXT: Grammar = Grammar {
    pattern: None,
    judge: |text| {
        if text.chars().any(char::is_control) {
            return wrong("it must be one line", None::<String>);
        }
        Ok(())
    },
};

/// The word that was probably meant, as a question.
pub(super) fn did_you_mean<'w>(written: &str, words: impl Iterator<Item = &'w str>) -> Option<String> {
    /// What is less alike is another word.
    const ALIKE: f64 = 0.75;
    let folded = written.to_lowercase();
    let alike = words.map(|word| (strsim::jaro_winkler(&folded, &word.to_lowercase()), word));
    let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.filter(|(alike, _)| *alike >= ALIKE)
        .map(|(_, word)| format!("did you mean {word}?"))
}

fn unknown_rule(text: &str) -> Result<(), Wrong> {
    let names = CATALOGUE.iter().map(|rule| rule.id.as_str());
    wrong(
        "there is no such rule",
        did_you_mean(text, names).or_else(|| Some("`poolgate rules` lists them all".into())),
    )
}

fn judge_duration(text: &str) -> Result<(), Wrong> {
    match GoDuration::parse(text) {
        Err(error) => wrong(error.to_string(), None::<String>),
        Ok(_)
            if text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"smh".contains(&byte))
                && text != "0" =>
        {
            Ok(())
        }
        Ok(_) => wrong(
            "Karpenter's CRD takes whole seconds, minutes and hours",
            Some("write 30s, 5m or 1h30m, for example"),
        ),
    }
}

fn is_qualified(text: &str) -> bool {
    let part = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    text.split_once('/')
        .is_some_and(|(domain, name)| part(domain) && part(name))
}

fn is_domain(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 253 && text.bytes().all(legal) && text.starts_with(ends) && text.ends_with(ends)
}

fn wrong(reason: impl Into<String>, suggestion: Option<impl Into<Suggestion>>) -> Result<(), Wrong> {
    Err(Wrong {
        reason: reason.into(),
        suggestion: suggestion.map(|suggestion| suggestion.into().text),
    })
}
