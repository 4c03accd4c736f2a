//! The budgets that `poolgate budgets plan` prints allow disruption in exactly the requested minutes, in local
//! time: Karpenter's own code confirms that at every start and end, and poolgate's computation, which `budgets.rs`
//! compares with Karpenter's, at every minute of a week.

use std::process::Command;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use poolgate_core::budget::{Budgets, Reason};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::manifest::{self, Limits};
use poolgate_core::pool::NodePool;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};

use super::effort::Effort;
use super::program::Oracle;

/// With and without summer time, on both sides of the equator and the date line, with offsets of half and quarter
/// hours, with summer time of half an hour, and with a winter time in Ramadan.
const ZONES: [&str; 20] = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Dublin",
    "America/New_York",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Santiago",
    "America/Asuncion",
    "Africa/Casablanca",
    "Africa/Cairo",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Asia/Jerusalem",
    "Australia/Sydney",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
];

const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY: i64 = 24 * 60;

/// Hours as values, and as the text that the program gets.
struct Hours {
    days: Vec<usize>,
    start: i64,
    length: i64,
    zone: &'static str,
}

impl Hours {
    fn random(rng: &mut StdRng) -> Self {
        let days = (0..7).filter(|_| rng.random_bool(0.4)).collect::<Vec<_>>();
        let step = [60, 30, 15, 1][rng.random_range(0..4)];
        let start = rng.random_range(0..DAY / step) * step;
        let length = rng.random_range(1..DAY / step) * step;
        Self {
            days: if days.is_empty() { (0..7).collect() } else { days },
            start,
            length,
            zone: ZONES[rng.random_range(0..ZONES.len())],
        }
    }

    fn words(&self) -> String {
        let days: Vec<&str> = self.days.iter().map(|day| DAYS[*day]).collect();
        let time = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
        let end = (self.start + self.length) % DAY;
        format!(
            "{} {}-{} {}",
            days.join(","),
            time(self.start),
            time(end),
            self.zone
        )
    }

    /// Whether they include this instant, in local time.
    fn hold(&self, at: Timestamp) -> bool {
        let wall = at.to_zoned(TimeZone::get(self.zone).expect("a zone"));
        let minute = i64::from(wall.hour()) * 60 + i64::from(wall.minute());
        let day = usize::try_from(wall.weekday().to_sunday_zero_offset()).expect("a day");
        let today = self.days.contains(&day) && (self.start..self.start + self.length).contains(&minute);
        let since_yesterday = self.days.contains(&((day + 6) % 7)) && minute + DAY < self.start + self.length;
        today || since_yesterday
    }
}

/// Whether a wish allows disruption.
fn wished(allow: &[Hours], freeze: &[Hours], at: Timestamp) -> bool {
    let holds = |hours: &Hours| hours.hold(at);
    (allow.is_empty() || allow.iter().any(holds)) && !freeze.iter().any(holds)
}

/// Budgets that the program printed, and the periods in which they are to be used.
struct Printed {
    object: Value,
    spans: Vec<(Timestamp, Timestamp)>,
}

fn time(words: &str) -> Timestamp {
    let mut parts = words.split(' ').skip(1);
    let (day, clock) = (parts.next().expect("a day"), parts.next().expect("a time"));
    assert_eq!(parts.next(), Some("UTC"), "{words}");
    format!("{day}T{clock}:00Z").parse().expect("a time")
}

/// Runs the program and reads what it prints, comments included.
fn plan(allow: &[Hours], freeze: &[Hours], from: Timestamp) -> Vec<Printed> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_poolgate"));
    command.args(["budgets", "plan", "--nodes=7", "--at", &from.to_string()]);
    for (flag, hours) in [("--allow", allow), ("--freeze", freeze)] {
        for hours in hours {
            command.arg(format!("{flag}={}", hours.words()));
        }
    }
    let output = command.output().expect("the program");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let until = (from.to_zoned(TimeZone::UTC) + 1.year()).timestamp();
    let span = |words: &str| match (words.strip_prefix("from "), words.strip_prefix("until ")) {
        (None, Some(end)) => (from, time(end)),
        (Some(start), None) => match start.split_once(" until ") {
            Some((start, end)) => (time(start), time(end)),
            None => (time(start), until),
        },
        _ => panic!("{words}"),
    };
    let printed = |part: &str| {
        let documents = manifest::parse(part, &Limits::default());
        let object = documents.into_iter().next().expect("a document").into_value();
        let line = part.lines().find_map(|line| {
            let (place, words) = line.strip_prefix("# ")?.split_once(": ")?;
            place.contains(" of ").then_some(words)
        });
        let spans = line.map_or_else(
            || vec![(from, until)],
            |words| words.split(", and ").map(span).collect(),
        );
        Printed { object, spans }
    };
    text.split("---\n").map(printed).collect()
}

