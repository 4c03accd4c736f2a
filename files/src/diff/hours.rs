//! The hours of a week in which budgets begin or cease to let drifted nodes go.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use poolgate_core::budget::{Budgets, Reason, is_supported};
use poolgate_core::value::cron::{DAY, WEEK};
use serde::Serialize;

/// The nodes of a pool for which nobody knows how many it has: a percentage allows one of them.
const ASSUMED_NODES: u32 = 100;

/// The most ranges of a day that are spelt out.
const SPELT_OUT: usize = 4;

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
        let open = |budgets: &Budgets| open_minutes(budgets, nodes, monday);
        let changed: Vec<(bool, bool)> = open(before).into_iter().zip(open(after)).collect();
        let these = |wanted| -> Vec<bool> { changed.iter().map(|minute| *minute == wanted).collect() };
        Self {
            opens: described(&these((false, true))),
            closes: described(&these((true, false))),
        }
    }
}

/// For each minute of the week from an instant on, whether drifted nodes may go.
fn open_minutes(budgets: &Budgets, nodes: u32, from: Timestamp) -> Vec<bool> {
    let until = from
        .checked_add(SignedDuration::from_hours(7 * 24))
        .unwrap_or(from);
    let minute = |at: &Timestamp| usize::try_from(at.duration_since(from).as_secs() / 60).unwrap_or(WEEK);
    let steps = budgets.steps(Reason::Drifted, nodes, from, until);
    let ends = steps.iter().skip(1).map(|(at, _)| minute(at)).chain([WEEK]);
    let mut minutes = Vec::with_capacity(WEEK);
    for ((_, allowance), end) in steps.iter().zip(ends) {
        minutes.resize(end.max(minutes.len()), allowance.nodes() != Some(0));
    }
    minutes
}

/// The beginning of the week of an instant.
fn monday(at: Timestamp) -> Option<Timestamp> {
    let day = at.to_zoned(TimeZone::UTC).start_of_day().ok()?;
    let since = i64::from(day.weekday().to_monday_zero_offset());
    Some(day.checked_sub(since.days()).ok()?.timestamp())
}

/// The minutes of a week in words: days with the same hours together.
fn described(minutes: &[bool]) -> Vec<String> {
    if minutes.iter().all(|minute| *minute) {
        return vec!["at all hours".to_owned()];
    }
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (day, minutes) in DAYS.iter().zip(minutes.chunks(DAY)) {
        let ranges = ranges(minutes);
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

/// The hours of a day: `09:00-12:00 13:30-17:00`.
fn ranges(minutes: &[bool]) -> String {
    let mut ranges = Vec::new();
    let mut start = None;
    let clock = |minute: usize| format!("{:02}:{:02}", minute / 60, minute % 60);
    for (minute, is_in) in minutes.iter().copied().chain([false]).enumerate() {
        match (start, is_in) {
            (None, true) => start = Some(minute),
            (Some(from), false) => {
                ranges.push(format!("{}-{}", clock(from), clock(minute)));
                start = None;
            }
            _ => {}
        }
    }
    let more = ranges.len().saturating_sub(SPELT_OUT);
    ranges.truncate(SPELT_OUT);
    if more > 0 {
        ranges.push(format!("and {more} more times"));
    }
    ranges.join(" ")
}

#[cfg(test)]
mod tests {
    use poolgate_core::facts::ApiVersion;
    use poolgate_core::json::Json;
    use poolgate_core::pool::NodePool;
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
        let odd = json!([{"nodes": "10%"}, {"nodes": "0", "schedule": "30 9 * * *", "duration": "7h45m"}]);
        assert_eq!(changed(&always, &odd).closes, ["daily 09:30-17:15"]);
        let short = json!([{"nodes": "10%"}, {"nodes": "0", "schedule": "30 9 * * *", "duration": "1h"}]);
        assert_eq!(changed(&always, &short).closes, ["daily 09:30-10:30"]);
        let almost =
            json!([{"nodes": "10%"}, {"nodes": "0", "schedule": "55 9 * * *", "duration": "23h50m"}]);
        assert_eq!(changed(&frozen, &almost).opens, ["daily 09:45-09:55"]);
        let often = json!([{"nodes": "0", "schedule": "*/10 * * * *", "duration": "5m"}]);
        assert_eq!(
            changed(&always, &often).closes,
            ["daily 00:00-00:05 00:10-00:15 00:20-00:25 00:30-00:35 and 140 more times"]
        );
        let both = changed(&office, &night);
        assert_eq!((both.opens.as_slice(), both.closes.len()), (&weekdays[..], 1));
    }
}
