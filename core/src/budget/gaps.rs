//! The minutes of the week that budgets leave, or do not leave, to disruption, and the budgets that would fill a gap.

use super::list::{Budget, Budgets};
use super::maintenance::{WrittenWindow, windows};
use super::reasons::{Reason, Reasons};
use super::timing::{Timing, Windows};
use crate::facts::shape::{BUDGETS, nodepool};
use crate::facts::{ApiVersion, KarpenterVersion};
use crate::pool::NodePool;
use crate::value::cron::{DAY, WEEK, WEEKDAYS, WeekMinutes};
use crate::value::duration::BudgetDuration;

/// The most budgets that are spelt out to fill a gap.
const SPELT_OUT: usize = 3;

/// Reasons that no budget limits at the same times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The reasons.
    pub reasons: Reasons,
    /// When nothing limits them.
    pub times: GapTimes,
}

/// When nothing limits a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GapTimes {
    /// Always: there is no budget for it.
    Always,
    /// At the same minutes of every week.
    Weekly(Box<OpenWeek>),
    /// Whenever the only budget for it is not active, by its index in the list; that is not the same every week.
    Outside(usize),
}

/// A set of minutes of the week: those without a limit, or those at which windows are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWeek {
    open: WeekMinutes,
}

/// The budgets to add, in YAML, so that some reasons are limited at all times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filling {
    /// A budget that is always active, beside none or beside freezes.
    Always(String),
    /// Budgets for exactly the hours that are open.
    Hours {
        /// A budget for each window.
        budgets: Vec<String>,
        /// True if they are of 0, and other hours remain in which nodes may be disrupted.
        is_freeze: bool,
    },
    /// More budgets than are spelt out.
    Many,
    /// Budgets for times that are not the same every week.
    Irregular,
}

/// True if a pool never lets a drifted node be replaced. Other rules report budgets that cannot be read, or not in full.
pub(crate) fn never_allows_drift(pool: &NodePool<'_>) -> bool {
    Budgets::parse(pool).is_ok_and(|budgets| {
        let is_read_in_full = budgets.iter().all(|budget| !budget.has_unknown_field);
        is_read_in_full && budgets.never_allows(Reason::Drifted)
    })
}

impl Budgets {
    /// True if no node may ever be disrupted for a reason, whatever the size of the pool: some budget of 0 applies
    /// at every minute of every week. Windows of dates and months count as open, because the rest is not the same
    /// every week.
    pub(crate) fn never_allows(&self, reason: Reason) -> bool {
        self.never_allows_beside(&WeekMinutes::NONE, reason)
    }

    /// Like [`Self::never_allows`], with one more budget of 0 at these minutes of the week.
    fn never_allows_beside(&self, closed: &WeekMinutes, reason: Reason) -> bool {
        self.hold_all_week(closed.clone(), |budget| budget.is_zero() && budget.has(reason))
    }

    /// True if some budget limits a reason at every minute of every week. Windows of dates and months do not count.
    pub(crate) fn always_limit(&self, reason: Reason) -> bool {
        self.hold_all_week(WeekMinutes::NONE, |budget| budget.has(reason))
    }

    /// True if one of these budgets applies at every minute of every week outside some minutes.
    fn hold_all_week(&self, mut held: WeekMinutes, counts: impl Fn(&Budget) -> bool) -> bool {
        for budget in self {
            match &budget.timing {
                // It blocks every reason, even those it is not for.
                Timing::Blocked => return true,
                Timing::Always if counts(budget) => return true,
                Timing::Windows(windows) if counts(budget) => {
                    if let Some(week) = windows.week() {
                        held.add(week);
                    }
                }
                Timing::Always | Timing::Windows(_) | Timing::Never | Timing::Unreadable => {}
            }
        }
        held.is_whole_week()
    }
}

