//! The annotation by which a user freezes a NodePool: `until=2026-12-24T00:00:00Z by=alice reason=the rest of the text`, or
//! `forever` in place of the time.
//!
//! An annotation that cannot be read freezes, too, until somebody corrects it: a slip of the pen must not let nodes go.

use std::fmt;

use jiff::Timestamp;
use serde::Serialize;

use super::keys::FREEZE_ANNOTATION;
use crate::pool::NodePool;

/// The most characters of a name or a reason that are read.
pub const MAX_FREEZE_TEXT: usize = 500;

/// What the annotation says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Freeze {
    /// When it ends; `None` if somebody has to end it.
    pub until: Option<Timestamp>,
    /// Who is said to have done it.
    pub by: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// Why the annotation cannot be read, if it cannot.
    pub mistake: Option<&'static str>,
}

impl Freeze {
    /// Parses the annotation.
    pub fn parse(text: &str) -> Self {
        let (mut freeze, mut has_end) = (Self::default(), false);
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if let Some(reason) = rest.strip_prefix("reason=") {
                freeze.reason = said(reason);
                break;
            }
            let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            rest = after.trim_start();
            match word.split_once('=') {
                Some(("until", at)) if !has_end => match at.parse() {
                    Ok(at) => freeze.until = Some(at),
                    Err(_) => return Self::unreadable("until= must be a time such as 2026-12-24T00:00:00Z"),
                },
                None if word == "forever" && !has_end => {}
                Some(("by", name)) if freeze.by.is_none() => {
                    freeze.by = said(name);
                    continue;
                }
                _ => return Self::unreadable("only until= or forever, by= and reason= are known, each once"),
            }
            has_end = true;
        }
        if has_end {
            freeze
        } else {
            Self::unreadable("until= or forever is missing")
        }
    }

    /// An annotation that cannot be read.
    pub(crate) fn unreadable(mistake: &'static str) -> Self {
        Self {
            mistake: Some(mistake),
            ..Self::default()
        }
    }

    /// True if the pool is frozen at this time.
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| now < until)
    }

    /// In words: until when, who is said to have done it, and why.
    pub fn described(&self) -> String {
        if let Some(mistake) = self.mistake {
            return format!("frozen until the annotation {FREEZE_ANNOTATION} is corrected: {mistake}");
        }
        let until = self.until.map(|until| until.to_string());
        let until = until.as_deref().unwrap_or("somebody unfreezes it");
        format!("frozen until {until}{}", self.said())
    }

    /// Who is said to have done it, and why, behind other words.
    pub(crate) fn said(&self) -> String {
        let by = self.by.as_ref().map(|by| format!(", it says by {by}"));
        let reason = self.reason.as_ref().map(|reason| format!(": {reason}"));
        format!("{}{}", by.unwrap_or_default(), reason.unwrap_or_default())
    }
}

/// The text of the annotation.
impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.until {
            Some(until) => write!(f, "until={until}")?,
            None => f.write_str("forever")?,
        }
        if let Some(by) = &self.by {
            write!(f, " by={}", words(by).join("_"))?;
        }
        match &self.reason {
            Some(reason) => write!(f, " reason={}", words(reason).join(" ")),
            None => Ok(()),
        }
    }
}

/// The words of a text, in which nothing can end a line.
fn words(text: &str) -> Vec<&str> {
    text.split(|letter: char| letter.is_whitespace() || letter.is_control())
        .filter(|word| !word.is_empty())
        .collect()
}

/// A text as it is shown: of one line, and not too long.
fn said(text: &str) -> Option<String> {
    let text: String = words(text).join(" ").chars().take(MAX_FREEZE_TEXT).collect();
    (!text.is_empty()).then_some(text)
}

impl NodePool<'_> {
    /// Its freeze, readable or not, whether it has ended or not.
    pub fn freeze(&self) -> Option<Freeze> {
        let value = self
            .annotation(FREEZE_ANNOTATION)
            .filter(|value| !value.is_null())?;
        let text = value.as_str().map(Freeze::parse);
        Some(text.unwrap_or_else(|| Freeze::unreadable("it must be a string")))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn an_annotation_is_written_as_it_is_read() {
        for (text, described) in [
            (
                "until=2026-12-24T00:00:00Z by=alice reason=no changes, budget=0",
                "frozen until 2026-12-24T00:00:00Z, it says by alice: no changes, budget=0",
            ),
            ("until=2026-12-24T00:00:00Z", "frozen until 2026-12-24T00:00:00Z"),
            (
                "forever reason=until= is not read here",
                "frozen until somebody unfreezes it: until= is not read here",
            ),
        ] {
            let freeze = Freeze::parse(text);
            assert_eq!(
                (freeze.to_string(), freeze.described()),
                (text.into(), described.into())
            );
        }
        let other_order = Freeze::parse("by=bob   until=2026-12-24T01:00:00+01:00");
        assert_eq!(other_order.to_string(), "until=2026-12-24T00:00:00Z by=bob");
    }

    #[test]
    fn a_freeze_ends_at_its_time() {
        let freeze = Freeze::parse("until=2026-12-24T00:00:00Z");
        assert!(freeze.holds_at(at("2026-12-23T23:59:59Z")));
        assert!(!freeze.holds_at(at("2026-12-24T00:00:00Z")));
        assert!(Freeze::parse("forever").holds_at(Timestamp::MAX));
    }

    #[test]
    fn what_cannot_be_read_freezes_until_it_is_corrected() {
        for text in [
            "",
            " ",
            "false",
            "until=tomorrow",
            "until=2026-12-24",
            "until=2026-12-24T00:00:00Z until=2026-12-25T00:00:00Z",
            "until=2026-12-24T00:00:00Z forever",
            "forever because=it",
            "forever=true",
            "by=alice reason=until=2026-12-24T00:00:00Z",
            "forever by=a by=b",
        ] {
            let freeze = Freeze::parse(text);
            assert!(
                freeze.mistake.is_some() && freeze.holds_at(Timestamp::MAX),
                "{text:?}: {freeze:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_none_ends_earlier_than_it_says(text in "(until=2026-12-24T00:00:00Z|forever|by=)?\\PC{0,40}") {
            let freeze = Freeze::parse(&text);
            prop_assert!(freeze.until.is_none_or(|until| text.contains("until=") && freeze.holds_at(until - jiff::SignedDuration::from_secs(1))));
        }

        #[test]
        fn whatever_is_written_is_one_line_and_read_back(by in ".{0,30}", reason in ".{0,60}", seconds in prop::option::of(0_i64..4_000_000_000)) {
            let until = seconds.map(|seconds| Timestamp::from_second(seconds).unwrap());
            let freeze = Freeze { until, by: said(&by), reason: said(&reason), mistake: None };
            let text = freeze.to_string();
            prop_assert!(!text.contains('\n'));
            let read = Freeze::parse(&text);
            prop_assert_eq!((read.until, &read.reason, read.mistake), (until, &freeze.reason, None));
            prop_assert_eq!(read.by.map(|by| by.replace('_', " ")), freeze.by.map(|by| by.replace('_', " ")));
        }
    }
}
