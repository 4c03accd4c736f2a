//! Events on NodePools. The name of an event is made from its content, so that none is written twice: not by two
//! replicas, and not by one that has restarted.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Event as EventObject, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Patch, PatchParams};
use poolgate_core::nodelimit::plan::{Event, Pool};
use serde_json::json;

use super::{MANAGER, WriteError, Writer};
use crate::cluster::Collection;
use poolgate_core::sha256::hashed_name;

/// The namespace of events on objects that have none.
const NAMESPACE: &str = "default";
const EVENTS: &str = "/api/v1/namespaces/default/events";

/// How many bytes of a pool's name are in the name of its event, so that the whole is a valid name.
const MOST_OF_NAME: usize = 200;

/// How many events of one pool are remembered.
const MOST_KNOWN: usize = 64;

/// The events of a pool that this process knows to exist.
#[derive(Debug, Default)]
pub struct PublishedEvents(BTreeSet<String>);

impl PublishedEvents {
    /// Writes events. An event that was there before this process began is left as it is; if this process writes an
    /// event again, its count goes up.
    pub async fn publish(
        &mut self,
        writer: &Writer,
        pool: &Pool,
        events: &[Event],
    ) -> Result<(), WriteError> {
        for event in events {
            let name = name(pool, event);
            let known = &mut self.0;
            if known.len() >= MOST_KNOWN {
                known.clear();
            }
            if known.contains(&name) {
                writer.count_up(&name, pool, event).await?;
            } else {
                writer.create(&name, pool, event).await?;
                known.insert(name);
            }
        }
        Ok(())
    }
}

impl Writer {
    async fn create(&self, name: &str, pool: &Pool, event: &Event) -> Result<(), WriteError> {
        if self.observe {
            tracing::info!(
                nodepool = &*pool.name,
                reason = event.reason.as_str(),
                message = event.message,
                "would publish an event"
            );
            return Ok(());
        }
        let object = object(name, pool, event, Time(self.clock.wall()));
        let events = self.written(EVENTS);
        match self.write("event", |by| events.create(&object, by)).await {
            Err(error) if !error.is_conflict() => Err(error),
            _ => Ok(()),
        }
    }

    async fn count_up(&self, name: &str, pool: &Pool, event: &Event) -> Result<(), WriteError> {
        if self.observe {
            return self.create(name, pool, event).await;
        }
        let events = Collection::<EventObject>::new(self.client.clone(), EVENTS);
        let Some(stored) = self.call(|by| events.get_opt(name, by)).await? else {
            // The API server deletes events after an hour or so.
            return self.create(name, pool, event).await;
        };
        let patch = json!({
            "metadata": {"resourceVersion": stored.metadata.resource_version},
            "count": stored.count.unwrap_or(1).saturating_add(1),
            "lastTimestamp": Time(self.clock.wall()),
        });
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let written = |by| events.patch(name, &params, &patch, by);
        self.write_unless_stale("event", written).await?;
        Ok(())
    }
}

fn object(name: &str, pool: &Pool, event: &Event, now: Time) -> EventObject {
    EventObject {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some(NAMESPACE.into()),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            api_version: Some("karpenter.sh/v1".into()),
            kind: Some("NodePool".into()),
            name: Some((*pool.name).into()),
            uid: Some((*pool.uid).into()),
            ..ObjectReference::default()
        },
        type_: Some(
            if event.reason.is_warning() {
                "Warning"
            } else {
                "Normal"
            }
            .into(),
        ),
        reason: Some(event.reason.as_str().into()),
        message: Some(event.message.clone()),
        source: Some(EventSource {
            component: Some(MANAGER.into()),
            ..EventSource::default()
        }),
        reporting_component: Some(MANAGER.into()),
        reporting_instance: Some(MANAGER.into()),
        first_timestamp: Some(now.clone()),
        last_timestamp: Some(now),
        count: Some(1),
        ..EventObject::default()
    }
}

fn name(pool: &Pool, event: &Event) -> String {
    let said = format!("{}\n{}\n{}", pool.uid, event.reason.as_str(), event.message);
    hashed_name(&pool.name, MOST_OF_NAME, '.', &said)
}
