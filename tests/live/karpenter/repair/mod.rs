//! Broken nodes of a full pool, where Karpenter repairs nodes as it disrupts others: it wants the replacement first, for
//! which there is no place. Not on releases before 1.15, which delete them: `legacy_repair.rs`.

mod beside;
mod block;
mod bounds;
mod breaker;
mod crowd;
mod deaths;
mod elsewhere;
mod left;
mod opt_out;
mod recovery;
mod shared;
mod stop;
mod trial;
mod typo;
mod untouched;

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::files::directory;
use crate::support::karpenter::objects::limited_pool;

/// How long Karpenter hopes that a node becomes well again, by the policies of its kwok provider.
const HOPE: Duration = Duration::from_secs(30);

/// A reconciler that does not wait for long until things have settled.
const SETTLED: &[&str] = &["--settle=5s"];

/// How many creations may be denied for each node that is replaced: about a dozen are, more on a busy machine.
const DENIALS: usize = 30;

/// A Hard pool that may have so many nodes.
fn hard_pool(name: &str, limit: usize) -> Value {
    limited_pool(name, &json!({"disruption": {"nodeLimitMode": "Hard"}}), limit)
}

/// A policy with this after its head: its directory, and the flag that names it.
fn policy(text: &str) -> (TempDir, String) {
    let text = format!("apiVersion: poolgate.dev/v1alpha1\nkind: Policy\n{text}\n");
    let directory = directory(&[("policy.yaml", &text)]);
    let flag = format!("--policy={}", directory.path().join("policy.yaml").display());
    (directory, flag)
}
