//! Effects of budgets that their authors did not intend.

use jiff::{SignedDuration, Timestamp};
use poolgate_core::diagnostic::FieldPath;
use serde_json::{Value, json};

use super::{SuspectPool, indexes};

/// Karpenter's number if nothing limits.
const UNLIMITED: u64 = 2_147_483_647;

/// Monday to Sunday, at odd and even times.
const MOMENTS: [&str; 8] = [
    "2026-01-05T00:00:00Z",
    "2026-01-06T03:17:42Z",
    "2026-01-07T08:30:00Z",
    "2026-01-08T12:00:30Z",
    "2026-01-09T16:45:00Z",
    "2026-01-10T20:59:59Z",
    "2026-01-11T23:59:59.5Z",
    "2028-02-29T12:00:00Z",
];

/// Karpenter's result for budgets at a time.
struct Computed(Value);

impl SuspectPool<'_> {
    fn compute(&mut self, budgets: &Value, at: &str, nodes: u32) -> Computed {
        let object = json!({"spec": {"disruption": {"budgets": budgets}}});
        let question = json!({"kind": "budgets", "object": object, "at": at, "nodes": nodes});
        Computed(self.ask(question).given())
    }

    fn budgets(&self) -> Option<&Value> {
        let budgets = self.object.pointer("/spec/disruption/budgets");
        budgets.filter(|_| self.is_read())
    }

    /// The budget that a path is in, as the only one.
    fn budget(&self, path: &FieldPath) -> Option<Value> {
        let budget = self.budgets()?.get(*indexes(path).first()?)?;
        Some(json!([budget]))
    }

    /// Whether the only budget is active at each of some moments.
    fn activity(&mut self, budget: &Value, moments: &[String]) -> Option<Vec<bool>> {
        let at = |moment: &String| self.compute(budget, moment, 10).0["budgets"][0]["active"].as_bool();
        moments.iter().map(at).collect()
    }

    /// The next times at which the only budget's schedule fires.
    fn fires(&mut self, budget: &Value, count: usize) -> Option<Vec<Timestamp>> {
        let text = budget.pointer("/0/schedule")?.as_str()?;
        let question = json!({"kind": "cron", "text": text, "at": MOMENTS[0], "count": count});
        let answer = self.ask(question).given();
        let fires = answer["next"].as_array()?.iter();
        fires.map(|fire| fire.as_str()?.parse().ok()).collect()
    }
}

impl Computed {
    /// The reasons that this Karpenter knows.
    fn reasons(&self) -> impl Iterator<Item = &str> {
        let allowed = self.0["allowed"].as_object().expect("a map by reason");
        allowed.keys().map(String::as_str)
    }

    fn nodes(&self, reason: &str) -> Option<u64> {
        self.0["allowed"][reason]["nodes"].as_u64()
    }

    fn is_limited(&self, reason: &str) -> bool {
        self.nodes(reason) != Some(UNLIMITED)
    }
}

fn moments() -> Vec<String> {
    MOMENTS.map(str::to_owned).to_vec()
}

/// Every hour of a week.
fn hours() -> Vec<String> {
    let monday: Timestamp = MOMENTS[0].parse().expect("a time");
    let hours = (0..7 * 24).map(|hour| (monday + SignedDuration::from_hours(hour)).to_string());
    hours.collect()
}

/// No reason is limited at any time.
pub fn limit_nothing(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let budgets = suspect.budgets()?.clone();
    Some(moments().iter().all(|at| {
        let computed = suspect.compute(&budgets, at, 10);
        computed.reasons().all(|reason| !computed.is_limited(reason))
    }))
}

/// The one budget limits no reason at any time.
pub fn limits_nothing(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    Some(moments().iter().all(|at| {
        let computed = suspect.compute(&budget, at, 10);
        computed.reasons().all(|reason| !computed.is_limited(reason))
    }))
}

/// Karpenter reads another number of nodes, or none.
pub fn count_otherwise(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let written = budget[0]["nodes"].as_str()?.parse::<u64>().ok();
    let always = json!([{"nodes": budget[0]["nodes"]}]);
    Some(suspect.compute(&always, MOMENTS[0], 10).nodes("Drifted") != written)
}

