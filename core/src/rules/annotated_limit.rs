//! The node limit in poolgate's annotations: a number, or a schedule by which poolgate writes the number.

use super::findings::Findings;
use super::limits::{self, NODES, PoolLimits};
use super::poolgate_annotations::{POOLGATE_ANNOTATION, POOLGATE_ANNOTATION_EFFECT, check_number};
use crate::api::{
    LimitSchedule, NODE_LIMIT_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION, ScheduleError, annotation_path,
};
use crate::diagnostic::{Edit, ErrorType, Suggestion};
use crate::json::Json;
use crate::pool::NodePool;
use crate::value::hours::{LocalHoursError, UnknownZone};
use crate::value::quantity::Quantity;

pub fn check(
    pool: &NodePool<'_>,
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let limit = check_number(pool, NODE_LIMIT_ANNOTATION, "10", findings);
    if let Some(schedule) = &limits.schedule {
        check_overwritten((schedule.lowest(), schedule.highest()), limits, old, findings);
        check_schedule(pool, schedule, findings);
    } else {
        if let Some(limit) = limit {
            check_overwritten((limit, limit), limits, old, findings);
        }
        check_unreadable(pool, findings);
    }
}

/// Reports a schedule that cannot be read.
fn check_unreadable(pool: &NodePool<'_>, findings: &mut Findings<'_>) {
    let written = pool
        .annotation(NODE_LIMIT_SCHEDULE_ANNOTATION)
        .and_then(Json::as_str);
    let (Some(Err(error)), Some(written)) = (LimitSchedule::of(pool), written) else {
        return;
    };
    let help = match &error {
        ScheduleError::Hours(LocalHoursError::Zone(UnknownZone {
            likely: Some(likely), ..
        })) => Suggestion::did_you_mean(likely),
        _ => "write HOURS = NODES and else NODES, such as mon-fri 07:00-19:00 Europe/Berlin = 40; else 10"
            .into(),
    };
    let title = "the annotation must be a schedule of node limits";
    findings
        .report(
            &POOLGATE_ANNOTATION,
            annotation_path(NODE_LIMIT_SCHEDULE_ANNOTATION),
            written,
            title,
        )
        .consequence(format!("{error}, so the last limit stays"))
        .suggest(help);
}

/// Reports what has no effect beside a schedule, and a schedule that has none.
fn check_schedule(pool: &NodePool<'_>, schedule: &LimitSchedule, findings: &mut Findings<'_>) {
    if !pool.replicas.is_absent() {
        findings
            .report(
                &POOLGATE_ANNOTATION_EFFECT,
                annotation_path(NODE_LIMIT_SCHEDULE_ANNOTATION),
                ErrorType::note(
                    pool.annotation(NODE_LIMIT_SCHEDULE_ANNOTATION)
                        .unwrap_or(&Json::Null),
                ),
                "poolgate leaves static pools to Karpenter",
            )
            .consequence(format!("the limit stays at {}", schedule.lowest()))
            .suggest(format!("write {NODE_LIMIT_ANNOTATION} instead"));
    }
    // Stored pools have both: the leader writes the number, after admission has written the lowest.
    let is_written = pool.stored_node_limit() == Some(schedule.lowest()) || !pool.is_of_a_file();
    if let Some(number) = pool.annotation(NODE_LIMIT_ANNOTATION).filter(|_| !is_written) {
        findings
            .report(
                &POOLGATE_ANNOTATION_EFFECT,
                annotation_path(NODE_LIMIT_ANNOTATION),
                ErrorType::note(number),
                "the schedule decides the node limit",
            )
            .consequence("poolgate overwrites the annotation")
            .related(annotation_path(NODE_LIMIT_SCHEDULE_ANNOTATION))
            .suggest(Suggestion::from("remove it").with(Edit::Remove));
    }
}

/// Reports a limit in the spec that poolgate overwrites with the annotated one: of a schedule, admission writes the lowest.
fn check_overwritten(
    (first, most): (u32, u32),
    limits: &PoolLimits<'_>,
    old: Option<&NodePool<'_>>,
    findings: &mut Findings<'_>,
) {
    let Some(given) = limits.get(NODES) else {
        return;
    };
    // The reconciler writes at most the limit; admission writes the limit itself.
    let is_ours = given.quantity().is_none_or(|given| match old {
        None => *given == Quantity::from(i64::from(first)),
        Some(_) => *given <= Quantity::from(i64::from(most)),
    });
    let stored = old.and_then(|old| old.limits.present()?.get("nodes"));
    if is_ours || stored == Some(given.value) {
        return;
    }
    let key = limits
        .schedule
        .as_ref()
        .map_or(NODE_LIMIT_ANNOTATION, |_| NODE_LIMIT_SCHEDULE_ANNOTATION);
    let title = match &limits.schedule {
        Some(_) => format!("the annotation {key} sets the limit"),
        None => format!("the annotation {key} sets a limit of {most}"),
    };
    findings
        .report(
            &POOLGATE_ANNOTATION_EFFECT,
            limits::path(NODES),
            given.value,
            title,
        )
        .consequence("poolgate overwrites limits.nodes")
        .related(annotation_path(key))
        .suggest("leave limits.nodes out");
}