impl Budgets {
    /// The times at which provably no budget limits each of these reasons. Reasons with the same times are together.
    pub fn gaps(&self, of: Reasons) -> Vec<Gap> {
        let mut coverages: Vec<Coverage> = of.iter().map(Coverage::new).collect();
        for budget in self {
            // A week takes microseconds: none is computed that changes nothing.
            let mut open = coverages
                .iter_mut()
                .filter(|coverage| coverage.is_open_for(budget))
                .peekable();
            match &budget.timing {
                // It blocks every reason, even those it is not for.
                Timing::Blocked => return Vec::new(),
                Timing::Always => open.for_each(|coverage| coverage.always = true),
                Timing::Windows(windows) if open.peek().is_some() => {
                    let week = windows.week();
                    for coverage in open {
                        match week {
                            Some(week) => {
                                coverage.covered.add(week);
                                coverage.weekly += 1;
                            }
                            None => coverage.others.push(budget.index),
                        }
                    }
                }
                Timing::Windows(_) | Timing::Never | Timing::Unreadable => {}
            }
        }
        let mut gaps: Vec<Gap> = Vec::new();
        for coverage in coverages {
            let reasons = Reasons::only(coverage.reason);
            let Some(times) = coverage.gap() else { continue };
            match gaps.iter_mut().find(|gap| gap.times == times) {
                Some(gap) => gap.reasons = gap.reasons.with(reasons),
                None => gaps.push(Gap { reasons, times }),
            }
        }
        gaps
    }
}

impl Budgets {
    /// The budgets that limit reasons when no other does, in this version.
    pub fn filling(&self, gap: &Gap, version: ApiVersion) -> Filling {
        let reasons = gap.reasons;
        let mut others = self.iter().filter(|budget| budget.reasons().has_any(reasons));
        if others.all(Budget::is_zero) {
            // A budget for all reasons might lower another one.
            let is_alone = |budget: &Budget| budget.is_zero() && budget.reasons() == Reasons::ALL;
            let reasons = if self.iter().all(is_alone) {
                Reasons::ALL
            } else {
                reasons
            };
            return Filling::Always(budget_text(version, "10%", reasons, None));
        }
        let GapTimes::Weekly(week) = &gap.times else {
            return Filling::Irregular;
        };
        let windows = week.windows();
        let most = nodepool(version).at(BUDGETS).most(KarpenterVersion::NEWEST);
        if windows.len() > SPELT_OUT || most.is_some_and(|most| self.len() + windows.len() > most) {
            return Filling::Many;
        }
        // A freeze in the last open hours would never end.
        let is_freeze = !reasons
            .iter()
            .any(|reason| self.never_allows_beside(&week.open, reason));
        let nodes = if is_freeze { "\"0\"" } else { "10%" };
        let budget = |window: &WrittenWindow| budget_text(version, nodes, reasons, Some(window));
        Filling::Hours {
            budgets: windows.iter().map(budget).collect(),
            is_freeze,
        }
    }
}

impl Windows {
    /// When they are open, if some begin before the one before them has ended. `None` also if that is not the same every
    /// week.
    pub fn joined(&self) -> Option<OpenWeek> {
        if !self.may_join() {
            return None;
        }
        let open = self.week()?;
        let fires = self.fires()?.count();
        let minutes = self.duration().as_secs() / 60;
        (open.count() < fires.saturating_mul(minutes)).then(|| OpenWeek { open: open.clone() })
    }
}

impl OpenWeek {
    /// The windows that cover exactly these minutes.
    pub fn windows(&self) -> Vec<WrittenWindow> {
        let minutes: Vec<bool> = (0..WEEK).map(|minute| self.open.has(minute)).collect();
        windows(&minutes)
    }

    /// When it is open for the first time from Monday on, and how many times more in the week; ends with a comma.
    pub fn described(&self) -> String {
        let is_open = |minute: usize| self.open.has(minute % WEEK);
        let mut opens = (DAY..DAY + WEEK).filter(|minute| is_open(*minute) && !is_open(minute + WEEK - 1));
        let Some(first) = opens.next() else {
            return String::new();
        };
        let end = (first..first + WEEK)
            .find(|minute| !is_open(*minute))
            .unwrap_or(first);
        let more = match opens.count() {
            0 => String::new(),
            1 => " and once more a week,".into(),
            several => format!(" and {several} more times a week,"),
        };
        let length = BudgetDuration::written((end - first) as u64);
        format!("from {} UTC for {length},{more}", clock(first))
    }
}

