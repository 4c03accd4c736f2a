//! Computes budgets from maintenance hours: nodes may be disrupted only in some hours, or never in others.
//!
//! Karpenter knows only UTC, and budgets only restrict. So the result is budgets of 0 over all other hours, and if
//! a time zone has summer time, separate ones for each half of the year.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::value::cron::{DAY, WEEK, WEEKDAYS};
use crate::value::duration::BudgetDuration;
use crate::value::hours::LocalHours;

/// When nodes may be disrupted.
#[derive(Debug, Clone, Default)]
pub struct MaintenanceHours {
    /// Only in these hours; at any time, if there are none.
    pub allowed: Vec<LocalHours>,
    /// Never in these hours, even if they are in `allowed`.
    pub frozen: Vec<LocalHours>,
}

/// Budgets for the maintenance hours until a UTC offset changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeasonalBudgets {
    /// When no node may be disrupted, in UTC.
    pub closed: Vec<WrittenWindow>,
    /// The periods in which to use these budgets, in their order.
    pub spans: Vec<(Timestamp, Timestamp)>,
    /// The UTC offsets that each zone has during these periods: those of `allowed`, then those of `frozen`.
    pub offsets: Vec<Vec<Offset>>,
}

/// When a budget applies, as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrittenWindow {
    /// At any time.
    Always,
    /// For some time after each fire of a schedule.
    Scheduled {
        /// When the windows open: a cron expression in UTC.
        schedule: String,
        /// How long they stay open.
        duration: String,
    },
}

impl MaintenanceHours {
    /// True if nodes may be disrupted at an instant, by the clocks of the time zones.
    pub fn allows(&self, at: Timestamp) -> bool {
        let holds = |local: &LocalHours| local.hold(at);
        (self.allowed.is_empty() || self.allowed.iter().any(holds)) && !self.frozen.iter().any(holds)
    }

    /// The budgets for the time between two instants: one variant for each combination of UTC offsets, in the order
    /// in which they are first needed.
    pub fn variants(&self, from: Timestamp, until: Timestamp) -> Vec<SeasonalBudgets> {
        let mut variants: Vec<SeasonalBudgets> = Vec::new();
        let mut changes = self.clock_changes(from, until);
        changes.push(until);
        let mut start = from;
        for end in changes {
            let offsets = self.offsets(start);
            let closed = self.closed(&offsets);
            match variants.iter_mut().find(|variant| variant.closed == closed) {
                None => variants.push(SeasonalBudgets {
                    closed,
                    spans: vec![(start, end)],
                    offsets: offsets.into_iter().map(|offset| vec![offset]).collect(),
                }),
                Some(variant) => {
                    match variant.spans.last_mut() {
                        Some(last) if last.1 == start => last.1 = end,
                        _ => variant.spans.push((start, end)),
                    }
                    for (known, offset) in variant.offsets.iter_mut().zip(offsets) {
                        if !known.contains(&offset) {
                            known.push(offset);
                        }
                    }
                }
            }
            start = end;
        }
        variants
    }

    fn places(&self) -> impl Iterator<Item = &LocalHours> {
        self.allowed.iter().chain(&self.frozen)
    }

    fn offsets(&self, at: Timestamp) -> Vec<Offset> {
        self.places().map(|local| local.zone.to_offset(at)).collect()
    }

    /// The instants between two others at which a UTC offset changes.
    fn clock_changes(&self, from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let of = |local: &LocalHours| -> Vec<Timestamp> {
            let following = local.zone.following(from).map(|change| change.timestamp());
            following.take_while(|at| *at < until).collect()
        };
        let mut changes: Vec<Timestamp> = self.places().flat_map(of).collect();
        changes.sort_unstable();
        changes.dedup();
        changes
    }

    /// The windows in which no node may be disrupted while the zones have these offsets.
    fn closed(&self, offsets: &[Offset]) -> Vec<WrittenWindow> {
        let (allowing, freezing) = offsets
            .split_at_checked(self.allowed.len())
            .unwrap_or((offsets, &[]));
        let mut is_closed = vec![!self.allowed.is_empty(); WEEK];
        set(&mut is_closed, &self.allowed, allowing, false);
        set(&mut is_closed, &self.frozen, freezing, true);
        windows(&is_closed)
    }
}