/// Up to two times.
fn some(rng: &mut StdRng) -> Vec<Hours> {
    (0..rng.random_range(0..=2)).map(|_| Hours::random(rng)).collect()
}

/// Every minute from one instant to just before another.
fn minutes_between(start: Timestamp, end: Timestamp) -> impl Iterator<Item = Timestamp> {
    std::iter::successors(Some(start), |at| Some(*at + SignedDuration::from_mins(1)))
        .take_while(move |at| *at < end)
}

#[test]
fn disruption_is_allowed_exactly_in_the_minutes_that_were_wished_for() {
    let effort = Effort::wanted(20, 1_000);
    let mut oracle = Oracle::start();
    let (mut minutes, mut asked, mut several) = (0_u64, 0_u64, 0_u64);
    for number in effort.first..effort.first + effort.cases {
        let mut rng = StdRng::seed_from_u64(effort.seed.rotate_left(16) ^ number);
        let (mut allow, freeze) = (some(&mut rng), some(&mut rng));
        if allow.is_empty() && freeze.is_empty() {
            allow.push(Hours::random(&mut rng));
        }
        let second = rng.random_range(1_767_225_600..1_893_456_000_i64) / 60 * 60;
        let from = Timestamp::from_second(second).expect("within the calendar");
        let words = |hours: &[Hours]| hours.iter().map(Hours::words).collect::<Vec<_>>();
        let case = format!(
            "seed {}, case {number}: {:?} without {:?} from {from}",
            effort.seed,
            words(&allow),
            words(&freeze)
        );
        let variants = plan(&allow, &freeze, from);
        several += u64::from(variants.len() > 1);
        let mut covered: Vec<_> = variants
            .iter()
            .flat_map(|variant| variant.spans.clone())
            .collect();
        covered.sort_unstable();
        assert!(
            covered.windows(2).all(|two| two[0].1 == two[1].0),
            "{case}: {covered:?}"
        );
        assert_eq!(covered.first().map(|span| span.0), Some(from), "{case}");
        for variant in &variants {
            let object = &variant.object;
            let view = Json::from(object);
            let budgets = Budgets::parse(&NodePool::view(ApiVersion::V1, &view)).expect(&case);
            for (start, end) in &variant.spans {
                let mut questions = Vec::new();
                let mut before = None;
                // One week, and the last days before the offset changes: the rest repeats.
                let first_week = (*start + SignedDuration::from_hours(7 * 24)).min(*end);
                let last_days = (*end - SignedDuration::from_hours(2 * 24)).max(first_week);
                for at in minutes_between(*start, first_week).chain(minutes_between(last_days, *end)) {
                    let wished = wished(&allow, &freeze, at);
                    let nodes = budgets.allowance(Reason::Drifted, 100, at).nodes();
                    assert_eq!(nodes, Some(if wished { 7 } else { 0 }), "{case}: {at} {object}");
                    minutes += 1;
                    if before.is_some_and(|before| before != wished) {
                        let just_before = at - SignedDuration::from_nanos(1);
                        questions.extend([just_before, at].map(|at| (at, self::wished(&allow, &freeze, at))));
                    }
                    before = Some(wished);
                }
                let asking: Vec<Value> = questions
                    .iter()
                    .map(|(at, _)| json!({"kind": "budgets", "object": object, "at": at.to_string(), "nodes": 100}))
                    .collect();
                for ((at, wished), answer) in questions.into_iter().zip(oracle.ask(&asking)) {
                    let answer = answer.given();
                    for reason in ["Underutilized", "Empty", "Drifted"] {
                        let nodes = &answer["allowed"][reason]["nodes"];
                        assert_eq!(nodes, &json!(if wished { 7 } else { 0 }), "{case}: {at} {object}");
                    }
                    asked += 1;
                }
            }
        }
    }
    super::effort::tell(&format!(
        "{} wishes, {several} of them with several variants: {minutes} minutes, {asked} of them put to Karpenter",
        effort.cases
    ));
    if effort.cases >= 20 {
        assert!(several > 0 && asked > effort.cases, "{several} {asked}");
    }
}
