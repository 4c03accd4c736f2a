//! Pools whose limit follows the clock: when a number may be stored, and when it must be.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::rc::Rc;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde_json::Value;
use tokio::task::spawn_local;
use tokio::time::sleep;

use super::cluster::{Cluster, POOLS};
use super::process::ahead;
use super::world::{NODE_LIMIT, World};

pub(super) const SCHEDULE: &str = "poolgate.dev/node-limit-schedule";

/// The minutes after the beginning in which limits change: some while faults last, some after that.
const LAST_CHANGE: usize = 16;

/// How far clocks that count as right are apart from the API server's.
const RIGHT: i64 = 20;

/// How late a fall is stored, with a clock that is right.
const FALLEN_BY: i64 = RIGHT + 10;

/// How late a rise is.
const RISEN_BY: i64 = RIGHT + 75;

/// How long after the last fault that holds.
const RECOVERED: Duration = Duration::from_mins(6);

/// Draws a schedule.
pub(super) fn draw(world: &World) -> String {
    let mut text = String::new();
    let mut minute = 1 + world.below(4);
    while minute < LAST_CHANGE {
        let end = (minute + 1 + world.below(4)).min(LAST_CHANGE);
        let nodes = world.below(6);
        let _ = write!(text, "00:{minute:02}-00:{end:02} = {nodes}; ");
        minute = end + world.below(4);
    }
    format!("{text}else {}", 1 + world.below(4))
}

/// The lowest limit of a schedule.
pub(super) fn lowest(schedule: &str) -> usize {
    let numbers = schedule
        .split(';')
        .map(|part| number(part.rsplit(' ').next().unwrap_or_default()));
    numbers.min().expect("a part")
}

fn number(text: &str) -> usize {
    text.trim().parse().expect("a number")
}

/// The limit of a schedule in a minute of the day.
fn scheduled(schedule: &str, minute: usize) -> usize {
    let mut parts = schedule.split("; ");
    let holds = |hours: &str| {
        let minutes: Vec<usize> = hours
            .split('-')
            .map(|time| number(time.rsplit(':').next().unwrap_or_default()))
            .collect();
        (minutes[0]..minutes[1]).contains(&minute)
    };
    let part = parts.find_map(|part| match part.split_once(" = ") {
        Some((hours, nodes)) => holds(hours).then(|| number(nodes)),
        None => Some(number(part.trim_start_matches("else "))),
    });
    part.expect("a limit")
}

/// The lowest and the highest limit of a schedule in these seconds, counted from now.
fn limits(cluster: &Cluster, schedule: &str, seconds: RangeInclusive<i64>) -> (usize, usize) {
    let limits = seconds.map(|second| {
        let at = cluster.wall(0) + SignedDuration::from_secs(second);
        let clock = at.to_zoned(TimeZone::UTC);
        // It has just begun: then it is still the day before.
        let minute = if clock.hour() == 0 { clock.minute() } else { 59 };
        scheduled(schedule, usize::try_from(minute).expect("a minute"))
    });
    let limits: Vec<usize> = limits.collect();
    let (least, most) = (limits.iter().min(), limits.iter().max());
    (*least.expect("a limit"), *most.expect("a limit"))
}

/// A reconciler writes a number into a pool: no limit rises before its time.
pub(super) fn judge(cluster: &Cluster, pool: &Value, share: &Value) {
    let annotations = &pool["metadata"]["annotations"];
    let (Some(schedule), Some(written)) = (
        annotations[SCHEDULE].as_str(),
        share["metadata"]["annotations"][NODE_LIMIT].as_str(),
    ) else {
        return;
    };
    let (written, before) = (number(written), annotations[NODE_LIMIT].as_str().map(number));
    let (_, most) = limits(cluster, schedule, -RISEN_BY..=0);
    let mut inner = cluster.lock();
    if before < Some(written) {
        inner.checker.happens("limit risen by its schedule");
    } else if before > Some(written) {
        inner.checker.happens("limit fallen by its schedule");
    }
    // A number that somebody else has set may fall to one whose time has not come.
    if written > most && before < Some(written) {
        let name = pool["metadata"]["name"].as_str().unwrap_or_default();
        let violation = format!("{name}: {written} is stored before its time, by {schedule}");
        inner.checker.violations.push(violation);
    }
}

/// Looks each second, when nothing goes wrong any more, if what is stored is what the schedules say.
pub(super) fn watch(world: &Rc<World>) {
    let world = Rc::clone(world);
    spawn_local(async move {
        let until = world.cluster.lock().faults.until();
        tokio::time::sleep_until(until + RECOVERED).await;
        let mut leader = (String::new(), 0);
        while world.is_wanted() {
            let now = world.cluster.lock().checker.leader().to_owned();
            leader = if leader.0 == now {
                (now, leader.1 + 1)
            } else {
                (now, 0)
            };
            // One that takes over needs a moment.
            if leader.1 > 30 && ahead(&leader.0).abs() <= RIGHT && world.is_running(&leader.0) {
                world.pools.iter().for_each(|pool| look(&world, pool));
            }
            sleep(Duration::from_secs(1)).await;
        }
    });
}

fn look(world: &World, pool: &str) {
    let Some(stored) = world.cluster.lock().store.get(POOLS, pool) else {
        return;
    };
    let annotations = &stored["metadata"]["annotations"];
    let Some(schedule) = annotations[SCHEDULE].as_str() else {
        return;
    };
    let number = annotations[NODE_LIMIT].as_str().map(number);
    let (_, most) = limits(&world.cluster, schedule, -FALLEN_BY..=0);
    // By a clock that is ahead, a limit falls early.
    let (least, _) = limits(&world.cluster, schedule, -RISEN_BY..=RIGHT);
    if number.is_none_or(|number| number < least || number > most) {
        world.fail(format!(
            "{pool}: {number:?} is stored, and not from {least} to {most}, by {schedule}"
        ));
    }
}
