//! The hours of a week in which budgets begin or cease to let drifted nodes go.

use std::fmt::Write as _;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use poolgate_core::budget::{Budgets, HOURS, Reason, is_supported};
use serde::Serialize;

/// The nodes of a pool for which nobody knows how many it has: a percentage allows one of them.
const ASSUMED_NODES: u32 = 100;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The hours in which drifted nodes may go and had to stay before, and the reverse, such as `Mon Tue 09:00-17:00`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangedHours {
    pub opens: Vec<String>,
    pub closes: Vec<String>,
}

impl ChangedHours {
    /// Compares the week of an instant, from its Monday on, in UTC.
    pub fn between(before: &Budgets, after: &Budgets, nodes: Option<u32>, at: Timestamp) -> Self {
        let Some(monday) = monday(at).filter(|monday| is_supported(*monday)) else {
            return Self::default();
        };
        let nodes = nodes.filter(|nodes| *nodes > 0).unwrap_or(ASSUMED_NODES);
        let open = |budgets: &Budgets| -> Vec<bool> {
            let week = budgets.week(&[Reason::Drifted], nodes, monday);
            let hours = week.iter().flatten();
            hours.map(|hour| hour.highest.nodes() != Some(0)).collect()
        };
        let changed: Vec<(bool, bool)> = open(before).into_iter().zip(open(after)).collect();
        let these = |wanted| -> Vec<bool> { changed.iter().map(|hour| *hour == wanted).collect() };
        Self {
            opens: described(&these((false, true))),
            closes: described(&these((true, false))),
        }
    }
}

/// The beginning of the week of an instant.
fn monday(at: Timestamp) -> Option<Timestamp> {
    let day = at.to_zoned(TimeZone::UTC).start_of_day().ok()?;
    let since = i64::from(day.weekday().to_monday_zero_offset());
    Some(day.checked_sub(since.days()).ok()?.timestamp())
}

/// The hours in words: days with the same hours together.
fn described(hours: &[bool]) -> Vec<String> {
    if hours.len() == HOURS && hours.iter().all(|hour| *hour) {
        return vec!["at all hours".to_owned()];
    }
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (day, hours) in DAYS.iter().zip(hours.chunks(24)) {
        let ranges = ranges(hours);
        if ranges.is_empty() {
            continue;
        }
        match groups.iter_mut().find(|(same, _)| *same == ranges) {
            Some((_, days)) => days.push(day),
            None => groups.push((ranges, vec![day])),
        }
    }
    let words = |(ranges, days): (String, Vec<&str>)| match days.len() {
        7 => format!("daily {ranges}"),
        _ => format!("{} {ranges}", days.join(" ")),
    };
    groups.into_iter().map(words).collect()
}

/// The hours of a day: `09:00-12:00 13:00-17:00`.
fn ranges(hours: &[bool]) -> String {
    let mut text = String::new();
    let mut start = None;
    for (hour, is_in) in hours.iter().copied().chain([false]).enumerate() {
        match (start, is_in) {
            (None, true) => start = Some(hour),
            (Some(from), false) => {
                let space = if text.is_empty() { "" } else { " " };
                let _ = write!(text, "{space}{from:02}:00-{hour:02}:00");
                start = None;
            }
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use poolgate_core::json::Json;
    use poolgate_core::karpenter::{ApiVersion, NodePool};
    use serde_json::{Value, json};

    use super::*;

    fn changed(before: &Value, after: &Value) -> ChangedHours {
        let budgets = |budgets: &Value| {
            let pool = json!({"spec": {"disruption": {"budgets": budgets}}});
            let pool = Json::from(&pool);
            Budgets::parse(&NodePool::view(ApiVersion::V1, &pool)).expect("budgets")
        };
        let at = "2026-01-07T10:30:00Z".parse().expect("an instant");
        ChangedHours::between(&budgets(before), &budgets(after), None, at)
    }

    #[test]
    fn hours_that_close_or_open_are_those_of_a_week_in_utc() {
        let always = json!([{"nodes": "10%"}]);
        let frozen = json!([{"nodes": "0"}]);
        let office =
            json!([{"nodes": "10%"}, {"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]);
        let night = json!([{"nodes": "10%"}, {"nodes": "0", "schedule": "0 22 * * *", "duration": "4h"}]);
        assert_eq!(changed(&always, &always), ChangedHours::default());
        let weekdays = ["Mon Tue Wed Thu Fri 09:00-17:00".to_owned()];
        assert_eq!(changed(&always, &office).closes, weekdays);
        assert_eq!(changed(&office, &always).opens, weekdays);
        assert_eq!(changed(&always, &frozen).closes, ["at all hours"]);
        assert_eq!(changed(&always, &night).closes, ["daily 00:00-02:00 22:00-24:00"]);
        let both = changed(&office, &night);
        assert_eq!((both.opens.as_slice(), both.closes.len()), (&weekdays[..], 1));
    }
}
