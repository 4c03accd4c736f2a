//! The life of a process that runs until it is signalled to stop: whether it is ready, which parts it
//! has, and which signal stops it. Knows nothing of what it does meanwhile.

mod readiness;
mod signals;
mod tasks;

pub(crate) use readiness::{Detail, Need, Readiness, StatusLine};
pub(crate) use signals::{Signal, Signals};
pub(crate) use tasks::{Ending, PartError, Tasks, on_own_thread};
