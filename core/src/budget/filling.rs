//! The budgets that would limit what no budget limits, and change nothing else.

use super::gaps::{Gap, GapTimes};
use super::list::{Budgets, Entry};
use super::maintenance::Closed;
use super::reasons::Reasons;
use crate::karpenter::shape::{BUDGETS, nodepool};
use crate::karpenter::{ApiVersion, KarpenterVersion};
use crate::value::duration::BudgetDuration;

/// Most budgets that are spelt out.
const SPELT_OUT: usize = 3;

/// What to add to budgets so that they limit some reasons at all times, in YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filling {
    /// A budget that is always active, beside none or beside freezes.
    Always(String),
    /// Budgets for exactly the hours that are open.
    Hours {
        /// A budget for each window.
        budgets: Vec<String>,
        /// Whether they are of 0, and other hours remain in which nodes may be disrupted.
        is_freeze: bool,
    },
    /// More budgets than are spelt out.
    Many,
    /// Budgets for times that are not the same every week.
    Irregular,
}

impl Budgets {
    /// What would limit reasons when nothing else does.
    pub fn filling(&self, gap: &Gap, notation: Notation) -> Filling {
        let entries = || self.entries().iter();
        let reasons = gap.reasons;
        let mut others = entries().filter(|entry| entry.reasons.has_any(reasons));
        if others.all(|entry| entry.nodes.is_zero()) {
            // Beside any other budget, one for all reasons might change what that allows.
            let is_alone = |entry: &Entry| entry.nodes.is_zero() && entry.reasons == Reasons::ALL;
            let reasons = if entries().all(is_alone) {
                Reasons::ALL
            } else {
                reasons
            };
            return Filling::Always(notation.budget("10%", reasons, None));
        }
        let GapTimes::Weekly(week) = &gap.times else {
            return Filling::Irregular;
        };
        let windows = week.windows();
        if windows.len() > SPELT_OUT || entries().count() + windows.len() > notation.most_budgets {
            return Filling::Many;
        }
        // A freeze in the last open hours would never end.
        let is_freeze = !reasons.iter().any(|reason| week.is_all_that(self, reason));
        let nodes = if is_freeze { "\"0\"" } else { "10%" };
        let budget = |window: &Closed| notation.budget(nodes, reasons, Some(window));
        Filling::Hours {
            budgets: windows.iter().map(budget).collect(),
            is_freeze,
        }
    }
}

/// How budgets are written in a release.
#[derive(Debug, Clone, Copy)]
pub struct Notation {
    /// Whether they may name reasons.
    pub reasons: bool,
    /// Whether a duration may have hours and minutes.
    pub two_units: bool,
    /// How many a NodePool may have.
    most_budgets: usize,
}

impl Notation {
    /// That of a NodePool of this version, for this release.
    pub fn of(version: ApiVersion, release: KarpenterVersion) -> Self {
        Self {
            reasons: version == ApiVersion::V1,
            two_units: release.has(KarpenterVersion::COMPOUND_BUDGET_DURATIONS),
            most_budgets: nodepool(version).at(BUDGETS).most(release).unwrap_or(usize::MAX),
        }
    }

    /// A budget for some reasons, in YAML on one line; without a window it is always active.
    pub fn budget(self, nodes: &str, reasons: Reasons, window: Option<&Closed>) -> String {
        let reasons = if self.reasons && reasons != Reasons::ALL {
            format!(", reasons: {}", reasons.written())
        } else {
            String::new()
        };
        let window = if let Some(Closed::Window { schedule, duration }) = window {
            let duration = match BudgetDuration::parse(duration) {
                Ok(length) if !self.two_units => length.in_one_unit(),
                _ => duration.clone(),
            };
            format!(", schedule: \"{schedule}\", duration: {duration}")
        } else {
            String::new()
        };
        format!("{{nodes: {nodes}{reasons}{window}}}")
    }
}
