//! `poolgate why pod NAMESPACE/NAME`: which NodePool takes a pod of the cluster.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::slice;

use anyhow::{Context as _, bail};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use poolgate_core::diagnostic::counted;
use poolgate_core::facts::{ApiVersion, HOSTNAME_LABEL, NODEPOOL_LABEL, Operator};
use poolgate_core::json::Json;
use poolgate_core::pods::{InstanceType, LabelRequirement, Needs, PodSpec, Resources};
use poolgate_core::policy::Policy;
use poolgate_files::terminal;
use poolgate_files::why::{Answer, Asked, Candidate, Known, Verdict, paragraph, report};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::volumes;
use crate::cluster::objects::{Metadata, NODES, Object, PoolObject, Texts};
use crate::status::age::age;
use crate::status::facts::{Read, unread};
use crate::status::look::Look;
use crate::status::seen_pool::{NodesByName, PoolFacts};

/// The path of DaemonSets.
const DAEMON_SETS: &str = "/apis/apps/v1/daemonsets";

/// How many of a pod's events are shown.
const MOST_EVENTS: usize = 3;

/// How long a denial is told after it.
const RECENT: SignedDuration = SignedDuration::from_mins(10);

/// The fields of a node that show what machine it is.
type Machine = Object<Metadata<Texts>, IgnoredAny, MachineStatus>;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct MachineStatus {
    allocatable: BTreeMap<String, String>,
    capacity: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DaemonSpec {
    template: DaemonTemplate,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct DaemonTemplate {
    spec: PodSpec,
}

/// The answer about a pod.
pub struct PodWhy {
    pod: Asked,
    pools: Vec<Candidate>,
    types: Option<Vec<InstanceType>>,
    /// Machines that pools have had.
    seen: BTreeMap<String, Vec<InstanceType>>,
    daemons: Option<Vec<Needs>>,
    volumes: Option<Vec<Vec<LabelRequirement>>>,
    node: Option<String>,
    /// What is under way, by pool.
    under_way: BTreeMap<String, Vec<String>>,
    events: Vec<String>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl PodWhy {
    /// Reads the pod, and everything that the answer depends on.
    pub async fn read(
        look: &Look<'_>,
        namespace: &str,
        name: &str,
        types: Option<Vec<InstanceType>>,
    ) -> anyhow::Result<Self> {
        let of_pod = format!("/api/v1/namespaces/{namespace}/pods");
        let named = ListParams::default().fields(&format!("metadata.name={name}"));
        let found = look.list::<Value>(&of_pod, named).await;
        let found =
            found.map_err(|error| anyhow::anyhow!("pod {namespace}/{name} could not be read: {error}"))?;
        let pod = found.into_iter().next();
        let pod = pod.with_context(|| format!("pod {namespace}/{name} does not exist (any more)"))?;
        let spec = pod
            .get("spec")
            .map(PodSpec::deserialize)
            .transpose()?
            .unwrap_or_default();
        let events = format!("/api/v1/namespaces/{namespace}/events");
        let about = format!("involvedObject.kind=Pod,involvedObject.name={name}");
        let (facts, nodes, daemons, events, volumes) = tokio::join!(
            look.once(),
            look.list::<Machine>(NODES, ListParams::default().labels(NODEPOOL_LABEL)),
            look.list::<Object<Metadata, DaemonSpec>>(DAEMON_SETS, ListParams::default()),
            look.list::<Event>(&events, ListParams::default().fields(&about)),
            volumes::places(look, namespace, &pod),
        );
        let objects = match &facts.pools {
            Ok(objects) => objects,
            Err(error) => bail!("NodePools could not be read: {error}"),
        };
        let policy = facts.policy().unwrap_or_default();
        let nodes_of_pools = NodesByName::of(&facts);
        let (mut pools, mut under_way) = (Vec::new(), BTreeMap::new());
        for object in objects {
            let pool = PoolFacts::of(object, &facts, Some(&policy), &nodes_of_pools);
            under_way.insert(pool.name().to_owned(), in_progress(&pool));
            pools.push(candidate(object, &policy, &pool));
        }
        pools.sort_by(Candidate::order);
        Ok(Self {
            pod: Asked {
                kind: "Pod".to_owned(),
                namespace: Some(namespace.to_owned()),
                name: name.to_owned(),
                at: None,
                needs: spec.needs(&mut |name| name.into()),
                places: Vec::new(),
            },
            pools,
            unread: unread([
                ("Nodes", nodes.as_ref().err()),
                ("DaemonSets", daemons.as_ref().err()),
                ("Events", events.as_ref().err()),
                ("volumes", volumes.as_ref().err()),
                ("policy", facts.policy.as_ref().err()),
            ]),
            types,
            seen: machines(nodes),
            daemons: daemons.ok().map(|daemons| daemons.iter().map(needs_of).collect()),
            volumes: volumes.ok(),
            node: spec.node_name().map(str::to_owned),
            events: said(events.unwrap_or_default(), facts.now),
            under_way,
        })
    }

    /// What each pool makes of it: one answer.
    pub fn answers(&self) -> Vec<Answer<'_>> {
        let known = Known {
            types: self.types.as_deref(),
            daemons: self.daemons.as_deref(),
            seen: Some(&self.seen),
            volumes: self.volumes.as_deref(),
        };
        Answer::all(slice::from_ref(&self.pod), &self.pools, known)
    }

    /// The answer in words.
    pub fn text(&self) -> String {
        let mut text: String = self.answers().iter().map(paragraph).collect();
        if let Some(node) = &self.node {
            let _ = writeln!(text, "\nIt runs on node {}.", terminal::clean(node));
        }
        for (heading, lines) in [
            ("Under way", &self.coming()),
            ("Events", &self.events),
            ("Not read", &self.unread),
        ] {
            if !lines.is_empty() {
                let _ = writeln!(text, "\n{heading}:");
                text.extend(lines.iter().map(|line| format!("  {}\n", terminal::clean(line))));
            }
        }
        text
    }

    /// What is under way in the pools that take the pod, or may, if it has no node.
    fn coming(&self) -> Vec<String> {
        let answers = self.answers();
        let verdicts = answers.iter().flat_map(|answer| &answer.verdicts);
        let may_take = |verdict: &Verdict| matches!(verdict, Verdict::Takes | Verdict::Open(_));
        let pools = verdicts.filter(|(_, verdict)| self.node.is_none() && may_take(verdict));
        let lines = pools.filter_map(|(pool, _)| self.under_way.get(&pool.name));
        lines.flatten().cloned().collect()
    }

    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Result<Value> {
        let mut value = serde_json::to_value(report(&self.answers(), &self.unread))?;
        if let Some(pod) = value.pointer_mut("/pods/0").and_then(Value::as_object_mut) {
            pod.insert("node".to_owned(), json!(self.node));
            pod.insert("events".to_owned(), json!(self.events));
            pod.insert("underWay".to_owned(), json!(self.coming()));
        }
        Ok(value)
    }
}

/// A pool as it is stored, and why it launches nothing now.
fn candidate(object: &PoolObject, policy: &Policy, pool: &PoolFacts<'_>) -> Candidate {
    let mut candidate = Candidate::new(&Json::from(&object.with_usage()), ApiVersion::V1, policy);
    let known = &pool.known;
    let ready = object.status.conditions.get("Ready");
    // karpenter: pkg/controllers/provisioning/provisioner.go Provisioner.NewScheduler
    let why = if known.pool.is_deleted {
        Some("it is being deleted".to_owned())
    } else if !known.pool.is_ready {
        let reason = ready
            .map(|ready| format!(" ({})", ready.reason))
            .unwrap_or_default();
        Some(format!("it is not ready{reason}"))
    } else {
        let is_full = known.free() == Some(0) && pool.facts.has_gate() == Some(true);
        is_full.then(|| "its node limit is reached: poolgate's gate denies its next NodeClaim".to_owned())
    };
    candidate.refuses_all = candidate.refuses_all.or(why);
    candidate
}

/// Nodes of a pool that start, and its last denial while it is young.
fn in_progress(pool: &PoolFacts<'_>) -> Vec<String> {
    let (name, now) = (pool.name(), pool.facts.now);
    let starting: Vec<_> = pool.claims().filter(|claim| claim.is_starting()).collect();
    let first = starting.iter().min_by_key(|claim| claim.created);
    let starting = first.map(|first| {
        let (claims, since) = (counted(starting.len(), "NodeClaim"), age(first.created, now));
        format!(
            "{name}: {claims} not ready yet, the oldest is {} for {since}",
            first.name
        )
    });
    let denied = pool
        .denied()
        .and_then(|denied| Some((denied.last_claim, denied.at?)));
    let denied = denied.filter(|(_, at)| now.duration_since(*at) < RECENT);
    let denied = denied.map(|(claim, at)| {
        let ago = age(at, now);
        format!("{name}: poolgate's gate denied NodeClaim {claim} {ago} ago")
    });
    starting.into_iter().chain(denied).collect()
}

fn needs_of(daemon: &Object<Metadata, DaemonSpec>) -> Needs {
    daemon.spec.template.spec.needs(&mut |name| name.into())
}

/// The machines of each pool, from its nodes.
fn machines(nodes: Read<Vec<Machine>>) -> BTreeMap<String, Vec<InstanceType>> {
    let mut seen: BTreeMap<String, Vec<InstanceType>> = BTreeMap::new();
    for node in nodes.unwrap_or_default() {
        let labels = node.metadata.labels.unwrap_or_default();
        let Some(pool) = labels.get(NODEPOOL_LABEL).cloned() else {
            continue;
        };
        let own = labels.into_iter().filter(|(key, _)| key != HOSTNAME_LABEL);
        let labels: Vec<_> = own
            .map(|(key, value)| LabelRequirement {
                key,
                operator: Operator::In,
                values: vec![value],
            })
            .collect();
        let amounts = |of: &BTreeMap<String, String>| {
            Resources::given(of.iter().map(|(name, amount)| (name.as_str(), amount.as_str())))
        };
        let machine = InstanceType {
            offerings: vec![labels.clone()],
            labels,
            capacity: amounts(&node.status.capacity),
            allocatable: Some(amounts(&node.status.allocatable)),
        };
        let all = seen.entry(pool).or_default();
        if !all.contains(&machine) {
            all.push(machine);
        }
    }
    seen
}

/// The latest events, a line each.
fn said(mut events: Vec<Event>, now: Timestamp) -> Vec<String> {
    let last = |event: &Event| {
        let last = event.last_timestamp.as_ref().map(|at| at.0);
        last.or_else(|| event.event_time.as_ref().map(|at| at.0))
    };
    events.sort_by_key(|event| std::cmp::Reverse(last(event)));
    let line = |event: &Event| {
        let ago = last(event).map(|at| format!(" {} ago", age(at, now)));
        let ago = ago.unwrap_or_default();
        let from = event
            .source
            .as_ref()
            .and_then(|source| source.component.as_deref());
        let from = from.or(event.reporting_component.as_deref()).unwrap_or_default();
        let reason = event.reason.as_deref().unwrap_or_default();
        format!(
            "{reason} of {from}{ago}: {}",
            event.message.as_deref().unwrap_or_default()
        )
    };
    events.iter().take(MOST_EVENTS).map(line).collect()
}
