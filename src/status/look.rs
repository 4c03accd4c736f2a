//! Reads the cluster, and calls the webhooks by dry runs if requested.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use futures_util::stream;
use http_body_util::BodyExt as _;
use hyper::{Request, header};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::ListParams;
use poolgate_core::api::LEDGER_LABEL;
use poolgate_core::facts::{Installed, NODEPOOL_DEFINITION, NODEPOOL_LABEL};
use poolgate_core::pods::Needs;
use poolgate_files::sources::cluster::KubeArgs;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::deployments::DEPLOYMENTS;
use super::facts::{Asked, Facts, KnownClaim, KnownNode, Read, SelfReport};
use super::reconciler::Reconciler;
use crate::cluster::objects::{
    DEFINITIONS, DeploymentObject, NODE_CLAIMS, NODE_POOLS, NODES, NodeObject, PODS, PodKinds, PodLocation,
    PodObject, PoolObject,
};
use crate::cluster::webhooks::Webhook;
use crate::cluster::{Collection, Deadline, LedgerArgs, call, leases_path, ledgers, ledgers_path, served_at};
use crate::serving::admission::inquiry;
use crate::serving::registration::{self, Serves};

/// The events on objects without a namespace.
pub const EVENTS: &str = "/api/v1/namespaces/default/events";

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// How many objects are on a page.
const PAGE: u32 = 500;

/// How many pools are probed simultaneously.
const AT_ONCE: usize = 4;

/// The namespace of poolgate, unless its webhooks say otherwise.
const NAMESPACE: &str = "poolgate-system";

/// The flags that say what is read.
#[derive(Debug, Args)]
pub struct LookArgs {
    #[command(flatten)]
    pub cluster: KubeArgs,

    /// The namespace of poolgate
    /// [default: that of the Service that the webhooks call, else poolgate-system]
    #[arg(long, short, env = "POOLGATE_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,

    #[command(flatten)]
    ledgers: LedgerArgs,
}

impl LookArgs {
    /// How they say to read the cluster.
    pub fn look<'a>(&'a self, client: &'a Client, probes: bool) -> Look<'a> {
        Look {
            client,
            namespace: self.namespace.as_deref(),
            ledger_namespace: &self.ledgers.ledger_namespace,
            probes,
        }
    }
}

/// How to read the cluster.
pub struct Look<'a> {
    pub client: &'a Client,
    /// The namespace, if the user gives one.
    pub namespace: Option<&'a str>,
    /// The namespace of ledgers and Lease.
    pub ledger_namespace: &'a str,
    /// Whether webhooks are called.
    pub probes: bool,
}

