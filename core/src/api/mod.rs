//! poolgate's own API: the annotations and labels by which users and poolgate tell each other something, the words in
//! them, and the node limit that they describe.

mod freeze;
mod keys;
mod limit_schedule;
mod node_limit;

pub use freeze::{Freeze, MAX_FREEZE_TEXT};
pub use keys::{
    ACKNOWLEDGE_DRIFT_ANNOTATION, ALLOW_DELETE_ANNOTATION, API_VERSION, AT_LIMIT_ANNOTATION, AtLimit,
    FAILURE_POLICY_ANNOTATION, FREEZE_ANNOTATION, HELD_ANNOTATION, HELD_LABEL, KEEP_MARK, LEDGER_LABEL,
    NODE_LIMIT_ANNOTATION, NODE_LIMIT_MODE_ANNOTATION, NODE_LIMIT_SCHEDULE_ANNOTATION, NodeLimitMode,
    OVER_LIMIT_ANNOTATION, OverLimit, SURGE_ANNOTATION,
};
pub(crate) use keys::{KEY_PREFIX, OF_NODES, OF_POOLS, annotation_path};
pub use limit_schedule::{LONGEST_SCHEDULE, LimitSchedule, ScheduleError};
pub use node_limit::{ClaimCounts, MAX_SURGE, NodeLimit, lacks_mode, unwritten_modes};