/// Sets the minutes of hours in zones with these UTC offsets.
fn set(week: &mut [bool], hours: &[LocalHours], offsets: &[Offset], closed: bool) {
    for (local, offset) in hours.iter().zip(offsets) {
        // In whole minutes; all offsets are, since no clock follows local mean time any more.
        let later = isize::try_from(-offset.seconds().div_euclid(60)).unwrap_or(0);
        for minute in local.hours.minutes() {
            if let Some(place) = week.get_mut((minute + WEEK).saturating_add_signed(later) % WEEK) {
                *place = closed;
            }
        }
    }
}

/// The runs of marked minutes of the week, as windows: one schedule for all of one length that begin on the same days at the
/// same minute of an hour.
pub(super) fn windows(minutes: &[bool]) -> Vec<WrittenWindow> {
    let Some(first) = minutes.iter().position(|marked| !marked) else {
        return vec![WrittenWindow::Always];
    };
    let mut windows: BTreeMap<(usize, usize), [bool; 7]> = BTreeMap::new();
    let mut add = |start: usize, length: usize| {
        let days = windows.entry((start % DAY, length)).or_default();
        if let Some(day) = days.get_mut(start % WEEK / DAY) {
            *day = true;
        }
    };
    // Once around, from an unmarked minute back to the same.
    let (behind, before) = (minutes.iter().skip(first), minutes.iter().take(first + 1));
    let mut began = None;
    for (step, marked) in behind.chain(before).enumerate() {
        match (marked, began) {
            (true, None) => began = Some(first + step),
            (false, Some(start)) => {
                add(start, first + step - start);
                began = None;
            }
            _ => {}
        }
    }
    let mut schedules: BTreeMap<(usize, usize, [bool; 7]), Vec<usize>> = BTreeMap::new();
    for ((start, length), days) in windows {
        let hours = schedules.entry((start % 60, length, days)).or_default();
        hours.push(start / 60);
    }
    let mut schedules: Vec<_> = schedules.into_iter().collect();
    schedules.sort_by_key(|((minute, length, _), hours)| (hours.first().copied(), *minute, *length));
    let window =
        |((minute, length, days), hours): ((usize, usize, _), Vec<usize>)| WrittenWindow::Scheduled {
            schedule: format!("{minute} {} * * {}", hours_of_day(&hours), weekdays(days)),
            duration: BudgetDuration::written(length as u64),
        };
    schedules.into_iter().map(window).collect()
}

/// Hours in cron notation; they are in order.
fn hours_of_day(hours: &[usize]) -> String {
    let (first, last) = match hours {
        [] => return String::new(),
        [first, .., last] => (*first, *last),
        [only] => (*only, *only),
    };
    let step = (last - first) / hours.len().saturating_sub(1).max(1);
    let is_even = hours
        .iter()
        .enumerate()
        .all(|(place, hour)| *hour == first + place * step);
    match (hours.len(), step) {
        (24, _) => "*".to_owned(),
        (3.., 1) if is_even => format!("{first}-{last}"),
        (3.., _) if is_even && first == 0 && 24 % step == 0 && 24 / step == hours.len() => {
            format!("*/{step}")
        }
        _ => {
            let hours: Vec<String> = hours.iter().map(usize::to_string).collect();
            hours.join(",")
        }
    }
}

