//! When no budget limits disruption: the minutes of the week that budgets leave, and the budgets that would cover them.

use super::hours::{DAY, DAYS, WEEK};
use super::list::{Budgets, Entry, Timing};
use super::maintenance::{Closed, windows};
use super::reasons::{Reason, Reasons};
use super::window::Windows;
use crate::value::cron::WeekMinutes;
use crate::value::duration::BudgetDuration;

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

/// The minutes of the week at which something is so: that nothing limits a reason, or that windows are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWeek {
    covered: WeekMinutes,
}

/// What is known of the budgets for one reason.
struct Coverage {
    reason: Reason,
    /// Whether one is always active.
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

    /// Whether another budget could still make a difference.
    fn is_open_for(&self, entry: &Entry) -> bool {
        entry.reasons.has(self.reason) && !self.always && !self.covered.is_whole_week()
    }

    /// When certainly none of the budgets is active, if that is ever.
    fn gap(self) -> Option<GapTimes> {
        if self.always || self.covered.is_whole_week() {
            return None;
        }
        match (self.weekly, self.others.as_slice()) {
            (0, []) => Some(GapTimes::Always),
            (_, []) => Some(GapTimes::Weekly(Box::new(OpenWeek {
                covered: self.covered,
            }))),
            // A single window without a gap would be always active. Several may fill each other's gaps.
            (0, [only]) => Some(GapTimes::Outside(*only)),
            _ => None,
        }
    }
}

impl Budgets {
    /// When no budget limits each of these reasons, those with the same times together. Only what is certain.
    pub fn gaps(&self, of: Reasons) -> Vec<Gap> {
        let mut coverages: Vec<Coverage> = of.iter().map(Coverage::new).collect();
        for entry in self.entries() {
            // A week takes microseconds: none is computed that changes nothing.
            let mut open = coverages
                .iter_mut()
                .filter(|coverage| coverage.is_open_for(entry))
                .peekable();
            match &entry.timing {
                // It blocks every reason, even those it is not for.
                Timing::Broken(_) => return Vec::new(),
                Timing::Always => open.for_each(|coverage| coverage.always = true),
                Timing::Windows(windows) if open.peek().is_some() => {
                    let week = windows.week();
                    for coverage in open {
                        match week {
                            Some(week) => {
                                coverage.covered.add(week);
                                coverage.weekly += 1;
                            }
                            None => coverage.others.push(entry.index),
                        }
                    }
                }
                Timing::Windows(_) | Timing::Never => {}
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

impl Windows {
    /// When they are open, if some begin before the one before them has ended. `None` also if that is not the same every
    /// week.
    pub fn joined(&self) -> Option<OpenWeek> {
        let open = self.week()?;
        let fires = self.fires()?.count();
        let minutes = self.duration().as_secs() / 60;
        (open.count() < fires.saturating_mul(minutes)).then(|| OpenWeek {
            covered: open.others(),
        })
    }
}

impl OpenWeek {
    /// Whether budgets that allow nothing for a reason at these minutes leave it no other.
    pub(crate) fn is_all_that(&self, budgets: &Budgets, reason: Reason) -> bool {
        budgets.never_allows_beside(&self.covered.others(), reason)
    }

    /// The windows that cover exactly these minutes.
    pub fn windows(&self) -> Vec<Closed> {
        let is_covered: Vec<bool> = (0..WEEK).map(|minute| self.covered.has(minute)).collect();
        windows(&is_covered)
    }

    /// When it is open for the first time from Monday on, and how many times more in the week; ends with a comma.
    pub fn described(&self) -> String {
        let is_open = |minute: usize| !self.covered.has(minute % WEEK);
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
    let day = DAYS.get(minute / DAY % DAYS.len()).copied().unwrap_or_default();
    let (first, rest) = day.split_at_checked(1).unwrap_or_default();
    let (hour, minute) = (minute % DAY / 60, minute % 60);
    format!("{}{rest} {hour:02}:{minute:02}", first.to_uppercase())
}
