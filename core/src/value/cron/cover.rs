//! Whether one schedule fires whenever another does.

use super::days::Days;
use super::{Kind, Schedule};

impl Schedule {
    /// Whether it fires at least whenever `other` fires, judging by the fields alone: if true, this is certain. An
    /// `@every` only covers an equal one.
    pub fn covers(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Kind::Every(ours), Kind::Every(theirs)) => ours == theirs,
            (Kind::Calendar(ours), Kind::Calendar(theirs)) => {
                holds(ours.minutes, theirs.minutes)
                    && holds(ours.hours, theirs.hours)
                    && holds(ours.months, theirs.months)
                    && holds_days(ours.days, theirs.days)
            }
            (Kind::Every(_), Kind::Calendar(_)) | (Kind::Calendar(_), Kind::Every(_)) => false,
        }
    }
}

/// Whether a set contains all values of another one.
const fn holds(ours: u64, theirs: u64) -> bool {
    theirs & !ours == 0
}

fn holds_days(ours: Days, theirs: Days) -> bool {
    match (ours, theirs) {
        (Days::Every, _) => true,
        (Days::Dates(ours) | Days::Either { dates: ours, .. }, Days::Dates(theirs))
        | (Days::Weekdays(ours) | Days::Either { weekdays: ours, .. }, Days::Weekdays(theirs)) => {
            holds(ours, theirs)
        }
        (
            Days::Either { dates, weekdays },
            Days::Either {
                dates: their_dates,
                weekdays: their_weekdays,
            },
        ) => holds(dates, their_dates) && holds(weekdays, their_weekdays),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_covers_what_it_never_misses() {
        for (ours, theirs, wanted) in [
            ("0 9 * * mon-fri", "0 9 * * 1-5", true),
            ("0 9 * * *", "0 9 * * 1-5", true),
            ("0 9 * * 1-5", "0 9 * * *", false),
            ("@daily", "0 0 * * *", true),
            ("0 * * * *", "0 9 1 * *", true),
            ("0 9 1 * *", "0 9 1 1 *", true),
            ("0 9 1 1 *", "0 9 1 * *", false),
            ("0 9 1,15 * mon", "0 9 15 * *", true),
            ("0 9 1,15 * mon", "0 9 * * mon", true),
            ("0 9 15 * *", "0 9 1,15 * mon", false),
            ("0 9 * * mon", "0 9 15 * *", false),
            ("5 9 * * *", "0 9 * * *", false),
        ] {
            let [ours_read, theirs_read] = [ours, theirs].map(|text| Schedule::parse(text).unwrap());
            assert_eq!(ours_read.covers(&theirs_read), wanted, "{ours} / {theirs}");
        }
    }
}