/// Days in cron notation.
fn weekdays(days: [bool; 7]) -> String {
    if days == [true; 7] {
        return "*".into();
    }
    let named: Vec<(usize, &str)> = WEEKDAYS
        .into_iter()
        .enumerate()
        .zip(days)
        .filter_map(|(day, has)| has.then_some(day))
        .collect();
    match (named.first(), named.last()) {
        (Some((first, from)), Some((last, to))) if named.len() > 2 && last - first + 1 == named.len() => {
            format!("{from}-{to}")
        }
        _ => named.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;
    use crate::value::hours::WeeklyHours;

    fn hours(text: &str) -> LocalHours {
        let (hours, zone) = WeeklyHours::parse(text).expect(text);
        let zone = match zone {
            None => TimeZone::UTC,
            // A zone by its rule needs no database.
            Some(rule) => TimeZone::posix(rule).expect(rule),
        };
        LocalHours { hours, zone }
    }

    fn wish(allowed: &[&str], frozen: &[&str]) -> MaintenanceHours {
        let all = |texts: &[&str]| texts.iter().map(|text| hours(text)).collect();
        MaintenanceHours {
            allowed: all(allowed),
            frozen: all(frozen),
        }
    }

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn year(wish: &MaintenanceHours) -> Vec<SeasonalBudgets> {
        wish.variants(time("2026-01-05T10:00:00Z"), time("2027-01-05T10:00:00Z"))
    }

    fn shown(closed: &[WrittenWindow]) -> Vec<String> {
        let one = |closed: &WrittenWindow| match closed {
            WrittenWindow::Always => "always".to_owned(),
            WrittenWindow::Scheduled { schedule, duration } => format!("{schedule} for {duration}"),
        };
        closed.iter().map(one).collect()
    }

    /// Berlin's time zone in POSIX notation.
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

    #[test]
    fn all_hours_but_the_wished_ones_are_closed() {
        for (allowed, frozen, expected) in [
            (&["02:00-06:00"][..], &[][..], &["0 6 * * * for 20h"][..]),
            (&["sat 02:00-06:00"], &[], &["0 6 * * sat for 164h"]),
            (
                &["mon-fri 02:00-06:30"],
                &[],
                &["30 6 * * mon-thu for 19h30m", "30 6 * * fri for 67h30m"],
            ),
            (&[], &["mon-fri 09:00-17:00"], &["0 9 * * mon-fri for 8h"]),
            (&[], &["sat,sun"], &["0 0 * * sat for 48h"]),
            (
                &["sat"],
                &["sat 12:00-13:00"],
                &["0 0 * * sun for 144h", "0 12 * * sat for 1h"],
            ),
            (
                &["00:00-00:10", "06:00-06:10"],
                &[],
                &["10 0 * * * for 5h50m", "10 6 * * * for 17h50m"],
            ),
            (
                &["00:00-02:00", "08:00-10:00", "16:00-18:00"],
                &[],
                &["0 2,10,18 * * * for 6h"],
            ),
            (
                &[],
                &["00:30-01:00", "01:30-02:00", "02:30-03:00"],
                &["30 0-2 * * * for 30m"],
            ),
            (
                &[],
                &["00:00-01:00", "08:00-09:00", "16:00-17:00"],
                &["0 */8 * * * for 1h"],
            ),
            (&["00:00-24:00"], &[], &[]),
            (&[], &["daily"], &["always"]),
        ] {
            let variants = year(&wish(allowed, frozen));
            assert_eq!(variants.len(), 1, "{allowed:?} {frozen:?}");
            assert_eq!(shown(&variants[0].closed), expected, "{allowed:?} {frozen:?}");
        }
    }

    #[test]
    fn each_half_of_the_year_has_its_variant_up_to_the_change_of_the_clocks() {
        let variants = year(&wish(&[&format!("sat 02:00-06:00 {BERLIN}")], &[]));
        let [winter, summer] = variants.as_slice() else {
            panic!("{variants:?}");
        };
        let (spring, autumn) = (time("2026-03-29T01:00:00Z"), time("2026-10-25T01:00:00Z"));
        assert_eq!(shown(&winter.closed), ["0 5 * * sat for 164h"]);
        assert_eq!(shown(&summer.closed), ["0 4 * * sat for 164h"]);
        assert_eq!(
            winter.spans,
            [
                (time("2026-01-05T10:00:00Z"), spring),
                (autumn, time("2027-01-05T10:00:00Z"))
            ]
        );
        assert_eq!(summer.spans, [(spring, autumn)]);
        let seconds = |variant: &SeasonalBudgets| -> Vec<i32> {
            variant.offsets[0].iter().map(|offset| offset.seconds()).collect()
        };
        assert_eq!((seconds(winter), seconds(summer)), (vec![3600], vec![7200]));
    }

    #[test]
    fn a_variant_that_several_offsets_share_has_all_of_them() {
        let new_york = "EST5EDT,M3.2.0,M11.1.0";
        let variants = year(&wish(
            &[&format!("mon-fri 22:00-04:00 {new_york}")],
            &[&format!("wed 00:00-24:00 {BERLIN}")],
        ));
        let hours = |variant: &SeasonalBudgets| -> Vec<Vec<i32>> {
            let zones = variant.offsets.iter();
            zones
                .map(|offsets| offsets.iter().map(|offset| offset.seconds() / 3600).collect())
                .collect()
        };
        let hours: Vec<_> = variants.iter().map(hours).collect();
        // From 25 October to 1 November New York has summer time, and Berlin has not.
        assert_eq!(hours, [[vec![-5], vec![1]], [vec![-4], vec![1, 2]]]);
    }

    #[test]
    fn a_wish_that_no_clock_changes_has_one_variant() {
        let variants = year(&wish(&[], &[&format!("00:00-24:00 {BERLIN}")]));
        assert_eq!(variants.len(), 1);
        assert_eq!(variants[0].spans.len(), 1);
    }
}
