//! The NodePools that a cluster has stored: each is an input with the text that `kubectl get -o yaml` prints.

use std::collections::{BTreeSet, HashMap};

use poolgate_core::api::{lacks_mode, unwritten_modes};
use poolgate_core::facts::ApiVersion;
use poolgate_core::json::Json;
use poolgate_core::policy::Policy;
use poolgate_core::pool::NodePool;
use poolgate_core::rules::across::{ClassSource, NodeClasses};
use serde_json::Value;

use super::policy_report::StoredPool;
use crate::edit::yaml;
use crate::sources::cluster::{Cluster, Request};
use crate::sources::{Input, Source};
use crate::terminal;

/// The NodePools of a cluster.
#[derive(Debug, Default)]
pub struct StoredPools {
    /// Each as an input. If they cannot be read, that is an input too, like a file that cannot be read.
    pub inputs: Vec<Input>,
    /// Which stored object each input is.
    pub stored: HashMap<String, StoredPool>,
    /// The names of those with a node limit that say no mode.
    pub without_mode: Vec<String>,
}

pub fn all(cluster: &Cluster) -> StoredPools {
    let mut pools = StoredPools::default();
    let read = cluster.each(Request::NodePools, |pool: Value| {
        let text = |field| pool.pointer(field).and_then(Value::as_str).map(str::to_owned);
        let (name, uid) = (text("/metadata/name"), text("/metadata/uid"));
        let lacks_mode = lacks_mode(&NodePool::view(ApiVersion::V1, &Json::from(&pool)));
        pools.without_mode.extend(name.clone().filter(|_| lacks_mode));
        let input = input(pool);
        if let (Some(name), Some(uid)) = (name, uid) {
            pools.stored.insert(input.name.clone(), StoredPool { name, uid });
        }
        pools.inputs.push(input);
    });
    if let Err(error) = read {
        pools.inputs.push(Input {
            name: "nodepools".into(),
            source: Source::Nowhere(terminal::clean(&error.to_string())),
            is_named: true,
        });
    }
    pools
}

/// Tells which of them do not have the mode that the policy wants.
pub fn tell_of_modes(without_mode: &[String], policy: &Policy) {
    let names: Vec<&str> = without_mode.iter().map(String::as_str).collect();
    if let Some(note) = unwritten_modes(&names, policy.defaults.node_limit_mode) {
        terminal::remark(&terminal::clean(&note));
    }
}

/// The node classes of these kinds, by group. If a kind cannot be listed, the reason is printed, and no finding
/// depends on it.
pub fn classes(cluster: &Cluster, kinds: &BTreeSet<(String, String)>) -> NodeClasses {
    let mut classes = NodeClasses::new(ClassSource::Cluster);
    for (group, kind) in kinds {
        let (mut names, mut reserving) = (Vec::new(), Vec::new());
        let listed = cluster.each(Request::NodeClasses { group, kind }, |class: Value| {
            let name = class.pointer("/metadata/name").and_then(Value::as_str);
            let terms = class.pointer("/spec/capacityReservationSelectorTerms");
            let has_reservations = terms
                .and_then(Value::as_array)
                .is_some_and(|terms| !terms.is_empty());
            reserving.extend(name.filter(|_| has_reservations).map(str::to_owned));
            names.extend(name.map(str::to_owned));
        });
        match listed {
            Ok(()) => {
                classes.add(group, kind, names);
                for name in &reserving {
                    classes.add_reservations(group, kind, name);
                }
            }
            Err(error) => terminal::remark(&terminal::clean(&format!(
                "NodePools are not checked against node classes of kind {kind}: {error}"
            ))),
        }
    }
    classes
}

fn input(mut pool: Value) -> Input {
    // kubectl hides managed fields too, and the annotation is a copy of what was last applied.
    if let Some(metadata) = pool.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    let name = pool.pointer("/metadata/name").and_then(Value::as_str);
    Input {
        name: terminal::clean(&format!("nodepools/{}", name.unwrap_or_default())),
        source: Source::Stored(yaml::document(&pool)),
        is_named: true,
    }
}