/// The budget blocks every disruption for every reason.
pub fn stops_all(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let computed = suspect.compute(&budget, MOMENTS[0], 100);
    let is_stopped = |reason| {
        let allowed = &computed.0["allowed"][reason];
        allowed["nodes"] == 0 && allowed["error"].is_string()
    };
    Some(computed.reasons().all(is_stopped))
}

/// The budget is active at all times, even just before its window begins.
pub fn is_always_active(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let mut moments = moments();
    let before = SignedDuration::from_nanos(-1);
    let fires = suspect.fires(&budget, 3)?.into_iter();
    moments.extend(fires.map(|fire| (fire + before).to_string()));
    Some(
        suspect
            .activity(&budget, &moments)?
            .into_iter()
            .all(|active| active),
    )
}

/// The budget is not active even as its window begins.
pub fn is_never_active(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let fires = suspect.fires(&budget, 3)?;
    // A schedule that never fires is always active, whatever the duration.
    if fires.is_empty() {
        return None;
    }
    let moments: Vec<String> = fires.iter().map(ToString::to_string).collect();
    Some(
        suspect
            .activity(&budget, &moments)?
            .into_iter()
            .all(|active| !active),
    )
}

/// The budget is active always or never, and its schedule does not matter.
pub fn is_constant(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let mut moments = moments();
    let fires = suspect.fires(&budget, 3)?;
    moments.extend(fires.iter().map(ToString::to_string));
    let states = suspect.activity(&budget, &moments)?;
    Some(states.windows(2).all(|pair| pair[0] == pair[1]))
}

/// The schedule fires on days other than its days of the week.
pub fn fires_on_other_days(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let budget = suspect.budget(path)?;
    let fires = suspect.fires(&budget, 20)?;
    let mut by_week = budget.clone();
    let schedule = budget[0]["schedule"].as_str()?;
    let mut fields: Vec<&str> = schedule.split_whitespace().collect();
    *fields.get_mut(2)? = "*";
    by_week[0]["schedule"] = fields.join(" ").into();
    Some(fires != suspect.fires(&by_week, 20)?)
}

/// Without the budget, the result is the same.
pub fn changes_nothing(suspect: &mut SuspectPool<'_>, path: &FieldPath) -> Option<bool> {
    let with = suspect.budgets()?.clone();
    let mut without = with.clone();
    let index = *indexes(path).first()?;
    let list = without.as_array_mut()?;
    (index < list.len()).then(|| list.remove(index))?;
    Some(hours().iter().all(|at| {
        [1, 10, 100].into_iter().all(|nodes| {
            let (with, without) = (
                suspect.compute(&with, at, nodes),
                suspect.compute(&without, at, nodes),
            );
            with.0["allowed"] == without.0["allowed"]
        })
    }))
}

/// At some hour of the week nothing limits a reason for which nodes are replaced.
pub fn leave_hours_without_limit(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let budgets = suspect.budgets()?.clone();
    Some(hours().iter().any(|at| {
        let computed = suspect.compute(&budgets, at, 10);
        let mut replacing = computed
            .reasons()
            .filter(|reason| ["Drifted", "Underutilized"].contains(reason));
        replacing.any(|reason| !computed.is_limited(reason))
    }))
}

/// Some reason is never limited.
pub fn leave_a_reason_without_limit(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let budgets = suspect.budgets()?.clone();
    let computed: Vec<Computed> = hours()
        .iter()
        .map(|at| suspect.compute(&budgets, at, 10))
        .collect();
    let is_free = |reason: &str| computed.iter().all(|computed| !computed.is_limited(reason));
    Some(computed.first()?.reasons().any(is_free))
}

/// No drifted node may be disrupted at any time.
pub fn block_drift(suspect: &mut SuspectPool<'_>, _: &FieldPath) -> Option<bool> {
    let budgets = suspect.budgets()?.clone();
    let mut hours = hours().into_iter();
    Some(hours.all(|at| suspect.compute(&budgets, &at, 100).nodes("Drifted") == Some(0)))
}
