//! Whether nodes may ever be disrupted.

use super::list::{Budgets, Timing};
use super::reasons::Reason;
use crate::karpenter::NodePool;
use crate::value::cron::WeekMinutes;

/// Whether a pool never lets a drifted node be replaced. Other rules report budgets that cannot be read, or not in full.
pub(crate) fn never_allows_drift(pool: &NodePool<'_>) -> bool {
    let disruption = pool.disruption.as_ref().present();
    let mut budgets = disruption
        .and_then(|disruption| disruption.budgets.as_ref().present())
        .into_iter()
        .flatten();
    !budgets.any(|budget| budget.has_unknown_field(pool.version))
        && Budgets::parse(pool).is_ok_and(|budgets| budgets.never_allows(Reason::Drifted))
}

impl Budgets {
    /// Whether no node may ever be disrupted for a reason, whatever the size of the pool: some budget of 0 applies
    /// at every minute of every week. Windows of dates and months count as open, because the rest is not the same
    /// every week.
    pub(crate) fn never_allows(&self, reason: Reason) -> bool {
        self.never_allows_beside(&WeekMinutes::NONE, reason)
    }

    /// Like [`Self::never_allows`], with one more budget of 0 at these minutes of the week.
    pub(crate) fn never_allows_beside(&self, closed: &WeekMinutes, reason: Reason) -> bool {
        let mut closed = closed.clone();
        for entry in self.entries() {
            let is_zero = entry.nodes.is_zero() && entry.reasons.has(reason);
            match &entry.timing {
                // It blocks every reason, even those it is not for.
                Timing::Broken(_) => return true,
                Timing::Always if is_zero => return true,
                Timing::Windows(windows) if is_zero => {
                    if let Some(week) = windows.week() {
                        closed.add(&week);
                    }
                }
                Timing::Always | Timing::Windows(_) | Timing::Never => {}
            }
        }
        closed.is_whole_week()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::json::Json;
    use crate::karpenter::{ApiVersion, NodePool};

    fn never_allows(budgets: &Value, reason: Reason) -> bool {
        let object = json!({"spec": {"disruption": {"budgets": budgets}}});
        let object = Json::from(&object);
        let pool = NodePool::view(ApiVersion::V1, &object);
        Budgets::parse(&pool).unwrap().never_allows(reason)
    }

    fn freeze(schedule: &str, duration: &str) -> Value {
        json!({"nodes": "0", "schedule": schedule, "duration": duration})
    }

    #[test]
    fn windows_that_cover_the_week_together_leave_no_minute() {
        let day = freeze("0 8 * * *", "12h");
        for budgets in [
            json!([{"nodes": "5"}, {"nodes": "0%"}]),
            json!([{"nodes": "0", "reasons": ["Drifted"]}]),
            json!([day, freeze("0 20 * * *", "12h")]),
            json!([freeze("0 0 31 2 *", "8h")]),
            json!([{"nodes": "5", "reasons": ["Empty"], "schedule": "0 0 * * sat-sun", "duration": "1h"}]),
        ] {
            assert!(never_allows(&budgets, Reason::Drifted), "{budgets}");
        }
        for budgets in [
            json!(null),
            json!([]),
            json!([{"nodes": "1%"}]),
            json!([{"nodes": "0", "reasons": ["Empty"]}]),
            json!([day, freeze("0 20 * * *", "11h59m")]),
            json!([day, freeze("0 20 * * mon-sat", "12h")]),
            json!([day, freeze("0 20 1 * *", "12h")]),
        ] {
            assert!(!never_allows(&budgets, Reason::Drifted), "{budgets}");
        }
    }
}
