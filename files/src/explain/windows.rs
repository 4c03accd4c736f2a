//! When a budget is active next.

use std::fmt::Write as _;

use jiff::Timestamp;
use poolgate_core::budget::{Budgets, Timing, is_supported, utc};
use poolgate_core::value::duration::BudgetDuration;

/// How many windows are listed.
const WINDOWS: usize = 5;

/// The next windows of a budget with a schedule, in Markdown; `None` if they cannot be computed.
pub fn next(budgets: &Budgets, index: usize, at: Timestamp) -> Option<String> {
    let budget = budgets.iter().nth(index)?;
    let schedule = budget.schedule.as_ref().present()?.value.as_ref().ok()?;
    let windows = match &budget.timing {
        Timing::Always if schedule.never_fires() => {
            return Some(
                "The schedule never fires. Karpenter then treats the budget as always active.\n".into(),
            );
        }
        Timing::Always => return Some("The windows leave no gap: the budget is always active.\n".into()),
        Timing::Never => return Some("No window opens: the budget is never active.\n".into()),
        Timing::Windows(windows) if is_supported(at) => windows,
        Timing::Windows(_) | Timing::Blocked | Timing::Unreadable => return None,
    };
    let minutes = windows.duration().as_secs() / 60;
    let mut text = format!("The next windows, each {}:\n\n", BudgetDuration::written(minutes));
    for (start, end) in windows.after(at, WINDOWS) {
        let since = if start <= at { "open since " } else { "" };
        let end = end.map_or_else(|| "no known end".to_owned(), utc);
        let _ = writeln!(text, "- {since}{} to {end}", utc(start));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use poolgate_core::facts::ApiVersion;
    use poolgate_core::json::Json;
    use poolgate_core::pool::NodePool;
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_that_join_are_one_and_what_has_none_says_why() {
        let explained = |schedule: &str, duration: &str| {
            let budget = json!({"nodes": "0", "schedule": schedule, "duration": duration});
            let pool = json!({"spec": {"disruption": {"budgets": [budget]}}});
            let pool = Json::from(&pool);
            let budgets = Budgets::parse_all(&NodePool::view(ApiVersion::V1, &pool));
            next(&budgets, 0, "2027-01-01T10:00:00Z".parse().unwrap())
        };
        let joined = explained("0 9,12 * * fri", "4h").unwrap();
        let expected = "\
The next windows, each 4h:

- open since Fri 2027-01-01 09:00 UTC to Fri 2027-01-01 16:00 UTC
- Fri 2027-01-08 09:00 UTC to Fri 2027-01-08 16:00 UTC
- Fri 2027-01-15 09:00 UTC to Fri 2027-01-15 16:00 UTC
- Fri 2027-01-22 09:00 UTC to Fri 2027-01-22 16:00 UTC
- Fri 2027-01-29 09:00 UTC to Fri 2027-01-29 16:00 UTC
";
        assert_eq!(joined, expected);
        let begins = |schedule: &str, duration: &str, words: &str| {
            assert!(
                explained(schedule, duration).is_some_and(|text| text.starts_with(words)),
                "{schedule}"
            );
        };
        begins("0 0 30 2 *", "1h", "The schedule never fires.");
        begins("@hourly", "1h", "The windows leave no gap");
        begins("@every 2h", "1h", "No window opens");
        assert_eq!(explained("0 9 * *", "1h"), None);
        assert_eq!(explained("0 9 * * *", "1d"), None);
    }
}
