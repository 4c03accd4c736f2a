//! Plans of whole pools: known cases, and what must hold of any.

mod any;
mod counts;
mod drain;
mod drift;
mod events;
mod excess;
mod fit;
mod freeze;
mod holds;
mod properties;
mod remaining;
mod repair;
mod schedule;
mod settling;
mod state;
mod world;
