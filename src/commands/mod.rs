//! Commands other than serving.

pub mod rules;
