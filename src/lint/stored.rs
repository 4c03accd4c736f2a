//! The NodePools that a cluster has stored: each an input with the text that `kubectl get -o yaml` prints of it.

use std::sync::Arc;

use poolgate_core::karpenter::{Installed, Karpenter, NODEPOOL_DEFINITION, ReleaseSource};
use serde_json::Value;

use super::remark;
use crate::cluster::{ClusterReadError, ClusterReader};
use crate::files::{self, Input, Source, yaml};
use crate::objects::{DEFINITIONS, NODE_POOLS};

/// What the cluster runs, unless the user has named a release: then that one, as on this cluster.
pub(super) fn karpenter(cluster: &ClusterReader, named: &Karpenter) -> anyhow::Result<Karpenter> {
    let definition = cluster.get(DEFINITIONS, NODEPOOL_DEFINITION).unwrap_or_else(|error| {
        if named.source() != ReleaseSource::User {
            remark(&format!(
                "the release that the cluster runs is not known, name it with --karpenter-version: {error}"
            ));
        }
        None
    });
    let installed = definition
        .map(|definition| Installed::read(&definition))
        .transpose()?;
    Ok(installed.map_or_else(|| named.clone(), |installed| named.on(Arc::new(installed))))
}

/// Every NodePool, some at a time. That they cannot be read is an input, too, like a file that cannot be.
pub(super) fn each(
    cluster: &ClusterReader,
    take: &mut dyn FnMut(&[Input]) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let read = cluster.each_page(NODE_POOLS, None, &mut |pools| {
        take(&pools.into_iter().map(input).collect::<Vec<_>>())
    });
    match read.map_err(anyhow::Error::downcast::<ClusterReadError>) {
        Ok(()) => Ok(()),
        Err(Ok(error)) => take(&[Input {
            name: "nodepools".into(),
            source: Source::Nowhere(files::clean(&error.to_string())),
        }]),
        Err(Err(error)) => Err(error),
    }
}

fn input(mut pool: Value) -> Input {
    // kubectl shows no managed fields either, and the other is a copy of what somebody once applied.
    if let Some(metadata) = pool.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    let name = pool.pointer("/metadata/name").and_then(Value::as_str);
    Input {
        name: files::clean(&format!("nodepools/{}", name.unwrap_or_default())),
        source: Source::Text(pool.as_object().map(yaml::object).unwrap_or_default()),
    }
}
