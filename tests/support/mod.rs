//! What tests share that cross a process border: a real control plane, a real poolgate, and processes that
//! never outlive the test that started them.
//!
//! Everything here panics with a sentence when it cannot do its work: a test that has no control plane has
//! failed. Everything that waits has a deadline, generous because test machines are shared.

pub(crate) mod accounts;
pub(crate) mod assets;
pub(crate) mod authority;
pub(crate) mod chance;
pub(crate) mod chart;
pub(crate) mod client;
pub(crate) mod control_plane;
pub(crate) mod crds;
pub(crate) mod definitions;
pub(crate) mod etcd;
pub(crate) mod faults;
pub(crate) mod files;
pub(crate) mod fleet;
pub(crate) mod full;
#[allow(dead_code, reason = "the simulation uses all of it")]
pub(crate) mod history;
pub(crate) mod karpenter;
pub(crate) mod kubelet;
pub(crate) mod load;
pub(crate) mod mount;
pub(crate) mod nodeclaim;
pub(crate) mod nodepool;
pub(crate) mod pki;
pub(crate) mod poolgate;
pub(crate) mod process;
pub(crate) mod program;
pub(crate) mod readme;
pub(crate) mod reconciler;
pub(crate) mod recording;
pub(crate) mod relay;
pub(crate) mod rendered;
pub(crate) mod running;
pub(crate) mod schemas;
pub(crate) mod services;
pub(crate) mod shell;
pub(crate) mod wait;
pub(crate) mod watching;
pub(crate) mod webhooks;
