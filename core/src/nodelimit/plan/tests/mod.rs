//! Plans of whole pools: known cases, and what must hold of any.

mod any;
mod counting;
mod drain;
mod events;
mod excess;
mod expected;
mod holds;
mod machine;
mod order;
mod packing;
mod properties;
mod remaining;
mod replacement;
mod replacement_for_drift;
mod settling;
mod spec_limit;
mod world;
