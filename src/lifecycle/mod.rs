//! The life of a process that runs until it is told to end: whether it is ready, which parts it
//! has, and who tells it to end. Knows nothing of what it does meanwhile.

mod readiness;
mod signals;
mod tasks;

pub(crate) use readiness::{Detail, Readiness, StatusLine};
pub(crate) use signals::{Signal, Signals};
pub(crate) use tasks::{Ending, PartError, Tasks, on_own_thread};
