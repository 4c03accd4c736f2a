//! What tests share that cross a process border: a real control plane, a real poolgate, and processes that
//! never outlive the test that started them.
//!
//! Everything here panics with a sentence when it cannot do its work: a test that has no control plane has
//! failed. Everything that waits has a deadline, generous because test machines are shared.

// Each test binary that includes this module uses a part of it.
#![allow(dead_code)]

pub(crate) mod api;
pub(crate) mod assets;
pub(crate) mod client;
pub(crate) mod control_plane;
pub(crate) mod crds;
pub(crate) mod fleet;
pub(crate) mod karpenter;
pub(crate) mod pki;
pub(crate) mod poolgate;
pub(crate) mod process;
pub(crate) mod readme;
pub(crate) mod reconciler;
pub(crate) mod recording;
pub(crate) mod relay;
pub(crate) mod wait;
pub(crate) mod webhooks;