/// A minute of the week as a day and a time.
fn clock(minute: usize) -> String {
    let day = WEEKDAYS
        .get(minute / DAY % WEEKDAYS.len())
        .copied()
        .unwrap_or_default();
    let (first, rest) = day.split_at_checked(1).unwrap_or_default();
    let (hour, minute) = (minute % DAY / 60, minute % 60);
    format!("{}{rest} {hour:02}:{minute:02}", first.to_uppercase())
}

/// A budget for some reasons, in YAML on one line; without a window it is always active. Only v1 has `reasons`.
pub fn budget_text(
    version: ApiVersion,
    nodes: &str,
    reasons: Reasons,
    window: Option<&WrittenWindow>,
) -> String {
    let reasons = if version == ApiVersion::V1 && reasons != Reasons::ALL {
        format!(", reasons: {}", reasons.written())
    } else {
        String::new()
    };
    let window = if let Some(WrittenWindow::Scheduled { schedule, duration }) = window {
        format!(", schedule: \"{schedule}\", duration: {duration}")
    } else {
        String::new()
    };
    format!("{{nodes: {nodes}{reasons}{window}}}")
}

/// The coverage of one reason by budgets.
struct Coverage {
    reason: Reason,
    /// True if one is always active.
    always: bool,
    /// The minutes of the week at which one is active.
    covered: WeekMinutes,
    /// Budgets that are the same every week.
    weekly: usize,
    /// Budgets that are not the same every week, by their indexes in the list.
    others: Vec<usize>,
}

impl Coverage {
    const fn new(reason: Reason) -> Self {
        Self {
            reason,
            always: false,
            covered: WeekMinutes::NONE,
            weekly: 0,
            others: Vec::new(),
        }
    }

    /// True if another budget could still make a difference.
    fn is_open_for(&self, budget: &Budget) -> bool {
        budget.has(self.reason) && !self.always && !self.covered.is_whole_week()
    }

    /// The times at which provably no budget is active, if any.
    fn gap(self) -> Option<GapTimes> {
        if self.always || self.covered.is_whole_week() {
            return None;
        }
        match (self.weekly, self.others.as_slice()) {
            (0, []) => Some(GapTimes::Always),
            (_, []) => Some(GapTimes::Weekly(Box::new(OpenWeek {
                open: self.covered.others(),
            }))),
            // A single window without a gap would be always active. Several may fill each other's gaps.
            (0, [only]) => Some(GapTimes::Outside(*only)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::facts::ApiVersion;
    use crate::json::Json;
    use crate::pool::NodePool;

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
    fn budgets_for_a_gap_are_spelt_out_if_they_are_few_and_the_pool_has_room_for_them() {
        let filled = |budgets: Value| {
            let object = json!({"spec": {"disruption": {"budgets": budgets}}});
            let object = Json::from(&object);
            let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &object)).unwrap();
            let gaps = budgets.gaps(Reasons::ALL);
            budgets.filling(&gaps[0], ApiVersion::V1)
        };
        let day = json!({"nodes": "5", "schedule": "0 9 * * *", "duration": "8h"});
        for (count, is_spelt_out) in [(1, true), (49, true), (50, false)] {
            let filling = filled(vec![day.clone(); count].into());
            assert_eq!(matches!(filling, Filling::Hours { .. }), is_spelt_out, "{count}");
            assert_eq!(matches!(filling, Filling::Many), !is_spelt_out, "{count}");
        }
        let days = ["0 1 * * mon", "30 5 * * tue", "10 7 * * wed", "0 20 * * fri"];
        let days = days.map(|schedule| json!({"nodes": "5", "schedule": schedule, "duration": "3h"}));
        assert!(matches!(filled(days.to_vec().into()), Filling::Many));
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