impl Look<'_> {
    /// Reads the cluster once.
    pub async fn once(&self) -> Facts {
        let webhooks = self.webhooks().await;
        let namespace = self.namespace_of(&webhooks);
        let ledgers = self.ledger_namespace;
        let leases = leases_path(ledgers);
        let of_pools = ListParams::default().labels(NODEPOOL_LABEL);
        let of_ledgers = ListParams::default().labels(LEDGER_LABEL);
        let of_events = ListParams::default().fields("involvedObject.kind=NodePool");
        let (own, ledgers) = (ledgers_path(&namespace), ledgers_path(ledgers));
        let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
        let deployments = DEPLOYMENTS.map(|(name, _)| self.get::<DeploymentObject>(&deployments, name));
        let (deployments, policy, reconciler, pools, claims, nodes, waiting, stored, events, definition) = tokio::join!(
            try_join_all(deployments),
            self.get::<ConfigMap>(&own, "poolgate-policy"),
            self.get::<Lease>(&leases, "poolgate-reconciler"),
            self.pools(),
            self.list(NODE_CLAIMS, of_pools.clone()),
            self.list(NODES, of_pools),
            self.list::<PodObject>(
                PODS,
                ListParams::default().fields("spec.nodeName=,status.phase=Pending")
            ),
            self.list::<ConfigMap>(&ledgers, of_ledgers),
            self.list(EVENTS, of_events),
            self.get(DEFINITIONS, NODEPOOL_DEFINITION),
        );
        let deployments: Read<Vec<DeploymentObject>> =
            deployments.map(|found| found.into_iter().flatten().collect());
        let reconciler = reconciler.map(|lease| Some(Reconciler::of(lease?, Timestamp::now())));
        let reconciler = match &deployments {
            Ok(deployments) => reconciler.map(|found| Some(found?.among(deployments))),
            Err(_) => reconciler,
        };
        let mut facts = Facts {
            now: Timestamp::now(),
            namespace,
            webhooks,
            deployments,
            asked: None,
            asked_of_claims: BTreeMap::new(),
            policy: policy.map(|map| map?.data?.remove("policy.yaml")),
            reconciler,
            pools,
            claims: claims.map(|all: Vec<Value>| all.iter().filter_map(KnownClaim::of).collect()),
            waiting: waiting.map(unschedulable),
            nodes: nodes.map(|all: Vec<NodeObject>| all.into_iter().filter_map(KnownNode::of).collect()),
            ledgers: stored.and_then(|maps| {
                let read = maps.iter().map(ledgers::parse);
                read.collect::<Result<_, _>>().map_err(|error| error.to_string())
            }),
            events,
            definition: definition.and_then(|definition: Option<Value>| {
                let installed = definition.map(|definition| Installed::parse(&definition));
                installed.transpose().map_err(|error| error.to_string())
            }),
        };
        if self.probes {
            facts.asked = Some(self.ask(NODE_POOLS, &node_pool()).await);
            facts.asked_of_claims = self.ask_of_claims(&facts).await;
        }
        facts
    }

    /// The namespace of poolgate: the user's choice, else that of the Service that the webhooks call.
    pub fn namespace_of(&self, webhooks: &Read<Vec<Webhook>>) -> String {
        let service = || {
            let mut webhooks = webhooks.iter().flatten();
            webhooks.find_map(|one| one.client_config.service.clone())
        };
        let namespace = self.namespace.map(str::to_owned);
        namespace
            .or_else(|| service().map(|service| service.namespace))
            .unwrap_or_else(|| NAMESPACE.to_owned())
    }

    /// The NodePools.
    pub async fn pools(&self) -> Read<Vec<PoolObject>> {
        self.list(NODE_POOLS, ListParams::default()).await
    }

    /// The webhooks of poolgate.
    pub async fn webhooks(&self) -> Read<Vec<Webhook>> {
        let all = [Serves::Reviews, Serves::Gate];
        Ok(registration::read(self.client, &all, ANSWER).await?)
    }

    /// Probes with a NodeClaim of every pool, and of a pool that does not exist.
    async fn ask_of_claims(&self, facts: &Facts) -> BTreeMap<String, Read<Asked>> {
        let pools = facts.pools.iter().flatten();
        let names = pools.map(|pool| pool.metadata.name.to_string());
        let asked = names.chain([inquiry::NAME.to_owned()]).map(async |pool| {
            let asked = self.ask(NODE_CLAIMS, &node_claim(&pool)).await;
            (pool, asked)
        });
        stream::iter(asked).buffer_unordered(AT_ONCE).collect().await
    }

    /// The object of this name, if there is one.
    pub async fn get<K>(&self, path: &str, name: &str) -> Read<Option<K>>
    where
        K: DeserializeOwned + Send + 'static,
    {
        let collection = Collection::<K>::new(self.client.clone(), path);
        Ok(collection.get_opt(name, Deadline::within(ANSWER)).await?)
    }

    /// The path of the objects of a kind; `None` if it is not served.
    pub async fn served_at(&self, group: &str, kind: &str) -> Read<Option<String>> {
        Ok(served_at(self.client, group, kind, ANSWER).await?)
    }

    /// Whether there is an object of this name, by the right to list them.
    pub async fn is_there(&self, path: &str, name: &str) -> Read<bool> {
        let named = ListParams::default().fields(&format!("metadata.name={name}"));
        Ok(!self.list::<IgnoredAny>(path, named).await?.is_empty())
    }

    /// All objects of a collection that these parameters select.
    pub async fn list<K>(&self, path: &str, params: ListParams) -> Read<Vec<K>>
    where
        K: DeserializeOwned + Clone + Send + 'static,
    {
        let collection = Collection::<K>::new(self.client.clone(), path);
        let mut pages = collection.pages(params.limit(PAGE));
        let mut all = Vec::new();
        while let Some(page) = pages.next(Deadline::within(ANSWER)).await? {
            all.extend(page);
        }
        Ok(all)
    }

    /// Creates an object in a dry run: nothing is stored.
    async fn ask(&self, collection: &str, object: &Value) -> Read<Asked> {
        let uri = format!("{collection}?dryRun=All&fieldManager={}", inquiry::NAME);
        let request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes().into())
            .map_err(|error| error.to_string())?;
        let client = self.client.clone();
        let answer = Box::pin(async move {
            let (head, body) = client.send(request).await?.into_parts();
            Ok((head, body.collect().await?.to_bytes()))
        });
        let by = Deadline::within(ANSWER);
        let (head, body) = call("create", collection, None, by, answer).await?;
        let reports = head
            .headers
            .get_all(header::WARNING)
            .iter()
            .filter_map(|warning| SelfReport::parse(warning.to_str().ok()?))
            .collect();
        let error = (!head.status.is_success()).then(|| {
            let status: Value = serde_json::from_slice(&body).unwrap_or_default();
            let message = status.get("message").and_then(Value::as_str);
            message.unwrap_or("the API server denied it").to_owned()
        });
        Ok(Asked { reports, error })
    }
}

/// The needs of those pods for which the scheduler finds no node.
fn unschedulable(pods: Vec<PodObject>) -> Vec<Arc<Needs>> {
    let mut kinds = PodKinds::default();
    let located = pods.into_iter().filter_map(|pod| pod.location(&mut kinds));
    located
        .filter_map(|location| match location {
            PodLocation::Unschedulable(needs) => Some(needs),
            PodLocation::Bound(..) => None,
        })
        .collect()
}

fn template() -> Value {
    json!({
        "nodeClassRef": {"group": "poolgate.dev", "kind": "None", "name": inquiry::NAME},
        "requirements": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}],
    })
}

fn node_pool() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": inquiry::NAME},
        "spec": {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "0s"},
            "template": {"spec": template()},
        },
    })
}

fn node_claim(pool: &str) -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": inquiry::NAME, "labels": {NODEPOOL_LABEL: pool}},
        "spec": template(),
    })
}
